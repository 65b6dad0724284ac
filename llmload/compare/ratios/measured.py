"""The figures of a side round by round: those of its rows, and characters per second, which no row has.

Characters per second = characters streamed inside the window / its seconds, as output tokens per second are: what each
request generated, in characters, is spread evenly over its events. Blank where a success does not tell its characters.
"""

import numpy as np

from llmload.compare import figures
from llmload.compare.figures import Figure
from llmload.compare.ratios import attempts
from llmload.compare.ratios.attempts import Attempts
from llmload.compare.sides import Level, Side
from llmload.report import throughput
from llmload.report.building import Built
from llmload.report.rows import ALL

CHARS = "chars"


class Measured:
    """A side, and what was looked up of it so far."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self._chars: dict[tuple[int, Level], dict[str, float | None]] = {}
        self._attempts: dict[tuple[int, Level], Attempts] = {}

    @property
    def count(self) -> int:
        """Rounds."""
        return len(self.side.rounds)

    def values(self, level: Level, workload: str, figure: Figure) -> list[float | None]:
        """The figure in each round; None where it was not measured."""
        return [self._value(at, level, workload, figure) for at in range(self.count)]

    def _value(self, at: int, level: Level, workload: str, figure: Figure) -> float | None:
        if figure.key != CHARS:
            return figures.value(self.side.row(at, level, workload), figure)
        if (at, level) not in self._chars:
            self._chars[at, level] = chars_per_s(self.side.rounds[at], level)
        return self._chars[at, level].get(workload)

    def attempts(self, at: int, level: Level) -> Attempts:
        """The measured attempts of a round, of all classes."""
        if (at, level) not in self._attempts:
            self._attempts[at, level] = attempts.read(self.side.rounds[at], level)
        return self._attempts[at, level]

    def counted(self, level: Level, workload: str) -> list[int]:
        """In each round the attempts that percentiles are over: started, less what the user's stop cut."""
        rows = [self.side.row(at, level, workload) for at in range(self.count)]
        return [0 if row is None else row["started"] - row["cancelled"] for row in rows]

    def mean(self, level: Level, workload: str, key: str) -> float | None:
        """Mean over rounds of a plain number of the rows; None where a round has none."""
        rows = [self.side.row(at, level, workload) for at in range(self.count)]
        told = [None if row is None else row.get(key) for row in rows]
        known = [float(value) for value in told if value is not None]
        return sum(known) / len(known) if known and len(known) == len(told) else None


def chars_per_s(built: Built, level: Level) -> dict[str, float | None]:
    """Characters per second of a run at a level, by class and for all."""
    facts = built.facts
    step = next(
        (item for item in facts.steps if (item.concurrency, item.rate) == (level.concurrency, level.rate)), None
    )
    if step is None or step.begin is None or step.end is None or step.end <= step.begin:
        return {}
    chars, mine = facts.numbers("output_chars"), facts.ok & (facts.records["step"].to_numpy() == step.index)
    group = facts.records["workload"].cat
    places = np.array([facts.workloads.index(name) for name in group.categories], dtype=np.int64)
    groups = places[group.codes.to_numpy(dtype=np.int64)]
    first = facts.numbers("ttft_ms")
    first = np.where(np.isnan(first), facts.numbers("e2e_ms"), first)
    stream = throughput.Stream(
        facts.numbers("start_s"), facts.numbers("end_s"), first, facts.gaps_ms, facts.offsets, np.nan_to_num(chars)
    )
    window = (step.begin, step.end)
    found = throughput.per_group(stream, groups, len(facts.workloads), window)
    told: dict[str, float | None] = {}
    for at, name in enumerate([*facts.workloads, ALL]):
        of = mine if name == ALL else mine & (groups == at)
        known = bool(of.any()) and not np.isnan(chars[of]).any()
        told[name] = found[at].total / (step.end - step.begin) if known else None
    return told
