"""How long a GPU was busy: the integral of the utilization that the driver samples by itself, several times a second.

Reading the utilization now and then would miss what lies between; the driver's samples overlap nothing and leave
nothing out. Each stands for the time since the one before it.
"""

from typing import Any

import pynvml as nvml

from llmload.sidecar.nvml.calls import Calls
from llmload.sidecar.nvml.fields import number


class Busy:
    """One GPU's."""

    def __init__(self, calls: Calls, gpu: str, handle: Any) -> None:
        self._calls = calls
        self._gpu = gpu
        self._handle = handle
        self._last_us = 0
        self._seconds = 0.0

    def read(self) -> dict[str, float]:
        """Seconds since the first read: sum of (t - t before) x utilization."""
        got = self._calls.ask(
            nvml.nvmlDeviceGetSamples,
            self._handle,
            nvml.NVML_GPU_UTILIZATION_SAMPLES,
            self._last_us,
            gpu=self._gpu,
            nothing=nvml.NVML_ERROR_NOT_FOUND,  # none since the last one
            empty=(nvml.NVML_VALUE_TYPE_UNSIGNED_INT, ()),
        )
        if got is None:
            return {}
        kind, samples = got
        for at, percent in sorted((one.timeStamp, number(kind, one.sampleValue)) for one in samples):
            if self._last_us < at and self._last_us:
                self._seconds += (at - self._last_us) / 1e6 * percent / 100
            self._last_us = max(self._last_us, at)
        return {"busy_seconds": self._seconds} if self._last_us else {}
