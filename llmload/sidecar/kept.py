"""What the sidecar knows at a moment: the last look at the GPUs, and how looking has gone so far.

Never changed: the sampler makes a new one and puts it in place of the old one, so whoever reads it needs no lock.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

from llmload.sidecar.backend import Reading

BOUNDS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Buckets of how long a look took."""
OUTCOMES = ("ok", "absent", "gone", "error")
"""Of looks: `absent`, there was no driver to open; `gone`, it went away; `error`, anything that was not foreseen."""


@dataclass(frozen=True, slots=True)
class Look:
    """One look that went well."""

    at: float
    """The machine's clock, Unix seconds, in the middle of it."""
    mono_s: float
    """`time.perf_counter()` then."""
    took_s: float
    gpus: tuple[Reading, ...]
    host: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Durations:
    """How long looks took that went well: counts by bucket, the last one for all above, and their sum."""

    counts: tuple[int, ...] = (0,) * (len(BOUNDS_S) + 1)
    sum_s: float = 0.0

    def with_one(self, took_s: float) -> "Durations":
        """With one more."""
        k = bisect_left(BOUNDS_S, took_s)
        return Durations((*self.counts[:k], self.counts[k] + 1, *self.counts[k + 1 :]), self.sum_s + took_s)


@dataclass(frozen=True, slots=True)
class Kept:
    """All that a page tells."""

    look: Look | None = None
    """The last one, unless looking failed since then."""
    last_at: float | None = None
    """When the last one that went well was, also if looking failed since then …"""
    last_mono_s: float | None = None
    """… and by the other clock."""
    outcomes: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(OUTCOMES, 0))
    durations: Durations = field(default_factory=Durations)
    calls: int = 0
    errors: Mapping[tuple[str, str], int] = field(default_factory=dict)
    fault: str = "not looked yet"
    """Why there is no look: a sentence."""
