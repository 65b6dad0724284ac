"""How far the clock of this process is from the master's, and how sure that is. Knows no message and asks no clock.

A worker asks at `asked`, the master answers with its own time, and the answer is here at `heard`: the master spoke at
some moment in between. So the offset is the middle of the two less the master's time, and wrong by half the way there
and back at most. The quickest answer counts, for a busy moment makes the way long. An older one counts as less sure
by what two clocks may drift apart meanwhile, so that a slow drift is followed.
"""

from dataclasses import dataclass

KEPT_S = 60.0
"""How long an answer may count."""
DRIFT = 1e-4
"""Seconds per second by which two clocks drift apart at most."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one answer of the master tells."""

    heard: float
    offset_s: float
    error_s: float

    def error_at(self, now: float) -> float:
        """How wrong it may be at that moment."""
        return self.error_s + DRIFT * (now - self.heard)


class Apart:
    """This process's clock less the master's."""

    def __init__(self) -> None:
        self._kept: list[Answer] = []
        self._best: Answer | None = None
        self._now = 0.0

    def answered(self, asked: float, master: float, heard: float) -> None:
        """Take an answer. Older ones that it contradicts are dropped: one of the machines slept in between."""
        new = Answer(heard, (asked + heard) / 2 - master, (heard - asked) / 2)
        self._kept = [
            old
            for old in self._kept
            if heard - old.heard < KEPT_S and abs(old.offset_s - new.offset_s) <= old.error_at(heard) + new.error_s
        ]
        self._kept.append(new)
        self._now = heard
        self._best = min(self._kept, key=lambda one: one.error_at(heard))

    @property
    def offset_s(self) -> float:
        """Seconds by which this process's clock is ahead of the master's; 0 as long as that is not known."""
        return 0.0 if self._best is None else self._best.offset_s

    @property
    def offset_ms(self) -> float | None:
        """The same in milliseconds; None as long as that is not known."""
        return None if self._best is None else round(self._best.offset_s * 1000, 3)

    @property
    def error_ms(self) -> float | None:
        """The offset is right to within this; None as long as that is not known."""
        return None if self._best is None else round(self._best.error_at(self._now) * 1000, 3)
