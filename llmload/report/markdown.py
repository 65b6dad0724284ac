"""report.md: the report for a pull request or a wiki. The same tables as in the terminal."""

from collections.abc import Sequence

from llmload.plain import one_line
from llmload.report import columns, failures, formulas, head, lengths, observer, questions, seven
from llmload.report.building import Built
from llmload.report.columns import Table
from llmload.report.lengths import Lengths


def text(built: Built) -> str:
    """The file."""
    parts = [f"# {plain(str(built.summary['run']))}", ""]
    parts += [_verdict(built), ""]
    parts += [*_seven(built), ""]
    parts += _pairs(("", ""), head.what(built.facts))
    if built.soak is not None:
        parts += ["", f"Soak: **{built.soak.verdict.word}**", ""]
        parts += [f"- {plain(sentence)}" for sentence in (*built.soak.verdict.reasons, *built.soak.notes)]
    if built.warnings:
        parts += ["", "## WARNINGS", "", *(f"- {plain(sentence)}" for sentence in built.warnings)]
    for table in built.tables:
        if table.lines:
            parts += ["", f"## {table.title}", "", *_table(table), ""]
            parts += [f"- {name}: {plain(words)}" for name, words in formulas.under(table, built.facts)]
            parts += [f"- at best: {plain(built.cheapest)}"] if table.name == "cost" else []
    if not built.summary["rows"]:
        parts += ["", "The run has no step: nothing was measured."]
    parts += _observed(built)
    parts += _lengths(lengths.find(built.facts))
    parts += _failures(built)
    parts += ["", "## Settings", "", *_pairs(("setting", "value"), head.settings(built.facts))]
    parts += ["", f"## {questions.TITLE}", ""]
    parts += [f"- **{item.question}** {plain(item.answer)}" for item in questions.of(built)]
    return "\n".join(parts) + "\n"


def _seven(built: Built) -> list[str]:
    known = seven.of(built.facts)
    lacking = seven.lacking(known)
    rows = _pairs((seven.TITLE, "as this run had it"), [(item.name, item.shown) for item in known])
    return [*rows, *(["", plain(f"{seven.MARK} {lacking}")] if lacking else [])]


def _verdict(built: Built) -> str:
    words = [f"Verdict: **{built.verdict.word}**" + (f"; **{built.failed}**" if built.failed else "")]
    words += [f"- {plain(reason)}" for reason in built.verdict.reasons]
    for judged in built.gates:
        held = "holds" if judged.holds else "**does not hold**"
        words.append(f"- gate `{one_line(judged.gate.text)}` {held} ({plain(judged.words)})")
    words += [f"- {plain(failure)}" for failure in built.failures if not failure.startswith("gate ")]
    return "\n".join([words[0], *([""] if len(words) > 1 else []), *words[1:]])


def plain(words: str) -> str:
    """Text that Markdown takes as it is, on one line and inside a table, without control characters."""
    escaped = "".join(f"\\{sign}" if sign in "\\`*_|<>[]#~" else sign for sign in one_line(words))
    return " ".join(escaped.split())


def row_of(cells: Sequence[str]) -> str:
    """A row of a table, of cells that are escaped already."""
    return f"| {' | '.join(cells)} |"


def _pairs(heading: tuple[str, str], pairs: Sequence[tuple[str, str]]) -> list[str]:
    return [row_of(heading), "| --- | --- |", *(row_of([plain(name), plain(words)]) for name, words in pairs)]


def _table(table: Table) -> list[str]:
    headings = [f"{column.group} {column.heading}".strip() for column in table.columns]
    of = ["class"] if table.classes else []
    rows = [
        row_of([" ".join(table.asked), *of, *headings]),
        row_of(["---:", *("---" for _ in of), *("---:" for _ in headings)]),
    ]
    for line in table.lines:
        cells = [line.step, *([line.workload] if table.classes else []), *line.cells]
        rows.append(row_of([plain(cell) if cell else "" for cell in cells]))
    notes = [f"{plain(sign)} {meaning}" for sign, meaning in table.marks.items()]
    return [*rows, *(["", "; ".join(notes)] if notes else [])]


def _observed(built: Built) -> list[str]:
    if built.observed is None:
        return []
    rows = ["", f"## {observer.TITLE}", "", plain(built.observed.line), "", row_of(observer.HEADINGS)]
    rows.append("| --- | ---: | ---: | ---: | ---: | --- |")
    rows += [row_of([plain(cell) for cell in figure.cells]) for figure in built.observed.figures]
    return [*rows, "", f"- {observer.HOW}"]


def _lengths(found: Sequence[Lengths]) -> list[str]:
    if not found:
        return []
    headings = ["class", "what", "n", "min", "p50", "mean", "p95", "max", "counted by"]
    rows = ["", "## Lengths in tokens", "", row_of(headings), row_of(["---", "---", *["---:"] * 6, "---"])]
    for item in found:
        for name, spread, source in lengths.rows(item):
            rows.append(row_of([plain(item.workload), name, *lengths.cells(spread), plain(source)]))
    return rows


def _failures(built: Built) -> list[str]:
    found = failures.find(built.facts)
    if not found:
        return []
    labels = {row["step"]: columns.step_label(row) for row in built.summary["rows"]}
    asked = " ".join(columns.asked(built.summary["rows"]))
    rows = ["", "## What failed", "", row_of([asked, "sent in", "outcome", "n", "classes", "said most often"])]
    rows.append("| ---: | --- | --- | ---: | --- | --- |")
    for item in found:
        classes = ", ".join(f"{name} {n}" for name, n in item.workloads)
        cells = [labels[item.step], item.when, item.outcome, f"{item.n:,}", classes, item.error or ""]
        rows.append(row_of([plain(cell) for cell in cells]))
    return rows
