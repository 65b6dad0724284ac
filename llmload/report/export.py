"""A run as pandas data frames, for people who want to compute something of their own."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from llmload.report import facts, rows


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
    names = records.attrs.pop("flags")
    records["flags"] = [[name for place, name in enumerate(names) if bits >> place & 1] for bits in records["flags"]]
    records["gaps_ms"] = pd.Series(np.split(known.gaps_ms, known.offsets[1:-1])[: len(records)], dtype=object)
    flat = [flatten(row) for item in rows.build(known) for row in item.rows]
    table = pd.DataFrame(flat)
    return Frames(records, table.replace("inf", np.inf).infer_objects() if len(table) else table)


def flatten(row: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """A row with its inner dictionaries' keys joined by dots, every figure of the contract a column of its own.

    Counts by name (outcomes, flags) stay in one cell each, as `name=n` joined by `;`, so that every run has the same
    columns.
    """
    flat: dict[str, Any] = {}
    for key, value in row.items():
        name = f"{prefix}{key}"
        if key in ("outcomes", "flags"):
            flat[name] = ";".join(f"{word}={n}" for word, n in value.items())
        elif isinstance(value, dict):
            flat |= flatten(value, f"{name}.")
        else:
            flat[name] = value
    return flat
