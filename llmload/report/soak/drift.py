"""Whether a percentile of a bucket is another than in the first full hour, and how sure that is. Numbers only.

    change    = percentile of the bucket / percentile of the first full hour - 1
    interval  = exp(ln(1 + change) ± t · sqrt(a² + b²)) - 1

a and b are the standard deviations of the logarithm of both percentiles, each by a bootstrap over blocks of time: the
span is cut into 40 blocks, 40 of them are drawn with replacement, 400 times, and the percentile of each draw is taken.
Whole blocks are drawn since requests of the same minute share their fate: drawn one by one they would look far more
certain than they are. t is Student's for 39 degrees of freedom, and for the chance of 5 % shared out among all
comparisons that are made (Bonferroni): buckets times figures. The draws have a fixed seed: the same records give the
same interval.

The percentiles themselves are exact; those of the draws are read from a histogram of 2,000 bins in the logarithm,
between whose bounds they are interpolated.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from llmload.chance import newcombe

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

BLOCKS = 40
DRAWS = 400
BINS = 2000
CHANCE = 0.05
"""Of being wrong anywhere, all comparisons together."""
LEAST_MS = 0.001
"""Records tell microseconds; a logarithm needs more than 0."""
CHUNK = 1_000_000


@dataclass(frozen=True, slots=True)
class Change:
    """A bucket against the first hour: 0.1 is 10 % more."""

    change: float
    low: float
    high: float

    @property
    def real(self) -> bool:
        """Whether it is another than none."""
        return self.low > 0 or self.high < 0


def deviations(values: Floats, blocks: Counts, percents: tuple[int, ...], seed: int) -> list[float]:
    """Standard deviation of the logarithm of each percentile of `values`, of which each lies in a block (from 0)."""
    counts, low, width = _histogram(values, blocks)
    if width == 0.0:
        return [0.0] * len(percents)
    draws = np.random.default_rng(seed).multinomial(BLOCKS, [1 / BLOCKS] * BLOCKS, size=DRAWS).T
    upto = np.cumsum(counts, axis=1)
    totals = (draws * upto[:, -1:]).sum(axis=0)
    draws, totals = draws[:, totals > 0], totals[totals > 0]

    def below(bins: Counts) -> Counts:
        """How many values of each draw lie in its bin or below."""
        return np.asarray((draws * upto[:, bins]).sum(axis=0))

    found = []
    for percent in percents:
        rank = totals * percent / 100
        first, last = np.zeros(len(totals), dtype=np.int64), np.full(len(totals), BINS - 1)
        while (first < last).any():
            middle = (first + last) // 2
            enough = below(middle) >= rank
            first, last = np.where(enough, first, middle + 1), np.where(enough, middle, last)
        before = np.where(last > 0, below(np.maximum(last - 1, 0)), 0)
        inside = below(last) - before
        share = (rank - before) / np.maximum(inside, 1)
        found.append(float(np.std(low + (last + share) * width, ddof=1)) if len(totals) > 1 else math.inf)
    return found


def _histogram(values: Floats, blocks: Counts) -> tuple[Counts, float, float]:
    """Values counted by block and bin of their logarithm; where the bins begin, and how wide they are."""
    low, high = (math.log(max(float(edge), LEAST_MS)) for edge in (values.min(), values.max()))
    width = (high - low) / BINS
    counts = np.zeros(BLOCKS * BINS, dtype=np.int64)
    for start in range(0, len(values) if width else 0, CHUNK):
        part = np.log(np.maximum(values[start : start + CHUNK], LEAST_MS))
        bins = np.minimum(((part - low) / width).astype(np.int64), BINS - 1)
        counts += np.bincount(blocks[start : start + CHUNK] * BINS + bins, minlength=BLOCKS * BINS)
    return counts.reshape(BLOCKS, BINS), low, width


def change(now: float, first: float, deviation: float, comparisons: int) -> Change:
    """The change with its interval; `deviation` is that of the difference of the logarithms."""
    middle = math.log(max(now, LEAST_MS) / max(first, LEAST_MS))
    half = student(comparisons) * deviation
    return Change(math.expm1(middle), math.expm1(middle - half), math.expm1(min(middle + half, 700.0)))


def student(comparisons: int) -> float:
    """Student's t for a chance of CHANCE shared out among so many two-sided comparisons (Cornish and Fisher)."""
    z, free = normal(comparisons), BLOCKS - 1
    return z + (z**3 + z) / (4 * free) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * free**2)


def normal(comparisons: int) -> float:
    """The same of the normal distribution."""
    return NormalDist().inv_cdf(1 - CHANCE / (2 * max(1, comparisons)))


def shares(failed: int, of: int, first_failed: int, first_of: int, comparisons: int) -> Change:
    """The difference of two shares, in parts of 1, with Newcombe's interval (from Wilson's of each share)."""
    low, high = newcombe((failed, of), (first_failed, first_of), normal(comparisons))
    return Change(failed / of - first_failed / first_of, low, high)
