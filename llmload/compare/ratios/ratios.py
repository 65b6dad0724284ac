"""The ratio of one figure of two sides with its interval: over rounds where there are enough, else over requests.

Says what the numbers say. Which word that deserves among many others is for `cells`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from llmload.compare import figures
from llmload.compare.figures import Figure
from llmload.compare.ratios import bootstrap, drawing, intervals
from llmload.compare.ratios.intervals import ROUNDS
from llmload.compare.ratios.measured import Measured
from llmload.compare.sides import Level
from llmload.compare.words import INFINITE

How = Literal["rounds", "requests", "requests, paired by prompt"]


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of two sides; above 1 the second is better. None: cannot be told."""

    baseline: float | None
    candidate: float | None
    gain: float | None
    low: float | None
    high: float | None
    raw: float | None
    how: How | None
    rounds: tuple[int, int]
    requests: tuple[int, int]
    p: float | None
    why: str
    values: tuple[tuple[float, ...], tuple[float, ...]]
    never: bool = False
    """One side never has the figure within reach, in any round, and the other always: no interval is needed."""

    @property
    def repeated(self) -> bool:
        """Whether there are rounds enough on both sides."""
        return min(self.rounds) >= ROUNDS


class Ratios:
    """Ratios of two sides, whose requests are drawn only where rounds are few, and once."""

    def __init__(self, baseline: Measured, candidate: Measured, *, interleaved: bool) -> None:
        self.baseline, self.candidate, self.interleaved = baseline, candidate, interleaved
        self._drawn: dict[Level, tuple[drawing.Side, drawing.Side, bool]] = {}

    def of(self, level: Level, workload: str, figure: Figure) -> Ratio | None:
        """The ratio of a figure; None where neither side has it."""
        told = [side.values(level, workload, figure) for side in (self.baseline, self.candidate)]
        if all(value is None for values in told for value in values):
            return None
        known = [[value for value in values if value is not None] for values in told]
        before, after = (middle(values) for values in told)
        gain = figures.gain(figure, before, after)
        low = high = p = None
        how: How | None = None
        never, why = False, "; ".join(_faults(figure, told))
        if min(len(values) for values in told) < ROUNDS:
            if gain is not None:
                low, high, how = self._over_requests(level, workload, figure, gain)
        elif why:
            never = _one_never(figure, told)
            if never:
                low, high, how = gain, gain, "rounds"
            else:  # infinite in some rounds: what is divided by it is no gain, and 0 no finding
                gain = None
        else:
            found = self._over_rounds(level, workload, figure, known)
            low, high, p, how = found.low, found.high, found.p, "rounds"
        return Ratio(
            baseline=before,
            candidate=after,
            gain=gain,
            low=low,
            high=high,
            raw=None if gain is None else gain if not figure.lower else 1 / gain if gain else math.inf,
            how=how,
            rounds=(len(known[0]), len(known[1])),
            requests=(sum(self.baseline.counted(level, workload)), sum(self.candidate.counted(level, workload))),
            p=p,
            why=why,
            values=(tuple(known[0]), tuple(known[1])),
            never=never,
        )

    def _over_rounds(
        self, level: Level, workload: str, figure: Figure, values: Sequence[Sequence[float]]
    ) -> intervals.Interval:
        """Student's t on the rounds' logarithms: of log ratios where rounds are paired, else Welch's."""
        sign = -1.0 if figure.lower else 1.0
        before, after = ([sign * math.log(value) for value in side] for side in values)
        least = [0.0, 0.0]
        if figure.key == "success":
            least = [_least(side, level, workload) for side in (self.baseline, self.candidate)]
        if self.interleaved and len(before) == len(after):
            ratios = [b - a for a, b in zip(before, after, strict=True)]
            return intervals.contrast([ratios], [1.0], [math.hypot(*least)])
        return intervals.contrast([after, before], [1.0, -1.0], least[::-1])

    def _over_requests(
        self, level: Level, workload: str, figure: Figure, gain: float
    ) -> tuple[float | None, float | None, How | None]:
        """The bootstrap over requests, and over what it was; without an interval where a figure is of no requests.

        The interval never leaves the gain itself out, as at a share of 0 or 1 it would.
        """
        if level not in self._drawn:
            rounds = [
                [side.attempts(at, level) for at in range(side.count)] for side in (self.baseline, self.candidate)
            ]
            self._drawn[level] = drawing.sides(*rounds)
        baseline, candidate, paired = self._drawn[level]
        closed = level.concurrency is not None
        before = drawing.drawn(baseline, workload, figure, closed=closed)
        after = drawing.drawn(candidate, workload, figure, closed=closed)
        if before is None or after is None:
            return None, None, None
        found = bootstrap.ends(before, after, lower=figure.lower)
        how: How = "requests, paired by prompt" if paired and figure.key != "success" else "requests"
        if found is None:
            return None, None, how
        scale = gain if figure.key in drawing.RATES else 1.0
        return min(found.low * scale, gain), max(found.high * scale, gain), how


