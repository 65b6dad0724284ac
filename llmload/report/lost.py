"""Attempts that were started and of which no record came. Knows tables, no files.

Three witnesses: a start in a worker's spool without its record, a hole in a worker's seq, and the number of starts
that the worker itself told the master. What a spool does not tell (step, phase, class) is taken from the records
before and after the hole where both agree; a class stays unknown.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from llmload.record.ledger import ranges


@dataclass(frozen=True, slots=True)
class Lost:
    """One attempt without a record; None is "nobody knows"."""

    worker: str
    seq: int
    step: int | None
    phase: str | None
    workload: str | None
    start_s: float | None
    """Wall clock at which it was sent, on the master's clock."""


def find(
    frame: pd.DataFrame,
    starts: dict[tuple[str, int], dict[str, Any]],
    accounting: dict[str, dict[str, Any]],
    offset_s: dict[str, float],
) -> tuple[tuple[Lost, ...], dict[str, int]]:
    """What is missing, and per worker how many attempts there are more than it says it started."""
    missing: list[Lost] = []
    surplus: dict[str, int] = {}
    names = [*frame["worker"].cat.categories, *(worker for worker, _ in starts), *accounting]
    codes = frame["worker"].cat.codes.to_numpy()
    seqs, steps = frame["seq"].to_numpy(dtype=np.int64), frame["step"].to_numpy(dtype=np.int64)
    phases = np.asarray(frame["phase"].astype(object))
    for code, worker in enumerate(dict.fromkeys(names)):
        mine = np.flatnonzero(codes == code) if code < len(frame["worker"].cat.categories) else np.empty(0, np.int64)
        mine = mine[np.argsort(seqs[mine])]
        have = seqs[mine]
        begun = {seq: row for (name, seq), row in starts.items() if name == worker}
        said = (accounting.get(worker) or {}).get("started")
        expected = max([said or 0, int(have[-1]) + 1 if len(have) else 0, *(seq + 1 for seq in begun)])
        if said is not None and len(have) + len(begun) > said:
            surplus[worker] = len(have) + len(begun) - said
        for seq in np.setdiff1d(np.arange(expected), have):
            row = begun.get(int(seq))
            if row is not None:
                at = row.get("sent_at")
                start = None if at is None else at - offset_s.get(worker, 0.0)
                tags = (row.get("step"), row.get("phase"), row.get("workload"), start)
            else:
                after = int(np.searchsorted(have, seq))
                sides = [mine[side] for side in (after - 1, after) if 0 <= side < len(mine)]
                where = {(int(steps[side]), phases[side]) for side in sides}
                tags = (*(where.pop() if len(where) == 1 else (None, None)), None, None)
            missing.append(Lost(worker, int(seq), *tags))
    return tuple(missing), surplus


def sentences(missing: tuple[Lost, ...]) -> list[str]:
    """One sentence per worker: `worker w2: 3 records missing (seq 118-120)`."""
    seqs: dict[str, list[int]] = {}
    for item in missing:
        seqs.setdefault(item.worker, []).append(item.seq)
    return [
        f"worker {worker}: {len(numbers)} record{'s' * (len(numbers) > 1)} missing (seq {ranges(numbers)})"
        for worker, numbers in seqs.items()
    ]
