"""Cells as somebody looks at them who wants to say in words what became faster: signs, and phrases with figures.

A sign is what the 95 % interval shows by itself: up, down, or nothing. Where the cell's own word does not say so too
(one run a side, or not after the correction for the number of cells), what is said of it begins with "It looks as if".
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from llmload.compare.ratios.cells import Cell
from llmload.compare.sides import Level, Pair
from llmload.compare.words import INFINITE, change, comparatives, inverse, span, times

SMALLEST = 0.02
"""A gain or loss by less is no kind of faster, however sure it is …"""
NOISE = 0.1
"""… and so is one by less than this that its cell's own word does not confirm: runs of one and the same server may
differ by as much."""
CONFIRMED = ("faster", "slower")


@dataclass(frozen=True, slots=True)
class Look:
    """All cells of a pair, to be found by figure and level."""

    pair: Pair
    cells: Sequence[Cell]

    @property
    def lowest(self) -> Level:
        """The lowest level that all runs have."""
        return self.pair.levels[0]

    @property
    def highest(self) -> Level:
        """The highest; the same where there is only one."""
        return self.pair.levels[-1]

    def cell(self, key: str, level: Level, workload: str = "all") -> Cell | None:
        """A cell; None where it is not there, or says nothing."""
        found = next(
            (
                item
                for item in self.cells
                if (item.figure.key, item.level, item.workload) == (key, level, workload) and item.word != "no word"
            ),
            None,
        )
        return None if found is None or found.gain is None else found

    def first(self, keys: Sequence[str], level: Level) -> Cell | None:
        """The first of several figures that says anything."""
        return next((found for key in keys if (found := self.cell(key, level)) is not None), None)

    def sign(self, key: str, level: Level) -> int | None:
        """The sign of a figure over all classes."""
        return sign(self.cell(key, level))


def sign(cell: Cell | None) -> int | None:
    """1 where the candidate is better, -1 where it is worse, 0 where nothing is shown, None where nothing is known."""
    if cell is None or cell.gain is None:
        return None
    if cell.gain == 0 or math.isinf(cell.gain):
        return 1 if cell.gain else -1
    if cell.low is None or cell.high is None:
        return None
    if abs(math.log(cell.gain)) < math.log1p(SMALLEST if cell.word in CONFIRMED else NOISE):
        return 0
    return 1 if cell.low > 1 else -1 if cell.high < 1 else 0


def sure(cells: Iterable[Cell | None]) -> bool:
    """Whether all of the cells say by their own word what their sign says."""
    return all(cell is None or not sign(cell) or cell.word in CONFIRMED for cell in cells)


def said(cell: Cell) -> str:
    """A cell as a phrase: `TTFT p50 2.0x faster (1.9 to 2.1)`, `E2E p50 1.01x (0.98 to 1.04)`."""
    between = span(cell.low, cell.high)
    behind = f" ({between})" if between else ""
    if not sign(cell) or cell.gain is None:
        return f"{cell.figure.words} {times(cell.gain)}{behind}"
    if math.isinf(cell.gain) or cell.gain == 0:
        return f"{cell.figure.words} {INFINITE} on the {'baseline' if cell.gain else 'candidate'} alone"
    if cell.gain < 1:
        between = span(inverse(cell.high), inverse(cell.low))
        behind = f" ({between})" if between else ""
    return f"{cell.figure.words} {change(cell.gain, *comparatives(cell.figure))}{behind}"


def hedged(sentence: str, *cells: Cell | None) -> str:
    """The sentence, as sure as its cells are: `It looks as if a single request became faster: …`."""
    return sentence if sure(cells) else f"It looks as if {sentence[0].lower()}{sentence[1:]}"
