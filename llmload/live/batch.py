"""Records as columns: some hundred lines at a time, since numpy takes as long for one as for all of them.

The formulas are those of the reporter's `measures` and `throughput`; a test holds them together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from llmload.live.groups import Groups
from llmload.live.values import Codes, Floats

FIGURES = ("ttft_ms", "itl_ms", "tpot_ms", "e2e_ms")
NUMBERS = ("sent_at", "scheduled_at", "ttft_ms", "last_token_ms", "end_ms", "input_tokens", "output_tokens",
           "hidden_tokens")  # fmt: skip

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Batch:
    """Columns of n records; NaN is what was not measured."""

    outcomes: list[str]
    workers: list[str]
    codes: Codes
    step: NDArray[np.int64]
    measured: Flags
    ok: Flags
    start_s: Floats
    """When it was sent, by the master's clock."""
    late_s: Floats
    """By how much later than planned."""
    ttft_ms: Floats
    tpot_ms: Floats
    e2e_ms: Floats
    gaps_ms: Floats
    """Of all records in one row …"""
    owner: NDArray[np.int64]
    """… and the record that each belongs to."""
    events: NDArray[np.int64]
    tokens: Floats
    """Tokens that came over the wire."""
    input_tokens: Floats
    output_tokens: Floats

    def __len__(self) -> int:
        return len(self.outcomes)

    def figure(self, name: str, chosen: Flags) -> tuple[Floats, Codes]:
        """The known values of a figure among the chosen records, and their classes."""
        if name == "itl_ms":
            keep = chosen[self.owner]
            return self.gaps_ms[keep], self.codes[self.owner[keep]]
        values: Floats = getattr(self, name)
        keep = chosen & ~np.isnan(values)
        return values[keep], self.codes[keep]

    def tokens_inside(self, begin: float, end: float, groups: int) -> Floats:
        """Tokens that came inside [begin, end], by class: a record's are spread evenly over its events."""
        first = np.where(np.isnan(self.ttft_ms), self.e2e_ms, self.ttft_ms)
        streamed = ~np.isnan(first) & ~np.isnan(self.start_s) & (self.tokens > 0)
        lengths = np.bincount(self.owner, minlength=len(self)) + 1
        running = np.cumsum(self.gaps_ms)
        before = np.concatenate(([0.0], running))[np.cumsum(lengths - 1) - (lengths - 1)]
        heads = self.start_s + first / 1000
        times = heads[self.owner] + (running - before[self.owner]) / 1000
        with np.errstate(invalid="ignore"):
            hits = ((heads >= begin) & (heads <= end)).astype(np.float64)
            inside = ((times >= begin) & (times <= end)).astype(np.float64)
            hits += np.bincount(self.owner, inside, minlength=len(self))
        share = np.where(streamed, self.tokens * hits / lengths, 0.0)
        return np.asarray(np.bincount(self.codes, share, minlength=groups), dtype=np.float64)


def read(lines: Sequence[bytes], groups: Groups, offsets_s: Mapping[str, float], *, streaming: bool) -> Batch:
    """The columns of records; `offsets_s` are the workers' clocks less the master's. What is no record is left out."""
    rows = [row for line in lines if (row := parsed(line)) is not None]
    number = {name: np.array([row.get(name) for row in rows], dtype=np.float64) for name in NUMBERS}
    gaps = [row.get("gaps_ms") or () for row in rows]
    lengths = [len(part) for part in gaps]
    events = np.array([row.get("events") or 0 for row in rows], dtype=np.int64)
    outcomes = [str(row.get("outcome")) for row in rows]
    workers = [str(row.get("worker")) for row in rows]
    ttft, last, end = number["ttft_ms"], number["last_token_ms"], number["end_ms"]
    tokens = number["output_tokens"] - np.nan_to_num(number["hidden_tokens"])
    with np.errstate(divide="ignore", invalid="ignore"):
        tpot = np.where((tokens >= 2) & (last >= ttft), (last - ttft) / (tokens - 1), np.nan)
    e2e = last if streaming else np.where(np.isnan(last), end, last)
    unknown = np.full(len(rows), np.nan)
    return Batch(
        outcomes=outcomes,
        workers=workers,
        codes=np.array([groups.code(str(row.get("workload"))) for row in rows], dtype=np.int16),
        step=np.array([row.get("step", -1) for row in rows], dtype=np.int64),
        measured=np.array([row.get("phase") == "measure" for row in rows], dtype=bool),
        ok=np.array([outcome == "ok" for outcome in outcomes], dtype=bool),
        start_s=number["sent_at"] - np.array([offsets_s.get(worker, 0.0) for worker in workers], dtype=np.float64),
        late_s=number["sent_at"] - number["scheduled_at"],
        ttft_ms=ttft if streaming else unknown,
        tpot_ms=tpot if streaming else unknown,
        e2e_ms=e2e,
        gaps_ms=np.fromiter(chain.from_iterable(gaps), dtype=np.float64, count=sum(lengths)),
        owner=np.repeat(np.arange(len(rows)), lengths),
        events=events,
        tokens=np.where(tokens > 0, tokens, events.astype(np.float64)),
        input_tokens=number["input_tokens"],
        output_tokens=number["output_tokens"],
    )


def parsed(line: bytes) -> dict[str, Any] | None:
    """A line as a dictionary; None for what is none."""
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return row if isinstance(row, dict) else None
