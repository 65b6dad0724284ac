"""Percentiles for the eye, of any number of values in bounded memory. Pure.

Exact up to so many values; beyond, each is counted in a bucket 1 % wide, whose middle stands for it.
"""

import bisect
import math
from collections import Counter
from collections.abc import Iterable

MOST = 5000
GROWTH = math.log(1.01)
LEAST_MS = 0.001


class Spread:
    """Values in milliseconds."""

    def __init__(self, values: Iterable[float] = ()) -> None:
        self._values = sorted(values)
        self._counts: Counter[int] = Counter()

    def __len__(self) -> int:
        return len(self._values) + self._counts.total()

    def add(self, value: float) -> None:
        """One more."""
        if self._counts:
            self._counts[_bucket(value)] += 1
            return
        bisect.insort(self._values, value)
        if len(self._values) > MOST:
            self._counts = Counter(map(_bucket, self._values))
            self._values = []

    def percentile(self, percent: int) -> float | None:
        """The percentile by the report's rule; of counted values the middle of the bucket that its rank lies in."""
        n = len(self)
        if not n:
            return None
        rank, rest = divmod(percent * (n - 1), 100)
        if not self._counts:
            low, high = self._values[rank], self._values[min(rank + 1, n - 1)]
            return low + (high - low) * rest / 100
        upto = 0
        for bucket in sorted(self._counts):
            upto += self._counts[bucket]
            if upto > rank:
                return LEAST_MS * math.exp((bucket + 0.5) * GROWTH)
        return None


def _bucket(value: float) -> int:
    return math.floor(math.log(max(value, LEAST_MS) / LEAST_MS) / GROWTH)
