"""The commands that repeat a comparison: on the same runs, and the runs themselves. Pure."""

import shlex

from llmload.compare.claims.claims import Claim
from llmload.compare.comparison import Compared, Comparison
from llmload.compare.sides import Pair, Side
from llmload.report.rows import ALL


def comparing(comparison: Comparison, compared: Compared) -> str:
    """The command that compares the same runs again."""
    sides = (compared.pair.baseline, compared.pair.candidate)
    operands = [_operand(side) for side in sides] if comparison.ab is None else [comparison.ab]
    words = ["llmload", "compare", *operands]
    if comparison.claim is not None:
        words += ["--claim", _phrase(comparison.claim)]
    level, open_ = compared.deciding.level, comparison.claim is not None and comparison.claim.concurrency is None
    if not (open_ and (level,) == compared.pair.levels[-1:]):  # naming it would narrow a claim that names none
        words += ["--concurrency", str(level.rate if level.concurrency is None else level.concurrency)]
    if compared.deciding.workload != ALL:
        words += ["--workload", compared.deciding.workload]
    declared = {
        "--changed": [item.name for item in compared.differences if item.standing == "variable under test"],
        "--accept": [item.name for item in compared.differences if item.standing == "accepted"],
    }
    for flag, names in declared.items():
        words += [flag, ",".join(names)] if names else []
    for gate in compared.gates:
        words += ["--gate", gate.text]
    return shlex.join(words)


def _phrase(claim: Claim) -> str:
    """A claim in its short form, whatever form it came in."""
    where = "" if claim.concurrency is None else f"@{claim.concurrency:g}"
    return f"{claim.factor:.10g}x {claim.figure.key}{where}" + (f" {claim.workload}" if claim.workload else "")


def _operand(side: Side) -> str:
    return f"{side.name}={','.join(str(built.folder) for built in side.rounds)}"


def measurings(pair: Pair) -> list[tuple[str, str]]:
    """Whom they measure, and the commands; one of `llmload ab` measured both."""
    found = [(side.name, measuring(side)) for side in (pair.baseline, pair.candidate)]
    told = [(name, command) for name, command in found if command is not None]
    return [("both sides", told[0][1])] if len(told) > 1 and told[0][1] == told[1][1] else told


def measuring(side: Side) -> str | None:
    """The command that the first round of a side was measured with; None where it is not told."""
    command = side.rounds[0].facts.run.get("command") if side.rounds else None
    if not isinstance(command, list) or not command:
        return None
    return shlex.join(str(word) for word in command)
