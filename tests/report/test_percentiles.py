"""Percentiles: the contract's rule with hand-worked examples, and numpy's where nothing failed."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.report.percentiles import attempts, mark, percentile, shown, successes


def ordered(*values: float) -> np.ndarray:
    """Values as the functions want them."""
    return np.array(sorted(values), dtype=float)


def test_an_interpolated_rank_lies_between_its_neighbours() -> None:
    """Four values: the p50 has rank 1.5, half way between the second and the third."""
    assert percentile(ordered(10, 20, 30, 40), 50) == 25


def test_a_whole_rank_takes_its_own_value_even_before_a_failure() -> None:
    """Values 1, 2, 3 and two failures: n = 5, the p50 has rank 2, which is 3, although rank 3 is a failure."""
    assert percentile(ordered(1, 2, 3), 50, failures=2) == 3


def test_a_broken_rank_before_a_failure_is_infinite() -> None:
    """Values 1, 2, 3 and one failure: the p90 has rank 2.7, between 3 and a failure."""
    assert percentile(ordered(1, 2, 3), 90, failures=1) == math.inf


def test_a_rank_on_a_failure_is_infinite() -> None:
    """One value and three failures: the p50 has rank 1.5, between two failures; never NaN."""
    assert percentile(ordered(1), 50, failures=3) == math.inf


def test_nothing_is_none() -> None:
    """No values and no failures have no percentile; failures alone have an infinite one."""
    assert percentile(ordered(), 50) is None
    assert percentile(ordered(), 50, failures=1) == math.inf


def test_merged_workers() -> None:
    """J04: 100 values of 100 ms, and 90 of 100 with 10 of 2,000: the p95 of all 200 has rank 189.05 and is 195."""
    values = ordered(*[100] * 190, *[2000] * 10)
    assert percentile(values, 95) == pytest.approx(195)


def test_timeouts_of_most_requests() -> None:
    """J01: 250 time-outs and six first tokens at 0.3 s: 0.3 s over successes, infinite over all attempts."""
    six = ordered(*[300] * 6)
    assert successes(six)["p95"] == 300
    assert successes(six)["n"] == 6
    assert attempts(six, 250)["p95"] == "inf"
    assert attempts(six, 250)["n"] == 256


def test_the_two_middle_values_are_told_apart() -> None:
    """J06: 1,449 and 1,451 ms have a median of 1,450, and no bucket shows."""
    block = successes(ordered(1449, 1451))
    assert (block["min"], block["p50"], block["max"]) == (1449, 1450, 1451)


def test_twelve_percent_failures_make_the_p95_infinite_and_leave_the_p50() -> None:
    """88 values 1 … 88 and 12 failures: p50 has rank 49.5 and is 50.5, p90 has rank 89.1, a failure."""
    block = attempts(ordered(*range(1, 89)), 12)
    assert block == {"n": 100, "p50": 50.5, "p90": "inf", "p95": "inf", "p99": "inf"}


@pytest.mark.parametrize(("n", "p99"), [(99, None), (100, 99.01)])
def test_a_p99_needs_a_hundred(n: int, p99: float | None) -> None:
    """J16: Under 100 values there is no p99; of 1 … 100 it has rank 98.01 and is 99.01."""
    assert successes(ordered(*range(1, n + 1)))["p99"] == (None if p99 is None else pytest.approx(p99))
    assert attempts(ordered(*range(1, n + 1)), 0)["p99"] == (None if p99 is None else pytest.approx(p99))


def test_failures_count_for_the_hundred() -> None:
    """50 values and 50 failures are 100 attempts: their p99 is known, and infinite."""
    assert attempts(ordered(*range(50)), 50)["p99"] == "inf"
    assert successes(ordered(*range(50)))["p99"] is None


def test_successes_of_one_value_have_no_deviation() -> None:
    """The sample's deviation of 2, 4, 9 is the root of 13; of one value there is none."""
    assert successes(ordered(2, 4, 9))["sd"] == pytest.approx(math.sqrt(13))
    assert successes(ordered(2))["sd"] is None


def test_no_value_leaves_everything_blank() -> None:
    """Without a success all is None, but n is 0."""
    block = successes(ordered())
    assert block.pop("n") == 0
    assert set(block.values()) == {None}


@pytest.mark.parametrize(
    ("percent", "n", "sign"),
    [("p95", 99, "*"), ("p95", 100, ""), ("p99", 499, "†"), ("p99", 500, ""), ("p50", 1, ""), ("p95", None, "")],
)
def test_marks(percent: str, n: int | None, sign: str) -> None:
    """J16: A p95 is marked under 100 values, a p99 under 500."""
    assert mark(percent, n) == sign


def test_infinite_is_a_word() -> None:
    """JSON knows no infinity."""
    assert shown(math.inf) == "inf"
    assert shown(1.5) == 1.5
    assert shown(None) is None


finite = st.floats(min_value=0, max_value=1e9, allow_nan=False)


@given(st.lists(finite, min_size=1, max_size=300), st.integers(0, 100))
def test_without_failures_it_is_numpys_linear_percentile(values: list[float], percent: int) -> None:
    """Exact values, linear interpolation."""
    assert percentile(ordered(*values), percent) == pytest.approx(float(np.percentile(values, percent)), rel=1e-9)


@given(st.lists(finite, max_size=50), st.integers(0, 50), st.sampled_from([50, 90, 95, 99]))
def test_it_is_never_nan_and_failures_only_make_it_worse(values: list[float], failures: int, percent: int) -> None:
    """A figure over all attempts is at least the one over successes."""
    over_all = percentile(ordered(*values), percent, failures)
    over_ok = percentile(ordered(*values), percent)
    if over_all is None:
        assert not values
        assert not failures
        return
    assert not math.isnan(over_all)
    assert over_ok is None or over_all >= over_ok or over_all == pytest.approx(over_ok)
