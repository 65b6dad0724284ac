"""The closed loop's step as tables of numbers: what is seen when, and which phase follows."""

from dataclasses import replace
from typing import Any, Literal

import pytest

from llmload.load.plan import Seen, Step
from llmload.load.scenario import Load

LOAD = Load(
    warmup_requests=3,
    warmup_s=2.0,
    window_s=10.0,
    window_requests=5,
    window_cap_s=30.0,
    drain_limit_s=20.0,
    max_failures_in_a_row=4,
)
WARM = Seen(users=2, in_flight=2, warm=3, classes_warm={"short": 4, "long": 2}, ok=6)
ENOUGH = replace(WARM, sent={"short": 9, "long": 5}, measured_in_flight=2, ok=20)


def step(load: Load = LOAD) -> Step:
    """A step of two in flight and two classes."""
    return Step(load, ["short", "long"], 2)


def at(phase: str, load: Load = LOAD) -> Step:
    """A step that entered a phase at 100 s (warm-up at 90 at the latest)."""
    made = step(load)
    made.advance(90.0, Seen(users=2))
    if phase != "warmup":
        made.advance(100.0, WARM)
    if phase == "drain":
        made.began["measure"] = 80.0
        made.advance(100.0, ENOUGH)
    assert made.phase == phase
    return made


@pytest.mark.parametrize(("users", "phase"), [(0, "ramp"), (1, "ramp"), (2, "warmup"), (3, "ramp")])
def test_gate_opens_when_exactly_as_many_users_are_up(users: int, phase: str) -> None:
    """One user too few waits; one too many (of the step before) waits as well, or N+1 would be in flight."""
    made = step()
    assert made.advance(0.0, Seen(users=users)) == phase
    assert made.sending == (phase == "warmup")


@pytest.mark.parametrize(
    ("now", "seen", "phase"),
    [
        (92.0, WARM, "measure"),
        (91.9, WARM, "warmup"),  # two seconds have not passed
        (95.0, replace(WARM, warm=2), "warmup"),  # one user has made only two requests
        (95.0, replace(WARM, classes_warm={"short": 9}), "warmup"),  # no long one yet
        (95.0, replace(WARM, in_flight=1), "warmup"),  # warm, but not all in flight
    ],
)
def test_window_opens_when_all_are_in_flight_and_warm(now: float, seen: Seen, phase: str) -> None:
    """Requests per user, every class, the seconds, and all N in flight: all of them."""
    assert at("warmup").advance(now, seen) == phase


def test_window_does_not_wait_for_ever_for_a_moment_with_all_in_flight() -> None:
    """With many users and short answers no look finds all of them in flight: after one second warm is enough."""
    made = at("warmup")
    seen = replace(WARM, in_flight=1)
    assert made.advance(95.0, seen) == "warmup"
    assert made.advance(95.9, seen) == "warmup"
    assert made.advance(96.0, seen) == "measure"


@pytest.mark.parametrize(
    ("now", "sent", "phase", "ended_by"),
    [
        (109.9, {"short": 99, "long": 99}, "measure", None),
        (110.0, {"short": 5, "long": 5}, "drain", "window"),
        (110.0, {"short": 5, "long": 4}, "measure", None),
        (129.9, {"short": 5}, "measure", None),
        (130.0, {"short": 5}, "drain", "cap"),
    ],
)
def test_window_closes_after_its_seconds_and_its_requests(
    now: float, sent: dict[str, int], phase: str, ended_by: str | None
) -> None:
    """Ten seconds and five of each class, at the latest thirty seconds."""
    made = at("measure")
    assert made.advance(now, replace(WARM, sent=sent)) == phase
    assert made.ended_by == ended_by
    assert made.sending


@pytest.mark.parametrize(
    ("now", "in_flight", "phase"),
    [(100.1, 1, "drain"), (100.1, 0, "done"), (119.9, 2, "drain"), (120.0, 2, "done")],
)
def test_users_go_on_sending_until_the_last_measured_request_has_ended(now: float, in_flight: int, phase: str) -> None:
    """Done when no measured request is in flight, or after twenty seconds of drain."""
    made = at("drain")
    assert made.sending
    assert made.advance(now, replace(ENOUGH, measured_in_flight=in_flight)) == phase
    assert made.ended_by == "window"


@pytest.mark.parametrize(
    ("history", "ended"),
    [
        ([(0, 3)], False),
        ([(0, 4)], True),
        ([(0, 3), (1, 3), (1, 6)], False),  # a success in between: three since
        ([(0, 3), (1, 3), (1, 7)], True),
        ([(9, 3), (10, 6), (11, 9)], False),
    ],
)
def test_step_ends_after_so_many_failures_in_a_row(history: list[tuple[int, int]], ended: bool) -> None:
    """Four failures with no success among them end the step: nothing more is sent, what is in flight may end."""
    made = at("warmup")
    for ok, failed in history:
        made.advance(90.5, Seen(users=2, ok=ok, failed=failed, measured_in_flight=0))
    assert (made.ended_by == "failures") == ended
    assert made.sending != ended
    assert made.phase == ("drain" if ended else "warmup")


