"""Bootstraps: figures of samples drawn again from the sample itself. Numbers only; pure.

What is drawn are units: a request with all that belongs to it (its gaps among them, which are not independent of one
another), or a prompt with all its requests. A sample drawn from m units is, to a figure, how often each unit came up:
`weights` draws these counts, and every figure here is computed from counts, for all draws at once. A percentile needs
no drawn sample either: of values in order the weights before a rank are enough, and those are summed first by blocks,
then inside one block (`Ordered`).

Source: B. Efron, R. Tibshirani, An Introduction to the Bootstrap (1993), ch. 13: percentile intervals. Percentiles
follow the rule of report/percentiles.py, a failure being an infinite value; whether a draw has enough failures to make
its percentile infinite is so a matter of the draw.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Weights = NDArray[np.float32]

DRAWS = 1000
"""Samples that are drawn: the ends of a 95 % interval are then the 26th lowest and highest."""
UNITS = 2000
"""More units than this are drawn in bundles of as many each: as right, and in a bounded time."""
BLOCKS = 1024


@lru_cache(maxsize=6)
def weights(units: int, seed: int) -> Weights:
    """How often each of so many units is drawn: (DRAWS, units). The same seed gives the same draws."""
    at = np.random.default_rng(seed).integers(units, size=(DRAWS, units))
    at += np.arange(DRAWS)[:, None] * units
    counts = np.bincount(at.ravel(), minlength=DRAWS * units).reshape(DRAWS, units).astype(np.float32)
    counts.flags.writeable = False
    return counts


class Ordered:
    """Values in order, with what is needed to find any percentile of them in every draw.

    `values` (n) may be infinite, never NaN; `units` (n) says which unit each belongs to; `drawn` is (DRAWS, units).
    """

    def __init__(self, values: Floats, units: Ints, drawn: Weights) -> None:
        order = np.argsort(values, kind="stable")
        n = len(values)
        self.values, self.units, self.drawn = values[order], units[order], drawn
        blocks = int(np.clip(np.sqrt(n), 1, BLOCKS))
        self.size = max(1, -(-n // blocks))
        # Weights are whole and their sums under 2**24, so that float32 holds them exactly.
        block = np.arange(n) // self.size
        counts = np.bincount(self.units * blocks + block, minlength=drawn.shape[1] * blocks)
        self.until = np.cumsum(drawn @ counts.reshape(-1, blocks).astype(np.float32), axis=1)
        self.total = self.until[:, -1].astype(np.int64)

    def percentile(self, percent: int) -> Floats:
        """The percentile of each draw (DRAWS); NaN for a draw that holds no value."""
        if not len(self.values):
            return np.full(len(self.total), np.nan)
        rank, rest = np.divmod(percent * np.maximum(self.total - 1, 0), 100)
        below, above = self._at(rank, np.arange(len(rank)))
        with np.errstate(invalid="ignore"):
            found = np.where(rest == 0, below, below + (above - below) * rest / 100)
        found = np.where((rest != 0) & np.isinf(above), np.inf, found)
        return np.where(self.total > 0, found, np.nan)

    def _at(self, rank: Ints, rows: Ints) -> tuple[Floats, Floats]:
        """The values at a rank (0-based) and at the one above it, of the draws in `rows`."""
        last = len(self.values) - 1
        wanted, until = rank[:, None], self.until[rows]
        block = np.minimum((until <= wanted).sum(axis=1), until.shape[1] - 1)
        before = np.where(block > 0, until[np.arange(len(rows)), block - 1], 0)
        places = block[:, None] * self.size + np.arange(self.size)
        counts = self.drawn[rows[:, None], self.units[np.minimum(places, last)]]
        counts[places > last] = 0
        passed = before[:, None] + np.cumsum(counts, axis=1)
        at = (passed <= wanted).sum(axis=1)
        after = (passed <= wanted + 1).sum(axis=1)
        first = block * self.size
        below, above = (self.values[np.minimum(first + part, last)] for part in (at, after))
        further = (after == self.size) & (rank + 1 < self.total[rows])  # the next lies in a block behind this one
        if further.any():
            above[further] = self._at(rank[further] + 1, rows[further])[0]
        return below, above


def quotients(above: Floats, below: Floats, units: Ints, drawn: Weights) -> Floats:
    """Sum of `above` / sum of `below`, both (n), in each draw; NaN where there is nothing below the line.

    With 1 below the line that is a mean; with the seconds that each request was in flight below it, a rate.
    """
    count = drawn.shape[1]
    sums = np.stack([np.bincount(units, part, minlength=count) for part in (above, below)], axis=1)
    drawn_sums = drawn.astype(np.float64) @ sums
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(drawn_sums[:, 1] > 0, drawn_sums[:, 0] / drawn_sums[:, 1], np.nan)


def shares(hits: int, of: int, seed: int) -> Floats:
    """What a share of `hits` in `of` may be (DRAWS), as Jeffreys' interval says: a beta distribution.

    No bootstrap: of a sample without a failure none can be drawn, and the interval would be no interval.
    Source: Brown, Cai, DasGupta, Interval Estimation for a Binomial Proportion, Statistical Science 16 (2001).
    """
    return np.random.default_rng(seed).beta(hits + 0.5, of - hits + 0.5, size=DRAWS)


@dataclass(frozen=True, slots=True)
class Ends:
    """The 95 % interval of a gain."""

    low: float
    high: float


def ends(baseline: Floats, candidate: Floats, *, lower: bool) -> Ends | None:
    """The interval of the gain from the figures of each draw, both (DRAWS); `lower`: lower is better.

    A draw in which both are infinite, both 0, or one unknown says nothing about the gain: it may be anything, and
    counts at both ends. None where more than half of the draws say nothing.
    """
    above, below = (baseline, candidate) if lower else (candidate, baseline)
    with np.errstate(divide="ignore", invalid="ignore"):
        gains = above / below  # inf / inf, 0 / 0 and what is unknown are NaN; x / inf is 0
    silent = np.isnan(gains)
    if silent.mean() > 0.5:
        return None
    out = round(0.025 * len(gains))
    worst, best = np.sort(np.where(silent, 0.0, gains)), np.sort(np.where(silent, np.inf, gains))
    return Ends(float(worst[out]), float(best[-1 - out]))
