"""What every format shows of a comparison, as small tables of text. Pure: knows a comparison, and no format.

A section that has nothing to say has no lines, and no format shows it.
"""

from dataclasses import dataclass

from llmload.compare import words
from llmload.compare.answering.quality import ClassQuality
from llmload.compare.claims.conditions import Condition, alike
from llmload.compare.comparison import Compared, Comparison
from llmload.compare.ratios.changes import Changes
from llmload.compare.rule.rule import Ratio
from llmload.compare.show import numbers
from llmload.report.grid import Head

UNKNOWN = "unknown"
STANDINGS = {
    "as stated": "",
    "differs": "bad",
    "unstated": "warn",
    "unknown": "warn",
    "cannot be told": "warn",
    "variable under test": "good",
    "accepted": "",
    "undeclared": "bad",
    "note": "soft",
}
"""What a standing of a condition or of a difference looks like."""
VERDICTS = {
    "supported": "good",
    "faster": "good",
    "supported, with a loss of quality": "warn",
    "partly": "warn",
    "direction confirmed, size not": "warn",
    "not supported": "bad",
    "slower": "bad",
    "not comparable": "bad",
    "cannot be judged": "warn",
    "not repeated": "soft",
    "no difference shown": "soft",
}
"""What a verdict looks like …"""
RULES = {"acceptable": "good", "not acceptable": "bad", "cannot be judged": "warn"}
"""… and what the rule says."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a table. `tone` is good, warn, bad, soft, deciding or nothing; `first` and `whole` are for layout."""

    cells: tuple[str, ...]
    tone: str = ""
    first: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A table with its title, sentences before it, headings, lines, and notes under it."""

    key: str
    title: str
    lead: tuple[str, ...]
    heads: tuple[Head, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()


def _heads(*names: str, right: tuple[int, ...] = ()) -> tuple[Head, ...]:
    return tuple(Head("", name, left=place not in right) for place, name in enumerate(names))


def headline(compared: Compared) -> str:
    """The headline, without the word of the verdict that stands over it everywhere."""
    verdict = compared.verdict
    return verdict.headline.removeprefix(f"{verdict.word}: ")


def warnings(compared: Compared) -> tuple[str, ...]:
    """What is no reason of the verdict already."""
    return tuple(words for words in compared.warnings if words not in compared.verdict.reasons)


def overview(comparison: Comparison) -> Section:
    """A line for each pair: what was compared, and what came of it."""
    lines = []
    for compared in comparison.compared:
        cell = compared.decided
        lines.append(
            Line(
                (
                    compared.pair.scenario,
                    compared.pair.baseline.name,
                    compared.pair.candidate.name,
                    compared.verdict.word,
                    "" if cell is None else words.times(cell.gain),
                    "" if cell is None else numbers.interval(cell.low, cell.high),
                    f"{compared.deciding.figure.words} at {compared.deciding.level.words}",
                ),
                VERDICTS[compared.verdict.word],
            )
        )
    names = ("scenario", "baseline", "candidate", "verdict", "gain", "95 % interval", "decided by")
    return Section("overview", "All comparisons", (), _heads(*names, right=(4, 5)), tuple(lines))


def claim(comparison: Comparison) -> list[tuple[str, str]]:
    """The claim as it was stated, as (name, words); nothing without a claim."""
    told = comparison.claim
    if told is None:
        return []
    concurrency = "not said" if told.concurrency is None else f"{told.concurrency:g}"
    return [
        ("claim", told.text),
        ("said by", told.who or "not said"),
        ("when", told.when or "not said"),
        ("where", told.where or "not said"),
        ("figure", f"{told.figure.words}, a gain of {told.factor:g}{words.X}"),
        ("at concurrency", concurrency),
        ("of class", told.workload or "not said"),
    ]


def conditions(compared: Compared, *, claimed: bool) -> Section:
    """The seven conditions: as stated, as the runs had them. Without a claim only as the runs had them."""
    found = {
        words: [item.name for item in compared.conditions if _standing(item, claimed=claimed)[0] == standing]
        for standing, words in (
            ("unstated", "Left unstated by the claim"),
            ("differs", "These runs differ from what was stated in"),
            ("sides differ", "The sides differ in"),
            (UNKNOWN, "Unknown in these runs"),
        )
    }
    lead = tuple(f"{words}: {', '.join(names)}." for words, names in found.items() if names)
    lines = []
    for item in compared.conditions:
        stated = (item.stated or "not stated",) if claimed else ()
        standing, tone = _standing(item, claimed=claimed)
        words = f"{standing}: {item.words}" if item.words and claimed and tone else standing
        lines.append(Line((item.name, *stated, item.baseline or UNKNOWN, item.candidate or UNKNOWN, words), tone))
    names = ("condition", *(("stated",) if claimed else ()), "baseline", "candidate", "standing")
    return Section("conditions", "The seven conditions", lead, _heads(*names), tuple(lines))


def _standing(item: Condition, *, claimed: bool) -> tuple[str, str]:
    """The word of a condition, and what it looks like."""
    if claimed:
        return item.standing, STANDINGS[item.standing]
    if item.baseline is None or item.candidate is None:
        return UNKNOWN, "warn"
    return ("known", "") if alike(item) else ("sides differ", "warn")


def ratios(compared: Compared) -> Section:
    """The three ratios and what stands beside them."""
    rule = compared.rule
    if rule is None:
        return Section("ratios", "", (), (), ())
    lines = [_ratio(ratio) for ratio in rule.ratios]
    lines += [_ratio(ratio, "soft") for ratio in rule.beside]
    lead = (f"The rule says: {rule.word}.", *rule.words)
    names = ("ratio", "gain", "95 % interval", "raw", "what it is")
    title = f"Three ratios and the rule, at {rule.level.words}"
    notes = ["A gain above 1 is better; raw is candidate / baseline."]
    notes += ["The first three are the rule's; the others stand beside them and decide nothing."] if rule.beside else []
    heads = _heads(*names, right=(1, 2, 3))
    return Section("ratios", title, lead, heads, tuple(lines), (" ".join(notes),))


def _ratio(ratio: Ratio, tone: str = "") -> Line:
    gain = UNKNOWN if ratio.gain is None else words.times(ratio.gain)
    raw = words.number(ratio.raw)
    return Line((ratio.name, gain, numbers.interval(ratio.low, ratio.high), raw, ratio.words), tone)


def differences(compared: Compared) -> Section:
    """How the sides differ, and who declared it: what nobody declared comes first.

    The sentences of the verdict's reasons stand there and not again here.
    """
    told = {*compared.verdict.reasons, headline(compared)}
    order = ("undeclared", "variable under test", "accepted", "note")
    found = sorted(compared.differences, key=lambda item: order.index(item.standing))
    lines = [
        Line(
            (item.name, item.baseline, item.candidate, item.standing, "" if item.words in told else item.words),
            STANDINGS[item.standing],
        )
        for item in found
    ]
    names = ("what", "baseline", "candidate", "standing", "words")
    return Section("differences", "How the sides differ", (), _heads(*names), tuple(lines))


def answers(compared: Compared) -> Section:
    """Whether the answers are still right, class by class."""
    told = compared.answers
    if told is None:
        return Section("answers", "", (), (), ())
    again = any(item.itself is not None for item in told.classes)
    scored = any(item.scored is not None for item in told.classes)
    lines = []
    for item in told.classes:
        shares = [item.identical, *([item.itself] if again else []), item.similarity]
        cells = (item.workload, f"{item.n:,}", *map(_share, shares), f"{item.checked:,}", *map(_share, item.correct))
        troubles = ", ".join(f"{what} {before} → {after}" for what, before, after in item.troubles if before or after)
        tone = "bad" if any(lost.shown for lost in item.lost) else "warn" if any(x.beyond for x in item.lost) else ""
        points = [_lost(item.loss_points, item.loss_interval)]
        if scored:
            *means, score_points = _score(item)
            cells, points = (*cells, *means), [*points, score_points]
        lines.append(Line((*cells, *points, f"{item.limit_points:g}", troubles), tone))
    heads = (
        Head("", "class", left=True), Head("answers", "n"), Head("answers", "identical"),
        *([Head("answers", "baseline to itself")] if again else []), Head("answers", "others alike"),
        Head("right", "checked"), Head("right", "baseline"), Head("right", "candidate"),
        *([Head("score", "baseline"), Head("score", "candidate")] if scored else []), Head("points", "lost"),
        *([Head("points", "lost in score")] if scored else []), Head("points", "allowed"),
        Head("", "troubles (baseline → candidate)", left=True),
    )  # fmt: skip
    return Section("answers", "Are the answers still right?", told.words, heads, tuple(lines))


def _lost(points: float | None, interval: tuple[float, float] | None) -> str:
    """Points that were lost, with their interval; blank where nothing tells them."""
    if points is None:
        return ""
    return f"{points:.1f}" + ("" if interval is None else f" [{interval[0]:.1f}, {interval[1]:.1f}]")


def _score(item: ClassQuality) -> tuple[str, str, str]:
    """Mean scores of both sides and the points that were lost."""
    found = item.scored
    if found is None:
        return "", "", ""
    return f"{found.shares[0]:.3f}", f"{found.shares[1]:.3f}", _lost(found.loss.points, found.loss.interval)


def _share(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def money(compared: Compared) -> Section:
    """What each side costs."""
    told = compared.money
    if told is None:
        return Section("money", "", (), (), ())
    lines = [Line((line.name, line.unit or told.currency, *line.shown, line.assumption)) for line in told.lines]
    heads = _heads("what", "in", "baseline", "candidate", "assumption", right=(2, 3))
    return Section("money", "Money", told.words, heads, tuple(lines))


def capabilities(compared: Compared) -> Section:
    """What each side can do."""
    lines = tuple(Line(row) for row in compared.capabilities)
    return Section("capabilities", "What each side can do", (), _heads("what", "baseline", "candidate"), lines)


def changes(told: Changes) -> Section:
    """What each change brings, alone and on top of others."""
    lines = [
        Line(
            (
                " + ".join(item.changes),
                " + ".join(item.on_top_of) or "the baseline",
                words.times(item.gain) if item.gain is not None else UNKNOWN,
                numbers.interval(item.low, item.high),
                item.words,
            )
        )
        for item in told.contributions
    ]
    names = ("change", "on top of", "gain", "95 % interval", "words")
    where = f"{told.figure.words} at {told.level.words}, {numbers.of(told.workload)}"
    title = f"Steps of change: {where}"
    return Section(
        "changes", title, told.combined, _heads(*names, right=(2, 3)), tuple(lines), told.warnings
    )  # fmt: skip


def questions(compared: Compared) -> Section:
    """What a reader should ask."""
    lines = tuple(Line((item.question, item.answer), "" if item.known else "warn") for item in compared.questions)
    return Section("questions", "What to ask of these figures", (), _heads("question", "answer"), lines)


def runs(compared: Compared) -> Section:
    """The runs of both sides, in their order."""
    lines = []
    for place, side in enumerate((compared.pair.baseline, compared.pair.candidate)):
        for number, built in enumerate(side.rounds, 1):
            lines.append(
                Line(
                    (
                        side.name,
                        str(number),
                        str(built.summary.get("run") or ""),
                        str(built.folder),
                        built.verdict.word,
                    ),
                    "" if built.verdict.word == "OK" else "bad",
                    first=number == 1 and place > 0,
                )
            )
    return Section("runs", "The runs", (), _heads("side", "round", "run", "folder", "verdict"), tuple(lines))
