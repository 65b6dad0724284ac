"""report.html: one page, complete in itself, that needs no network. Text comes in escaped by the template engine."""

from functools import cache

import jinja2
from markupsafe import Markup

from llmload import __version__
from llmload.plain import one_line
from llmload.report import columns, failures, formulas, head, lengths, observer, plots, positions, questions, seven
from llmload.report.building import Built
from llmload.report.columns import MARKS, Table


def text(built: Built) -> str:
    """The page."""
    labels = {row["step"]: columns.step_label(row) for row in built.summary["rows"]}
    return (
        _pages()
        .get_template("report.html.j2")
        .render(
            built=built,
            version=__version__,
            seven=(known := seven.of(built.facts)),
            lacking=seven.lacking(known),
            seven_title=seven.TITLE,
            what=head.what(built.facts),
            questions=questions.of(built),
            questions_title=questions.TITLE,
            tables=[(table, heads(table), formulas.under(table, built.facts)) for table in built.tables],
            asked=" ".join(columns.asked(built.summary["rows"])),
            failures=failures.find(built.facts),
            observer=observer,
            labels=labels,
            lengths=[
                (item.workload, name, lengths.cells(spread), source)
                for item in lengths.find(built.facts)
                for name, spread, source in lengths.rows(item)
            ],
            ranges=[positions.label(*bounds) for bounds in positions.RANGES],
            speeds=[
                (labels[step], ["" if speed is None else f"{speed:,.1f}" for speed in speeds])
                for step, speeds in built.speeds.items()
                if any(speed is not None for speed in speeds)
            ],
            plots=[(plot.title, plot.words, Markup(plot.svg), plot.wide) for plot in plots.draw(built)],  # noqa: S704  (our own SVG)
            settings=head.settings(built.facts),
        )
    )


@cache
def _pages() -> jinja2.Environment:
    """Templates: compiled once, however many pages are written."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("llmload.report", "pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: one_line(value) if type(value) is str else value,  # markup is ours
    )
    environment.filters["marked"] = marked
    return environment


def marked(cell: str) -> Markup:
    """A cell whose mark takes no room, so that digits stand under digits."""
    bare = cell.rstrip("".join(MARKS))
    return Markup("{}<i>{}</i>").format(bare, cell[len(bare) :]) if bare != cell else Markup("{}").format(cell)


def heads(table: Table) -> list[tuple[str, int]]:
    """The upper line of headings: each group with the number of columns that it spans."""
    spans: list[tuple[str, int]] = []
    for column in table.columns:
        if spans and column.group and spans[-1][0] == column.group:
            spans[-1] = (column.group, spans[-1][1] + 1)
        else:
            spans.append((column.group, 1))
    return spans
