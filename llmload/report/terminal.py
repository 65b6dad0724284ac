"""The report in a terminal: tables with marks and formulas, WARNINGS, verdict.

At most 120 columns wide; where the terminal has fewer, tables are cut between groups of columns. What others said (a
server, a scenario's author) is shown without control characters.
"""

import re
from collections.abc import Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.containers import Lines
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from llmload.plain import one_line
from llmload.report import columns, failures, formulas, grid, head, questions, seven
from llmload.report.building import Built
from llmload.report.columns import MARKS, Table
from llmload.report.grid import Head
from llmload.report.soak import judge

STYLES = {"OK": "bold green", "DEGRADED": "bold yellow", "INCOMPLETE": "bold red"}
SOAK_STYLES = {judge.STEADY: "bold green", judge.DRIFTS: "bold yellow", judge.SHORT: "bold"}
WIDTH = 120


def show(built: Built, console: Console) -> None:
    """Print a report; tables that are wider than the console are cut into several, so that no line wraps."""
    put(rendered(built, console.width), console)


def put(shown: RenderableType, console: Console) -> None:
    """Print on a terminal as it is, and elsewhere as plain text."""
    if console.is_terminal:
        console.print(shown, highlight=False, crop=False)
    else:
        console.out(as_text(shown, console.width), end="", highlight=False)


def text(built: Built, width: int = WIDTH) -> str:
    """The report as plain text."""
    return as_text(rendered(built, width), width)


