"""The questions a reader should ask of a comparison, each answered from the runs, or "these runs cannot say". Pure.

Nothing is computed here but what no other part says: what the load was, and by how much rounds differ.
"""

import statistics
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from llmload.compare.claims.claims import Claim
from llmload.compare.ratios.cells import Cell
from llmload.compare.ratios.intervals import ROUNDS
from llmload.compare.sides import Side
from llmload.compare.verdict import headlines, holding, verdict
from llmload.compare.words import claimed, percent, span, times
from llmload.report.doubts.case import listed
from llmload.report.head import when
from llmload.report.questions import Question

if TYPE_CHECKING:
    from llmload.compare.comparison import Compared

__all__ = ["Question", "of"]

CANNOT = "these runs cannot say"


def of(compared: "Compared", claim: Claim | None) -> tuple[Question, ...]:
    """The questions, in the order in which they are asked. `compared.questions` is not looked at."""
    cell, _ = verdict.decided(compared.cells, compared.deciding)
    return (
        _figure(compared, claim, cell),
        _conditions(compared, claim),
        _load(compared),
        _cost(compared),
        _repeated(compared, cell),
        _who(compared, claim),
        _answers(compared),
        _change(compared, claim, cell),
    )


def _figure(compared: "Compared", claim: Claim | None, cell: Cell | None) -> Question:
    question = "Which figure was claimed, and which was measured?"
    said = "nothing was claimed; the figure that decides was named beforehand"
    if claim is not None:
        where = "" if claim.concurrency is None else f" at {claim.concurrency:g}"
        where += "" if claim.workload is None else f" over {holding.class_words(claim.workload)}"
        said = f"claimed: {claimed(claim.factor)} of {claim.figure.words}{where or ', with no word on where'}"
    if cell is None or cell.gain is None:
        return Question(question, f"{said}; measured: {CANNOT}", known=False)
    between = span(cell.low, cell.high)
    kind = "over all attempts, failures included" if cell.figure.every_attempt else "over successes"
    kind = kind if cell.figure.unit in ("ms", "s") else ""
    return Question(
        question,
        f"{said}; measured: {times(cell.gain)} of {headlines.where(compared.pair, cell)}"
        f"{f', {kind}' if kind else ''}{f', 95 % interval {between}' if between else ''}",
    )


def _conditions(compared: "Compared", claim: Claim | None) -> Question:
    question = "Under which conditions?"
    unknown = [item.name for item in compared.conditions if item.baseline is None or item.candidate is None]
    parts = []
    if claim is not None:
        for standing, words in (("unstated", "left unstated by the claimant"), ("differs", "other here than stated")):
            names = [item.name for item in compared.conditions if item.standing == standing]
            parts += [f"{words}: {listed(names, 7)}"] if names else []
    for kind, words in (
        ("variable under test", "under test"),
        ("undeclared", "different, and declared by nobody"),
        ("accepted", "different, and accepted"),
    ):
        names = [item.name for item in compared.differences if item.standing == kind]
        parts += [f"{words}: {listed(dict.fromkeys(names), 7)}"] if names else []
    parts += [f"not known of both sides: {listed(unknown, 7)}"] if unknown else []
    if not parts:
        parts = ["all seven are known, and nothing that was looked at differs between the sides"]
    n = len(compared.conditions)
    return Question(question, "; ".join(parts), known=len(unknown) < n or not n)


def _load(compared: "Compared") -> Question:
    question, pair = "Does my load look like this?", compared.pair
    level, first = compared.deciding.level, pair.baseline
    weights = {
        item.get("name"): weight if type(weight := item.get("weight")) in (int, float) else 1.0
        for item in first.rounds[0].facts.scenario.get("classes") or ()
    }
    total = sum(weights.get(name, 0.0) for name in pair.workloads if name != "all") or 1.0
    said = []
    for name in pair.workloads:
        if name != "all":
            row = first.row(0, level, name) or {}
            lengths = f"{_tokens(row, 'input_tokens_mean')} tokens in, {_tokens(row, 'output_tokens_mean')} out"
            said.append(f"{name} {percent(weights.get(name, 0.0) / total)} ({lengths})")
    levels = ", ".join(item.label for item in pair.levels)
    unit = "in flight" if level.concurrency is not None else "requests a second"
    return Question(
        question,
        f"it was {listed(said) or 'of unknown classes'} at {levels} {unit}; the verdict is about {level.words}. "
        "Another mix, other lengths or another number in flight may turn it: put your own prompts into a data file",
        known=bool(said),
    )


def _tokens(row: dict[str, Any], key: str) -> str:
    value = row.get(key)
    return "uncounted" if value is None else f"{value:,.0f}"


def _cost(compared: "Compared") -> Question:
    question, money = "What did it cost?", compared.money
    if money is None:
        return Question(question, f"{CANNOT}: no price is set ([cost] in the scenario)", known=False)
    best = next((line for line in money.lines if line.name == "1,000 requests at best"), None)
    parts = []
    if best is not None and all(best.shown):
        parts.append(
            f"1,000 requests {best.shown[0]} {money.currency} before and {best.shown[1]} after ({best.assumption})"
        )
    known = bool(parts)
    return Question(question, "; ".join([*parts, *money.words]) or CANNOT, known=known)


