"""What failed: for every step and outcome how often, in which classes, and what the server said most often."""

from collections import Counter
from dataclasses import dataclass

from llmload.report.facts import Facts


@dataclass(frozen=True, slots=True)
class Failure:
    """One outcome of one step; `error` is the commonest text of its records, one of `texts` different ones."""

    step: int
    outcome: str
    n: int
    workloads: tuple[tuple[str, int], ...]
    error: str | None
    texts: int


def find(facts: Facts) -> list[Failure]:
    """Failures among the measured attempts, the commonest of a step first; what was cut or not sent is among them."""
    bad = facts.measured & ~facts.is_("outcome", "ok")
    outcomes, workloads, errors = (facts.words(name)[bad] for name in ("outcome", "workload", "error"))
    steps = facts.numbers("step")[bad].astype(int)
    counts = Counter(zip(steps.tolist(), outcomes.tolist(), strict=True))
    classes: dict[tuple[int, str], Counter[str]] = {}
    texts: dict[tuple[int, str], Counter[str]] = {}
    for step, outcome, workload, error in zip(steps.tolist(), outcomes, workloads, errors, strict=True):
        classes.setdefault((step, outcome), Counter())[workload] += 1
        if error is not None:
            texts.setdefault((step, outcome), Counter())[error] += 1
    found = []
    for (step, outcome), n in sorted(counts.items(), key=lambda item: (item[0][0], -item[1], item[0][1])):
        told = texts.get((step, outcome), Counter())
        error = told.most_common(1)[0][0] if told else None
        found.append(Failure(step, outcome, n, tuple(classes[step, outcome].most_common()), error, len(told)))
    return found
