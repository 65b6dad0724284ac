"""The run as a bounded line of points."""

from typing import Any

from llmload.live.history import MOST, History, merged


def point(t: int, **more: Any) -> dict[str, Any]:
    """A point of the second t."""
    return {"t": t, "step": t // 100, "in_flight": 4, "all.ttft_p99": None, "all.tokens_per_s": 10.0, **more}


def test_a_day_has_at_most_two_thousand_points() -> None:
    """From the first to the last second, in order, and a spike of one second is still its height."""
    history = History()
    for t in range(86_400):
        history.add(point(t, **{"all.ttft_p99": 900.0 if t == 5 else 50.0}))
        assert len(history) <= MOST
    points = history.since(None)
    times = [item["t"] for item in points]
    assert len(points) > MOST / 2
    assert times == sorted(set(times))
    assert times[0] < 86_400 / 1000
    assert times[-60:] == list(range(86_340, 86_400))
    assert points[0]["all.ttft_p99"] == 900.0
    assert {item["all.ttft_p99"] for item in points[1:]} == {50.0}
    assert {item["all.tokens_per_s"] for item in points} == {10.0}


def test_who_asks_every_second_gets_every_second_once() -> None:
    """However coarse the older ones have become meanwhile."""
    history, got = History(), []
    for t in range(10_000):
        history.add(point(t))
        got += [item["t"] for item in history.since(got[-1] if got else None)]
    assert got == list(range(10_000))
    assert history.since(9_999) == []


def test_merged_by_hand() -> None:
    """The last step, the worst p99 and CPU, the mean of the rest; what nobody knows stays unknown."""
    one = {"t": 1, "step": 0, "in_flight": 3, "cpu_max": 0.5, "all.ttft_p50": 10.0, "all.ttft_p99": None}
    two = {"t": 2, "step": 1, "in_flight": 4, "cpu_max": 0.2, "all.ttft_p50": 30.0, "all.ttft_p99": 70.0, "new": None}
    assert merged([one, two]) == {
        "t": 2, "step": 1, "in_flight": 3.5, "cpu_max": 0.5, "all.ttft_p50": 20.0, "all.ttft_p99": 70.0, "new": None,
    }  # fmt: skip
