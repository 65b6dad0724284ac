"""Capacity: up to which level each side serves what was promised, and whether the candidate serves more at once.

With an SLO a level is served where at least SERVED of the attempts met it. Without one it is served where an answer
comes, tokens over its whole time, at KEPT or more of the speed that the baseline has at the lowest level: one measure
for both. A level counts as served in every round or in none; what differs between rounds is neither.
"""

from typing import Any

from llmload.compare.kinds.looking import Look
from llmload.compare.ratios.intervals import ROUNDS
from llmload.compare.sides import Level, Side
from llmload.compare.words import percent

SERVED = 0.99
KEPT = 0.8


def words(look: Look, *, only: bool) -> str | None:
    """A sentence where the candidate serves more at once; `only`: that is all that it gained."""
    levels = look.pair.levels
    measure, least = "goodput_share", SERVED
    told = f"within the SLO for at least {percent(SERVED)} of the attempts"
    if not _known(look, measure):
        measure = "output_tokens_per_s_request"
        own = [value for value in _values(look.pair.baseline, levels[0], measure) if value is not None]
        if not own:
            return None
        least = KEPT * sum(own) / len(own)
        told = f"at {percent(KEPT)} or more of the speed that one answer has on the baseline at {levels[0].words}"
    ours, theirs = _most(look.pair.candidate, levels, measure, least), _most(look.pair.baseline, levels, measure, least)
    if ours is None or (theirs is not None and theirs.asked >= ours.asked):
        return None
    broken = [value for value in _values(look.pair.baseline, ours, measure) if value is not None and value < least]
    if len(broken) < len(look.pair.baseline.rounds):
        return None
    begin = "Only capacity rose" if only else "More is served at once"
    served = f"up to {theirs.words}" if theirs is not None else "at no level"
    sentence = f"{begin}: {told} the candidate serves up to {ours.words}, the baseline {served}"
    if min(len(look.pair.baseline.rounds), len(look.pair.candidate.rounds)) >= ROUNDS:
        return sentence
    return f"It looks as if {sentence[0].lower()}{sentence[1:]}"


def _known(look: Look, measure: str) -> bool:
    """Whether every round of both sides has it at every level."""
    return all(
        value is not None
        for side in (look.pair.baseline, look.pair.candidate)
        for level in look.pair.levels
        for value in _values(side, level, measure)
    )


def _values(side: Side, level: Level, measure: str) -> list[Any]:
    """A figure of the rows of all rounds."""
    rows = [side.row(at, level, "all") for at in range(len(side.rounds))]
    return [None if row is None else row.get(measure) for row in rows]


def _most(side: Side, levels: tuple[Level, ...], measure: str, least: float) -> Level | None:
    """The highest level that is served in every round, and below which all are."""
    found = None
    for level in levels:
        values = _values(side, level, measure)
        if not values or not all(value is not None and value >= least for value in values):
            break
        found = level
    return found