def test_failures_never_end_a_step_whose_limit_is_zero() -> None:
    """0 means never."""
    made = at("measure", replace(LOAD, max_failures_in_a_row=0))
    assert made.advance(101.0, replace(WARM, failed=10_000)) == "measure"


@pytest.mark.parametrize("trouble", [{"failed": 4}, {"out_of_budget": True}])
def test_trouble_in_the_drain_stops_the_sending_and_leaves_the_window_complete(trouble: dict[str, Any]) -> None:
    """Failures in a row and a used-up budget: nothing more is sent; why the window ended is another matter."""
    made = at("drain")
    assert made.advance(100.1, replace(ENOUGH, **trouble)) == "drain"
    assert not made.sending
    assert (made.ended_by, made.spent) == ("window", "out_of_budget" in trouble)
    assert made.advance(100.2, replace(ENOUGH, measured_in_flight=0)) == "done"


def test_a_used_up_budget_ends_the_step_and_lets_what_is_in_flight_end() -> None:
    """Nothing more is sent; measured requests in flight are waited for."""
    made = at("measure")
    assert made.advance(101.0, replace(ENOUGH, out_of_budget=True)) == "drain"
    assert made.ended_by == "budget"
    assert not made.sending
    assert made.advance(102.0, replace(ENOUGH, out_of_budget=True)) == "drain"
    assert made.advance(103.0, replace(ENOUGH, out_of_budget=True, measured_in_flight=0)) == "done"


@pytest.mark.parametrize("why", ["stopped", "fault"])
@pytest.mark.parametrize("phase", ["warmup", "measure", "drain"])
def test_a_stop_ends_any_phase_at_once(phase: str, why: Literal["stopped", "fault"]) -> None:
    """Nothing is sent any more, and the step says who ended its window, which in the drain was over already."""
    made = at(phase)
    made.stop(100.5, why)
    assert (made.phase, made.ended_by, made.sending) == ("done", "window" if phase == "drain" else why, False)


def test_phases_follow_one_at_a_time() -> None:
    """Also where everything is true at once, so that every phase is told to the workers and answered by them."""
    made = step(replace(LOAD, warmup_s=0.0, window_s=0.0, window_requests=0, warmup_requests=0))
    seen = replace(WARM, measured_in_flight=0)
    assert [made.advance(1.0, seen) for _ in range(5)] == ["warmup", "measure", "drain", "done", "done"]
    assert made.began == {"warmup": 1.0, "measure": 1.0, "drain": 1.0, "done": 1.0}


HAND = replace(LOAD, kind="hand", steps=())


def test_by_hand_the_window_is_open_until_another_level_is_asked_for() -> None:
    """Neither seconds nor numbers nor the cap of a step plan close it; then it drains with all users sending."""
    made = at("measure", HAND)
    assert made.advance(100_000.0, ENOUGH) == "measure"
    made.leave()
    assert made.advance(100_001.0, ENOUGH) == "drain"
    assert (made.ended_by, made.sending, made.held) == ("level", True, True)
    assert made.advance(100_002.0, replace(ENOUGH, measured_in_flight=0)) == "done"


def test_by_hand_a_level_left_in_its_warm_up_has_no_window() -> None:
    """Nothing is measured, so nothing has to be waited for; a level left while its users come up warms up first."""
    made = step(HAND)
    made.leave()
    assert made.advance(89.0, Seen(users=1)) == "ramp"
    assert made.advance(90.0, Seen(users=2)) == "warmup"
    assert made.advance(90.1, Seen(users=2)) == "drain"
    assert made.advance(90.2, Seen(users=2)) == "done"
    assert (made.ended_by, made.held) == ("level", False)


@pytest.mark.parametrize(
    ("window_s", "open_s", "held"), [(60.0, 9.9, False), (60.0, 10.0, True), (2.0, 1.9, False), (2.0, 2.0, True)]
)
@pytest.mark.parametrize("how", ["level", "stopped"])
def test_by_hand_a_level_is_a_row_from_ten_seconds_or_the_scenarios_window(
    window_s: float, open_s: float, held: bool, how: str
) -> None:
    """The shorter of the two, by the window alone: warm-up and drain do not count."""
    made = at("measure", replace(HAND, window_s=window_s))
    if how == "level":
        made.leave()
        made.advance(100.0 + open_s, ENOUGH)
        made.advance(150.0, replace(ENOUGH, measured_in_flight=0))
    else:
        made.stop(100.0 + open_s, "stopped")
    assert (made.ended_by, made.held) == (how, held)


def test_by_hand_a_level_that_failed_at_once_is_a_row() -> None:
    """It was not the person who ended it."""
    made = at("measure", HAND)
    assert made.advance(100.1, replace(ENOUGH, failed=4)) == "measure"
    assert made.advance(100.2, replace(ENOUGH, failed=8)) == "drain"
    assert (made.ended_by, made.held) == ("failures", True)
