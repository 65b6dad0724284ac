"""Do the rows balance? A difference is a fault of llmload, and spoils the verdict.

planned = started + not_sent, started = ok + failed + cancelled + lost, classes add up to `all`, and every record has
found its step.
"""

from collections.abc import Sequence
from typing import Any

from llmload.report.facts import Facts
from llmload.report.lost import count
from llmload.report.rows import StepRows

ADDED = ("planned", "not_sent", "warmup", "drain", "started", "ok", "failed", "cancelled", "lost")


def check(facts: Facts, steps: Sequence[StepRows]) -> list[str]:
    """What does not add up, one sentence each."""
    found = []
    for item in steps:
        where = item.step.named
        if not item.step.known:
            found.append(f"{where}: run.json does not know this step, and records of it are here")
        for row in item.rows:
            found += [f"{where}, {row['workload']}: {what}" for what in _row(row)]
        *classes, whole = item.rows
        for key in ADDED:
            total = sum(row[key] for row in classes)
            unknown = count([lost for lost in facts.lost if lost.step == item.step.index and lost.workload is None])
            if not total <= whole[key] <= total + unknown:
                found.append(f"{where}: {key} of the classes adds up to {total}, and all attempts are {whole[key]}")
    found += [
        f"worker {worker}: {extra} more attempts are here than it says it started"
        for worker, extra in facts.surplus.items()
    ]
    if facts.unreadable:
        found.append(f"requests.jsonl: {facts.unreadable} lines are no records")
    return found


def _row(row: dict[str, Any]) -> list[str]:
    """What does not add up inside a row."""
    found = []
    if row["planned"] != row["started"] + row["not_sent"]:
        found.append(f"planned {row['planned']} is not started {row['started']} + not sent {row['not_sent']}")
    parts = row["ok"] + row["failed"] + row["cancelled"] + row["lost"]
    if row["started"] != parts:
        found.append(f"started {row['started']} is not ok + failed + cancelled + lost = {parts}")
    if row["started"] != sum(row["outcomes"].values()) + row["lost"]:
        found.append(f"started {row['started']} is not the sum of its outcomes and of what was lost")
    return found
