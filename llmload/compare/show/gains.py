"""The ratios as tables of text: an overview of gains, the figure that decides, and all figures behind them. Pure."""

from collections.abc import Callable, Iterable, Sequence

from llmload.compare import words
from llmload.compare.comparison import Compared
from llmload.compare.figures import FIGURES, Figure
from llmload.compare.ratios.cells import Cell
from llmload.compare.show import numbers
from llmload.compare.show.sections import Line, Section
from llmload.compare.sides import Level
from llmload.report.grid import Head
from llmload.report.rows import ALL

FELT = ("TTFT", "ITL", "TPOT", "E2E")
"""Groups of figures that one user feels; the others are of the load as a whole."""
MAIN = ("ttft_p50", "ttft_p95", "tpot_p50", "e2e_p50", "e2e_p95", "e2e_p99", "tokens", "requests", "success", "memory")
"""Figures for which a terminal has room …"""
OF_CLASSES = ("ttft_p95", "tpot_p50", "e2e_p50", "e2e_p95", "tokens", "success")
"""… and those of them that are told for each class."""
MEANING = (
    "A gain above 1: the candidate is better.",
    "▲ faster or better, ▼ slower or worse, = no difference shown, ? cannot be judged; without a sign: no word.",
    (
        "◆ the cell that decides, named beforehand. The words of all others are corrected for their number (Holm), "
        "their intervals are not."
    ),
)
ATTEMPTS = "TTFT, TPOT and E2E are over all attempts (a failure never finished), ITL over successes."

Place = tuple[Level, str, str]


def places(compared: Compared) -> dict[Place, Cell]:
    """All cells by level, class and figure."""
    return {(cell.level, cell.workload, cell.figure.key): cell for cell in compared.cells}


def known(cells: Iterable[Cell]) -> list[Figure]:
    """Figures of which any cell knows something, in the order of the list of figures; the deciding one always."""
    some = {
        cell.figure.key for cell in cells if cell.deciding or cell.baseline is not None or cell.candidate is not None
    }
    return [figure for figure in FIGURES.values() if figure.key in some]


def levels(compared: Compared) -> list[Level]:
    """Levels that have cells, ascending."""
    return sorted({cell.level for cell in compared.cells}, key=lambda level: level.asked)


def classes(compared: Compared) -> list[str]:
    """Classes that have cells, `all` last. Where the mix has one class alone, `all` says everything."""
    found = {cell.workload for cell in compared.cells}
    named = [name for name in compared.pair.workloads if name in found and name != ALL]
    named += sorted(found - {*named, ALL})
    if ALL in found and len(named) == 1 and compared.deciding.workload == ALL:
        return [ALL]
    return [*named, ALL] if ALL in found else named


def asked(found: Sequence[Level]) -> tuple[str, str]:
    """Both lines of the heading over the levels, as the report has them."""
    return ("rate", "asked") if any(level.rate is not None for level in found) else ("in", "flight")


def overview(
    compared: Compared,
    title: str,
    wanted: Callable[[Figure], bool],
    workloads: Sequence[str],
    write: Callable[[Cell | None], str] = numbers.gain,
) -> Section:
    """Gains: a line per level and class, a column per figure."""
    at = places(compared)
    figures = [figure for figure in known(compared.cells) if wanted(figure)]
    lines = []
    for level in levels(compared):
        first = True
        for workload in workloads:
            cells = [at.get((level, workload, figure.key)) for figure in figures]
            if any(cell is not None for cell in cells):
                texts = (level.label if first else "", workload, *map(write, cells))
                lines.append(Line(texts, "", first, workload == ALL))
                first = False
    heads = (
        Head(*asked(levels(compared))), Head("", "class", left=True),
        *(Head(figure.group, figure.heading) for figure in figures),
    )  # fmt: skip
    return Section("gains", title, (), heads, tuple(lines), ())


