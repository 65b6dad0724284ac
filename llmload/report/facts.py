"""A run folder, read: the facts that every figure of the report is computed from.

`read(folder)` merges requests.jsonl with the spools of workers that lie in the folder, counts each attempt once,
and finds out what is missing. It keeps the gaps of all requests in one flat array, because a list of Python floats
per request would take four times the memory. It computes no figure and judges nothing.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from llmload.exits import Exit, Stop
from llmload.record import runfolder
from llmload.report import generator, kinds, late, lost, measures, records, shape, steps
from llmload.report.steps import Step
from llmload.report.telemetry import Telemetry, reading

SCHEMA = 1
"""The newest run.json this reporter understands."""

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything a run folder tells.

    Columns of `records` are those of requests.jsonl, without `gaps_ms`, and with
    `start_s` and `end_s` (wall clock of the master: the worker's, less its clock offset), `e2e_ms`, `tpot_ms`,
    `streamed_tokens` and `max_gap_ms`. NaN stands for what was not measured.
    """

    folder: Path
    run: dict[str, Any]
    scenario: dict[str, Any]
    records: pd.DataFrame
    flags: tuple[str, ...]
    """What the bits of `records["flags"]` say."""
    gaps_ms: Floats
    offsets: NDArray[np.int64]
    steps: tuple[Step, ...]
    workloads: tuple[str, ...]
    """Classes of the scenario, and others that were sent. Of a run without steps only what was sent: the user's own
    code names its classes, and the scenario's was never meant."""
    lost: tuple[lost.Lost, ...]
    unreadable: int
    """Lines of requests.jsonl that are no record."""
    surplus: dict[str, int]
    """Per worker, attempts that it does not know to have started."""
    samples: generator.Samples
    late: Flags
    """Attempts sent as measured when their window was over (`late`): no figure of the window counts them."""
    brief: tuple[Step, ...]
    """Levels set by hand that were held too short for a row …"""
    unobserved: tuple[Step, ...]
    """… and the step that was repeated with all sampling paused …"""
    aside: Flags
    """… and their attempts, which no figure counts."""
    telemetry: Telemetry
    """What the GPUs and the server told."""

    def numbers(self, column: str) -> Floats:
        """A column as floats; NaN where it was not measured."""
        return self.records[column].to_numpy(dtype=np.float64, na_value=np.nan)

    def words(self, column: str) -> NDArray[np.object_]:
        """A column of words; None where there is none."""
        told = self.records[column].array
        found = np.array(told, dtype=object)
        found[told.isna()] = None
        return found

    def is_(self, column: str, word: str) -> Flags:
        """Which attempts have this word in a column."""
        return np.asarray(self.records[column].array == word, dtype=bool)

    def has_flag(self, flag: str) -> Flags:
        """Which attempts carry a flag."""
        if flag not in self.flags:
            return np.zeros(len(self.records), dtype=bool)
        bits = self.records["flags"].to_numpy(dtype=np.int64)
        return np.asarray((bits >> self.flags.index(flag)) & 1, dtype=bool)

    def gaps_of(self, chosen: Flags) -> Floats:
        """All gaps of the chosen attempts, in one row."""
        places = np.flatnonzero(chosen)
        if not len(places):
            return np.empty(0)
        first, last = int(places[0]), int(places[-1]) + 1  # attempts of a step lie together: look at no others
        offsets = self.offsets[first : last + 1]
        return self.gaps_ms[offsets[0] : offsets[-1]][np.repeat(chosen[first:last], np.diff(offsets))]

    def only(self, *chosen: Step) -> "Facts":
        """The same, about these steps and their attempts alone, whether or not they are aside otherwise."""
        mine = np.isin(self.records["step"].to_numpy(dtype=np.int64), [step.index for step in chosen])
        return replace(self, steps=chosen, aside=~mine)

    @property
    def unsampled(self) -> "Facts":
        """The same, about what was repeated without sampling."""
        return self.only(*self.unobserved)

    @property
    def loop(self) -> str:
        """The model of load: `steps`, `hand`, `rate` or `free`."""
        return steps.loop(self.scenario)

    @property
    def closed_loop(self) -> bool:
        """Whether each step asks for so many requests in flight."""
        return self.loop in ("steps", "hand")

    @property
    def streaming(self) -> bool:
        """Whether answers were asked for as a stream."""
        return bool(self.scenario.get("stream", True))

    @property
    def measured(self) -> Flags:
        """Attempts sent inside a window."""
        return self.is_("phase", "measure") & ~self.late & ~self.aside

    @property
    def phases(self) -> NDArray[np.object_]:
        """The phase of each attempt; what was sent when its window was over is `drain`, whatever it was sent as."""
        return np.where(self.late, "drain", self.words("phase"))

    @property
    def ok(self) -> Flags:
        """Measured attempts that were ok."""
        return self.measured & self.is_("outcome", "ok")


