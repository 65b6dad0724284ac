"""One process's part of the present step: its users' seats, the calls that are its own, what it may send and has sent.

Knows no message, clock or socket.
"""

from collections import Counter
from dataclasses import dataclass, field

from llmload.record.record import RequestRecord


@dataclass(slots=True, eq=False)
class Seat:
    """One user's place in the present step."""

    number: int = 0
    made: int = 0
    """Warm-up calls made …"""
    warm: int = 0
    """… and finished."""


@dataclass(frozen=True, slots=True)
class Place:
    """This process's part of a step, so that no two processes make the same call."""

    first_user: int = 0
    """Its users are this one and those that follow."""
    rank: int = 0
    """It makes the calls number rank, rank + stride, rank + 2·stride …"""
    stride: int = 1


@dataclass(slots=True)
class Allowance:
    """What this process may still send in this step; None is no limit."""

    requests: int | None = None
    tokens: int | None = None

    def take(self, tokens: int) -> bool:
        """Use it up for one request that asks for so many tokens; False if it does not suffice."""
        if (self.requests is not None and self.requests < 1) or (self.tokens is not None and self.tokens < tokens):
            return False
        if self.requests is not None:
            self.requests -= 1
        if self.tokens is not None:
            self.tokens -= tokens
        return True


@dataclass(slots=True)
class Counts:
    """What happened in the present step, in this process."""

    ok: int = 0
    failed: int = 0
    cut: int = 0
    measured_ok: int = 0
    measured_in_flight: int = 0
    sent: Counter[str] = field(default_factory=Counter)
    warm: Counter[str] = field(default_factory=Counter)

    def ended(self, record: RequestRecord) -> None:
        """An attempt of this step came to its end."""
        if record.outcome == "ok":
            self.ok += 1
        elif record.outcome == "cancelled":
            self.cut += 1
        else:
            self.failed += 1
        if record.phase == "measure":
            self.measured_in_flight -= 1
            self.measured_ok += record.outcome == "ok"
        elif record.phase == "warmup":
            self.warm[record.workload] += 1