def deciding(compared: Compared) -> Section:
    """The figure that decides at every level, of the deciding class."""
    figure, workload = compared.deciding.figure, compared.deciding.workload
    at = places(compared)
    lines = []
    for level in levels(compared):
        cell = at.get((level, workload, figure.key))
        if cell is not None:
            tone = "deciding" if cell.deciding else ""
            label = level.label + (numbers.DECIDES if cell.deciding else "")
            lines.append(Line((label, *_row(cell), cell.shown_word), tone))
    heads = (
        Head(*asked(levels(compared))), Head("", "baseline"), Head("", "candidate"), Head("", "gain"),
        Head("", "95 % interval"), Head("", "rounds"), Head("", "requests"), Head("", "word", left=True),
    )  # fmt: skip
    title = f"The figure that decides: {figure.words}, {numbers.of(workload)}"
    why = [f"◆ {cell.why}" for cell in compared.cells if cell.deciding and cell.why]
    shown = [at.get((level, workload, figure.key)) for level in levels(compared)]
    if any(cell is not None and _alone(cell) for cell in shown):
        why.append("No difference shown though 1 lies outside the interval: corrected for the number of cells (Holm).")
    return Section("deciding", title, (), heads, tuple(lines), tuple(why))


def _alone(cell: Cell) -> bool:
    """Whether a cell would show a difference if it were the only one."""
    outside = cell.low is not None and cell.high is not None and not cell.low <= 1 <= cell.high
    return outside and not cell.deciding and cell.word == "no difference shown"


def _row(cell: Cell) -> tuple[str, ...]:
    counts = cell.requests
    return (
        numbers.value(cell.figure, cell.baseline),
        numbers.value(cell.figure, cell.candidate),
        words.times(cell.gain),
        numbers.interval(cell.low, cell.high),
        f"{cell.rounds[0]} + {cell.rounds[1]}",
        f"{counts[0]:,} + {counts[1]:,}",
    )


def behind(compared: Compared) -> list[Section]:
    """Everything about every cell: a table for each figure's group."""
    found: list[Section] = []
    groups = list(dict.fromkeys(figure.group for figure in known(compared.cells)))
    heads = (
        Head(*asked(levels(compared))), Head("", "class", left=True), Head("", "figure", left=True),
        Head("", "baseline"), Head("", "candidate"), Head("", "gain"), Head("", "95 % interval"),
        Head("", "rounds"), Head("", "requests"), Head("", "raw"), Head("", "p"),
        Head("", "drawn from", left=True), Head("", "word", left=True),
    )  # fmt: skip
    at = places(compared)
    for group in groups:
        figures = [figure for figure in known(compared.cells) if figure.group == group]
        lines = []
        for level in levels(compared):
            for workload in classes(compared):
                for place, figure in enumerate(figures):
                    cell = at.get((level, workload, figure.key))
                    if cell is None or (cell.baseline is None and cell.candidate is None and not cell.deciding):
                        continue
                    said = cell.shown_word + (f": {cell.why}" if cell.why else "")
                    tail = (
                        words.number(cell.raw),
                        numbers.chance(cell.p),
                        cell.how or "",
                        said,
                    )
                    mark = numbers.DECIDES if cell.deciding else ""
                    label = (level.label, workload, figure.heading + mark)
                    tone = "deciding" if cell.deciding else numbers.TONES.get(cell.word, "")
                    lines.append(Line((*label, *_row(cell), *tail), tone, place == 0, workload == ALL))
        found.append(Section("behind", group, (), heads, tuple(lines), ()))
    return found


def felt(figure: Figure) -> bool:
    """Whether one user feels it."""
    return figure.group in FELT


def whole(figure: Figure) -> bool:
    """Whether it is of the load as a whole."""
    return figure.group not in FELT


def among(keys: Sequence[str]) -> Callable[[Figure], bool]:
    """Whether a figure is one of these."""
    return lambda figure: figure.key in keys
