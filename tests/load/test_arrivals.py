"""Schedules of a load by rate: exact where it is exact, mean and spread where it is drawn, dealt without loss."""

from itertools import islice, pairwise
from math import sqrt
from statistics import fmean, pstdev
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.load.arrivals import dealt, part, schedule
from llmload.load.scenario import Load

KINDS = st.sampled_from(["constant", "poisson", "gamma"])


def load(arrivals: Any, burstiness: float = 1.0) -> Load:
    """A load by rate."""
    return Load("rate", rates=(1.0,), arrivals=arrivals, burstiness=burstiness)


def gaps(arrivals: Any, rate: float, burstiness: float = 1.0, n: int = 20_000) -> list[float]:
    """The first gaps of a schedule, the one before its first arrival among them."""
    times = [0.0, *islice(schedule(load(arrivals, burstiness), 7, 0, rate), n)]
    return [later - earlier for earlier, later in pairwise(times)]


def test_constant_arrivals_are_exact() -> None:
    """I06: at 100 a second the hundredth is planned at 0.99 s; no error adds up over a million."""
    times = list(islice(schedule(load("constant"), 1, 0, 100.0), 1_000_001))
    assert (times[0], times[1], times[99], times[1_000_000]) == (0.0, 0.01, 0.99, 10_000.0)


@pytest.mark.parametrize(
    ("arrivals", "burstiness", "cv"),
    [("poisson", 1.0, 1.0), ("gamma", 1.0, 1.0), ("gamma", 0.25, 2.0), ("gamma", 4.0, 0.5)],
)
def test_drawn_gaps_have_their_mean_and_spread(arrivals: str, burstiness: float, cv: float) -> None:
    """sd/mean is 1/√burstiness: 2 for a burstiness of 0.25. Within 5 % over 20,000 gaps at 50 a second."""
    drawn = gaps(arrivals, 50.0, burstiness)
    assert fmean(drawn) == pytest.approx(0.02, rel=5 * cv / sqrt(len(drawn)))
    assert pstdev(drawn) / fmean(drawn) == pytest.approx(cv, rel=0.05)


def test_poisson_is_gamma_without_bursts() -> None:
    """A burstiness of 1 gives the same moments, not just the same distribution."""
    assert gaps("poisson", 3.0, n=100) == gaps("gamma", 3.0, 1.0, n=100)


def test_seed_and_step_make_the_schedule() -> None:
    """The same again for the same; another for another seed and for another step, at the same rate."""
    made = [tuple(islice(schedule(load("poisson"), seed, step, 5.0), 50)) for seed in (1, 2) for step in (0, 1)]
    assert made[0] == tuple(islice(schedule(load("poisson"), 1, 0, 5.0), 50))
    assert len(set(made)) == 4
    assert made[0][:3] == pytest.approx((0.076229, 0.146133, 0.355961), abs=1e-6)  # as every version made it


@given(KINDS, st.floats(0.01, 1000), st.floats(0.01, 1e5), st.integers(1, 9), st.integers(0, 5))
def test_dealt_parts_together_are_the_whole(
    kind: str, burstiness: float, rate: float, stride: int, rounds: int
) -> None:
    """Any number of processes: every arrival is somebody's, nobody's twice, each part ascends."""
    n = stride * rounds
    whole = list(islice(schedule(load(kind, burstiness), 3, 2, rate), n))
    parts = [
        list(islice(dealt(schedule(load(kind, burstiness), 3, 2, rate), rank, stride), rounds))
        for rank in range(stride)
    ]
    assert [parts[at % stride][at // stride] for at in range(n)] == whole
    assert whole == sorted(whole)


@given(st.integers(0, 10_000), st.integers(1, 64))
def test_parts_of_a_limit_sum_to_it(whole: int, of: int) -> None:
    """512 in flight over 3 are 170, 171 and 171; ten over four are 2, 3, 2 and 3."""
    parts = [part(whole, rank, of) for rank in range(of)]
    assert sum(parts) == whole
    assert max(parts) - min(parts) <= 1
    assert [part(512, rank, 3) for rank in range(3)] == [170, 171, 171]
