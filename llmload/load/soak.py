"""Into which parts a long window is cut: hours, or what fits a shorter one. The report and the display agree on it.

Pure: numbers only.
"""

HOUR_S = 3600.0
SIZES_S = (HOUR_S, 600.0, 60.0, 10.0, 1.0)
"""Sizes of a bucket that are tried, the largest first."""


def bucket_s(window_s: float) -> float:
    """The largest size of which two fit into the window: hours from 2 h on, ten minutes from 20 min on."""
    return next((size for size in SIZES_S if window_s >= 2 * size), SIZES_S[-1])


def reference_s(window_s: float, size_s: float) -> float:
    """What the rest is compared with: the first full hour in whole buckets, of less than two hours the first bucket."""
    if window_s < 2 * HOUR_S:
        return size_s
    return size_s * max(1, round(HOUR_S / size_s))
