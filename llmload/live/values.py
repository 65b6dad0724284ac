"""Percentiles of many values: of the raw ones up to a million, of a sketch beyond. Knows numbers only.

The rule for raw values is the reporter's: rank q·(n-1), interpolated between two ranks; a p99 takes a hundred values.
The sketch counts values in buckets whose bounds grow by 2 %, and takes the middle of a bucket for its values, which
is wrong by 0.99 % at the most (DDSketch: Masson, Rim, Lee, VLDB 2019).
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int16]
Counts = NDArray[np.int64]

MOST = 1_000_000
"""Raw values that are kept of one figure."""
PARTS = 256
"""Arrays that they lie in at the most: in a window of a day, each second's would weigh more than what is in it."""
P99_LEAST = 100
PERCENTS = (50, 95, 99)

LEAST_MS = 0.001
"""Records tell microseconds: what is less is 0 …"""
GROWTH = 1.02
BUCKETS = 1300
"""… and this many buckets above it reach to a day."""


class Values:
    """The values of one figure, in milliseconds, each of a class."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self.n = 0
        self.parts: list[tuple[Floats, Codes]] = []
        self.counts: Counts | None = None

    @property
    def sketched(self) -> bool:
        """Whether there were too many values to keep."""
        return self.counts is not None

    def add(self, values: Floats, codes: Codes) -> None:
        """Take values, with the class of each."""
        if not len(values):
            return
        self.n += len(values)
        if self.counts is not None:
            self.counts = summed(self.counts, counted(values, codes))
            return
        self.parts.append((values, codes))
        if self.n > self._most:
            self._sketch()
        elif len(self.parts) > PARTS:
            self._joined()

    def join(self, other: "Values") -> None:
        """Take the values of another; raw ones are shared, never changed."""
        if other.counts is not None:
            self._sketch()
            self.counts = summed(self.counts, other.counts)
            self.n += other.n
        for part in other.parts:
            self.add(*part)

    def of(self, code: int | None) -> dict[str, Any]:
        """n, p50, p95 and p99 of a class, or of all."""
        if self.counts is not None:
            if code is None:
                return block(self.counts.sum(axis=0))
            return block(self.counts[code] if code < len(self.counts) else self.counts[:0].sum(axis=0))
        values, codes = self._joined()
        return exact(values if code is None else values[codes == code])

    def _joined(self) -> tuple[Floats, Codes]:
        if len(self.parts) != 1:
            values = np.concatenate([np.empty(0), *(part[0] for part in self.parts)])
            codes = np.concatenate([np.empty(0, dtype=np.int16), *(part[1] for part in self.parts)])
            self.parts = [(values, codes)]
        return self.parts[0]

    def _sketch(self) -> None:
        if self.counts is None:
            self.counts = counted(*self._joined())
            self.parts.clear()


def counted(values: Floats, codes: Codes) -> Counts:
    """Values counted into buckets: a row for each class."""
    rows = int(codes.max(initial=0)) + 1
    places = codes.astype(np.int64) * BUCKETS + buckets(values)
    return np.bincount(places, minlength=rows * BUCKETS).reshape(rows, BUCKETS)


def summed(some: Counts | None, more: Counts) -> Counts:
    """Two sketches as one, of all classes that either has."""
    if some is None:
        return more
    longer, shorter = (some, more) if len(some) >= len(more) else (more, some)
    whole = longer.copy()
    whole[: len(shorter)] += shorter
    return whole


def exact(values: Floats) -> dict[str, Any]:
    """n, p50, p95 and p99 of raw values."""
    n = len(values)
    if n == 0:
        return {"n": 0, "p50": None, "p95": None, "p99": None}
    ranks = [divmod(percent * (n - 1), 100) for percent in PERCENTS]
    ordered = np.partition(values, sorted({min(rank + more, n - 1) for rank, _ in ranks for more in (0, 1)}))
    found: dict[str, Any] = {"n": n}
    for percent, (rank, rest) in zip(PERCENTS, ranks, strict=True):
        low, high = float(ordered[rank]), float(ordered[min(rank + 1, n - 1)])
        found[f"p{percent}"] = low + (high - low) * rest / 100
    return shown(found)


def block(counts: Counts) -> dict[str, Any]:
    """The same of a sketch: the ranks' buckets stand for their values."""
    n = int(counts.sum())
    found: dict[str, Any] = {"n": n}
    upto = np.cumsum(counts)
    for percent in PERCENTS:
        rank, rest = divmod(percent * (n - 1), 100)
        low, high = (middle(int(np.searchsorted(upto, min(at, n - 1), side="right"))) for at in (rank, rank + 1))
        found[f"p{percent}"] = low + (high - low) * rest / 100 if n else None
    return shown(found)


def shown(found: dict[str, Any]) -> dict[str, Any]:
    """Without the p99 of too few values."""
    return {**found, "p99": None} if found["n"] < P99_LEAST else found


def buckets(values: Floats) -> NDArray[np.int64]:
    """The bucket of each value; 0 is for those that are 0."""
    with np.errstate(divide="ignore"):
        places = np.floor(np.log(np.maximum(values, 0.0) / LEAST_MS) / math.log(GROWTH))
    return np.asarray(np.clip(places + 1, 0, BUCKETS - 1), dtype=np.int64)


def middle(bucket: int) -> float:
    """The value that a bucket stands for."""
    return 0.0 if bucket <= 0 else 2 * LEAST_MS * GROWTH**bucket / (GROWTH + 1)
