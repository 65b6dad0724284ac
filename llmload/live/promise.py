"""What users are promised: the bounds of each class, and which attempts kept all of them.

The formula is the reporter's (`report/rows.py`); a test holds them together.
"""

import numpy as np

from llmload.live.batch import Batch, Flags
from llmload.live.values import Floats
from llmload.load.scenario import SLO, Scenario


class Promise:
    """The SLOs of a scenario. True if there are any."""

    def __init__(self, scenario: Scenario) -> None:
        self._common = bounds(scenario.slo)
        self._own = {item.name: bounds(item.slo) for item in scenario.classes if item.slo is not None}

    def __bool__(self) -> bool:
        return bool(self._common) or any(self._own.values())

    def of(self, workload: str) -> dict[str, float]:
        """The bounds of a class in milliseconds, by figure: its own, else the scenario's."""
        return self._own.get(workload, self._common)

    def kept(self, batch: Batch, names: list[str]) -> Flags:
        """Which records were ok and kept every bound; `names` are the classes by code.

        A figure that is missing breaks its bound, but for the TPOT and the gap of an answer of one token.
        """
        kept = batch.ok.copy()
        for code in np.unique(batch.codes).tolist():
            for figure, bound in self.of(names[code]).items():
                kept &= (batch.codes != code) | (measured(batch, figure) <= bound)  # NaN is never <=
        return kept


def bounds(slo: SLO) -> dict[str, float]:
    """Those that are set."""
    named = {"ttft": slo.ttft_ms, "tpot": slo.tpot_ms, "e2e": slo.e2e_ms, "itl_max": slo.itl_max_ms}
    return {figure: bound for figure, bound in named.items() if bound is not None}


def measured(batch: Batch, figure: str) -> Floats:
    """A figure of each record, as it is held against its bound."""
    single = (batch.events <= 1) & ~np.isnan(batch.ttft_ms)
    if figure == "tpot":
        return np.where(single & np.isnan(batch.tpot_ms), 0.0, batch.tpot_ms)
    if figure == "itl_max":
        widest = np.full(len(batch), np.nan)
        np.fmax.at(widest, batch.owner, batch.gaps_ms)
        return np.where(single, 0.0, widest)
    return batch.ttft_ms if figure == "ttft" else batch.e2e_ms
