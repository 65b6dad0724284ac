"""Percentiles of raw values and of the sketch behind a million."""

import numpy as np
import pytest

from llmload.live import values
from llmload.live.values import Values
from llmload.report import percentiles


def codes(n: int, code: int = 0) -> values.Codes:
    """So many values of a class."""
    return np.full(n, code, dtype=np.int16)


def test_worked_by_hand() -> None:
    """1, 2, 3, 4 and 10: ranks 2, 3.8 and no p99; a class alone, a class without values, and nothing at all."""
    some = Values()
    assert some.of(None) == {"n": 0, "p50": None, "p95": None, "p99": None}
    some.add(np.array([4.0, 1.0, 3.0, 2.0]), codes(4))
    some.add(np.array([10.0]), codes(1, 1))
    assert some.of(None) == {"n": 5, "p50": 3.0, "p95": pytest.approx(8.8), "p99": None}
    assert some.of(0) == {"n": 4, "p50": 2.5, "p95": pytest.approx(3.85), "p99": None}
    assert some.of(1) == {"n": 1, "p50": 10.0, "p95": 10.0, "p99": None}
    assert some.of(2)["n"] == 0


@pytest.mark.parametrize("n", [1, 2, 3, 20, 21, 99, 100, 101, 997])
def test_raw_values_are_ranked_as_the_reporter_ranks_them(n: int) -> None:
    """The same numbers to the last digit."""
    drawn = np.random.default_rng(n).lognormal(3, 1, n)
    told = percentiles.successes(np.sort(drawn))
    assert values.exact(drawn) == {key: told[key] for key in ("n", "p50", "p95", "p99")}


@pytest.mark.parametrize("spread", [0.05, 1.0, 3.0])
def test_the_sketch_is_wrong_by_one_percent_at_the_most(spread: float) -> None:
    """Whole and by class, for values over many decades."""
    draw = np.random.default_rng(1)
    drawn, classes = draw.lognormal(2, spread, 50_000), draw.integers(0, 3, 50_000).astype(np.int16)
    raw, sketch = Values(), Values(most=1000)
    for part in np.array_split(np.arange(50_000), 40):
        raw.add(drawn[part], classes[part])
        sketch.add(drawn[part], classes[part])
    assert (raw.sketched, sketch.sketched) == (False, True)
    for code in (None, 0, 1, 2):
        truth, told = raw.of(code), sketch.of(code)
        assert told["n"] == truth["n"]
        for percent in ("p50", "p95", "p99"):
            assert told[percent] == pytest.approx(truth[percent], rel=0.01)


def test_what_came_together_is_zero_in_the_sketch_too() -> None:
    """Gaps of 0 stay 0, the smallest that a record tells is not, and a day still has a bucket."""
    some = Values(most=2)
    some.add(np.array([0.0, 0.0, 0.0, 0.001, 86_400_000.0]), codes(5))
    assert some.of(None)["p50"] == 0.0
    assert values.middle(int(values.buckets(np.array([0.001]))[0])) == pytest.approx(0.001, rel=0.01)
    assert values.middle(int(values.buckets(np.array([8.64e7]))[0])) == pytest.approx(8.64e7, rel=0.01)
    assert values.buckets(np.array([1e12]))[0] == values.BUCKETS - 1


def test_raw_up_to_a_million() -> None:
    """One value more, and they are let go."""
    some = Values()
    some.add(np.arange(1_000_000, dtype=np.float64), codes(1_000_000))
    assert not some.sketched
    assert some.of(None)["p50"] == 499_999.5
    some.add(np.array([5.0]), codes(1))
    assert some.sketched
    assert some.parts == []
    assert some.of(None)["n"] == 1_000_001
    assert some.of(None)["p50"] == pytest.approx(499_999, rel=0.01)


@pytest.mark.parametrize("most", [(9, 9), (1, 9), (9, 1), (1, 1)])
def test_joined(most: tuple[int, int]) -> None:
    """Raw or sketched, the other keeps what it had."""
    one, other = Values(most[0]), Values(most[1])
    one.add(np.array([1.0, 2.0]), codes(2))
    other.add(np.array([3.0, 4.0, 5.0]), codes(3, 1))
    one.join(other)
    assert one.of(None)["p50"] == pytest.approx(3.0, rel=0.01)
    assert (one.of(None)["n"], one.of(0)["n"], one.of(1)["n"], other.of(None)["n"]) == (5, 2, 3, 3)


def test_many_small_parts_become_one() -> None:
    """A window of a day that nobody looks at is no hundred thousand arrays."""
    some = Values()
    for at in range(1000):
        some.add(np.array([float(at)]), codes(1))
        assert len(some.parts) <= values.PARTS
    assert some.of(None)["p50"] == 499.5
