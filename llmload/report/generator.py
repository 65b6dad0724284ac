"""Was the load generator itself the limit? Its CPU, loop lag and lateness per step, from generator.jsonl.

The rule: a step is generator-bound if a worker used over 90 % of a core in three samples (seconds) running, or if
the 99th percentile of a worker's loop lag is over the larger of 5 ms and a tenth of the step's median gap that is
not 0. Such a step says nothing about the server.
"""

import math
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
class Health:
    """The generator in one window.

    `reasons` are sentences, none where it was not the limit; `workers_needed` is how many would have sufficed, None
    where no number would: the machine was busy with something else.
    """

    bound: bool | None
    cpu_max: float | None
    loop_lag_p99_ms: float | None
    workers: int
    workers_needed: int | None = None
    reasons: tuple[str, ...] = ()


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
    reasons = []
    lag_p99: float | None = None
    spent = 0.0
    names = sorted(set(samples.worker[inside]))
    for name in names:
        rows = np.flatnonzero(inside & (samples.worker == name))
        rows = rows[np.argsort(samples.at[rows], kind="stable")]
        cpu = samples.cpu[rows]
        known = cpu[~np.isnan(cpu)]
        spent += float(known.max()) if len(known) else 0.0
        if _run_of(cpu > CPU_LIMIT) >= CPU_SECONDS:
            reasons.append(
                f"worker {name} used over {CPU_LIMIT:.0%} of a core for {_run_of(cpu > CPU_LIMIT)} seconds running"
            )
        lags = [samples.lags_ms[samples.offsets[row] : samples.offsets[row + 1]] for row in rows]
        p99 = percentile(np.sort(np.concatenate(lags)), 99)
        if p99 is not None:
            lag_p99 = max(p99, lag_p99 or 0.0)
            if p99 > limit_ms:
                reasons.append(
                    f"worker {name}'s event loop was {p99:.1f} ms late (p99; the limit is {limit_ms:.1f} ms)"
                )
    cpus = samples.cpu[inside & ~np.isnan(samples.cpu)]
    idle = len(cpus) > 0 and cpus.max() < IDLE
    return Health(
        bound=bool(reasons),
        cpu_max=float(cpus.max()) if len(cpus) else None,
        loop_lag_p99_ms=lag_p99,
        workers=len(names),
        workers_needed=max(len(names) + 1, math.ceil(spent / CPU_WISHED)) if reasons and not idle else None,
        reasons=tuple(reasons),
    )


def _run_of(true: NDArray[np.bool_]) -> int:
    """Length of the longest run of True."""
    longest = run = 0
    for value in true:
        run = run + 1 if value else 0
        longest = max(longest, run)
    return longest
