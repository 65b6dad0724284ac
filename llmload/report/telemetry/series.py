"""One value over time, and what a window makes of it: the rise of a counter, the level of a gauge, how much was seen.

Pure. What samples do not tell is None, never 0:

- A counter's rise is the difference of its values at both edges of the window, each interpolated between the samples
  before and behind it, so that no guard is needed: None where an edge has no sample on both sides, or they lie far
  apart. A counter that fell was set back: what it shows then counts as risen since, which is the least it can be.
- A gauge's mean is weighted by time, over the samples inside the window alone: straight between two of them, and held
  from the window's begin to the first and from the last to its end. None of fewer than LEAST samples, or where less
  than COVERED of the window was seen.
- Two samples with more than FAR usual distances between them have a gap: nothing is known of the time between them.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FAR = 3.0
"""Distances between samples, in usual ones (the median of the run), over which there is a gap."""
LEAST = 5
"""Samples of a gauge behind a mean or a highest value."""
COVERED = 0.9
"""Share of a window that must have been seen."""


@dataclass(frozen=True, slots=True)
class Series:
    """Values and their times in Unix seconds, ascending, no two at the same time."""

    at: Floats
    values: Floats
    usual_s: float = field(init=False)
    """The usual distance between two samples."""

    def __post_init__(self) -> None:
        """The distance, once: windows ask for it over and over."""
        object.__setattr__(self, "usual_s", usual_s(self.at))


@dataclass(frozen=True, slots=True)
class Rise:
    """By how much a counter rose in a window, and whether it was set back meanwhile: then it rose by that at least."""

    amount: float
    reset: bool


@dataclass(frozen=True, slots=True)
class Level:
    """How high a gauge was in a window, from n samples."""

    mean: float
    highest: float
    n: int


def usual_s(at: Floats) -> float:
    """The usual distance between moments; 0 where there are fewer than two."""
    return float(np.median(np.diff(at))) if len(at) > 1 else 0.0


NOTHING = Series(np.empty(0), np.empty(0))


def coverage(at: Floats, begin: float, end: float, usual: float | None = None) -> float:
    """Share of a window that lies between samples without a gap, those right outside it included."""
    if end <= begin or len(at) < 2:
        return 0.0
    first, last = max(int(np.searchsorted(at, begin, "right")) - 1, 0), int(np.searchsorted(at, end, "left")) + 1
    near = at[first:last]
    steps = np.diff(near)
    inside = np.minimum(near[1:], end) - np.maximum(near[:-1], begin)
    limit = FAR * (usual_s(at) if usual is None else usual)
    return float(np.clip(inside[steps <= limit], 0, None).sum() / (end - begin))


def rise(series: Series, begin: float, end: float) -> Rise | None:
    """How far a counter rose in a window."""
    at = series.at
    first, last = int(np.searchsorted(at, begin, "right")) - 1, int(np.searchsorted(at, end, "left"))
    if end <= begin or first < 0 or last >= len(at):
        return None
    limit = FAR * series.usual_s
    if (at[first] < begin and at[first + 1] - at[first] > limit) or (
        at[last] > end and at[last] - at[last - 1] > limit
    ):
        return None
    near, values = at[first : last + 1], series.values[first : last + 1]
    steps = np.diff(values)
    risen = np.concatenate(([0.0], np.cumsum(np.where(steps < 0, values[1:], steps))))
    amount = np.interp(end, near, risen) - np.interp(begin, near, risen)
    return Rise(float(amount), bool((steps < 0).any()))


def level(series: Series, begin: float, end: float) -> Level | None:
    """The mean and the highest value of a gauge in a window."""
    at, usual = series.at, series.usual_s
    first, last = int(np.searchsorted(at, begin, "left")), int(np.searchsorted(at, end, "right"))
    if last - first < LEAST or coverage(at, begin, end, usual) < COVERED:
        return None
    near, values = at[first:last], series.values[first:last]
    steps = np.diff(near)
    seen = steps <= FAR * usual
    before, behind = near[0] - begin, end - near[-1]
    weighted = ((values[1:] + values[:-1]) / 2 * steps)[seen].sum() + values[0] * before + values[-1] * behind
    return Level(float(weighted / (steps[seen].sum() + before + behind)), float(values.max()), last - first)


def summed(parts: list[Series], begin: float, end: float) -> Series:
    """The sum of several gauges inside a window, at each moment of any of them: each is held until its next sample."""
    at = np.unique(np.concatenate([part.at[(part.at >= begin) & (part.at <= end)] for part in parts] or [np.empty(0)]))
    places = [np.searchsorted(part.at, at, "right") - 1 for part in parts]
    known = np.all([place >= 0 for place in places], axis=0) if parts else np.zeros(0, dtype=bool)
    values = [part.values[place[known]] for part, place in zip(parts, places, strict=True)]
    return Series(at[known], np.sum(values, axis=0) if values else np.empty(0))