def as_text(shown: RenderableType, width: int) -> str:
    """What rich would show in so many columns, without colours and without blanks at the ends of lines."""
    console = Console(width=width, no_color=True, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(shown, highlight=False, crop=False)
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


TIE = "\ue000"
"""Stands for a blank at which no line breaks; nothing that is shown holds it (`one_line`)."""
TIED = re.compile(
    r"(?<=\d) (?=(?:%|ms|s|min|h|d|kB|[KMGT]i?B|W|MHz|°C|J|kJ|tokens|requests)\b|%)|(?<=[*†‡~≈↻…]) (?=\S)"
)
"""The blank between a number and its unit, or behind a sign."""


class Words(Text):
    """Text that is broken between words, but not between a number and its unit."""

    def wrap(self, console: Console, width: int, **how: Any) -> Lines:
        """As rich does it."""
        lines = Text(TIED.sub(TIE, self.plain), style=self.style).wrap(console, width, **how)
        for line in lines:
            line.plain = line.plain.replace(TIE, " ")
        return lines


def rendered(built: Built, width: int = WIDTH) -> RenderableType:
    """A report for rich, in so many columns."""
    rows = built.summary["rows"]
    parts: list[RenderableType] = [Text(), _head(built), Text()]
    if not rows:
        parts.append(Text("  the run has no step: nothing was measured", style="bold red"))
    for table in built.short_tables:
        if table.lines:
            parts += [heading(table.title), *_table(table, width), *_marks(table)]
            best = [("at best", built.cheapest)] if table.name == "cost" else []
            parts += [name_value([*formulas.under(table, built.facts), *best], "dim"), Text()]
    if built.observed is not None:
        parts += [name_value([("observer check", built.observed.line)]), Text()]
    parts += _failures(built)
    if built.warnings:
        parts += [
            Text(f" WARNINGS ({len(built.warnings)})", style="bold yellow"),
            *bullets(built.warnings, "!"),
            Text(),
        ]
    for judged in built.gates:
        word, style = ("holds", "green") if judged.holds else ("does not hold", "bold red")
        gate, words = one_line(judged.gate.text), one_line(judged.words)
        parts.append(Text.assemble(f" gate {gate}: ", (word, style), f" ({words})"))
    missed = [sentence for sentence in built.failures if not sentence.startswith("gate ")]
    parts += [Padding(Words(one_line(sentence), style="red"), (0, 0, 0, 1)) for sentence in missed]
    if built.soak is not None:
        parts.append(Text.assemble(" soak: ", (built.soak.verdict.word, SOAK_STYLES[built.soak.verdict.word])))
        parts += bullets([*built.soak.verdict.reasons, *built.soak.notes], "-")
    parts.append(Text.assemble(" verdict: ", (built.verdict.word, STYLES[built.verdict.word])))
    parts += bullets(built.verdict.reasons, "-")
    if built.failed:
        parts.append(Text(f" {built.failed}", style="bold red"))
    if (built.folder / "report.html").exists():
        parts.append(
            name_value(
                [
                    ("ask:   ", questions.counted(questions.of(built))),
                    ("files: ", f"{built.folder}/report.html, report.md, table.csv, summary.json"),
                ]
            )
        )
    return Group(*parts)


def _head(built: Built) -> RenderableType:
    """The seven conditions, each unknown one marked, and what stands behind them."""
    grid = RichTable.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    known = seven.of(built.facts)
    for item in known:
        grid.add_row(item.name, Words(one_line(item.shown), style="" if item.whole else "yellow"))
    if lacking := seven.lacking(known):
        grid.add_row("", Words(f"{seven.MARK} {lacking}", style="yellow"))
    for name, words in head.what(built.facts):
        grid.add_row(Text(one_line(name)), Words(one_line(words)))
    return Padding(grid, (0, 0, 0, 1))


def heading(words: str) -> RenderableType:
    """A title above a table."""
    return Padding(Words(words, style="bold"), (0, 0, 0, 1))


def name_value(pairs: Sequence[tuple[str, str]], style: str = "") -> RenderableType:
    """Names and texts in two columns."""
    grid = RichTable.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(style=style, overflow="fold")
    for name, words in pairs:
        grid.add_row(Text(one_line(name)), Words(one_line(words)))
    return Padding(grid, (0, 0, 0, 1))


def bullets(sentences: Sequence[str], sign: str) -> list[RenderableType]:
    """Sentences with a hanging indent."""
    grid = RichTable.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for sentence in sentences:
        grid.add_row(sign, Words(one_line(sentence)))
    return [Padding(grid, (0, 0, 0, 2))] if sentences else []


def _table(table: Table, width: int) -> list[RenderableType]:
    """One table, or the several that it is cut into, below one another.

    Rows of all classes are bold, those of a step in which the generator was the limit yellow.
    """
    heads = [Head(*table.asked), *([Head("", "class", left=True)] if table.classes else [])]
    heads += [Head(column.group, column.heading) for column in table.columns]
    cells = [
        [line.step if line.first else "", *([one_line(line.workload)] if table.classes else []), *line.cells]
        for line in table.lines
    ]
    styles = ["yellow" if line.bound else "bold" if line.whole and table.classes else "" for line in table.lines]
    marks = "".join(MARKS)
    shown: list[tuple[str, str]] = []
    for places in grid.parts(heads, cells, 1 + table.classes, width - 1, marks):
        some = [[row[place] for place in places] for row in cells]
        over, headings, rule, *rows = grid.lines([heads[place] for place in places], some, marks)
        shown += [("", "")] if shown else []
        shown += [(over, "dim"), (headings, "bold"), (rule, "dim"), *zip(rows, styles, strict=True)]
    return [Text(f" {words}", style=style, no_wrap=True, overflow="ignore") for words, style in shown]


def _failures(built: Built) -> list[RenderableType]:
    """What failed, in words."""
    labels = {row["step"]: columns.step_label(row) for row in built.summary["rows"]}
    found = failures.find(built.facts)
    if not found:
        return []
    pairs = [(f"{labels[item.step]:>3}  {item.when:<7}  {item.n:>5}  {item.outcome}", _said(item)) for item in found]
    asked = " ".join(columns.asked(built.summary["rows"]))
    title = f"What failed ({asked}, when it was sent, how many, outcome, what was said most often)"
    return [heading(title), name_value(pairs), Text()]


def _said(item: failures.Failure) -> str:
    more = f" (and {item.texts - 1} other texts)" if item.texts > 1 else ""
    return (item.error or "") + more


def _marks(table: Table) -> list[RenderableType]:
    """What the marks in a table mean."""
    words = "   ".join(f"{sign} {meaning}" for sign, meaning in table.marks.items())
    return [Padding(Words(words, style="dim"), (0, 0, 0, 1))] if words else []
