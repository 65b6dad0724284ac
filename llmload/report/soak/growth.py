"""How fast something grows: the median of the slopes between all pairs of points (Theil and Sen). Numbers only.

One jump or a few odd values do not move it, as they would a line of least squares. The interval is Sen's, for 95 %: of
the N slopes in order, those at the ranks (N - C) / 2 and (N + C) / 2 + 1 with C = z · sqrt(n (n - 1) (2n + 5) / 18).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

POINTS = 240
"""More are put together, highest first: memory that was full for a moment was full."""
LEAST = 8
"""Fewer points tell no slope."""
Z = 1.959964


@dataclass(frozen=True, slots=True)
class Slope:
    """Units per hour, with an interval."""

    per_hour: float
    low: float
    high: float


def slope(seconds: Floats, values: Floats) -> Slope | None:
    """The slope of values over time; None for too few points."""
    known = ~np.isnan(values)
    seconds, values = thinned(seconds[known], values[known])
    n = len(values)
    if n < LEAST:
        return None
    above, below = np.triu_indices(n, 1)
    spans = (seconds[below] - seconds[above]) / 3600
    slopes = np.sort((values[below] - values[above])[spans > 0] / spans[spans > 0])
    if not len(slopes):
        return None
    off = Z * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low = max(0, math.floor((len(slopes) - off) / 2) - 1)
    high = min(len(slopes) - 1, math.ceil((len(slopes) + off) / 2))
    return Slope(float(np.median(slopes)), float(slopes[low]), float(slopes[high]))


def thinned(seconds: Floats, values: Floats) -> tuple[Floats, Floats]:
    """At most POINTS points, each the highest of an equal part of the time."""
    if len(values) <= POINTS:
        return seconds, values
    place = np.minimum(((seconds - seconds[0]) / (seconds[-1] - seconds[0]) * POINTS).astype(np.int64), POINTS - 1)
    used = np.unique(place)
    middle = seconds[0] + (used + 0.5) * (seconds[-1] - seconds[0]) / POINTS
    return middle, np.array([values[place == part].max() for part in used])
