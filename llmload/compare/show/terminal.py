"""A comparison in a terminal: the verdict first, then small tables, what differs, what is unknown.

80 columns suffice; where there are fewer than a table needs, it is cut between groups of columns. What others said (a
server, a claim's author) is shown without control characters.
"""

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console, Group, RenderableType
from rich.text import Text

from llmload.compare.comparison import Compared, Comparison
from llmload.compare.ratios.changes import Changes
from llmload.compare.show import gains, numbers, sections
from llmload.compare.show.sections import Section
from llmload.plain import one_line
from llmload.report import grid
from llmload.report.grid import Head
from llmload.report.rows import ALL
from llmload.report.terminal import WIDTH, as_text, bullets, heading, name_value, put

STYLES = {"good": "bold green", "warn": "bold yellow", "bad": "bold red", "soft": "bold"}
SHADES = {"good": "", "warn": "yellow", "bad": "red", "soft": "dim", "deciding": "bold"}
"""How lines of tables look."""
SHORT = {
    ("output tokens", "per s"): Head("tokens", "/s"),
    ("requests", "per s"): Head("requests", "/s"),
    ("success", "share"): Head("ok", "share"),
}
"""Headings that are too wide for figures of four digits."""
LONG = 34
"""A column of longer texts makes its table a list."""

LEGEND = "▲ better  ▼ worse  = no difference shown  ? cannot be judged  ◆ decides"


def show(comparison: Comparison, console: Console) -> None:
    """Print a comparison."""
    put(rendered(comparison, console.width), console)


def text(comparison: Comparison, width: int = WIDTH) -> str:
    """The comparison as plain text."""
    return as_text(rendered(comparison, width), width)


def rendered(comparison: Comparison, width: int = WIDTH) -> RenderableType:
    """A comparison for rich, in so many columns."""
    parts: list[RenderableType] = [Text()]
    claimed = sections.claim(comparison)
    if claimed:
        parts += [name_value([pair for pair in claimed if pair[1] != "not said"]), Text()]
    if len(comparison.compared) > 1:
        parts += [*_section(sections.overview(comparison), width), Text()]
    for compared in comparison.compared:
        parts += _pair(compared, width, claimed=comparison.claim is not None)
    for told in comparison.changes:
        parts += [*_changes(told), Text()]
    if comparison.warnings:
        parts += [*_warnings(comparison.warnings), Text()]
    for item in comparison.compared:
        where = f" ({_name(item)})" if len(comparison.compared) > 1 else ""
        parts.append(Text.assemble(" verdict: ", _verdict(item), where))
    parts.append(Text(f" exit code {int(comparison.exit_code)}"))
    return Group(*parts)


def _name(compared: Compared) -> str:
    pair = compared.pair
    return one_line(f"{pair.scenario}: {pair.baseline.name} against {pair.candidate.name}")


def _verdict(compared: Compared) -> tuple[str, str]:
    return compared.verdict.word, STYLES[sections.VERDICTS[compared.verdict.word]]


def _pair(compared: Compared, width: int, *, claimed: bool) -> list[RenderableType]:
    """One pair."""
    parts: list[RenderableType] = [heading(_name(compared)), Text.assemble(" verdict: ", _verdict(compared))]
    parts += bullets([sections.headline(compared)], " ")
    parts += bullets(compared.verdict.reasons, "-")
    for gate in compared.gates:
        word, style = ("holds", "green") if gate.holds else ("does not hold", "bold red")
        parts.append(Text.assemble(f" gate {one_line(gate.text)}: ", (word, style), f" ({one_line(gate.words)})"))
    parts += [*bullets(sections.conditions(compared, claimed=claimed).lead, "!"), Text()]
    kinds = [kind.words for kind in compared.kinds if kind.words not in compared.verdict.reasons]
    if kinds:
        parts += [heading("What became faster"), *bullets(kinds, "-"), Text()]
    for section in _tables(compared):
        if section.lines:
            parts += [*_section(section, width), Text()]
    if compared.rule is not None:
        parts += [*_rule(compared, width), Text()]
    parts += [*_differences(compared), Text()]
    if found := sections.warnings(compared):
        parts += [*_warnings(found), Text()]
    for section in (sections.answers(compared), sections.money(compared), sections.capabilities(compared)):
        if section.lines:
            parts += [*_section(section, width), Text()]
    unknown = sum(not item.known for item in compared.questions)
    if compared.questions:
        words = f"{len(compared.questions)} questions to ask of these figures, {unknown} of them open"
        parts += [Text(f" {words}: on the page (--html) and in --format markdown", style="dim"), Text()]
    return parts


