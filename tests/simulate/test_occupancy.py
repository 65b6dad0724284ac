"""Requests in flight, by hand."""

from llmload.simulate.occupancy import Occupancy


def test_peak_and_integral():
    """One from 1 to 4, a second from 2 to 3: 4 request seconds in 5 seconds, two at most."""
    counts = Occupancy(0.0, 100.0)
    counts.enter(1.0)
    counts.enter(2.0)
    counts.leave(3.0, "ok")
    counts.leave(4.0, "cut")
    assert counts.as_dict(5.0) == {
        "in_flight": 0,
        "peak_in_flight": 2,
        "in_flight_seconds": 4.0,
        "seconds": 5.0,
        "mean_in_flight": 0.8,
        "requests": 2,
        "by_outcome": {"ok": 1, "cut": 1},
        "since": 100.0,
    }


def test_reset_keeps_what_is_in_flight():
    """After a reset the peak begins at what is there, and the integral at zero."""
    counts = Occupancy(0.0, 100.0)
    counts.enter(0.0)
    counts.enter(0.0)
    counts.leave(1.0, "ok")
    counts.reset(2.0, 102.0)
    state = counts.as_dict(4.0)
    assert (state["in_flight"], state["peak_in_flight"], state["in_flight_seconds"]) == (1, 1, 2.0)
    assert (state["requests"], state["by_outcome"], state["since"]) == (0, {}, 102.0)


def test_no_time_no_mean():
    """At the moment of a reset there is no mean."""
    assert Occupancy(1.0, 1.0).as_dict(1.0)["mean_in_flight"] is None
