"""A run as pandas data frames, for people who want to compute something of their own."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from llmload.report import cost, facts, rows
from llmload.report.figures import COUNTED
from llmload.report.telemetry import gpus, servers


@dataclass(frozen=True, slots=True)
class Frames:
    """Two frames.

    `records`: one row per attempt, the columns of requests.jsonl (`gaps_ms` as arrays, `flags` as lists) and `start_s`,
    `end_s`, `e2e_ms`, `tpot_ms`, `streamed_tokens`, `max_gap_ms`. `table`: one row per step and class, the figures of
    summary.json with dotted names (`ttft_ms.ok.p50`); percentiles that fall on failures are `inf`.
    """

    records: pd.DataFrame
    table: pd.DataFrame


def frames(folder: Path) -> Frames:
    """Read a run folder. Raises Stop(UNJUDGED) if it is none."""
    known = facts.read(folder)
    records = known.records.copy()
    records["flags"] = [
        [name for place, name in enumerate(known.flags) if bits >> place & 1] for bits in records["flags"]
    ]
    records["gaps_ms"] = pd.Series(np.split(known.gaps_ms, known.offsets[1:-1])[: len(records)], dtype=object)
    flat = [flatten(row) for item in rows.build(known) for row in item.rows]
    table = pd.DataFrame(flat)
    return Frames(records, table.replace("inf", np.inf).infer_objects() if len(table) else table)


SHAPES: dict[str, tuple[str, ...]] = {
    "ok": ("n", "min", "mean", "p50", "p90", "p95", "p99", "max", "sd"),
    "all": ("n", "p50", "p90", "p95", "p99"),
    "ttft_ms": ("ok", "all"),
    "e2e_ms": ("ok", "all"),
    "cost": cost.BLOCK,
    "gpu": gpus.BLOCK,
    "server": servers.BLOCK,
    "generator": ("bound", "cpu_max", "loop_lag_p99_ms", "stamp_lag_p99_ms", "workers"),
}
"""What a block holds that is None in some rows."""


def flatten(row: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """A row with its inner dictionaries' keys joined by dots: the same columns for every run.

    What is told by name (outcomes, flags, throttled_seconds) stays in one cell each, as `name=n` joined by `;`.
    """
    flat: dict[str, Any] = {}
    for key, value in row.items():
        name = f"{prefix}{key}"
        inner = dict.fromkeys(SHAPES[key]) if value is None and key in SHAPES else value
        if key in COUNTED:
            flat[name] = None if inner is None else ";".join(f"{word}={n}" for word, n in inner.items())
        elif isinstance(inner, dict):
            flat |= flatten(inner, f"{name}.")
        else:
            flat[name] = inner
    return flat