def middle(values: Sequence[float | None]) -> float | None:
    """The geometric mean over rounds: infinite if any is, 0 if any is, None if any is missing."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    if math.inf in known:
        return math.inf
    if min(known) <= 0:
        return 0.0 if min(known) == 0 else None
    if min(known) == max(known):
        return known[0]
    return math.exp(math.fsum(map(math.log, known)) / len(known))


def _fine(values: Sequence[float | None]) -> bool:
    """Whether every round has a finite figure above 0."""
    return all(value is not None and 0 < value < math.inf for value in values)


def _one_never(figure: Figure, told: Sequence[Sequence[float | None]]) -> bool:
    """Whether one side has the worst that there is (infinite, or none per second) in every round, the other in none.

    Of 3 + 3 rounds of equal sides that comes about in at most 2 / 4**3 of all cases, 3 %, however often a round does.
    """
    worst = math.inf if figure.lower else 0.0
    always = [all(value == worst for value in values) for values in told]
    return always[0] != always[1] and all(all_of or _fine(values) for all_of, values in zip(always, told, strict=True))


def _faults(figure: Figure, told: Sequence[Sequence[float | None]]) -> list[str]:
    """Why there is no interval, per side; nothing where every round has a finite figure above 0."""
    found = []
    for side, values in zip(("baseline", "candidate"), told, strict=True):
        n = len(values)
        rounds = f" in {{}} of {n} rounds" if n > 1 else ""
        missing = sum(value is None for value in values)
        endless = sum(value == math.inf for value in values)
        nothing = sum(value is not None and value <= 0 for value in values)
        if missing:
            found.append(f"the {side} has no {figure.words}{rounds.format(missing)}")
        if endless:
            falls = "falls on failures" if figure.every_attempt else f"is {INFINITE}"
            found.append(f"the {side}'s {figure.heading} {falls}{rounds.format(endless)}")
        if nothing:
            found.append(f"the {side}'s {figure.words} is 0{rounds.format(nothing)}")
    return found


def _least(side: Measured, level: Level, workload: str) -> float:
    """The standard deviation that the log of a success share has between rounds even of one and the same server.

    Of a share p of n it is sqrt((1 - p) / (n p)), with half a failure added so that no failure is not no doubt. Rounds
    of 100 that all have one failure are alike by chance, not by nature.
    """
    counts = side.counted(level, workload)
    shares = [row["success_share"] or 0.0 for at in range(side.count) if (row := side.side.row(at, level, workload))]
    n = sum(counts)
    if not n:
        return 0.0
    ok = sum(share * count for share, count in zip(shares, counts, strict=True))
    p = (ok + 0.5) / (n + 1)
    return math.sqrt((1 - p) / (n / len(counts) * p))
