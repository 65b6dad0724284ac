"""When events are due: exact for fixed times, right on average for the others, and a function of the seed alone."""

import itertools
import math
import statistics

import pytest

from llmload.simulate.timing import DISTRIBUTIONS, Pace, Timing


def test_fixed_times_are_exact():
    """Fixed times are first + k * gap, whatever the prompt."""
    pace = Pace(Timing(ttft_s=0.2, itl_s=0.02), seed=1, number=0)
    assert pace.first(3210, 1) == 0.2
    assert [pace.gap(32) for _ in range(5)] == [0.02] * 5


def test_prefill_grows_with_the_prompt():
    """3,210 prompt tokens at 5,000 a second add 0.642 s."""
    pace = Pace(Timing(ttft_s=0.05, prefill_tokens_per_s=5000), seed=1, number=0)
    assert pace.first(3210, 1) == pytest.approx(0.692)


def test_slowdown_by_load():
    """At 2 % a request, 11 in service make times 1.2 times as long; one alone is not slowed."""
    pace = Pace(Timing(ttft_s=0.1, itl_s=0.02, slowdown=0.02), seed=1, number=0)
    assert pace.first(10, 11) == pytest.approx(0.12)
    assert pace.gap(11) == pytest.approx(0.024)
    assert pace.gap(1) == 0.02
    assert pace.gap(0) == 0.02


def test_a_cliff():
    """Gaps are three times as long behind the fourth event: the first comes at 0, three more after a gap each."""
    pace = Pace(Timing(itl_s=0.02, cliff_after=4, cliff_factor=3.0), seed=1, number=0)
    pace.first(10, 1)
    assert [pace.gap(1) for _ in range(5)] == pytest.approx([0.02, 0.02, 0.02, 0.06, 0.06])


@pytest.mark.parametrize(
    ("distribution", "spread"), [("normal", 0.2), ("lognormal", 0.2), ("lognormal", 1.0), ("exponential", 1.0)]
)
def test_mean_and_spread_are_kept(distribution, spread):
    """20,000 draws have the mean and the standard deviation that were asked for, within 4 standard errors or so."""
    pace = Pace(Timing(itl_s=0.02, distribution=distribution, spread=spread), seed=7, number=3)
    gaps = [pace.gap(1) for _ in range(20_000)]
    assert min(gaps) >= 0
    assert statistics.mean(gaps) == pytest.approx(0.02, rel=4 * spread / math.sqrt(20_000) + 1e-3)
    assert statistics.stdev(gaps) == pytest.approx(0.02 * spread, rel=0.1)


def test_normal_times_are_never_negative():
    """A wide normal distribution is cut at 0."""
    pace = Pace(Timing(itl_s=0.02, distribution="normal", spread=2.0), seed=1, number=0)
    gaps = [pace.gap(1) for _ in range(1000)]
    assert min(gaps) == 0.0


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_same_seed_same_times(distribution):
    """Seed and number give the same draws again; another number or seed gives others (except for fixed times)."""

    def draws(seed, number):
        pace = Pace(Timing(distribution=distribution), seed, number)
        return [pace.first(10, 1), *itertools.islice(iter(lambda: pace.gap(1), None), 10)]

    assert draws(1, 5) == draws(1, 5)
    assert (draws(1, 5) == draws(1, 6)) == (distribution == "fixed")
    assert (draws(1, 5) == draws(2, 5)) == (distribution == "fixed")
