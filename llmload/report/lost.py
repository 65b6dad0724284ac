"""Attempts that were started and of which no record came. Knows tables, no files.

Three witnesses: a start in a worker's spool without its record, a hole in a worker's seq, and the number of starts
that the worker itself told the master. What a spool does not tell (step, phase, class) is taken from the records
before and after the hole where both agree; a class stays unknown. A hole is one entry however wide it is: a seq that
was garbled may leave one of quadrillions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from llmload.record.ledger import Range, lost_words


@dataclass(frozen=True, slots=True)
class Lost:
    """`n` attempts of one worker, from `seq` on, without a record; None is "nobody knows"."""

    worker: str
    seq: int
    n: int
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
    begun: dict[str, dict[int, dict[str, Any]]] = {}
    for (worker, seq), row in starts.items():
        begun.setdefault(worker, {})[seq] = row
    names = [*frame["worker"].cat.categories, *begun, *accounting]
    codes = frame["worker"].cat.codes.to_numpy()
    seqs, steps = frame["seq"].to_numpy(dtype=np.int64), frame["step"].to_numpy(dtype=np.int64)
    phases = np.asarray(frame["phase"].astype(object))
    for code, worker in enumerate(dict.fromkeys(names)):
        mine = np.flatnonzero(codes == code) if code < len(frame["worker"].cat.categories) else np.empty(0, np.int64)
        mine = mine[np.argsort(seqs[mine])]
        have, told = seqs[mine], begun.get(worker, {})
        said = (accounting.get(worker) or {}).get("started")
        expected = max([said or 0, int(have[-1]) + 1 if len(have) else 0, *(seq + 1 for seq in told)])
        if said is not None and len(have) + len(told) > said:
            surplus[worker] = len(have) + len(told) - said
        known = np.array(sorted(told), dtype=np.int64)
        for after, first, last in holes(have, expected):
            sides = {(int(steps[side]), phases[side]) for side in mine[max(after - 1, 0) : after + 1]}
            step, phase = sides.pop() if len(sides) == 1 else (None, None)
            at = first
            inside = slice(int(np.searchsorted(known, first)), int(np.searchsorted(known, last, side="right")))
            for seq in known[inside].tolist():
                if seq > at:
                    missing.append(Lost(worker, at, seq - at, step, phase, None, None))
                row = told[seq]
                sent_at = row.get("sent_at")
                start = None if sent_at is None else sent_at - offset_s.get(worker, 0.0)
                missing.append(Lost(worker, seq, 1, row.get("step"), row.get("phase"), row.get("workload"), start))
                at = seq + 1
            if at <= last:
                missing.append(Lost(worker, at, last + 1 - at, step, phase, None, None))
    return tuple(missing), surplus


def holes(have: NDArray[np.int64], expected: int) -> Iterator[tuple[int, int, int]]:
    """The ranges of numbers under `expected` that are not in `have` (ascending), as (place in `have`, first, last)."""
    edges = np.concatenate(([-1], have, [expected])).astype(np.int64)
    for place in np.flatnonzero(np.diff(edges) > 1).tolist():
        yield place, int(edges[place]) + 1, int(edges[place + 1]) - 1


def count(missing: Sequence[Lost]) -> int:
    """How many attempts."""
    return sum(item.n for item in missing)


def sentences(missing: tuple[Lost, ...]) -> list[str]:
    """One sentence per worker: `worker w2: 3 records missing (seq 118-120)`."""
    workers: dict[str, list[Range]] = {}
    for item in missing:
        mine = workers.setdefault(item.worker, [])
        first = mine.pop()[0] if mine and mine[-1][1] == item.seq - 1 else item.seq
        mine.append((first, item.seq + item.n - 1))
    return [lost_words(worker, mine) for worker, mine in workers.items()]
