"""Series with integrals that are known: constant, linear and stepping values; gaps, counters that are set back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.report.telemetry.series import LEAST, Series, coverage, level, rise, summed

Moments = list[float]


def of(*pairs: tuple[float, float]) -> Series:
    """A series of moments and values."""
    return Series(np.array([at for at, _ in pairs], dtype=float), np.array([value for _, value in pairs], dtype=float))


@st.composite
def moments(draw: st.DrawFn, least: int = 2) -> np.ndarray:
    """When samples were taken: a second apart or so, here and there with a long gap."""
    steps = draw(st.lists(st.sampled_from([0.9, 1.0, 1.0, 1.0, 1.1, 1.3, 7.0]), min_size=least, max_size=40))
    return np.cumsum(steps)


spans = st.tuples(st.floats(0, 30), st.floats(0.5, 30)).map(lambda pair: (pair[0], pair[0] + pair[1]))
watts = st.floats(1, 1000)


@given(moments(), spans, watts)
def test_a_counter_of_constant_power_gives_that_power(at: np.ndarray, span: tuple[float, float], power: float) -> None:
    """Whatever the samples' distances and gaps between the edges: watts times seconds, or nothing is said."""
    found = rise(Series(at, 50_000 + power * at), *span)
    if found is not None:
        assert found.amount == pytest.approx(power * (span[1] - span[0]), rel=1e-9, abs=1e-6)
        assert not found.reset
    bracketed = at[0] <= span[0] and at[-1] >= span[1]
    assert bracketed or found is None


@given(moments(least=12), st.integers(1, 10), watts)
def test_a_counter_that_is_set_back_loses_one_distance_at_most(at: np.ndarray, place: int, power: float) -> None:
    """What it used between its last value before and the fall is not known; no more than that is missing."""
    fell = (at[place] + at[place + 1]) / 2
    values = np.where(at < fell, 50_000 + power * at, power * (at - fell))
    found = rise(Series(at, values), at[0], at[-1])
    assert found is not None
    assert found.reset
    missing = power * (at[-1] - at[0]) - found.amount
    assert missing == pytest.approx(power * (fell - at[place]), rel=1e-6)


@given(moments(), spans, st.floats(0, 100))
def test_the_level_of_what_is_constant_is_that(at: np.ndarray, span: tuple[float, float], value: float) -> None:
    """With five samples and nine tenths seen; else it is not told."""
    found = level(Series(at, np.full(len(at), value)), *span)
    n = int(((at >= span[0]) & (at <= span[1])).sum())
    if n < LEAST or coverage(at, *span) < 0.9:
        assert found is None
    else:
        assert found is not None
        assert found.mean == pytest.approx(value)
        assert (found.highest, found.n) == (value, n)


@given(st.floats(0, 1), st.floats(-5, 5), st.integers(8, 60))
def test_the_level_of_what_grows_evenly_is_that_of_the_middle(first: float, slope: float, seconds: int) -> None:
    """But for the parts of a second before the first sample and behind the last, half of whose growth is missing."""
    at = np.arange(-3.0, seconds + 4) + np.float64(first)
    found = level(Series(at, 100 + slope * at), 0, seconds)
    assert found is not None
    middle = 100 + slope * seconds / 2
    assert abs(found.mean - middle) <= abs(slope) / seconds + 1e-9


@given(moments(), spans)
def test_coverage_is_the_share_that_lies_between_near_samples(at: np.ndarray, span: tuple[float, float]) -> None:
    """As counted over a fine grid of moments."""
    usual = float(np.median(np.diff(at)))
    grid = np.linspace(*span, 2001)
    place = np.searchsorted(at, grid)
    inside = (place > 0) & (place < len(at))
    near = np.zeros(len(grid), dtype=bool)
    near[inside] = np.diff(at)[place[inside] - 1] <= 3 * usual
    assert coverage(at, *span) == pytest.approx(near.mean(), abs=0.01 + 1 / len(grid))


def test_300_watts_before_600_are_300() -> None:
    """A step of 60 s, after 100 W and before 600, looked at every second: 300 exactly. Every 15 s, 4 s off: 304.9."""
    at = np.arange(-41, 140, 15.0)
    power = np.where(at < 0, 100.0 * at, np.where(at < 60, 300.0 * at, 18_000 + 600.0 * (at - 60)))
    found = rise(Series(at, power), 0, 60)
    assert found is not None
    # At 0 the line from -1,100 J (-11 s) to 1,200 (4 s) is at 586.7, at 60 that from 14,700 to 20,400 is at 18,880.
    assert found.amount / 60 == pytest.approx((18_880 - 586.667) / 60)
    fine = np.arange(-5, 70, 1.0)
    exact = rise(Series(fine, np.where(fine < 60, 300.0 * fine, 18_000 + 600.0 * (fine - 60))), 0, 60)
    assert exact is not None
    assert exact.amount / 60 == 300


def test_an_edge_inside_a_gap_is_no_edge() -> None:
    """Samples at 0 … 5 and 15 … 20: from 1 to 4 is known, and from 1 to 18 as well; to 10 it would be a guess."""
    series = of(*((at, 10 * at) for at in [*range(6), *range(15, 21)]))
    assert [rise(series, 1, end) and rise(series, 1, end).amount for end in (4, 18, 10)] == [30, 170, None]  # type: ignore[union-attr]
    assert rise(series, 10, 18) is None
    assert rise(series, 5, 15) is not None  # both edges are samples


def test_a_gap_weighs_nothing() -> None:
    """1 for 20 s, no sample for 4 s, 3 for 20 s: the mean is 2, and 40 of 44 s were seen."""
    series = of(*((at, 1) for at in range(21)), *((at, 3) for at in range(24, 45)))
    found = level(series, 0, 44)
    assert found is not None
    assert found.mean == 2
    assert coverage(series.at, 0, 44) == pytest.approx(40 / 44)


def test_four_samples_make_no_level() -> None:
    """And five do."""
    series = of(*((at, 2) for at in range(20)))
    assert level(series, 0, 3) is None
    assert level(series, 0, 4) is not None


def test_a_sum_is_taken_at_each_moment() -> None:
    """5 and 9 at their own highest, which are not at the same time: together never over 10."""
    first, second = of((0, 5), (1, 1), (2, 1)), of((0.5, 2), (1.5, 9), (2.5, 2))
    assert summed([first, second], 0, 3).values.tolist() == [7, 3, 10, 10, 3]
    assert len(summed([], 0, 3).at) == 0
