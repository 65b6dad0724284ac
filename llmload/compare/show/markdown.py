"""A comparison for a pull request: the verdict, what weakens it, the deciding cell; the rest folded away."""

from dataclasses import replace

from llmload.compare.comparison import Compared, Comparison
from llmload.compare.show import again, gains, numbers, sections
from llmload.compare.show.sections import Line, Section
from llmload.plain import one_line
from llmload.report.markdown import plain, row_of
from llmload.report.rows import ALL

SIGNS = {"good": "✅", "warn": "⚠️", "bad": "❌", "soft": "⬜"}
"""Before a verdict …"""
FLAGS = {"bad": "❗ ", "warn": "⚠️ "}
"""… and before the first cell of a line that a reader must not miss."""


def text(comparison: Comparison) -> str:
    """The file."""
    parts = [f"# {_title(comparison)}", ""]
    claimed = sections.claim(comparison)
    if claimed:
        parts += [" · ".join(f"{name}: **{plain(words)}**" for name, words in claimed if words != "not said"), ""]
    if len(comparison.compared) > 1:
        parts += [*_table(sections.overview(comparison), flags=False), ""]
    for compared in comparison.compared:
        parts += _pair(comparison, compared)
    for told in comparison.changes:
        parts += _section(sections.changes(told))
    if comparison.warnings:
        parts += ["## WARNINGS", "", *(f"- {plain(sentence)}" for sentence in comparison.warnings), ""]
    return "\n".join([*parts, f"Exit code {int(comparison.exit_code)}."]) + "\n"


def _title(comparison: Comparison) -> str:
    return "Does the claim hold?" if comparison.claim is not None else "Baseline against candidate"


def _pair(comparison: Comparison, compared: Compared) -> list[str]:
    """One pair."""
    pair, verdict = compared.pair, compared.verdict
    parts = [f"## {plain(f'{pair.scenario}: {pair.baseline.name} against {pair.candidate.name}')}", ""]
    parts += [f"{SIGNS[sections.VERDICTS[verdict.word]]} **{verdict.word}**: {plain(sections.headline(compared))}", ""]
    parts += [f"- {plain(reason)}" for reason in verdict.reasons]
    for gate in compared.gates:
        held = "holds" if gate.holds else "**does not hold**"
        parts.append(f"- gate `{one_line(gate.text)}` {held} ({plain(gate.words)})")
    parts += ["", *_section(sections.conditions(compared, claimed=comparison.claim is not None))]
    if compared.kinds:
        parts += ["### What became faster", "", *(f"- {plain(kind.words)}" for kind in compared.kinds), ""]
    parts += _section(gains.deciding(compared), flags=False)
    parts += _gains(compared, "###", [ALL], "Gains, all classes")
    parts += [*(f"- {plain(sentence)}" for sentence in (*gains.MEANING, gains.ATTEMPTS)), ""]
    parts += _folded("Gains by class", _classes(compared))
    parts += _section(sections.ratios(compared))
    parts += _section(sections.differences(compared))
    if found := sections.warnings(compared):
        parts += ["### WARNINGS", "", *(f"- {plain(sentence)}" for sentence in found), ""]
    parts += _section(sections.answers(compared))
    parts += _section(sections.money(compared))
    parts += _section(sections.capabilities(compared))
    parts += _folded("The figures behind the gains: both sides, intervals, rounds, requests", _behind(compared))
    parts += _folded("What to ask of these figures", _table(sections.questions(compared)))
    commands = [again.comparing(comparison, compared)]
    commands += [command for _, command in again.measurings(pair)]
    runs = [*_table(sections.runs(compared)), "", *(f"    {one_line(command)}" for command in commands)]
    return [*parts, *_folded("The runs, and how to repeat this", runs)]


def _gains(compared: Compared, level: str, workloads: list[str], *titles: str) -> list[str]:
    """Gains in two tables, as on the page. Of one class alone the class need not be said."""
    parts: list[str] = []
    for name, wanted in (("what one user feels", gains.felt), ("the load as a whole", gains.whole)):
        section = gains.overview(compared, _begun(", ".join((*titles, name))), wanted, workloads)
        if len(workloads) == 1:
            lines = tuple(replace(line, cells=(line.cells[0], *line.cells[2:])) for line in section.lines)
            section = replace(section, heads=(section.heads[0], *section.heads[2:]), lines=lines)
        parts += _section(section, level)
    return parts


def _begun(words: str) -> str:
    return words[:1].upper() + words[1:]


def _classes(compared: Compared) -> list[str]:
    classes = [name for name in gains.classes(compared) if name != ALL]
    return _gains(compared, "####", classes) if classes else []


def _behind(compared: Compared) -> list[str]:
    """Every figure of all classes together: those of each class would be too long for a comment."""
    some = replace(compared, cells=tuple(cell for cell in compared.cells if cell.workload == ALL or cell.deciding))
    return [line for section in gains.behind(some) for line in _section(section, "####", flags=False)]


def _section(section: Section, level: str = "###", *, flags: bool = True) -> list[str]:
    """A section with its heading; nothing where it has no lines."""
    if not section.lines:
        return []
    lead = [*(f"- {plain(sentence)}" for sentence in section.lead), ""] if section.lead else []
    notes = ["", *(f"- {plain(note)}" for note in section.notes)] if section.notes else []
    return [f"{level} {plain(section.title)}", "", *lead, *_table(section, flags=flags), *notes, ""]


def _table(section: Section, *, flags: bool = True) -> list[str]:
    """The table alone; one group over another is one heading."""
    if not section.lines:
        return []
    headings = [plain(f"{head.group} {head.heading}".strip()) for head in section.heads]
    signs = ["---" if head.left else "---:" for head in section.heads]
    return [row_of(headings), row_of(signs), *(_line(line, flags=flags) for line in section.lines)]


def _line(line: Line, *, flags: bool) -> str:
    cells = [plain(cell) for cell in line.cells]
    if flags and line.tone in FLAGS:
        cells[0] = f"{FLAGS[line.tone]}{cells[0]}"
    if line.tone == "deciding":
        cells = [f"**{cell}**" if cell else "" for cell in cells]
    cells = [f"**{cell}**" if numbers.DECIDES in cell and line.tone != "deciding" else cell for cell in cells]
    return row_of(cells)


def _folded(summary: str, lines: list[str]) -> list[str]:
    """Lines that a reader opens when they want them."""
    if not lines:
        return []
    return ["<details>", f"<summary>{summary}</summary>", "", *lines, *([""] if lines[-1] else []), "</details>", ""]
