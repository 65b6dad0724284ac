"""Percentiles of exact values in which failures count as never finished. Knows numbers only.

The rule, for n attempts of which the last `failures` ranks are infinite: rank r = p/100 * (n - 1), counted from 0.
A whole rank takes its own value; between rank k and k + 1 the value is interpolated linearly (numpy's "linear");
where rank k + 1 is a failure and r is not whole, the percentile is infinite. numpy's and pandas' own functions
give NaN there (inf - inf), which is why they are not used.

Example: values 1, 2, 3 and one failure. n = 4, the p50 has rank 1.5 and is 2.5; the p90 has rank 2.7, between 3
and a failure, and is infinite.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

P95_MARK = 100
"""A p95 of fewer values is marked."""
P99_LEAST = 100
"""A p99 of fewer values is not shown …"""
P99_MARK = 500
"""… and one of fewer than this is marked."""

PERCENTS = (50, 90, 95, 99)

CHUNK = 100_000
"""Values that are looked at together where there are many: they fit into a cache."""


def percentile(ordered: NDArray[np.float64], percent: int, failures: int = 0) -> float | None:
    """The percentile `percent` (0 to 100) of ascending finite values followed by `failures` infinite ones.

    None where there is nothing at all; never NaN.
    """
    n = len(ordered) + failures
    if n == 0:
        return None
    # Whole numbers: 0.95 * (n - 1) in floating point may miss a whole rank by a hair and then interpolate.
    rank, rest = divmod(percent * (n - 1), 100)
    if rank >= len(ordered):
        return math.inf
    low = float(ordered[rank])
    if rest == 0:
        return low
    if rank + 1 >= len(ordered):
        return math.inf
    return low + (float(ordered[rank + 1]) - low) * rest / 100


def shown(value: float | None) -> float | str | None:
    """A figure as summary.json holds it: infinite is the string "inf"."""
    return "inf" if value is not None and math.isinf(value) else value


def _percentiles(ordered: NDArray[np.float64], failures: int) -> dict[str, float | str | None]:
    """p50, p90, p95 and p99 of ascending values and failures; the p99 is None under 100 of both together."""
    few = len(ordered) + failures < P99_LEAST
    return {
        f"p{percent}": None if few and percent == 99 else shown(percentile(ordered, percent, failures))
        for percent in PERCENTS
    }


def successes(ordered: NDArray[np.float64]) -> dict[str, Any]:
    """The block `ok` of a figure, from ascending values: n, min, mean, percentiles, max, standard deviation.

    The deviation is the sample's (n - 1 below the line), None for one value. Without values all is None but n.
    """
    n = len(ordered)
    return {
        "n": n,
        "min": float(ordered[0]) if n else None,
        "mean": float(ordered.mean()) if n else None,
        **_percentiles(ordered, 0),
        "max": float(ordered[-1]) if n else None,
        "sd": _deviation(ordered) if n > 1 else None,
    }


def _deviation(values: NDArray[np.float64]) -> float:
    """Standard deviation of a sample, without a second array of its size."""
    mean, squares = values.mean(), 0.0
    for start in range(0, len(values), CHUNK):
        off = values[start : start + CHUNK] - mean
        off *= off
        squares += float(off.sum())
    return math.sqrt(squares / (len(values) - 1))


def attempts(ordered: NDArray[np.float64], failures: int) -> dict[str, Any]:
    """The block `all` of a figure: n and percentiles in which each failure is infinite."""
    return {"n": len(ordered) + failures, **_percentiles(ordered, failures)}


def mark(percent: str, n: int | None) -> str:
    """The mark beside a percentile of `n` values: `*` for a p95 of under 100, `†` for a p99 of under 500."""
    if n is None:
        return ""
    if percent == "p95" and n < P95_MARK:
        return "*"
    return "†" if percent == "p99" and n < P99_MARK else ""
