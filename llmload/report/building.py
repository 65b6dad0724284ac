"""Read a run, compute everything, write the files. The one place where the parts of the reporter meet."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from llmload.exits import Exit, Stop
from llmload.report import facts, gates, rows, verdict
from llmload.report.facts import Facts
from llmload.report.gates import Judged
from llmload.report.rows import StepRows
from llmload.report.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Built:
    """A run, judged. `summary` is summary.json; `failures` are the reasons for exit code 1, one sentence each."""

    folder: Path
    facts: Facts
    steps: tuple[StepRows, ...]
    verdict: Verdict
    summary: dict[str, Any]
    gates: tuple[Judged, ...]
    failures: tuple[str, ...]

    @property
    def exit_code(self) -> Exit:
        """The exit code of design.md: the higher of several wins."""
        return max(verdict.CODES[self.verdict.word], Exit.FAILED if self.failures else Exit.OK)


def build(folder: Path, *, gates: Sequence[str] = (), max_fail_ratio: float | None = None) -> Built:
    """As `llmload.report.build`."""
    built = compute(folder, gates, max_fail_ratio)
    for name, render in FILES.items():
        _write(folder / name, render(built))
    return built


def compute(folder: Path, conditions: Sequence[str] = (), max_fail_ratio: float | None = None) -> Built:
    """The figures and the verdict, without a file."""
    parsed = [gates.parse(text) for text in conditions]
    known = facts.read(folder)
    steps = rows.build(known)
    word = verdict.of_run(known, steps)
    table = [row for item in steps for row in item.rows]
    summary: dict[str, Any] = {
        "schema": 1,
        "run": known.run.get("run"),
        "scenario": known.scenario.get("name"),
        "verdict": word.word,
        "reasons": list(word.reasons),
        "rows": table,
    }
    judged = tuple(gates.judge(gate, table) for gate in parsed)
    failures = [f"gate {item.gate.text} does not hold: {item.words}" for item in judged if not item.holds]
    share = verdict.failed_share(table)
    if max_fail_ratio is not None and (share is None or share > max_fail_ratio):
        got = "nothing was measured" if share is None else f"{share:.2%} of the measured attempts failed"
        failures.append(f"{got}; --max-fail-ratio allows {max_fail_ratio:.2%}")
    failures += verdict.without_success(steps)
    return Built(folder, known, steps, word, summary, judged, tuple(failures))


def summary_json(built: Built) -> str:
    """summary.json."""
    return orjson.dumps(built.summary, option=orjson.OPT_INDENT_2).decode() + "\n"


FILES: dict[str, Callable[[Built], str]] = {"summary.json": summary_json}


def _write(path: Path, text: str) -> None:
    """Replace a file by rename. Raises Stop(USAGE) if that cannot be done."""
    new = path.with_name(f".{path.name}.new")
    try:
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    except OSError as error:
        raise Stop(
            f"{path}: cannot be written: {error.strerror}; make the folder writable, or copy the run to one that is",
            Exit.USAGE,
        ) from error
