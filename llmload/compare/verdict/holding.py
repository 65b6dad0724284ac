"""Whether a claimed factor holds in a cell, and where else. Cells in, words out: knows no runs.

With the factor F that is claimed, the 95 % interval [low, high] of the gain and a tolerance (5 %):

    holds       low >= F (1 - tolerance): the claim may be this much too round; a gain must be shown, though (low > 1)
    direction   low > 1 and high < F: better, and not by so much
    fails       high < F otherwise
    unsure      the interval reaches F, and as well lies far below it

A candidate whose percentile is infinite in every round has the interval [0, 0] and fails; where it is so in some, there
is no interval, and that is unsure. A baseline that is infinite in every round is worse, but by no size: direction. Of
cells that do not decide, only those whose interval ends below F (1 - tolerance) count as places where a claim does not
hold: they are many, and one of them misses F by chance.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from llmload.compare.claims.claims import Claim
from llmload.compare.ratios.cells import Cell, Deciding
from llmload.compare.ratios.intervals import ROUNDS
from llmload.compare.words import INFINITE, span, times
from llmload.report.rows import ALL

Standing = Literal["holds", "direction", "fails", "unsure"]


@dataclass(frozen=True, slots=True)
class Places:
    """Where a claim holds and where it does not: cells, each with a phrase that has its figures."""

    here: tuple[tuple[Cell, str], ...] = ()
    elsewhere: tuple[tuple[Cell, str], ...] = ()
    """Where it does not hold."""


def repeated(cell: Cell) -> bool:
    """Whether there are enough rounds of both sides: fewer do not show how much runs differ by themselves."""
    return min(cell.rounds) >= ROUNDS


def standing(cell: Cell, factor: float, tolerance: float) -> Standing:
    """How a claimed factor stands in a cell; whether that is repeated is not asked here."""
    if cell.gain is None or cell.low is None or cell.high is None or cell.word in ("no word", "cannot be judged"):
        return "unsure"
    if math.isinf(cell.low):
        return "direction"
    if cell.low >= least(factor, tolerance) and (cell.low > 1 or factor <= 1):
        return "holds"
    if cell.high >= factor:
        return "unsure"
    return "direction" if cell.low > 1 else "fails"


def least(factor: float, tolerance: float) -> float:
    """From which gain on a factor is taken as held: what claims a gain is never held by none."""
    reached = factor * (1 - tolerance)
    return reached if factor <= 1 else max(reached, 1.0)


def places(claim: Claim, deciding: Deciding, cells: Sequence[Cell], tolerance: float) -> Places:
    """Where a claim holds and where not, of what it leaves open: levels without one named, classes without one named.

    Levels are looked at in the class that decides, classes at the level that decides.
    """
    here: list[tuple[Cell, str]] = []
    elsewhere: list[tuple[Cell, str]] = []
    decided = next((cell for cell in cells if _is(cell, deciding)), None)
    levels = [cell for cell in cells if cell.figure == deciding.figure and cell.workload == deciding.workload]
    classes = [cell for cell in cells if cell.figure == deciding.figure and cell.level == deciding.level]
    if len({cell.workload for cell in classes} - {ALL}) < 2:  # one class is all there is
        classes = []
    looked = [(cell, f"at {cell.level.words}") for cell in levels if claim.concurrency is None]
    looked += [(cell, f"for {cell.workload}") for cell in classes if claim.workload is None and cell not in levels]
    if claim.concurrency is not None and decided is not None:
        looked.insert(0, (decided, f"over {class_words(deciding.workload)}"))
    for cell, where in looked:
        if not repeated(cell):
            continue
        found = standing(cell, claim.factor, tolerance)
        if found == "holds":
            here.append((cell, f"{where} ({figures(cell)})"))
        elif found in ("direction", "fails") and misses(cell, claim.factor, tolerance):
            elsewhere.append((cell, f"{where} ({figures(cell)})"))
    return Places(tuple(here), tuple(elsewhere))


def _is(cell: Cell, deciding: Deciding) -> bool:
    return (cell.figure, cell.level, cell.workload) == (deciding.figure, deciding.level, deciding.workload)


def misses(cell: Cell, factor: float, tolerance: float) -> bool:
    """Whether it lies below the claim by more than the tolerance, however it is read."""
    return cell.high is not None and cell.high < least(factor, tolerance)


def figures(cell: Cell) -> str:
    """The gain with its interval: `2.0x, 1.9 to 2.1`."""
    if cell.gain in (0, math.inf):
        return f"{INFINITE} on the {'baseline' if cell.gain else 'candidate'} alone"
    between = span(cell.low, cell.high)
    return times(cell.gain) + (f", {between}" if between else "")


def class_words(workload: str) -> str:
    """A class in a sentence."""
    return "all classes" if workload == ALL else f"class {workload}"
