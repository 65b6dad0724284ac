"""What failed: for every step, phase and outcome how often, in which classes, and what the server said most often."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from llmload.report.facts import Facts

PHASES = {"warmup": "warm-up", "measure": "window", "drain": "drain"}
"""The phases in the order in which they follow one another, in words."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One outcome of one step and phase; `error` is the commonest text of its records, of `texts` different ones."""

    step: int
    phase: str
    outcome: str
    n: int
    workloads: tuple[tuple[str, int], ...]
    error: str | None
    texts: int

    @property
    def when(self) -> str:
        """The phase in words."""
        return PHASES.get(self.phase, self.phase)


def find(facts: Facts) -> list[Failure]:
    """Failures of all phases, in their order, the commonest first.

    What was cut or not sent is among those of the window; the warm-up's and the drain's own that were cut are no
    failures: every step ends by cutting them.
    """
    phases = facts.phases
    bad = ~facts.is_("outcome", "ok") & ~(facts.is_("outcome", "cancelled") & (phases != "measure")) & ~facts.aside
    keys = list(
        zip(
            facts.records["step"].to_numpy(dtype=np.int64)[bad].tolist(),
            phases[bad].tolist(),
            facts.words("outcome")[bad].tolist(),
            strict=True,
        )
    )
    classes: dict[tuple[int, str, str], Counter[str]] = {}
    texts: dict[tuple[int, str, str], Counter[str]] = {}
    for key, workload, error in zip(keys, facts.words("workload")[bad], facts.words("error")[bad], strict=True):
        classes.setdefault(key, Counter())[workload] += 1
        said = texts.setdefault(key, Counter())
        if error is not None:
            said[error] += 1
    order = list(PHASES)
    found = []
    for key, workloads in classes.items():
        told = texts[key]
        error = told.most_common(1)[0][0] if told else None
        found.append(Failure(*key, workloads.total(), tuple(workloads.most_common()), error, len(told)))
    return sorted(found, key=lambda item: (item.step, order.index(item.phase), -item.n, item.outcome))
