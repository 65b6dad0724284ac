"""Figures and ratios as text, with their units. Pure; blank where there is nothing, a sign where it is infinite."""

import math

from llmload.compare import words
from llmload.compare.figures import Figure
from llmload.compare.ratios.cells import Cell
from llmload.report.rows import ALL

SIGNS = {
    "faster": "▲",
    "slower": "▼",
    "no difference shown": "=",
    "cannot be judged": "?",
    "no word": "",
    "not repeated": "",
}
"""The mark of a word in tables that have no room for it."""
DECIDES = "◆"
MARKS = "".join(SIGNS.values()) + DECIDES
TONES = {"faster": "good", "slower": "bad"}
"""Of a word: what it looks like."""


def digits(measured: float) -> str:
    """Three significant digits: 0.951, 1.43, 14.2, 118, 12,345."""
    if math.isinf(measured):
        return words.INFINITE
    if measured == 0:
        return "0"
    rounded = float(f"{measured:.3g}")
    places = max(0, 2 - math.floor(math.log10(abs(rounded))))
    return f"{measured:,.{min(places, 6)}f}"


def interval(low: float | None, high: float | None) -> str:
    """`[1.3, 1.6]`."""
    return f"[{words.span(low, high).replace(' to ', ', ')}]" if low is not None and high is not None else ""


def value(figure: Figure, measured: float | None) -> str:
    """A figure with its unit: `812 ms`, `12.3 s`, `98.7 %`, `71.3 GiB`."""
    if measured is None:
        return ""
    if math.isinf(measured):
        return words.INFINITE
    if figure.unit == "ms" and measured >= 10_000:
        return f"{digits(measured / 1000)} s"
    if figure.unit == "share":
        return f"{100 * measured:.1f} %"
    if figure.unit == "bytes":
        return f"{digits(measured / 2**30)} GiB"
    return f"{digits(measured)} {figure.unit}"


def chance(p: float | None) -> str:
    """A p-value: `0.012`, `< 0.001`."""
    return "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def gain(cell: Cell | None) -> str:
    """The gain with its marks, for tables of gains alone: `1.4▲`, and `◆` where it decides."""
    if cell is None:
        return ""
    sign = SIGNS[cell.word] if told(cell) else ""
    return f"{words.number(cell.gain)}{sign}{DECIDES if cell.deciding else ''}"


def told(cell: Cell) -> bool:
    """Whether anything is to be said of a cell: both sides have the figure, or it was to decide."""
    return cell.deciding or None not in (cell.baseline, cell.candidate)


def of(workload: str) -> str:
    """A class in a sentence."""
    return "all classes" if workload == ALL else f"class {workload}"
