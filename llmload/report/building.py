"""Read a run and compute everything about it. Renders nothing and writes no file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llmload.exits import VERDICTS, Exit
from llmload.report import columns, cost, doubts, facts, gates, observer, positions, rows, verdict
from llmload.report.columns import Table
from llmload.report.doubts.case import Case
from llmload.report.facts import Facts
from llmload.report.gates import Judged
from llmload.report.observer import Observed
from llmload.report.rows import StepRows
from llmload.report.soak import finding
from llmload.report.soak import table as soak_table
from llmload.report.soak.finding import Soak
from llmload.report.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Built:
    """A run, judged. `summary` is summary.json; `failures` are the reasons for exit code 1, one sentence each."""

    folder: Path
    facts: Facts
    steps: tuple[StepRows, ...]
    verdict: Verdict
    summary: dict[str, Any]
    speeds: dict[int, list[float | None]]
    """Decode speed by position, for every step (`positions`)."""
    warnings: tuple[str, ...]
    gates: tuple[Judged, ...]
    failures: tuple[str, ...]
    observed: Observed | None
    """What --observer-check found."""
    soak: Soak | None
    """What became of the server through the longest window, where that is long."""

    @property
    def tables(self) -> list[Table]:
        """The tables, as text."""
        return self._tables(soak_table.WHOLE)

    @property
    def short_tables(self) -> list[Table]:
        """The same with as much of a soak as a terminal has room for."""
        return self._tables(soak_table.SHORT)

    def _tables(self, soak: str) -> list[Table]:
        found = columns.tables(
            self.summary["rows"], {item.step.index: item.health.workers_needed for item in self.steps}
        )
        return found if self.soak is None else [*found, soak_table.table(self.soak, soak)]

    @property
    def cheapest(self) -> str:
        """A sentence on the highest step within the SLO, and what it costs there."""
        return cost.at_best(self.summary["rows"])

    @property
    def exit_code(self) -> Exit:
        """The exit code of design.md: the higher of several wins."""
        return max(VERDICTS[self.verdict.word], Exit.FAILED if self.failures else Exit.OK)

    @property
    def failed(self) -> str | None:
        """What stands beside the verdict where gates or steps failed: the verdict alone would look like success."""
        return f"gates and steps: FAILED (exit code {int(self.exit_code)})" if self.failures else None


def compute(
    folder: Path,
    conditions: Sequence[str] = (),
    max_fail_ratio: float | None = None,
    bucket_s: float | None = None,
) -> Built:
    """The figures and the verdict, without a file. `bucket_s` cuts the longest window into parts, even a short one."""
    parsed = [gates.parse(text) for text in conditions]
    known = facts.read(folder)
    steps = rows.build(known)
    observed = observer.find(known)
    repeated = () if observed is None else observed.steps
    soak = finding.find(known, bucket_s)
    word = verdict.of_run(known, [*steps, *repeated])
    table = [row for item in steps for row in item.rows]
    summary: dict[str, Any] = {
        "schema": 1,
        "run": known.run.get("run"),
        "scenario": known.scenario.get("name"),
        "verdict": word.word,
        "reasons": list(word.reasons),
        "rows": table,
        **({} if soak is None else {"soak": soak.as_dict()}),
    }
    judged = tuple(gates.judge(gate, table) for gate in parsed)
    failures = [f"gate {item.gate.text} does not hold: {item.words}" for item in judged if not item.holds]
    share = verdict.failed_share(table)
    if max_fail_ratio is not None and (share is None or share > max_fail_ratio):
        got = "nothing was measured" if share is None else f"{share * 100:.2f} % of the measured attempts failed"
        failures.append(f"{got}; --max-fail-ratio allows {max_fail_ratio * 100:.2f} %")
    failures += verdict.without_success(known, steps) + verdict.without_success(known.unsampled, repeated)
    warnings = (*(() if observed is None else observed.warnings), *doubts.all_of(Case(known, steps)))
    warnings += () if soak is None else soak.warnings
    speeds = positions.speeds(known)
    return Built(folder, known, steps, word, summary, speeds, warnings, judged, tuple(failures), observed, soak)
