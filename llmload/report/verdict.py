"""The verdict of a run and the exit code: what run.json says, made worse by what the data says, never better."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llmload.exits import Exit
from llmload.report import balance, lost
from llmload.report.facts import Facts
from llmload.report.rows import StepRows

CODES = {"OK": Exit.OK, "DEGRADED": Exit.DEGRADED, "INCOMPLETE": Exit.INCOMPLETE}


@dataclass(frozen=True, slots=True)
class Verdict:
    """`word` is OK, DEGRADED or INCOMPLETE; `reasons` say why, and are empty for OK unless run.json adds a note."""

    word: str
    reasons: tuple[str, ...]


def of_run(facts: Facts, steps: Sequence[StepRows]) -> Verdict:
    """Judge a run."""
    said = facts.run.get("verdict")
    reasons = list(facts.run.get("reasons") or ())
    words = [said if said in CODES else "INCOMPLETE"]
    if said is None:
        reasons.append("the run has no end: it was killed, or is still going on")
    for item in steps:
        if item.step.ended_by == "stopped":
            words.append("INCOMPLETE")
            reasons.append(f"step {item.step.index} ({item.step.words}) was stopped before its end")
    worse = lost.sentences(facts.lost) + balance.check(facts, steps)
    worse += [
        f"step {item.step.index} ({item.step.words}) is generator-bound: {'; '.join(item.health.reasons)}"
        for item in steps
        if item.health.bound
    ]
    if worse:
        words.append("DEGRADED")
    return Verdict(max(words, key=lambda word: CODES[word]), tuple(dict.fromkeys(reasons + worse)))


def without_success(steps: Sequence[StepRows]) -> list[str]:
    """Steps that ended without a single success, one sentence each."""
    return [
        f"step {item.step.index} ({item.step.words}) ended without a single success"
        for item in steps
        if item.step.ended_by is not None and item.rows[-1]["ok"] == 0
    ]


def failed_share(rows: Sequence[dict[str, Any]]) -> float | None:
    """Share of the whole run's measured attempts that did not succeed; those a user's stop cut are left out."""
    counted = sum(row["started"] - row["cancelled"] for row in rows if row["workload"] == "all")
    good = sum(row["ok"] for row in rows if row["workload"] == "all")
    return (counted - good) / counted if counted else None
