"""Requests that were sent as measured when their window was long over: a worker did not hear that it had closed.

They ran under another load than the window's (a step that had ended, or the next one), so no figure of the window
counts them: they stand with the drain. That they exist is a fault of the run, and spoils its verdict.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from llmload.report.steps import Step

SLACK_S = 1.0
"""A worker hears of the window's end a moment after the master wrote it down, later if it is busy."""


def find(frame: pd.DataFrame, steps: Sequence[Step], error_s: dict[str, float]) -> NDArray[np.bool_]:
    """Which attempts carry phase `measure` and were sent over SLACK_S after the end of their step's window.

    Columns used: `step`, `phase`, `worker`, `start_s`. `error_s`: how wrong the offset of a worker's clock may be, in
    seconds, which is added to the slack. A window that has no end of its own has no late ones.
    """
    ends = {step.index: step.end for step in steps if step.end is not None and not step.cut}
    end = frame["step"].map(ends).to_numpy(dtype=np.float64)
    error = frame["worker"].astype(object).map(error_s).fillna(0.0).to_numpy(dtype=np.float64)
    after = frame["start_s"].to_numpy(dtype=np.float64) - end
    return np.asarray((frame["phase"] == "measure").to_numpy(dtype=bool) & (after > SLACK_S + error))


def sentences(frame: pd.DataFrame, late: NDArray[np.bool_], steps: Sequence[Step]) -> list[str]:
    """One sentence for each step and worker."""
    found = []
    for step in steps:
        mine = frame[late & (frame["step"] == step.index).to_numpy(dtype=bool)]
        for worker, rows in mine.groupby("worker", observed=True):
            most = rows["start_s"].max() - (step.end or 0.0)
            found.append(
                f"worker {worker}: {len(rows)} request{'s' * (len(rows) > 1)} of {step.named} sent "
                f"as measured up to {most:.1f} s after its window had closed; they are not in its figures"
            )
    return found