def _repeated(compared: "Compared", cell: Cell | None) -> Question:
    question = "Was it repeated, and how much do rounds differ?"
    counts = [len(side.rounds) for side in (compared.pair.baseline, compared.pair.candidate)]
    how = f"{counts[0]} round{'s' * (counts[0] != 1)} of the baseline, {counts[1]} of the candidate"
    order = ", one beside the other" if compared.pair.interleaved else ", not interleaved: what drifted is in it"
    spreads = [_spread(values) for values in (cell.values if cell is not None else ((), ()))]
    if min(counts) < ROUNDS:
        return Question(
            question,
            f"no: {how}; {CANNOT} by how much two runs of the same differ, which often is 10 %. {ROUNDS} a side are "
            "needed (llmload ab)",
            known=False,
        )
    said = [
        f"{name} by {percent(spread)}"
        for name, spread in zip(("the baseline's", "the candidate's"), spreads, strict=True)
        if spread is not None
    ]
    apart = f"; from the smallest to the largest the figure that decides differs: {', '.join(said)}" if said else ""
    return Question(question, f"yes: {how}{order}{apart}", known=bool(said))


def _spread(values: tuple[float, ...]) -> float | None:
    """By how much rounds differ: (largest - smallest) / median; None for fewer than two, or where one is infinite."""
    middle = statistics.median(values) if len(values) > 1 else 0.0
    if not 0 < middle < float("inf") or max(values) == float("inf"):
        return None
    return (max(values) - min(values)) / middle


def _who(compared: "Compared", claim: Claim | None) -> Question:
    pair = compared.pair
    hosts = dict.fromkeys(host for side in (pair.baseline, pair.candidate) if (host := _host(side)))
    hardware = next((item for item in compared.conditions if item.name == "hardware"), None)
    on = [None, None] if hardware is None else [hardware.baseline, hardware.candidate]
    same = on[0] == on[1]
    box = f"{on[0] or 'unknown hardware'}" if same else " against ".join(item or "unknown hardware" for item in on)
    began = when(pair.baseline.rounds[0].facts.run)
    claimant = "" if claim is None or not claim.who else f"claimed by {claim.who}; "
    return Question(
        "Who measured it, and on what?",
        f"{claimant}measured from {listed(hosts) or 'an unknown client'} on {box}, first run {began}. Nobody else's "
        "figures are in it: send the run folders to somebody who repeats them (llmload pack, llmload rerun)",
        known=bool(hosts) and None not in on,
    )


def _host(side: Side) -> str:
    """The machine that conducted a side's first round."""
    environment = side.rounds[0].facts.run.get("environment")
    client = environment.get("client") if isinstance(environment, dict) else None
    host = client.get("host") if isinstance(client, dict) else None
    return host if isinstance(host, str) else ""


def _answers(compared: "Compared") -> Question:
    question, told = "Are the answers still right?", compared.answers
    if told is None:
        return Question(
            question,
            f"{CANNOT}: nobody kept the answers (--save-text, or llmload ab --check-answers), and faster but worse is "
            "no gain",
            known=False,
        )
    lost = "more was lost than is allowed" if told.loss else "no loss beyond the limit was shown"
    said = [
        f"{item.workload}: {percent(item.identical)} of {item.n:,} identical"
        for item in told.classes
        if item.identical is not None
    ]
    return Question(question, "; ".join([lost, *said]))


def _supported(claim: Claim | None, cell: Cell) -> str:
    least = "1" if claim is None else f"{claimed(claim.factor)} less the tolerance"
    return f"an interval that begins below {least}; it begins at {times(cell.low)}"


def _smaller(claim: Claim | None, cell: Cell) -> str:
    factor = "1" if claim is None else claimed(claim.factor)
    return f"an interval that reaches {factor}; it ends at {times(cell.high)}"


def _more(_claim: Claim | None, cell: Cell) -> str:
    between = span(cell.low, cell.high)
    return f"more rounds, or longer windows: they narrow the interval{f' ({between})' if between else ''}"


CHANGES: dict[str, Callable[[Claim | None, Cell], str]] = {
    "supported": _supported,
    verdict.LOSS: lambda _claim, _cell: "answers that lose no more than the limit, or a limit that allows it",
    "partly": lambda _claim, _cell: "naming where the claim is meant to hold: it holds there and not elsewhere",
    "direction confirmed, size not": _smaller,
    "not supported": _smaller,
    "cannot be judged": _more,
    "faster": _supported,
    "slower": lambda _claim, cell: f"an interval that reaches 1; it ends at {times(cell.high)}",
    "no difference shown": _more,
    "not repeated": lambda _claim, _cell: f"{ROUNDS} rounds a side: until then there is no verdict",
}
"""What would turn a verdict, by its word."""


def _change(compared: "Compared", claim: Claim | None, cell: Cell | None) -> Question:
    question, word = "What would change the verdict?", compared.verdict.word
    if word == "not comparable":
        names = list(dict.fromkeys(item.name for item in compared.differences if item.standing == "undeclared"))
        return Question(
            question, f"declaring what differs: --changed (under test) or --accept (borne) {','.join(names)}"
        )
    if cell is None or cell.gain is None:
        return Question(question, "the figure that decides, measured on both sides")
    few = min(cell.rounds) < ROUNDS
    words = CHANGES["not repeated" if few else word](claim, cell)
    risks = [item.name for item in compared.differences if item.standing == "accepted"]
    besides = f"; and doubt about what was accepted: {listed(risks)}" if risks else ""
    return Question(question, words + besides)
