"""The workers of a run as the master knows them: their last words, and all of these together. Knows no message."""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from llmload.load.plan import Seen

NOTHING_SAID: dict[str, Any] = {
    "serial": -1,
    "heard_at": 0.0,
    "step": -1,
    "users": 0,
    "in_flight": 0,
    "warm": None,
    "classes_warm": {},
    "sent": {},
    "measured_in_flight": 0,
    "measured_ok": 0,
    "ok": 0,
    "failed": 0,
    "cut": 0,
    "out_of_budget": False,
    "started": 0,
    "finished": 0,
    "not_sent": 0,
    "asked_tokens": 0,
    "stood_still_s": 0.0,
    "clock_offset_ms": None,
    "clock_error_ms": None,
    "failure": None,
    "host": None,
    "pid": None,
}
"""A status that says nothing."""


@dataclass(slots=True)
class Member:
    """One worker."""

    node: str
    """Locust's id of the process."""
    worker: str
    """Its id in records."""
    host: str | None = None
    pid: int | None = None
    said: dict[str, Any] = field(default_factory=lambda: dict(NOTHING_SAID))
    """Its last status."""
    spoke_at: float = field(default_factory=time.monotonic)
    """When its last word of any kind came, by the monotonic clock here."""
    word: tuple[str, dict[str, Any]] | None = None
    """What was said to it last of what it has to answer …"""
    word_at: float = 0.0
    """… and when, by the monotonic clock here."""
    drained: tuple[int, int] | None = None
    """Started and finished, once nothing is left to be sent."""
    gone: str | None = None
    """How it was lost, if it was; for good."""
    clock_drift_s: float | None = None
    """By how much that machine's clock was set meanwhile, as it said at the end."""

    @property
    def started(self) -> int:
        """Attempts that it began, as far as is known."""
        return self.drained[0] if self.drained else int(self.said["started"])

    @property
    def finished(self) -> int:
        """Attempts that ended, as far as is known."""
        return self.drained[1] if self.drained else int(self.said["finished"])


def together(members: Iterable[Member], step: int) -> Seen:
    """What all members report about a step. Users count whatever the step: they come up before it begins."""
    said = [member.said for member in members]
    there = [status for status in said if status["step"] == step]
    warm = [status["warm"] for status in there if status["warm"] is not None]
    classes_warm: Counter[str] = Counter()
    sent: Counter[str] = Counter()
    for status in there:
        classes_warm.update(status["classes_warm"])
        sent.update(status["sent"])
    return Seen(
        users=sum(status["users"] for status in said),
        in_flight=sum(status["in_flight"] for status in there),
        warm=min(warm, default=0),
        classes_warm=classes_warm,
        sent=sent,
        measured_in_flight=sum(status["measured_in_flight"] for status in there),
        ok=sum(status["ok"] for status in there),
        failed=sum(status["failed"] for status in there),
        out_of_budget=any(status["out_of_budget"] for status in there),
    )


def apart_ms(members: Iterable[Member], told_at: float) -> float:
    """How far apart the moments are at which the master said something and each worker heard it, on one clock."""
    heard = [float(member.said["heard_at"]) - (member.said["clock_offset_ms"] or 0.0) / 1000 for member in members]
    return round((max([told_at, *heard]) - min([told_at, *heard])) * 1000, 3)


def share(left: int | None, users: int, of: int) -> int | None:
    """A worker's part of what the run may still send, by its users; the parts never sum to more than is left."""
    return None if left is None else max(0, left) * users // of
