"""The step so far: measured requests of the present step, and the tokens that came inside its window.

When the step is over and all its records are here, its percentiles are those of the step's rows in summary.json.
"""

from collections import Counter
from typing import Any

import numpy as np

from llmload.live.batch import Batch, Flags
from llmload.live.measured import Measured, by_class, pick

SLACK_S = 1.0
"""As in the reporter's `late`: a worker hears of the window's end a moment later, and what it sends then still counts.
"""


class SoFar:
    """One step; `row` is its row of run.json, which its conductor goes on filling."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.row = row
        self.measured = Measured()
        self._inside: Counter[int] = Counter()

    def add(self, batch: Batch, stall_ms: float, errors_s: dict[str, float]) -> None:
        """Take what belongs to the step; `errors_s` tell how wrong the workers' clock offsets may be."""
        mine = (batch.step == self.row["step"]) & batch.measured & ~self._late(batch, errors_s)
        if mine.any():
            self.measured.add(batch, mine, stall_ms)
        begin, end = self.row["window_started_at"], self.row["window_ended_at"]
        if begin is not None:
            groups = int(batch.codes.max(initial=0)) + 1
            self._inside += by_class(batch.tokens_inside(begin, np.inf if end is None else end, groups))

    def _late(self, batch: Batch, errors_s: dict[str, float]) -> Flags:
        end = self.row["window_ended_at"]
        if end is None:
            return np.zeros(len(batch), dtype=bool)
        error = np.array([errors_s.get(worker, 0.0) for worker in batch.workers], dtype=np.float64)
        return np.asarray(batch.start_s - end > SLACK_S + error)

    def window_s(self, now: float) -> float | None:
        """Seconds of the window so far."""
        begin, end = self.row["window_started_at"], self.row["window_ended_at"]
        return None if begin is None else max(0.0, (now if end is None else end) - begin)

    def block(self, code: int | None, now: float) -> dict[str, Any]:
        """Its figures, of a class or of all."""
        seconds = self.window_s(now)
        tokens = pick(self._inside, code) / seconds if seconds else None
        return {**self.measured.block(code, seconds), "output_tokens_per_s": tokens}
