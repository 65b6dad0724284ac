"""Do slow first tokens come when something is sampled? Told from the moments of the samples and of the requests.

Of each step and class the slowest 5 % of first tokens are taken. Those whose waits (sent to first token) overlap share
one cause and count as one. Each one either has a moment of sampling in its wait or not; by chance it would have one as
often as waits of the same length that begin when the other requests near it (within two periods of the sampling, 30 s
at least) were sent. So neither long waits nor a load in step with the sampling look like an effect. The number of
those that have one is then held against the sum of such chances (Poisson's binomial, exact).

Pure: arrays of seconds in.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SLOWEST = 0.05
GROUP = 40
"""Requests that a step and class needs, so that the slowest of them are at least two."""
LEAST = 10
"""Slow ones that are needed to tell anything, and moments of sampling; and others near each."""
CHANCE = 0.001
NEAR_S = 30.0
MOST = 5_000
"""More slow ones than this tell nothing more."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Requests with a first token: when they were sent, how long they waited for it, and of which step and class."""

    start: Floats
    wait_s: Floats
    group: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Moments:
    """When a source was sampled, in ascending seconds, and until when each look took, ascending too."""

    at: Floats
    until: Floats

    def inside(self, begin: Floats, length_s: float) -> Flags:
        """Which spans of a length have one of them in it."""
        begun = np.searchsorted(self.at, begin + length_s, side="right")
        return np.asarray(begun > np.searchsorted(self.until, begin, side="left"))


@dataclass(frozen=True, slots=True)
class Clustered:
    """Of `n` slow waits `hit` have a moment of `source` in them, and `expected` would by chance (`p`)."""

    source: str
    n: int
    hit: int
    expected: float
    p: float
    every_s: float


def find(waits: Waits, moments: Mapping[str, Moments]) -> Iterator[Clustered]:
    """Sources whose moments slow first tokens come with."""
    begin, end, others = slow(waits)
    if len(begin) < LEAST or len(others) < LEAST:
        return
    told = {source: item for source, item in moments.items() if len(item.at) >= LEAST}
    for source, item in told.items():
        found = of(source, begin, end, others, item)
        if found is not None and found.p * len(told) < CHANCE:
            yield found


def slow(waits: Waits) -> tuple[Floats, Floats, Floats]:
    """Begin and end of the slow waits, those that overlap in one, and when the others were sent, ascending."""
    chosen = np.zeros(len(waits.start), dtype=bool)
    for group in np.unique(waits.group):
        mine = np.flatnonzero(waits.group == group)
        if len(mine) >= GROUP:
            most = int(len(mine) * SLOWEST)
            chosen[mine[np.argsort(waits.wait_s[mine], kind="stable")[-most:]]] = True
    others = np.sort(waits.start[~chosen])
    order = np.argsort(waits.start[chosen], kind="stable")
    begin = waits.start[chosen][order]
    end = np.maximum.accumulate(begin + waits.wait_s[chosen][order]) if len(begin) else begin
    first = np.concatenate(([True], begin[1:] > end[:-1])) if len(begin) else np.zeros(0, dtype=bool)
    last = np.concatenate((first[1:], [True])) if len(begin) else first
    return begin[first], end[last], others


def of(source: str, begin: Floats, end: Floats, others: Floats, moments: Moments) -> Clustered | None:
    """The slow waits against one source; None where too few of them have enough others near."""
    at = moments.at
    every_s = float(np.median(np.diff(at)))
    near_s = max(NEAR_S, 2 * every_s)
    inside = (begin >= at[0]) & (end <= at[-1])
    begin, end = begin[inside], end[inside]
    if len(begin) > MOST:
        some = np.linspace(0, len(begin) - 1, MOST).astype(np.int64)
        begin, end = begin[some], end[some]
    hit, chances = 0, []
    for since, until in zip(begin, end, strict=True):
        low, high = np.searchsorted(others, (since - near_s, since + near_s))
        beside = others[low:high]
        beside = beside[(beside >= at[0]) & (beside + until - since <= at[-1])]
        if len(beside) < LEAST:
            continue
        hit += bool(moments.inside(np.array([since]), until - since)[0])
        chances.append((int(moments.inside(beside, until - since).sum()) + 1) / (len(beside) + 1))
    if len(chances) < LEAST:
        return None
    return Clustered(source, len(chances), hit, float(sum(chances)), at_least(hit, chances), every_s)


def at_least(hit: int, chances: list[float]) -> float:
    """The chance that of independent events with these chances so many or more come true."""
    spread = np.zeros(len(chances) + 1)
    spread[0] = 1.0
    for chance in chances:
        spread[1:] = spread[1:] * (1 - chance) + spread[:-1] * chance
        spread[0] *= 1 - chance
    return float(spread[hit:].sum())
