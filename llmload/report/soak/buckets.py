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
WHOLE = 1e-3
"""So much of a bucket may be missing, and it is whole: a window is never as long as planned to the last millisecond."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A window in buckets: bucket i lies between `edges[i]` and `edges[i + 1]`, all but the last one `size_s` long."""

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
        return self.count - (last_s < self.size_s * (1 - WHOLE))

    @property
    def reference(self) -> int:
        """How many buckets, from the first on, the later ones are compared with."""
        return round(soak.reference_s(self.edges[-1] - self.begin, self.size_s) / self.size_s)

    @property
    def noun(self) -> str:
        """What a bucket is called."""
        return "hour" if self.size_s == soak.HOUR_S else "bucket"

    def at(self, place: int) -> str:
        """When a bucket begins, after the window opened."""
        return span(place * self.size_s)


def find(steps: Sequence[Step], wanted_s: float | None) -> Cut | None:
    """The longest window of a run in buckets of `wanted_s`; without a wish only of a long one, in hours as a rule.

    None where there is no such window. Raises Stop(USAGE) where there would be too many buckets.
    """
    long = max(steps, key=lambda step: step.window_s or 0.0, default=None)
    if long is None or long.begin is None or long.end is None or not long.window_s:
        return None
    if wanted_s is None and long.window_s < LEAST_S * (1 - WHOLE):
        return None
    size = wanted_s or soak.bucket_s(long.window_s)
    whole, rest = divmod(long.window_s, size)
    if rest > size * (1 - WHOLE):  # as good as whole
        whole, rest = whole + 1, 0.0
    if whole > MOST:
        raise Stop(
            f"--bucket: {span(size)} would cut the window of {span(long.window_s)} into {whole:,.0f} parts; expected "
            f"{MOST:,} at the most: name a longer time",
            Exit.USAGE,
        )
    inner = [long.begin + place * size for place in range(int(whole) + (rest > size * WHOLE or not whole))]
    return Cut(long, size, (*inner, long.end))
