"""Values that NVML gives by number, many with one call: which ones are asked, and what they are in our units.

Knows the call of field values and no other.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pynvml as nvml

from llmload.sidecar.nvml.calls import Calls, Refused

ALL_LINKS = 0xFFFFFFFF
"""As a scope: the sum over all links."""
LINKS = range(18)
"""NVLink 5 has no more; numbers above are an error to older drivers."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A field: where its value goes, its number, what it is multiplied by, and of which link."""

    key: str
    number: int
    scale: float = 1.0
    scope: int = 0
    wide: bool = False
    """Take it only as an unsigned number of 64 bits."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Its value, and how long the driver took for it."""

    value: float
    took_us: int


def reasons(sw_thermal: int, hw_thermal: int, hw_power_brake: int) -> tuple[Ask, ...]:
    """Counters of clock events, in ns."""
    return (
        Ask("clock_event_seconds.sw_thermal", sw_thermal, 1e-9, wide=True),
        Ask("clock_event_seconds.hw_thermal", hw_thermal, 1e-9, wide=True),
        Ask("clock_event_seconds.hw_power_brake", hw_power_brake, 1e-9, wide=True),
    )


FAST = (
    Ask("power_instant_watts", 186, 1e-3),
    Ask("memory_temperature_celsius", 82),
    Ask("clock_event_seconds.sw_power_cap", 74, 1e-9),
    Ask("clock_event_seconds.sync_boost", 76, 1e-9),
    Ask("pcie_transmit_bytes", 197),
    Ask("pcie_receive_bytes", 198),
)
SLOW = (
    Ask("pcie_replays", 94),
    Ask("ecc_errors.corrected", 3),
    Ask("ecc_errors.uncorrected", 4),
)
EITHER = (
    # Headers up to CUDA 12.9, and drivers as new as 580, have the slowdowns at 251 to 253; those of CUDA 13 moved them
    # to 269 to 271 and put settings of power smoothing in their old places, which are no 64-bit counters.
    (reasons(251, 252, 253), reasons(269, 270, 271)),
    (
        (Ask("nvlink_transmit_bytes", 138, 1024, ALL_LINKS), Ask("nvlink_receive_bytes", 139, 1024, ALL_LINKS)),
        tuple(
            Ask(key, number, scope=link)
            for link in LINKS
            for key, number in (("nvlink_transmit_bytes", 202), ("nvlink_receive_bytes", 204))
        ),
    ),
)
"""Two ways to the same values: the second is gone where the first gives nothing."""

WIDE = (nvml.NVML_VALUE_TYPE_UNSIGNED_LONG, nvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG)

LATE_US = 5000
"""What takes the driver so long is asked with what is read seldom."""


class Fields:
    """Fields of one GPU. `slow` finds out which it has, `fast` asks those only."""

    def __init__(self, calls: Calls, gpu: str, handle: Any) -> None:
        self._calls = calls
        self._gpu = gpu
        self._handle = handle
        self._live: list[Ask] = []

    def slow(self) -> dict[str, float]:
        """What is read seldom."""
        answers = self._get((*FAST, *SLOW, *(ask for first, _ in EITHER for ask in first)))
        for first, second in EITHER:
            if not any(ask in answers for ask in first):
                answers |= self._get(second)
        seldom = {ask.key for ask, one in answers.items() if ask in SLOW or one.took_us > LATE_US}
        self._live = [ask for ask in answers if ask.key not in seldom]
        return summed({ask: one for ask, one in answers.items() if ask not in self._live})

    def fast(self) -> dict[str, float]:
        """What is read each time."""
        return summed(self._get(self._live))

    def _get(self, asks: Sequence[Ask]) -> dict[Ask, Answer]:
        """The answers that are values."""
        scoped = [(ask.number, ask.scope) for ask in asks]
        got = self._calls.ask(nvml.nvmlDeviceGetFieldValues, self._handle, scoped, gpu=self._gpu) if asks else None
        answers = {}
        for ask, one in zip(asks, got, strict=True) if got is not None else ():
            if code := one.nvmlReturn:
                if code == nvml.NVML_ERROR_INVALID_ARGUMENT:  # a number that is newer than this driver
                    code = nvml.NVML_ERROR_NOT_SUPPORTED
                refusal = self._calls.refusal(f"field_{ask.number}", self._gpu, code)
                if not isinstance(refusal, Refused):
                    raise refusal
            elif not ask.wide or one.valueType in WIDE:
                value = number(one.valueType, one.value)
                if math.isfinite(value):
                    answers[ask] = Answer(value * ask.scale, one.latencyUsec)
        return answers


def summed(answers: dict[Ask, Answer]) -> dict[str, float]:
    """By key; links of one GPU are added."""
    values: dict[str, float] = {}
    for ask, one in answers.items():
        values[ask.key] = values.get(ask.key, 0.0) + one.value
    return values


def number(kind: int, value: Any) -> float:
    """A value of NVML, which tells of what kind it is."""
    kinds = {
        nvml.NVML_VALUE_TYPE_DOUBLE: "dVal",
        nvml.NVML_VALUE_TYPE_UNSIGNED_INT: "uiVal",
        nvml.NVML_VALUE_TYPE_UNSIGNED_LONG: "ulVal",
        nvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG: "ullVal",
        nvml.NVML_VALUE_TYPE_SIGNED_LONG_LONG: "sllVal",
        nvml.NVML_VALUE_TYPE_SIGNED_INT: "siVal",
        nvml.NVML_VALUE_TYPE_UNSIGNED_SHORT: "usVal",
    }
    return float(getattr(value, kinds[kind])) if kind in kinds else math.nan
