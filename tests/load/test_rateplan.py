"""A step by rate as a state machine: only its warm-up differs from the closed loop's."""

from dataclasses import replace

import pytest

from llmload.load.plan import Seen
from llmload.load.rateplan import RateStep
from llmload.load.scenario import Load

LOAD = Load("rate", rates=(5.0,), warmup_requests=0, warmup_s=2.0, window_s=10.0, window_requests=5, drain_limit_s=20.0)
WARM = Seen(users=2, classes_warm={"short": 4, "long": 1}, ok=5)


def step(phase: str) -> RateStep:
    """A step for two workers, in its warm-up from 90 s or in its window from 100 s on."""
    made = RateStep(LOAD, ["short", "long"], 2)
    made.advance(90.0, Seen(users=2))
    if phase == "measure":
        made.advance(100.0, WARM)
    assert made.phase == phase
    return made


@pytest.mark.parametrize(
    ("now", "seen", "phase"),
    [
        (92.0, WARM, "measure"),  # nobody is in flight just now, and nobody waits for that
        (92.0, replace(WARM, in_flight=300), "measure"),
        (91.9, WARM, "warmup"),  # two seconds have not passed
        (99.0, replace(WARM, classes_warm={"short": 400}), "warmup"),  # no long one has ended
    ],
)
def test_warm_is_a_time_and_every_class(now: float, seen: Seen, phase: str) -> None:
    """Neither requests of each user nor so many in flight."""
    assert step("warmup").advance(now, seen) == phase


def test_the_window_waits_for_what_was_planned_and_the_drain_for_what_was_sent() -> None:
    """Planned requests count, sent or not; the arrivals go on until the last measured one has ended."""
    made = step("measure")
    planned = replace(WARM, sent={"short": 9, "long": 5}, measured_in_flight=3)
    assert made.advance(109.9, planned) == "measure"
    assert made.advance(110.0, replace(planned, sent={"short": 9, "long": 4})) == "measure"
    assert made.advance(110.0, planned) == "drain"
    assert (made.ended_by, made.sending) == ("window", True)
    assert made.advance(129.9, planned) == "drain"
    assert made.advance(129.9, replace(planned, measured_in_flight=0)) == "done"
