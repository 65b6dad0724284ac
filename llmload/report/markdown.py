"""report.md: the report for a pull request or a wiki. The same tables as in the terminal."""

from collections.abc import Sequence

from llmload.plain import one_line
from llmload.report import columns, failures, formulas, head, lengths, observer, questions, seven
from llmload.report.building import Built
from llmload.report.columns import Table
from llmload.report.lengths import Lengths


def text(built: Built) -> str:
    """The file."""
    parts = [f"# {_plain(str(built.summary['run']))}", ""]
    parts += [_verdict(built), ""]
    parts += [*_seven(built), ""]
    parts += _pairs(("", ""), head.what(built.facts))
    if built.soak is not None:
        parts += ["", f"Soak: **{built.soak.verdict.word}**", ""]
        parts += [f"- {_plain(sentence)}" for sentence in (*built.soak.verdict.reasons, *built.soak.notes)]
    if built.warnings:
        parts += ["", "## WARNINGS", "", *(f"- {_plain(sentence)}" for sentence in built.warnings)]
    for table in built.tables:
        if table.lines:
            parts += ["", f"## {table.title}", "", *_table(table), ""]
            parts += [f"- {name}: {_plain(words)}" for name, words in formulas.under(table.name, built.facts)]
            parts += [f"- at best: {_plain(built.cheapest)}"] if table.name == "cost" else []
    if not built.summary["rows"]:
        parts += ["", "The run has no step: nothing was measured."]
    parts += _observed(built)
    parts += _lengths(lengths.find(built.facts))
    parts += _failures(built)
    parts += ["", "## Settings", "", *_pairs(("setting", "value"), head.settings(built.facts))]
    parts += ["", f"## {questions.TITLE}", ""]
    parts += [f"- **{item.question}** {_plain(item.answer)}" for item in questions.of(built)]
    return "\n".join(parts) + "\n"


def _seven(built: Built) -> list[str]:
    known = seven.of(built.facts)
    lacking = seven.lacking(known)
    rows = _pairs((seven.TITLE, "as this run had it"), [(item.name, item.shown) for item in known])
    return [*rows, *(["", _plain(f"{seven.MARK} {lacking}")] if lacking else [])]


def _verdict(built: Built) -> str:
    words = [f"Verdict: **{built.verdict.word}**" + (f"; **{built.failed}**" if built.failed else "")]
    words += [f"- {_plain(reason)}" for reason in built.verdict.reasons]
    for judged in built.gates:
        held = "holds" if judged.holds else "**does not hold**"
        words.append(f"- gate `{one_line(judged.gate.text)}` {held} ({_plain(judged.words)})")
    words += [f"- {_plain(failure)}" for failure in built.failures if not failure.startswith("gate ")]
    return "\n".join([words[0], *([""] if len(words) > 1 else []), *words[1:]])


def _plain(words: str) -> str:
    """Text that Markdown takes as it is, on one line and inside a table, without control characters."""
    escaped = "".join(f"\\{sign}" if sign in "\\`*_|<>[]#~" else sign for sign in one_line(words))
    return " ".join(escaped.split())


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _pairs(heading: tuple[str, str], pairs: Sequence[tuple[str, str]]) -> list[str]:
    return [_row(heading), "| --- | --- |", *(_row([_plain(name), _plain(words)]) for name, words in pairs)]


def _table(table: Table) -> list[str]:
    headings = [f"{column.group} {column.heading}".strip() for column in table.columns]
    of = ["class"] if table.classes else []
    rows = [
        _row([" ".join(table.asked), *of, *headings]),
        _row(["---:", *("---" for _ in of), *("---:" for _ in headings)]),
    ]
    for line in table.lines:
        cells = [line.step, *([line.workload] if table.classes else []), *line.cells]
        rows.append(_row([_plain(cell) if cell else "" for cell in cells]))
    notes = [f"{_plain(sign)} {meaning}" for sign, meaning in table.marks.items()]
    return [*rows, *(["", "; ".join(notes)] if notes else [])]


def _observed(built: Built) -> list[str]:
    if built.observed is None:
        return []
    rows = ["", f"## {observer.TITLE}", "", _plain(built.observed.line), "", _row(observer.HEADINGS)]
    rows.append("| --- | ---: | ---: | ---: | ---: | --- |")
    rows += [_row([_plain(cell) for cell in figure.cells]) for figure in built.observed.figures]
    return [*rows, "", f"- {observer.HOW}"]


def _lengths(found: Sequence[Lengths]) -> list[str]:
    if not found:
        return []
    headings = ["class", "what", "n", "min", "p50", "mean", "p95", "max", "counted by"]
    rows = ["", "## Lengths in tokens", "", _row(headings), _row(["---", "---", *["---:"] * 6, "---"])]
    for item in found:
        for name, spread, source in lengths.rows(item):
            rows.append(_row([_plain(item.workload), name, *lengths.cells(spread), _plain(source)]))
    return rows


def _failures(built: Built) -> list[str]:
    found = failures.find(built.facts)
    if not found:
        return []
    labels = {row["step"]: columns.step_label(row) for row in built.summary["rows"]}
    asked = " ".join(columns.asked(built.summary["rows"]))
    rows = ["", "## What failed", "", _row([asked, "sent in", "outcome", "n", "classes", "said most often"])]
    rows.append("| ---: | --- | --- | ---: | --- | --- |")
    for item in found:
        classes = ", ".join(f"{name} {n}" for name, n in item.workloads)
        cells = [labels[item.step], item.when, item.outcome, f"{item.n:,}", classes, item.error or ""]
        rows.append(_row([_plain(cell) for cell in cells]))
    return rows