def _tables(compared: Compared) -> list[Section]:
    """The ratios: the deciding figure, all classes together, each class."""
    found = [gains.deciding(compared)]
    title = "Gains, all classes (above 1: the candidate is better)"
    found.append(_short(gains.overview(compared, title, gains.among(gains.MAIN), [ALL])))
    classes = [name for name in gains.classes(compared) if name != ALL]
    found.append(_short(gains.overview(compared, "Gains by class", gains.among(gains.OF_CLASSES), classes)))
    return found


def _short(section: Section) -> Section:
    """The same with headings for which 80 columns have room."""
    return replace(section, heads=tuple(SHORT.get((head.group, head.heading), head) for head in section.heads))


def _rule(compared: Compared, width: int) -> list[RenderableType]:
    """The three ratios, and what the rule says of them."""
    section = sections.ratios(compared)
    short = Section(section.key, section.title, (), section.heads[:4], tuple(section.lines))
    rule = compared.rule
    word = "" if rule is None else rule.word
    said: list[RenderableType] = [Text.assemble(" rule: ", (word, STYLES[sections.RULES[word]]))] if word else []
    return [*_grid(short, width, cut=4), *said, *bullets(section.lead[1:], "-")]


def _differences(compared: Compared) -> list[RenderableType]:
    """How the sides differ: what nobody declared in red."""
    section = sections.differences(compared)
    if not section.lines:
        return [Text(" The sides differ in nothing that is known.", style="dim")]
    parts: list[RenderableType] = [heading(section.title)]
    for line in section.lines:
        name, baseline, candidate, standing, words = map(one_line, line.cells)
        sign = "!" if line.tone == "bad" else "-"
        parts.append(Text.assemble(f"  {sign} {name}: ", (standing, SHADES[line.tone] if line.tone else "")))
        told = [f"{baseline} → {candidate}"] if baseline != candidate else [baseline]
        if words.startswith(f"{name.replace('_', ' ')}: ") and " against " in words:  # both texts stand in it
            told = []
            words = words.partition(": ")[2]
        parts += bullets([*told, *([words] if words else [])], " ")
    return parts


def _changes(told: Changes) -> list[RenderableType]:
    """What each change brings, a sentence each."""
    section = sections.changes(told)
    each = [line.cells[-1] for line in section.lines]
    return [heading(section.title), *bullets([*each, *section.lead, *section.notes], "-")]


def _warnings(sentences: Sequence[str]) -> list[RenderableType]:
    return [Text(f" WARNINGS ({len(sentences)})", style="bold yellow"), *bullets(sentences, "!")]


def _section(section: Section, width: int) -> list[RenderableType]:
    """A table with what stands before and after it; columns of long texts become a list.

    What a line is about stays in the table, however long it is: figures without it say nothing.
    """
    long = [max((len(line.cells[at]) for line in section.lines), default=0) > LONG for at in range(len(section.heads))]
    long[0] = long[0] and all(long)
    short = [at for at in range(len(section.heads)) if not long[at]]
    parts = _grid(section, width, places=short)
    for line in section.lines:
        told = [line.cells[at] for at, is_long in enumerate(long) if is_long and line.cells[at]]
        if told:
            parts += bullets([f"{line.cells[0]}: {'; '.join(told)}" if not long[0] else "; ".join(told)], "-")
    return [*parts[:1], *bullets(section.lead, "-"), *parts[1:], *bullets(section.notes, "-")]


def _grid(section: Section, width: int, cut: int | None = None, places: Sequence[int] = ()) -> list[RenderableType]:
    """The title and the table, cut into several where it is too wide. `places`: its columns; `cut`: the first ones."""
    chosen = list(places) or list(range(cut or len(section.heads)))
    one_class = len({line.cells[1] for line in section.lines}) == 1
    chosen = [at for at in chosen if not (one_class and section.heads[at].heading == "class")]
    heads = [replace(head, heading=one_line(head.heading)) for head in (section.heads[at] for at in chosen)]
    cells = [[one_line(line.cells[at]) for at in chosen] for line in section.lines]
    styles = [SHADES[line.tone] if line.tone else "" for line in section.lines]
    keep = 2 if len(heads) > 1 and heads[1].heading == "class" else 1
    shown: list[tuple[str, str]] = []
    for part in grid.parts(heads, cells, keep, width - 1, numbers.MARKS):
        some = [[row[at] for at in part] for row in cells]
        over, headings, rule, *rows = grid.lines([heads[at] for at in part], some, numbers.MARKS)
        shown += [("", "")] if shown else []
        shown += [*([(over, "dim")] if over.strip() else []), (headings, "bold"), (rule, "dim")]
        shown += zip(rows, styles, strict=True)
    lines = [Text(f" {words}", style=style, no_wrap=True, overflow="ignore") for words, style in shown]
    marks = "".join(cell for row in cells for cell in row)
    legend = [Text(f" {LEGEND}", style="dim")] if any(sign in marks for sign in "▲▼") else []
    return [heading(section.title), *lines, *legend]
