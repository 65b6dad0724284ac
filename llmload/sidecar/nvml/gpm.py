"""What the SMs, the tensor cores and the memory do: NVML's GPM, of Hopper and later, of a GPU or of a MIG instance.

A value is the difference of two samples that lie more than 100 ms apart; two buffers take turns.
"""

import math
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pynvml as nvml

from llmload.sidecar.backend import Gone, Hopeless
from llmload.sidecar.nvml.calls import Calls, Lost, Refused

METRICS = {
    "sm_active_ratio": nvml.NVML_GPM_METRIC_SM_UTIL,
    "sm_occupancy_ratio": nvml.NVML_GPM_METRIC_SM_OCCUPANCY,
    "tensor_active_ratio": nvml.NVML_GPM_METRIC_ANY_TENSOR_UTIL,
    "dram_active_ratio": nvml.NVML_GPM_METRIC_DRAM_BW_UTIL,
}

LEAST_S = 0.11
MOST_S = 60.0
"""After a longer time nobody looked; what is told then is of now and not of all that time."""


class Gpm:
    """Samples of one GPU, or of one instance of it; `sample` and its first arguments fill a buffer."""

    def __init__(
        self,
        calls: Calls,
        gpu: str,
        sample: Callable[..., Any],
        *of: Any,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._calls = calls
        self._gpu = gpu
        self._sample = sample
        self._of = of
        self._clock = clock
        self._buffers: list[Any] = []
        self._at: float | None = None
        self._values: dict[str, float] = {}

    def read(self) -> dict[str, float]:
        """Ratios since the sample before; none at the first."""
        apart = math.inf if self._at is None else self._clock() - self._at
        if apart < LEAST_S:
            return self._values
        self._values = {}
        while len(self._buffers) < 2:
            buffer = self._calls.ask(nvml.nvmlGpmSampleAlloc, gpu=self._gpu)
            if buffer is None:
                return {}
            self._buffers.append(buffer)
        before, after = self._buffers
        if self._calls.ask(self._sample, *self._of, after, gpu=self._gpu) is None:
            self._at = None
            return {}
        self._at = self._clock()
        self._buffers = [after, before]
        if apart <= MOST_S:
            self._values = self._between(before, after)
        return self._values

    def _between(self, before: Any, after: Any) -> dict[str, float]:
        asked = nvml.c_nvmlGpmMetricsGet_t()
        asked.version = nvml.NVML_GPM_METRICS_GET_VERSION
        asked.numMetrics = len(METRICS)
        asked.sample1, asked.sample2 = before, after
        for place, metric in enumerate(METRICS.values()):
            asked.metrics[place].metricId = metric
        if self._calls.ask(nvml.nvmlGpmMetricsGet, asked, gpu=self._gpu) is None:
            return {}
        values = {}
        for place, key in enumerate(METRICS):
            one = asked.metrics[place]
            if one.nvmlReturn:
                refusal = self._calls.refusal(f"gpm_{one.metricId}", self._gpu, one.nvmlReturn)
                if not isinstance(refusal, Refused):
                    raise refusal
            elif math.isfinite(one.value):
                values[key] = one.value / 100
        return values

    def free(self) -> None:
        """Give the buffers back; before NVML is shut down."""
        for buffer in self._buffers:
            with suppress(Lost, Gone, Hopeless):
                self._calls.ask(nvml.nvmlGpmSampleFree, buffer, gpu=self._gpu)
        self._buffers = []
