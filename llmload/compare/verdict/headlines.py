"""The headline of a verdict: one sentence with figure, gain, interval, level, class and rounds. Decides its word too.

Cells and phrases in, words out.
"""

import math
from collections.abc import Callable, Sequence

from llmload.compare.claims.claims import Claim
from llmload.compare.differing.differences import Difference
from llmload.compare.ratios.cells import Cell, Deciding
from llmload.compare.sides import Pair
from llmload.compare.verdict import holding
from llmload.compare.verdict.holding import Places, Standing
from llmload.compare.words import INFINITE, change, claimed, comparatives, inverse, span, times

SHORT = 200
"""Characters of what differs, and of what to do about it, that a headline has room for."""


def where(pair: Pair, cell: Cell) -> str:
    """The cell in words: `E2E p95 at 32 in flight over all classes`, with the scenario's only class as all there is."""
    alone = len(pair.workloads) <= 2
    workload = "" if alone else f" over {holding.class_words(cell.workload)}"
    return f"{cell.figure.words} at {cell.level.words}{workload}"


def _backing(cell: Cell, *, inverted: bool = False) -> str:
    """The interval and what is behind it: `13.5 to 15.0, 3 + 3 rounds`; inverted, of how much worse it is."""
    between = span(inverse(cell.high), inverse(cell.low)) if inverted else span(cell.low, cell.high)
    if not holding.repeated(cell):
        return f"{between} over requests" if between else "no interval"
    return (f"{between}, " if between else "") + f"{cell.rounds[0]} + {cell.rounds[1]} rounds"


def _few(cell: Cell) -> str:
    """How many runs there are where they are too few, and how many are needed."""
    names = {1: "one run", 2: "two runs"}
    least, most = min(cell.rounds), max(cell.rounds)
    have = (
        f"{names.get(least, f'{least} runs')} a side"
        if least == most
        else f"{cell.rounds[0]} and {cell.rounds[1]} runs"
    )
    return f"{have}; three a side are needed for a verdict"


def became(pair: Pair, cell: Cell) -> str:
    """What a figure did: `E2E p95 at 32 in flight became 14.2x faster (13.5 to 15.0, 3 + 3 rounds)`."""
    for value, whose in ((cell.candidate, "candidate"), (cell.baseline, "baseline")):
        if value == math.inf:
            return f"{where(pair, cell)} is {INFINITE} on the {whose} alone: too many of its attempts failed"
    gain = 1.0 if cell.gain is None else cell.gain
    return (
        f"{where(pair, cell)} became {change(gain, *comparatives(cell.figure))} ({_backing(cell, inverted=gain < 1)})"
    )


def not_comparable(undeclared: Sequence[Difference]) -> str:
    """The headline where somebody changed something without saying so."""
    if len(undeclared) == 1 and len(undeclared[0].words) <= SHORT:
        return f"not comparable: {undeclared[0].words}"
    names = list(dict.fromkeys(item.name for item in undeclared))
    verb = "differ" if len(names) > 1 or names[0].endswith("s") else "differs"
    return f"not comparable: {listed(names)} {verb}, which nobody declared"


def no_figure(deciding: Deciding, cell: Cell | None) -> str:
    """The headline where the deciding figure is not there on both sides."""
    why = (cell.why if cell is not None else "") or "it was not measured on both sides"
    named = f"{deciding.figure.words} at {deciding.level.words} over {holding.class_words(deciding.workload)}"
    return f"cannot be judged: {named}: {why}"


def without_claim(pair: Pair, cell: Cell) -> tuple[str, str]:
    """Word and headline where nothing is claimed."""
    up, down = comparatives(cell.figure)
    if not holding.repeated(cell):
        return "not repeated", f"not repeated: {became(pair, cell)}; {_few(cell)}"
    if cell.word in ("faster", "slower"):
        return cell.word, f"{up if cell.word == 'faster' else down}: {became(pair, cell)}"
    if cell.word == "no difference shown":
        small = f"; {cell.why}" if cell.why else ""
        return cell.word, f"{cell.word}: {where(pair, cell)}: {times(cell.gain)} ({_backing(cell)}){small}"
    why = f"; {cell.why}" if cell.why else ""
    return "cannot be judged", f"cannot be judged: {became(pair, cell)}{why}"


def of_claim(pair: Pair, cell: Cell, claim: Claim, tolerance: float, places: Places) -> tuple[str, str]:
    """Word and headline of a claim."""
    factor = claimed(claim.factor)
    if not holding.repeated(cell):
        said = f"not repeated: {became(pair, cell)}, {factor} is claimed; {_few(cell)}"
        return "cannot be judged", f"cannot be judged: {said}"
    if places.here and places.elsewhere:
        here, elsewhere = (listed([phrase for _, phrase in found]) for found in (places.here, places.elsewhere))
        holds = f"{factor} {cell.figure.words} holds {here}; not {elsewhere}"
        return "partly", f"partly: {holds}"
    found = holding.standing(cell, claim.factor, tolerance)
    word, sentence = CLAIM[found](pair, cell, factor, claimed(holding.least(claim.factor, tolerance)))
    return word, f"{word}: {sentence}"


def _holds(pair: Pair, cell: Cell, factor: str, _least: str) -> tuple[str, str]:
    return "supported", f"{became(pair, cell)}; {factor} is claimed"


def _direction(pair: Pair, cell: Cell, factor: str, _least: str) -> tuple[str, str]:
    if cell.gain == math.inf:
        return "direction confirmed, size not", f"{became(pair, cell)}; better, and of no size to hold {factor} against"
    size, between = times(cell.gain), span(cell.low, cell.high)
    rounds = f"{cell.rounds[0]} + {cell.rounds[1]} rounds"
    return "direction confirmed, size not", f"{size} ({between}), not {factor}: {where(pair, cell)}, {rounds}"


def _fails(pair: Pair, cell: Cell, factor: str, _least: str) -> tuple[str, str]:
    worse = cell.gain == 0 or (cell.high is not None and cell.high < 1)
    got = became(pair, cell) if worse else f"{where(pair, cell)}: {times(cell.gain)} ({_backing(cell)})"
    return "not supported", f"{got}; {factor} is claimed" if cell.gain == 0 else f"{got}, not {factor}"


def _unsure(pair: Pair, cell: Cell, factor: str, least: str) -> tuple[str, str]:
    got, why = became(pair, cell), f" ({cell.why})" if cell.why else ""
    if cell.word == "no word":
        return "cannot be judged", f"{got}, {factor} is claimed, and this figure has no word here{why}"
    if cell.low is None or cell.high is None:
        return "cannot be judged", f"{got}, so there is no interval to hold {factor} against{why}"
    unsure = f"that may be the {factor} that is claimed, and may be less than the {least} that would do"
    return "cannot be judged", f"{got}: {unsure}; more rounds, or longer ones, would tell"


CLAIM: dict[Standing, Callable[[Pair, Cell, str, str], tuple[str, str]]] = {
    "holds": _holds,
    "direction": _direction,
    "fails": _fails,
    "unsure": _unsure,
}
"""Word and sentence for how a claim stands in the cell that decides."""


def listed(phrases: Sequence[str]) -> str:
    """Phrases as one: `a, b and c`."""
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} and {phrases[-1]}"
