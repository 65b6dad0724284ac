"""The window of a soak and where it is cut. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from llmload.exits import Exit, Stop
from llmload.load import soak
from llmload.load.spans import span
from llmload.report.steps import Step

LEAST_S = 1800.0
"""A window from here on is a soak without being asked for."""
MOST = 2000
"""Buckets at the most: nobody reads more, and each takes its time."""
SLACK_S, SLACK = 2.0, 0.1
"""A window is never as long as planned to the last moment: so many seconds (at most this share of a bucket) too few
leave the last bucket whole, and so many too many belong to it."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A window in buckets: bucket i lies between `edges[i]` and `edges[i + 1]`, `size_s` later but for the last one."""

    step: Step
    size_s: float
    edges: tuple[float, ...]

    @property
    def begin(self) -> float:
        """When the window opened."""
        return self.edges[0]

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.edges) - 1

    @property
    def full(self) -> int:
        """How many of them are whole: all, or all but the last."""
        last_s = self.edges[-1] - self.edges[-2]
        return self.count - (last_s < self.size_s - slack_s(self.size_s))

    @property
    def reference(self) -> int:
        """How many buckets, from the first on, the later ones are compared with."""
        return round(soak.reference_s(self.edges[-1] - self.begin, self.size_s) / self.size_s)

    @property
    def noun(self) -> str:
        """What a bucket is called."""
        return "hour" if self.size_s == soak.HOUR_S else "bucket"

    @property
    def first(self) -> str:
        """What the rest is compared with, in words."""
        seconds = self.reference * self.size_s
        return "first full hour" if seconds == soak.HOUR_S else f"first {span(seconds)}"

    def at(self, place: int) -> str:
        """When a bucket begins, after the window opened."""
        return span(place * self.size_s)


def slack_s(size_s: float) -> float:
    """By how much the last bucket may be longer or shorter than the others."""
    return min(SLACK_S, SLACK * size_s)


def find(steps: Sequence[Step], wanted_s: float | None, *, held: bool = False) -> Cut | None:
    """The longest window of a run in buckets of `wanted_s`; without a wish only of a long one, in hours as a rule.

    `held`: the scenario is a soak, which is one however short its hold was made. None where there is no such window,
    and without a wish where it is longer than any soak. Raises Stop(USAGE) where too many buckets are wished for.
    """
    long = max(steps, key=lambda step: step.window_s or 0.0, default=None)
    if long is None or long.begin is None or long.end is None or not long.window_s:
        return None
    if wanted_s is None and not held and long.window_s < LEAST_S - SLACK_S:
        return None
    size = wanted_s or soak.bucket_s(long.window_s)
    whole, rest = divmod(long.window_s, size)
    if rest > size - slack_s(size):
        whole, rest = whole + 1, 0.0
    if whole > MOST and wanted_s is None:
        return None
    if whole > MOST:
        raise Stop(
            f"--bucket: {span(size)} would cut the window of {span(long.window_s)} into {whole:,.0f} parts; expected "
            f"{MOST:,} at the most: name a longer time",
            Exit.USAGE,
        )
    inner = [long.begin + place * size for place in range(int(whole) + (rest > slack_s(size) or not whole))]
    return Cut(long, size, (*inner, long.end))
