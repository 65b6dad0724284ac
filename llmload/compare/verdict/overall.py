"""What several comparisons say together: `E2E p95: 2.0x on short-only, 1.2x on mixed`, and the worst code of all."""

from collections.abc import Sequence
from itertools import groupby

from llmload.compare.comparison import Compared
from llmload.compare.verdict import holding
from llmload.compare.verdict.verdict import decided
from llmload.compare.words import times
from llmload.exits import Exit


def of(compared: Sequence[Compared]) -> tuple[Exit, str]:
    """The code of all verdicts together, and one sentence per candidate; empty where there is only one comparison.

    Of scenarios that decide by different figures each says its own.
    """
    code = max((item.verdict.code for item in compared), default=Exit.OK)
    if len(compared) < 2:
        return code, ""
    sides = dict.fromkeys(item.pair.candidate.name for item in compared)
    sentences = []
    for side in sides:
        mine = [item for item in compared if item.pair.candidate.name == side]
        parts = [
            f"{figure}: {', '.join(_one(item) for item in group)}"
            for figure, group in groupby(mine, key=lambda item: item.deciding.figure.words)
        ]
        name = f"{side}: " if len(sides) > 1 else ""
        sentences.append(name + "; ".join(parts))
    return code, ". ".join(sentences)


def _one(item: Compared) -> str:
    """One scenario: `2.0x on mixed`, with the word of its verdict where the ratio alone would say too much."""
    cell, _ = decided(item.cells, item.deciding)
    on = f"on {item.pair.scenario}"
    if item.verdict.word in ("not comparable", "cannot be judged") and (cell is None or holding.repeated(cell)):
        return f"{item.verdict.word} {on}"
    if cell is None or cell.gain is None:
        return f"cannot be judged {on}"
    if not holding.repeated(cell):
        return f"{times(cell.gain)} {on} (not repeated)"
    if item.verdict.word == "no difference shown":
        return f"no difference shown {on} ({times(cell.gain)})"
    return f"{times(cell.gain)} {on}"
