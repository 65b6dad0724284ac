"""A cliff: long answers that slow down after a number of tokens on the candidate and not on the baseline.

Speeds are those of `report.positions`, by range of positions in the answer. A range falls off where its speed is below
FALLEN of that of the range before it, in every round of the candidate and in none of the baseline, at one level.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

from llmload.compare.kinds.looking import Look
from llmload.compare.ratios.intervals import ROUNDS
from llmload.compare.sides import Level, Side
from llmload.compare.words import percent, times
from llmload.report.positions import RANGES

FALLEN = 0.8
FASTER = 1.05
"""Candidate's speed over the baseline's in a range, from which on it counts as faster there."""

Speeds = tuple[float | None, ...]
"""Tokens per second in each range; None where no answer was that long."""


@dataclass(frozen=True, slots=True)
class Cliff:
    """After how many tokens. `short_only`: before it the candidate is faster than the baseline, after it it is not."""

    after: int
    short_only: bool
    words: str


def find(look: Look) -> Cliff | None:
    """The first cliff, with its figures at the lowest level that has it."""
    pair = look.pair
    sides = {level: (curves(pair.baseline, level), curves(pair.candidate, level)) for level in pair.levels}
    for at in range(1, len(RANGES)):
        levels = [level for level, (theirs, ours) in sides.items() if _stands(theirs, ours, at)]
        if levels:
            return _cliff(levels, at, *sides[levels[0]])
    return None


def _stands(theirs: list[Speeds], ours: list[Speeds], at: int) -> bool:
    """Whether the candidate falls off there in every round, and the baseline in none."""
    falls, holds = all(_falls(speeds, at) for speeds in ours), all(_holds(speeds, at) for speeds in theirs)
    return bool(ours and theirs) and falls and holds


def curves(side: Side, level: Level) -> list[Speeds]:
    """The speeds of every round at a level."""
    rows = [side.row(at, level, "all") for at in range(len(side.rounds))]
    return [
        tuple(built.speeds.get(row["step"], [None] * len(RANGES)))
        for built, row in zip(side.rounds, rows, strict=True)
        if row is not None
    ]


def mean(rounds: list[Speeds]) -> Speeds:
    """The geometric mean over rounds, range by range; None where a round does not know one."""
    return tuple(
        _mean([speed for speed in place if speed]) if all(place) else None for place in zip(*rounds, strict=True)
    )


def _mean(speeds: list[float]) -> float:
    return math.exp(math.fsum(math.log(speed) for speed in speeds) / len(speeds))


def _kept(speeds: Speeds, at: int) -> float | None:
    """A range's speed as a part of that of the range before it."""
    before, here = list(pairwise(speeds))[at - 1]
    return None if not before or here is None else here / before


def _falls(speeds: Speeds, at: int) -> bool:
    kept = _kept(speeds, at)
    return kept is not None and kept < FALLEN


def _holds(speeds: Speeds, at: int) -> bool:
    kept = _kept(speeds, at)
    return kept is not None and kept >= FALLEN


def _cliff(levels: list[Level], at: int, baseline: list[Speeds], candidate: list[Speeds]) -> Cliff:
    after, theirs, ours = RANGES[at][0] - 1, mean(baseline), mean(candidate)
    early, late = _over(ours[at - 1], theirs[at - 1]), _over(ours[at], theirs[at])
    kept, kept_theirs = _over(ours[at], ours[at - 1]), _over(theirs[at], theirs[at - 1])
    short_only = early >= FASTER and late < FASTER
    begin = "Faster in short outputs only" if short_only else "Long answers slow down"
    places = f" (and at {', '.join(level.label for level in levels[1:])})" if len(levels) > 1 else ""
    sentence = (
        f"{begin}: a cliff after {after} tokens at {levels[0].words}{places}: from there on the candidate decodes at "
        f"{percent(kept)} of its speed before, the baseline at {percent(kept_theirs)}; against the baseline it is "
        f"{times(early)} before the cliff and {times(late)} behind it"
    )
    sure = min(len(baseline), len(candidate)) >= ROUNDS
    return Cliff(after, short_only, sentence if sure else f"It looks as if {sentence[0].lower()}{sentence[1:]}")


def _over(above: float | None, below: float | None) -> float:
    return (above or math.nan) / (below or math.nan)
