"""The verdict of a run and the exit code: what run.json says, made worse by what the data says, never better."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llmload.exits import VERDICTS
from llmload.report import balance, failures, generator, late, lost
from llmload.report.doubts.case import at
from llmload.report.facts import Facts
from llmload.report.rows import StepRows

CUT_SHORT = {
    "stopped": "was stopped before its end",
    "fault": "ended before its end, because the run could not go on",
}
"""Ends of a step (`ended_by`) that leave a run INCOMPLETE, in words; by hand a stop is how a run ends."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`word` is OK, DEGRADED or INCOMPLETE; `reasons` say why; notes, which spoiled nothing, stand last among them."""

    word: str
    reasons: tuple[str, ...]


def of_run(facts: Facts, steps: Sequence[StepRows]) -> Verdict:
    """Judge a run."""
    said = facts.run.get("verdict")
    notes = [str(note) for note in facts.run.get("notes") or ()]
    reasons = [reason for reason in facts.run.get("reasons") or () if reason not in notes]
    words = [said if said in VERDICTS else "INCOMPLETE"]
    if said is None:
        reasons.append("the run has no end: it was killed, or is still going on")
    for item in steps:
        if item.step.ended_by in CUT_SHORT and not (facts.loop == "hand" and item.step.ended_by == "stopped"):
            words.append("INCOMPLETE")
            reasons.append(f"{item.step.named} {CUT_SHORT[item.step.ended_by]}")
    worse = lost.sentences(facts.lost) + balance.check(facts, steps)
    worse += late.sentences(facts.records, facts.late, facts.steps)
    worse += _generator_bound([item for item in steps if item.health.bound])
    worse += [
        f"{item.step.named}: {n} of {item.rows[-1]['started']} measured attempts failed for want of something on this "
        "machine (local_resource)"
        for item in steps
        if (n := item.rows[-1]["outcomes"].get("local_resource"))
    ]
    if worse:
        words.append("DEGRADED")
    return Verdict(max(words, key=lambda word: VERDICTS[word]), tuple(dict.fromkeys(reasons + worse + notes)))


def _generator_bound(found: Sequence[StepRows]) -> list[str]:
    """One sentence for all steps in which the generator was the limit, and how many workers would have sufficed."""
    if not found:
        return []
    which = f"{found[0].step.named} is" if len(found) == 1 else f"{len(found)} steps are"
    where = "" if len(found) == 1 else f" ({at(item.step for item in found)})"
    enough = [item.health.workers_needed for item in found if item.health.workers_needed is not None]
    sufficed = f"; {max(enough)} workers would have sufficed" if enough else ""
    return [f"{which} generator-bound{where}: {generator.told([item.health for item in found])}{sufficed}"]


def without_success(facts: Facts, steps: Sequence[StepRows]) -> list[str]:
    """Steps that ended without a single success in their window, one sentence each, with what became of them instead.

    Of a step that never came to its window that is what failed in its warm-up.
    """
    failed = failures.find(facts)
    found = []
    for item in steps:
        if item.step.ended_by is None or item.rows[-1]["ok"]:
            continue
        mine = [failure for failure in failed if failure.step == item.step.index and failure.phase != "drain"]
        counts = ", ".join(
            f"{failure.outcome} {failure.n}" + (" (warm-up)" if failure.phase == "warmup" else "") for failure in mine
        )
        said = max(((failure.n, failure.error) for failure in mine if failure.error), default=(0, None))[1]
        found.append(
            f"{item.step.named} ended without a single success"
            + (f": {counts}" if counts else ": nothing was sent in it")
            + (f"; said most often: {said}" if said else "")
        )
    return found


def failed_share(rows: Sequence[dict[str, Any]]) -> float | None:
    """Share of the whole run's measured attempts that did not succeed; those a user's stop cut are left out."""
    counted = sum(row["started"] - row["cancelled"] for row in rows if row["workload"] == "all")
    good = sum(row["ok"] for row in rows if row["workload"] == "all")
    return (counted - good) / counted if counted else None