def run_of(folder: Path) -> dict[str, Any]:
    """run.json of a folder. Raises Stop(UNJUDGED) for one that is no run, of a newer format or damaged."""
    run = runfolder.read_run(folder)
    schema = run.get("schema")
    if not isinstance(schema, int) or schema > SCHEMA:
        raise Stop(
            f"{folder / runfolder.RUN}: written in format {schema}, and this llmload reads formats up to {SCHEMA}; "
            "update llmload",
            Exit.UNJUDGED,
        )
    if (fault := shape.wrong(run)) is not None:
        raise Stop(f"{folder / runfolder.RUN}: {fault}; the file was damaged or changed: restore it", Exit.UNJUDGED)
    return run


def read(folder: Path) -> Facts:
    """All facts of a run folder. Raises Stop(UNJUDGED) as `run_of` does, and for records of a newer format."""
    run = run_of(folder)
    table = records.read(folder)
    frame = table.frame
    scenario = run.get("scenario") or {}
    workers = run.get("workers") or {}
    offset_s, error_s = (
        {name: (facts.get(key) or 0.0) / 1000 for name, facts in workers.items()}
        for key in ("clock_offset_ms", "clock_error_ms")
    )
    clock = frame["worker"].astype(object).map(offset_s).astype(float).fillna(0.0).to_numpy(dtype=float)
    values = {name: frame[name].to_numpy(dtype=float) for name in kinds.FLOATS}
    last = np.fmax(values["end_ms"], values["last_token_ms"])
    frame["start_s"] = values["sent_at"] - clock
    frame["end_s"] = frame["start_s"].to_numpy(dtype=float) + last / 1000
    frame["e2e_ms"] = measures.e2e_ms(
        values["last_token_ms"], values["end_ms"], streaming=bool(scenario.get("stream", True))
    )
    frame["tpot_ms"] = measures.tpot_ms(
        values["ttft_ms"], values["last_token_ms"], values["output_tokens"], values["hidden_tokens"]
    )
    frame["streamed_tokens"] = measures.streamed_tokens(
        values["output_tokens"], values["hidden_tokens"], frame["events"].to_numpy(dtype=np.int64)
    )
    longest = np.full(len(frame), np.nan)
    some = np.flatnonzero(np.diff(table.offsets))
    if len(some):
        longest[some] = np.maximum.reduceat(table.gaps_ms, table.offsets[:-1][some])
    frame["max_gap_ms"] = longest
    missing, surplus = lost.find(frame, table.starts, run.get("accounting") or {}, offset_s)
    known = [item["name"] for item in scenario.get("classes") or ()]
    seen = [name for name in frame["workload"].cat.categories if name not in known]
    seen += [item.workload for item in missing if item.workload and item.workload not in {*known, *seen}]
    sent = {*frame["workload"].cat.categories, *(item.workload for item in missing if item.workload)}
    if sent and steps.loop(scenario) == "free":
        known = [name for name in known if name in sent]
    found = steps.find(run.get("steps") or (), frame, missing)
    unobserved = tuple(step for step in found if not step.observed)
    levels, brief = (tuple(step for step in found if step.held is held and step.observed) for held in (True, False))
    return Facts(
        folder=folder,
        run=run,
        scenario=scenario,
        records=frame,
        flags=table.flags,
        gaps_ms=table.gaps_ms,
        offsets=table.offsets,
        steps=levels,
        workloads=tuple(dict.fromkeys([*known, *seen])),
        lost=missing,
        unreadable=table.unreadable,
        surplus=surplus,
        samples=generator.read(folder, offset_s),
        late=late.find(frame, [*levels, *unobserved], error_s),
        brief=brief,
        unobserved=unobserved,
        aside=frame["step"].isin([step.index for step in (*brief, *unobserved)]).to_numpy(dtype=bool),
        telemetry=reading.read(folder, run),
    )
