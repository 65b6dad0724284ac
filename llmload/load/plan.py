"""One step of the closed loop as a state machine: which phase it is in, and why it ended.

Told the time and what all workers together report, it says the phase: ramp, warmup, measure, drain, done. It knows
no clock, no Locust and no message; who drives it asks again and again. Times are seconds of any clock that only
goes forward.

    ramp     until as many users as wanted are up
    warmup   until every user and class is warm, the seconds have passed and all are in flight at once
    measure  the window: its seconds and, of each class, its number of requests; at the latest the cap
    drain    until no measured request is in flight, at the latest the limit; users go on sending meanwhile,
             unless there were too many failures or the budget is used up
    done

Why the window ended and why sending stopped are kept apart: a budget that is used up in the drain stops the sending
and leaves a window that was complete.

By hand the person is in the place of the plan: the window stays open until another level is asked for (`leave`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from llmload.load.scenario import Load

StepPhase = Literal["ramp", "warmup", "measure", "drain", "done"]
EndedBy = Literal["window", "cap", "level", "failures", "budget", "stopped", "fault"]
Stopped = Literal["stopped", "fault"]

FULL_WITHIN_S = 1.0
"""So long after everything is warm the window waits for a moment with all N in flight. With many users and short
answers no look ever finds all of them in flight, and users that pause after failures are in nobody's flight."""

HELD_S = 10.0
"""By hand: a level whose window was open for so long is a row; for `window_s` if that is shorter."""


def held_s(load: Load) -> float:
    """By hand: how long a window has to be open for its level to be a row."""
    return min(HELD_S, load.window_s)


@dataclass(frozen=True, slots=True)
class Seen:
    """What all workers together report at one moment, about the present step."""

    users: int = 0
    """Users that are up."""
    in_flight: int = 0
    """Requests on the wire."""
    warm: int = 0
    """Finished warm-up requests of the user that has fewest."""
    classes_warm: Mapping[str, int] = field(default_factory=dict)
    """Finished warm-up requests of each class, over all users."""
    sent: Mapping[str, int] = field(default_factory=dict)
    """Requests of each class that were sent in the window."""
    measured_in_flight: int = 0
    """Of those that were sent in the window, how many are still on the wire."""
    ok: int = 0
    """Attempts of this step that ended well, of any phase."""
    failed: int = 0
    """Attempts of this step that failed; those cut by ourselves do not count."""
    out_of_budget: bool = False
    """Somebody may send no more, because a cap of the run is reached."""


class Step:
    """One level of a closed loop. `phase`, `ended_by` and the times at which phases began can be read at any time."""

    def __init__(self, load: Load, classes: Iterable[str], concurrency: int) -> None:
        self.load = load
        self.classes = tuple(classes)
        self.concurrency = concurrency
        self.phase: StepPhase = "ramp"
        self.ended_by: EndedBy | None = None
        """Why the window ended, or that it never opened."""
        self.spent = False
        """Whether the budget of the run was found to be used up."""
        self.began: dict[StepPhase, float] = {}
        self._warm_since: float | None = None
        self._ok = 0
        self._failed_before = 0
        self._early: EndedBy | None = None
        self._left = False

    @property
    def sending(self) -> bool:
        """Whether users may send: not while they come up, not after the end, not after failures or the budget."""
        return self.phase in {"warmup", "measure", "drain"} and self._early is None

    def advance(self, now: float, seen: Seen) -> StepPhase:
        """Go on by at most one phase. `seen` must have been reported in the present phase by all workers."""
        self._early = self._early or self._early_end(seen)
        over = self._early or ("level" if self._left else None)
        if over is not None and self.phase in {"warmup", "measure"}:
            self.ended_by = over
            return self._enter("drain", now)
        if self.phase == "ramp" and seen.users == self.concurrency:
            return self._enter("warmup", now)
        if self.phase == "warmup" and self._warm(now, seen):
            return self._enter("measure", now)
        if self.phase == "measure":
            self.ended_by = self._window_end(now, seen)
            return self._enter("drain", now) if self.ended_by else self.phase
        if self.phase == "drain" and (
            seen.measured_in_flight == 0 or now - self.began["drain"] >= self.load.drain_limit_s
        ):
            return self._enter("done", now)
        return self.phase

    def leave(self) -> None:
        """By hand: another level is asked for, so the window ends; one that is not open yet never will be."""
        self._left = True

    @property
    def held(self) -> bool:
        """By hand: whether this level is a row. It is, unless the person left it before its window was long enough."""
        if self.ended_by not in {"level", "stopped"}:
            return True
        if "measure" not in self.began:
            return False
        ended = self.began.get("drain", self.began.get("done", self.began["measure"]))
        return ended - self.began["measure"] >= held_s(self.load)

    def stop(self, now: float, why: Stopped) -> None:
        """Done at once, by the user or by a fault after which the run cannot go on. Why a window ended stays."""
        if self.phase != "done":
            self.ended_by = self.ended_by or why
            self._enter("done", now)

    def _enter(self, phase: StepPhase, now: float) -> StepPhase:
        self.phase = phase
        self.began[phase] = now
        return phase

    def _early_end(self, seen: Seen) -> EndedBy | None:
        if seen.ok > self._ok:
            self._ok, self._failed_before = seen.ok, seen.failed
        if 0 < self.load.max_failures_in_a_row <= seen.failed - self._failed_before:
            return "failures"
        self.spent = self.spent or seen.out_of_budget
        return "budget" if self.spent else None

    def _warm(self, now: float, seen: Seen) -> bool:
        warm = (
            seen.warm >= self.load.warmup_requests
            and all(seen.classes_warm.get(name, 0) > 0 for name in self.classes)
            and now - self.began["warmup"] >= self.load.warmup_s
        )
        if not warm:
            return False
        if self._warm_since is None:
            self._warm_since = now
        return seen.in_flight >= self.concurrency or now - self._warm_since >= FULL_WITHIN_S

    def _window_end(self, now: float, seen: Seen) -> EndedBy | None:
        if self.load.kind == "hand":
            return None
        open_s = now - self.began["measure"]
        enough = all(seen.sent.get(name, 0) >= self.load.window_requests for name in self.classes)
        if open_s >= self.load.window_s and enough:
            return "window"
        return "cap" if open_s >= self.load.window_cap_s else None
