"""The page: complete in itself, without network or script. Text comes in escaped by the template engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import jinja2
from markupsafe import Markup, escape

from llmload import __version__
from llmload.compare import words
from llmload.compare.comparison import Compared, Comparison
from llmload.compare.figures import Figure
from llmload.compare.ratios.cells import Cell
from llmload.compare.show import again, beside, gains, inks, numbers, plots, sections
from llmload.compare.sides import Level
from llmload.plain import one_line
from llmload.report.grid import Head
from llmload.report.plots import Plot
from llmload.report.rows import ALL

EXAMPLES = 20
"""Pairs of answers that are shown."""
LONG = 22
"""A cell of more characters may break into lines."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Gains as cells: groups of columns with their widths, figures, and rows of (level or nothing, class, cells)."""

    title: str
    asked: str
    groups: tuple[tuple[str, int], ...]
    figures: tuple[Figure, ...]
    rows: tuple[tuple[Level | None, str, tuple[Cell | None, ...]], ...]


def text(comparison: Comparison) -> str:
    """The page."""
    claimed = None if comparison.claim is None else comparison.claim.factor
    pairs = [
        _pair(place, compared, again.comparing(comparison, compared), claimed)
        for place, compared in enumerate(comparison.compared)
    ]
    page = (
        _pages()
        .get_template("compare.html.j2")
        .render(
            comparison=comparison,
            version=__version__,
            inks=inks,
            claim=sections.claim(comparison),
            overview=sections.overview(comparison),
            pairs=pairs,
            changes=[sections.changes(told) for told in comparison.changes],
        )
    )
    return page.lstrip()


@cache
def _pages() -> jinja2.Environment:
    """Templates: compiled once, however many pages are written."""
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader("llmload.compare.show", "pages"), jinja2.PackageLoader("llmload.report", "pages")]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: one_line(value) if type(value) is str else value,  # markup is ours
    )
    environment.globals.update(numbers=numbers, words=words, verdicts=sections.VERDICTS, rules=sections.RULES, ALL=ALL)
    environment.filters["long"] = lambda cell: len(cell) > LONG
    environment.filters["kept"] = escape  # a text of several lines, made fit already
    environment.filters["groups"] = _groups
    return environment


def _pair(place: int, compared: Compared, command: str, claimed: float | None) -> dict[str, object]:
    """Everything that the template needs of one pair."""
    prefix = f"c{place}-"
    radar = None if compared.rule is None else plots.rule(compared.rule, prefix)
    commands = again.measurings(compared.pair)
    found = () if compared.answers is None else compared.answers.examples
    examples = [
        (
            item.prompt_id,
            None if item.prompt is None else beside.plain(item.prompt),
            *beside.marked(item.baseline, item.candidate),
            item.found,
        )
        for item in found[:EXAMPLES]
    ]
    return {
        "id": f"pair-{place + 1}",
        "compared": compared,
        "headline": sections.headline(compared),
        "warnings": sections.warnings(compared),
        "conditions": sections.conditions(compared, claimed=claimed is not None),
        "differences": sections.differences(compared),
        "ratios": sections.ratios(compared),
        "deciding": gains.deciding(compared),
        "matrices": _matrices(compared),
        "behind": gains.behind(compared),
        "radar": None if radar is None else _figure(radar),
        "plots": [_figure(plot) for plot in plots.draw(compared, prefix, claimed)],
        "answers": sections.answers(compared),
        "examples": examples,
        "more": max(0, len(found) - EXAMPLES),
        "money": sections.money(compared),
        "capabilities": sections.capabilities(compared),
        "questions": sections.questions(compared),
        "runs": sections.runs(compared),
        "meaning": (*gains.MEANING, "In brackets: the 95 % interval of the gain.", gains.ATTEMPTS),
        "commands": [("compare again", command), *((f"measure {name} again", told) for name, told in commands if told)],
    }


def _figure(plot: Plot) -> tuple[str, str, Markup, bool]:
    return plot.title, plot.words, Markup(plot.svg), plot.wide  # noqa: S704  (our own SVG)


def _matrices(compared: Compared) -> list[Matrix]:
    """Gains of all levels and classes, in two tables that a screen can hold."""
    wanted = (("What one user feels", gains.felt), ("The load as a whole", gains.whole))
    at = gains.places(compared)
    found = []
    for title, choose in wanted:
        figures = tuple(figure for figure in gains.known(compared.cells) if choose(figure))
        rows: list[tuple[Level | None, str, tuple[Cell | None, ...]]] = []
        for level in gains.levels(compared):
            first: Level | None = level
            for workload in gains.classes(compared):
                cells = tuple(at.get((level, workload, figure.key)) for figure in figures)
                if any(cell is not None and numbers.told(cell) for cell in cells):
                    rows.append((first, workload, cells))
                    first = None
        if rows:
            found.append(
                Matrix(title, " ".join(gains.asked(gains.levels(compared))), _groups(figures), figures, tuple(rows))
            )
    return found


def _groups(heads: Sequence[Head | Figure]) -> tuple[tuple[str, int], ...]:
    """The upper line of headings: each group with the number of columns that it spans."""
    spans: list[tuple[str, int]] = []
    for head in heads:
        if spans and head.group and spans[-1][0] == head.group:
            spans[-1] = (spans[-1][0], spans[-1][1] + 1)
        else:
            spans.append((head.group, 1))
    return tuple(spans)
