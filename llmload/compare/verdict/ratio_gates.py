"""Gates on ratios, for pipelines: `p95_e2e<=1.05`, `success>=0.99@32`, `short/tokens>=0.95`. Pure.

[CLASS/]FIGURE OP VALUE[@LEVEL]. FIGURE is one of `figures`; what is held is the raw ratio candidate / baseline, so that
1.05 is 5 % more of it, be that good or bad; CLASS is a workload class, `all` where none is named; LEVEL is a
concurrency or a rate; without one the gate must hold at every level that both sides have. It is held on the ratio as
measured; the words give its interval. A ratio that cannot be told does not hold.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from llmload.compare import figures
from llmload.compare.comparison import GateJudged
from llmload.compare.figures import Figure
from llmload.compare.ratios.cells import Cell
from llmload.compare.words import INFINITE
from llmload.exits import Stop
from llmload.report.gates import OPERATORS

FORM = re.compile(
    r"(?:(?P<workload>[^/<>=!@]+)/)?(?P<figure>[^/<>=!@]+?)\s*(?P<operator><=|>=|==|!=|<|>)\s*(?P<value>[^@<>=]+)"
    r"(?:@(?P<level>[^@]+))?"
)
EXAMPLE = "expected for example 'p95_e2e<=1.05' or 'success>=0.99@32', on candidate / baseline"


@dataclass(frozen=True, slots=True)
class Gate:
    """One condition, as it was written and taken apart."""

    text: str
    workload: str
    figure: Figure
    operator: str
    value: float
    level: float | None


def parse(text: str) -> Gate:
    """Take a gate apart. Raises Stop(USAGE) with what is wrong with it."""
    where = f"--gate {text!r}"
    match = FORM.fullmatch(text.strip())
    if match is None:
        raise Stop(f"{where}: not understood; {EXAMPLE}")
    figure = figures.find(match["figure"], where)
    value = _number(match["value"])
    if value is None or value < 0:
        raise Stop(f"{where}: {match['value'].strip()!r} is no ratio; {EXAMPLE}")
    level = None if match["level"] is None else _number(match["level"])
    if match["level"] is not None and not level:
        raise Stop(f"{where}: {match['level'].strip()!r} is no concurrency and no rate; {EXAMPLE}")
    workload = (match["workload"] or "all").strip()
    return Gate(text.strip(), workload, figure, match["operator"], value, level)


def _number(text: str) -> float | None:
    """A number that is finite; None for everything else."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def judge(gate: Gate, cells: Sequence[Cell]) -> GateJudged:
    """Hold a gate against the cells of a pair; the words name the first level at which it fails."""
    classes = dict.fromkeys(cell.workload for cell in cells)
    if gate.workload not in classes:
        there = f"both have: {', '.join(classes)}" if classes else "there is no ratio at all"
        return GateJudged(gate.text, holds=False, words=f"no class {gate.workload!r} on both sides; {there}")
    levels = list(dict.fromkeys(cell.level for cell in cells))
    if gate.level is not None and all(level.asked != gate.level for level in levels):
        there = ", ".join(level.label for level in levels)
        return GateJudged(
            gate.text, holds=False, words=f"not both sides have a level of {gate.level:g}; both have: {there}"
        )
    wanted = [level for level in levels if gate.level in (None, level.asked)]
    mine = {cell.level: cell for cell in cells if (cell.workload, cell.figure) == (gate.workload, gate.figure)}
    seen: list[Cell] = []
    for level in wanted:
        cell = mine.get(level)
        if cell is None or cell.raw is None or math.isnan(cell.raw):
            why = f" ({cell.why})" if cell is not None and cell.why else ""
            return GateJudged(gate.text, holds=False, words=f"cannot be told at {level.label}{why}")
        if not OPERATORS[gate.operator](cell.raw, gate.value):
            return GateJudged(gate.text, holds=False, words=_said(cell))
        seen.append(cell)
    if len(seen) == 1:
        return GateJudged(gate.text, holds=True, words=_said(seen[0]))
    raws = [cell.raw for cell in seen if cell.raw is not None]
    ends = f"{_digits(min(raws))} to {_digits(max(raws))}"
    return GateJudged(gate.text, holds=True, words=f"{ends} at {len(seen)} levels")


def _said(cell: Cell) -> str:
    return f"{_digits(cell.raw)}{interval(cell)} at {cell.level.label}"


def _digits(ratio: float | None) -> str:
    """Four digits, so that a ratio near its limit does not read as the limit."""
    return "" if ratio is None else INFINITE if math.isinf(ratio) else f"{ratio:.4g}"


def interval(cell: Cell) -> str:
    """The 95 % interval of the raw ratio, as ` [0.91, 1.12]`; blank where there is none."""
    low, high = cell.low, cell.high
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return ""
    if cell.figure.lower:
        low, high = (math.inf if end == 0 else 1 / end for end in (high, low))
    return f" [{_digits(low)}, {_digits(high)}]"
