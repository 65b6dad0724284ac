"""How many requests were in flight: the time integral over a window. Arrays of seconds in, numbers out."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def seconds_inside(starts: Floats, ends: Floats, begin: float, end: float) -> Floats:
    """Seconds that each interval [start, end] lies inside [begin, end]; 0 for intervals that are not known (NaN)."""
    inside = np.minimum(ends, end) - np.maximum(starts, begin)
    return np.where(inside > 0, inside, 0.0)


def mean(starts: Floats, ends: Floats, begin: float, end: float) -> float | None:
    """Mean number in flight over the window = sum of the seconds inside it / its seconds; None without a window.

    Example: over [0, 10], one request from -5 to 5 and one from 2 to 4 give (5 + 2) / 10 = 0.7.
    """
    if end <= begin:
        return None
    return float(seconds_inside(starts, ends, begin, end).sum() / (end - begin))
