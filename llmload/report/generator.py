"""Was the load generator itself the limit? Its CPU, loop lag and lateness per step, from generator.jsonl.

The rule: a step is generator-bound if a worker used over 90 % of a core in three samples (seconds) running, or if
the 99th percentile of a worker's loop lag is over the larger of 5 ms and a tenth of the step's median gap that is
not 0. Such a step says nothing about the server.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from llmload.record import runfolder
from llmload.report.percentiles import percentile

CPU_LIMIT = 0.9
CPU_SECONDS = 3
LAG_LEAST_MS = 5.0
LAG_OF_GAP = 0.1
CPU_WISHED = 0.7
"""Share of a core at which a worker has room for bursts: how many workers would have sufficed is told from it."""
IDLE = 0.5
"""Share of a core under which a worker that was late had time, and did not get it: others would wait as well."""
NAMED = 6
"""Workers that are named."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Samples:
    """generator.jsonl in columns: one row per worker and second; the lags of row i are `lags[offsets[i]:…]`."""

    at: Floats
    worker: NDArray[np.object_]
    cpu: Floats
    lags_ms: Floats
    offsets: NDArray[np.int64]
    rss_bytes: Floats


@dataclass(frozen=True, slots=True)
class Over:
    """A worker over a limit in a window: nearly a whole core for `busy_s` seconds, or its loop late by `late_ms`."""

    worker: str
    busy_s: int = 0
    late_ms: float = 0.0
    limit_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Health:
    """The generator in one window.

    `over` says why, and is empty where it was not the limit; `workers_needed` is how many would have sufficed, None
    where no number would: the machine was busy with something else.
    """

    bound: bool | None
    cpu_max: float | None
    loop_lag_p99_ms: float | None
    workers: int
    workers_needed: int | None = None
    over: tuple[Over, ...] = ()


def read(folder: Path, offset_s: dict[str, float]) -> Samples:
    """generator.jsonl of a run folder; a missing file gives no rows, and neither does a garbled line."""
    at: list[float] = []
    worker: list[str] = []
    cpu: list[float | None] = []
    rss: list[float | None] = []
    lags: list[Floats] = [np.empty(0)]
    for line in runfolder.lines(folder / runfolder.GENERATOR):
        try:
            row = orjson.loads(line)
            when, name = float(row["at"]), str(row["worker"])
            used, memory = (None if row.get(key) is None else float(row[key]) for key in ("cpu", "rss_bytes"))
            late = np.array(row.get("loop_lag_ms") or [], dtype=np.float64).reshape(-1)
        except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError, ValueError):
            continue
        at.append(when - offset_s.get(name, 0.0))
        worker.append(name)
        cpu.append(used)
        rss.append(memory)
        lags.append(late)
    lengths = [len(part) for part in lags[1:]]
    return Samples(
        at=np.array(at, dtype=np.float64),
        worker=np.array(worker, dtype=object),
        cpu=np.array(cpu, dtype=np.float64),
        lags_ms=np.concatenate(lags),
        offsets=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        rss_bytes=np.array(rss, dtype=np.float64),
    )


def health(samples: Samples, begin: float, end: float, median_gap_ms: float | None) -> Health:
    """How the generator was inside [begin, end]; `median_gap_ms` is the step's median gap that is not 0."""
    inside = (samples.at >= begin) & (samples.at <= end)
    if not inside.any():
        return Health(None, None, None, 0)
    limit_ms = max(LAG_LEAST_MS, LAG_OF_GAP * (median_gap_ms or 0.0))
    over = []
    lag_p99: float | None = None
    spent = 0.0
    names = sorted(set(samples.worker[inside]))
    for name in names:
        rows = np.flatnonzero(inside & (samples.worker == name))
        rows = rows[np.argsort(samples.at[rows], kind="stable")]
        cpu = samples.cpu[rows]
        known = cpu[~np.isnan(cpu)]
        spent += float(known.max()) if len(known) else 0.0
        if (busy := _run_of(cpu > CPU_LIMIT)) >= CPU_SECONDS:
            over.append(Over(name, busy_s=busy))
        lags = [samples.lags_ms[samples.offsets[row] : samples.offsets[row + 1]] for row in rows]
        p99 = percentile(np.sort(np.concatenate(lags)), 99)
        if p99 is not None:
            lag_p99 = max(p99, lag_p99 or 0.0)
            if p99 > limit_ms:
                over.append(Over(name, late_ms=p99, limit_ms=limit_ms))
    cpus = samples.cpu[inside & ~np.isnan(samples.cpu)]
    idle = len(cpus) > 0 and cpus.max() < IDLE
    return Health(
        bound=bool(over),
        cpu_max=float(cpus.max()) if len(cpus) else None,
        loop_lag_p99_ms=lag_p99,
        workers=len(names),
        workers_needed=max(len(names) + 1, math.ceil(spent / CPU_WISHED)) if over and not idle else None,
        over=tuple(over),
    )


def told(found: Sequence[Health]) -> str:
    """Why the generator was the limit, in one sentence for any number of windows: who was over, and by how much."""
    over = [item for health in found for item in health.over]
    busy = [item for item in over if item.busy_s]
    late = [item for item in over if not item.busy_s]
    parts = []
    if busy:
        seconds = _up_to([f"{item.busy_s}" for item in sorted(busy, key=lambda item: item.busy_s)])
        parts.append(f"{_workers(busy)} used over {CPU_LIMIT * 100:.0f} % of a core for {seconds} seconds running")
    if late:
        ms = _up_to([f"{item.late_ms:.1f}" for item in sorted(late, key=lambda item: item.late_ms)])
        limits = sorted({item.limit_ms for item in late})
        limit = " to ".join(dict.fromkeys(f"{limit:.1f}" for limit in (limits[0], limits[-1])))
        parts.append(f"the event loop of {_workers(late)} was {ms} ms late (p99; the limit is {limit} ms)")
    return "; ".join(parts)


def _workers(found: Sequence[Over]) -> str:
    names = sorted({item.worker for item in found})
    if len(names) == 1:
        return f"worker {names[0]}"
    return f"{len(names)} workers ({', '.join(names[:NAMED])}{', …' * (len(names) > NAMED)})"


def _up_to(amounts: Sequence[str]) -> str:
    """The largest of amounts in order."""
    return amounts[-1] if amounts[0] == amounts[-1] else f"up to {amounts[-1]}"


def _run_of(true: NDArray[np.bool_]) -> int:
    """Length of the longest run of True."""
    longest = run = 0
    for value in true:
        run = run + 1 if value else 0
        longest = max(longest, run)
    return longest
