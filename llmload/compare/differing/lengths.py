"""How long answers are, by class and level: over 5 % of difference, prompt by prompt where the prompts are the same.

Pure. Lengths vary by themselves where a server samples, so that a difference must be beyond what chance makes, too.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from llmload.compare.differing.part import Hold, Texts
from llmload.report.building import Built

MOST = 0.05
"""Mean lengths that differ by a larger share are not the same."""
ERRORS = 3.0
"""Standard errors that a difference must have: cells are many, and one in a thousand comes by chance."""
PAIRED = 5
"""Prompts that both sides must have answered to be compared prompt by prompt."""

Cell = tuple[str, float, str]
"""Class, what the level asks for as a number, and its words."""
Sums = dict[Any, tuple[int, float, float]]
"""By prompt: number of answers, sum and sum of squares of their lengths."""


def tokens(built: Built) -> dict[Cell, Sums] | None:
    """Output tokens of answers that were ok."""
    return _of(built, "output_tokens")


def characters(built: Built) -> dict[Cell, Sums] | None:
    """Characters of answers that were ok."""
    return _of(built, "output_chars")


def _of(built: Built, column: str) -> dict[Cell, Sums] | None:
    facts = built.facts
    values, step = facts.numbers(column), facts.numbers("step")
    known = facts.ok & ~np.isnan(values)
    levels = {item.index: item for item in facts.steps if item.asked is not None}
    found: dict[Cell, Sums] = {}
    places = [facts.words("workload")[known], step[known], facts.words("prompt")[known]]
    lengths = pd.DataFrame({"length": values[known], "square": values[known] ** 2})
    grouped = lengths.groupby(places, sort=False, dropna=False)
    sums = grouped.agg(n=("length", "size"), total=("length", "sum"), squares=("square", "sum"))
    for (workload, index, prompt), *row in sums.itertuples(name=None):
        level = levels.get(int(index))
        if level is not None:
            cell = found.setdefault((str(workload), float(level.asked or 0.0), level.words), {})
            name = prompt if isinstance(prompt, str) else None
            cell[name] = _plus(cell.get(name, (0, 0.0, 0.0)), (row[0], row[1], row[2]))
    return found or None


def _plus(one: tuple[int, float, float], other: tuple[int, float, float]) -> tuple[int, float, float]:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def pool(rounds: Sequence[Mapping[Cell, Sums]]) -> dict[Cell, Sums]:
    """The answers of all rounds of a side together."""
    found: dict[Cell, Sums] = {}
    for cells in rounds:
        for cell, sums in cells.items():
            mine = found.setdefault(cell, {})
            for prompt, own in sums.items():
                mine[prompt] = _plus(mine.get(prompt, (0, 0.0, 0.0)), own)
    return found


def hold(unit: str) -> Hold:
    """Holds the mean lengths of every class and level that both have against one another."""

    def held(one: Mapping[Cell, Sums], other: Mapping[Cell, Sums]) -> Texts | None:
        far = [(cell, means) for cell in sorted(one.keys() & other.keys()) if (means := apart(one[cell], other[cell]))]
        if not far:
            return None
        cell, worst = max(far, key=lambda item: abs(math.log(max(item[1][1], 0.01) / max(item[1][0], 0.01))))
        more = f", the largest of {len(far)} such differences" if len(far) > 1 else ""
        return f"{worst[0]:.1f} {unit} in {cell[0]} at {cell[2]}", f"{worst[1]:.1f} {unit}{more}"

    return held


def apart(one: Sums, other: Sums) -> tuple[float, float] | None:
    """Both mean lengths where they differ by over 5 % and beyond chance; None where they do not."""
    both = [prompt for prompt in one if prompt in other]
    means, error = _paired(one, other, both) if len(both) >= PAIRED else _unpaired(one, other)
    far = abs(means[1] - means[0])
    return means if far > MOST * max(means) and far > ERRORS * error else None


def _paired(one: Sums, other: Sums, both: Sequence[Any]) -> tuple[tuple[float, float], float]:
    """Mean lengths over the prompts that both have, and the standard error of their difference."""
    mine, theirs = (np.array([side[prompt][1] / side[prompt][0] for prompt in both]) for side in (one, other))
    error = float(np.std(theirs - mine, ddof=1)) / math.sqrt(len(both))
    return (float(mine.mean()), float(theirs.mean())), error


def _unpaired(one: Sums, other: Sums) -> tuple[tuple[float, float], float]:
    """Mean lengths over all answers, and the standard error of their difference; infinite where one answer is all."""
    means, variance = [], 0.0
    for side in (one, other):
        n, total, squares = (sum(column) for column in zip(*side.values(), strict=True))
        mean = total / n
        means.append(mean)
        variance += math.inf if n < 2 else max(0.0, squares - n * mean * mean) / (n - 1) / n
    return (means[0], means[1]), math.sqrt(variance)
