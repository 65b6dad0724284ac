"""One NVIDIA GPU: all that it tells, in our units. What it cannot tell is left out.

Not asked, because it stalls the driver: fan speed, PCIe throughput (20 ms a call), and, unless wanted, processes.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pynvml as nvml

from llmload.sidecar.backend import Reading
from llmload.sidecar.nvml.busy import Busy
from llmload.sidecar.nvml.calls import Calls, Lost, words
from llmload.sidecar.nvml.fields import Fields
from llmload.sidecar.nvml.gpm import Gpm
from llmload.sidecar.nvml.mig import Migs

REASONS = {
    "sw_power_cap": 0x04,
    "hw_power_brake": 0x80,
    "sw_thermal": 0x20,
    "hw_thermal": 0x40,
    "sync_boost": 0x10,
    "hw_slowdown": 0x08,
    "applications_clocks": 0x02,
}
"""Bits of what holds the clock down. Idling is not among them: nothing is held down then."""

MODES = {0: "default", 1: "exclusive_thread", 2: "prohibited", 3: "exclusive_process"}


class Card:
    """A GPU that can be reached. Every method raises Lost where it no longer can."""

    def __init__(self, calls: Calls, handle: Any, base: Reading, *, processes: bool) -> None:
        """`base` says which one it is."""
        self._calls = calls
        self._handle = handle
        self._uuid = base.uuid
        self._processes = processes
        self._fields = Fields(calls, base.uuid, handle)
        self._busy = Busy(calls, base.uuid, handle)
        self._migs = Migs(calls, base.uuid, handle)
        self._gpm: Gpm | None = None
        self._kept: dict[str, float] | None = None
        info = dict(base.info)
        if (name := self._ask(nvml.nvmlDeviceGetName)) is not None:
            info["name"] = words(name)
        if (pci := self._ask(nvml.nvmlDeviceGetPciInfo)) is not None:
            info["pci_bus_id"] = words(pci.busId)
        self._base = replace(base, info=info)
        support = self._ask(nvml.nvmlGpmQueryDeviceSupport)
        if support is not None and support.isSupportedDevice:
            self._gpm = Gpm(calls, base.uuid, nvml.nvmlGpmSampleGet, handle)

    def _ask(self, call: Any, *args: Any, part: str = "") -> Any:
        return self._calls.ask(call, self._handle, *args, gpu=self._uuid, part=part)

    def read(self, *, slow: bool) -> Reading:
        """What it does now; what is read seldom is read with `slow`, and the first time."""
        if slow or self._kept is None:
            self._calls.again(self._uuid)
            self._migs.look()
            self._kept = dict(self._slow())
        failed = self._calls.failed
        fast = dict(self._fast())
        if not fast and self._calls.failed > failed:
            raise Lost("no value at all")  # whatever the reason that NVML gives
        if self._gpm is not None:
            fast |= self._gpm.read()
        values = self._kept | fast | self._migs.read()
        return replace(self._base, migs=self._migs.labels(), values=values)

    def _fast(self) -> Iterator[tuple[str, float]]:
        """What is read each time."""
        if (energy_mj := self._ask(nvml.nvmlDeviceGetTotalEnergyConsumption)) is not None:
            yield "energy_joules", energy_mj / 1e3
        if (power_mw := self._ask(nvml.nvmlDeviceGetPowerUsage)) is not None:
            yield "power_watts", power_mw / 1e3
        if (utilization := self._ask(nvml.nvmlDeviceGetUtilizationRates)) is not None:
            yield "utilization_ratio", utilization.gpu / 100
            yield "memory_activity_ratio", utilization.memory / 100
        yield from self._busy.read().items()
        yield from self._memory()
        if (celsius := self._temperature()) is not None:
            yield "temperature_celsius", float(celsius)
        yield from self._clocks()
        yield from self._fields.fast().items()

    def _clocks(self) -> Iterator[tuple[str, float]]:
        """Clocks, and what holds them down at this moment."""
        if (mhz := self._ask(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_SM, part="sm")) is not None:
            yield "sm_clock_hertz", mhz * 1e6
        if (mhz := self._ask(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_MEM, part="memory")) is not None:
            yield "memory_clock_hertz", mhz * 1e6
        bits = self._ask(nvml.nvmlDeviceGetCurrentClocksEventReasons)
        if bits is None:  # older drivers know it by its older name
            bits = self._ask(nvml.nvmlDeviceGetCurrentClocksThrottleReasons)
        if bits is not None:
            for reason, bit in REASONS.items():
                yield f"clock_event_active.{reason}", float(bool(bits & bit))

    def _memory(self) -> Iterator[tuple[str, float]]:
        """The second version tells apart what the driver keeps for itself; in the first one it counts as used."""
        memory = self._ask(nvml.nvmlDeviceGetMemoryInfo, nvml.nvmlMemory_v2, part="v2")
        if memory is not None:
            yield "memory_reserved_bytes", float(memory.reserved)
        else:
            memory = self._ask(nvml.nvmlDeviceGetMemoryInfo)
        if memory is not None:
            yield "memory_total_bytes", float(memory.total)
            yield "memory_used_bytes", float(memory.used)
            yield "memory_free_bytes", float(memory.free)

    def _temperature(self) -> int | None:
        celsius = self._ask(nvml.nvmlDeviceGetTemperature, nvml.NVML_TEMPERATURE_GPU)
        if celsius is None:  # what takes the place of the call above
            celsius = self._ask(nvml.nvmlDeviceGetTemperatureV, nvml.NVML_TEMPERATURE_GPU)
        return celsius if celsius is None else int(celsius)

    def _slow(self) -> Iterator[tuple[str, float]]:
        """What is read seldom."""
        if (limit_mw := self._ask(nvml.nvmlDeviceGetEnforcedPowerLimit)) is not None:
            yield "power_limit_watts", limit_mw / 1e3
        if (mhz := self._ask(nvml.nvmlDeviceGetMaxClockInfo, nvml.NVML_CLOCK_SM)) is not None:
            yield "sm_clock_max_hertz", mhz * 1e6
        limit = self._ask(nvml.nvmlDeviceGetTemperatureThreshold, nvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN)
        if limit is None:  # newer GPUs tell how far away it is
            margin, celsius = self._ask(nvml.nvmlDeviceGetMarginTemperature), self._temperature()
            limit = None if margin is None or celsius is None else celsius + margin
        if limit is not None:
            yield "temperature_limit_celsius", float(limit)
        if (mode := self._ask(nvml.nvmlDeviceGetComputeMode)) in MODES:
            yield f"compute_mode.{MODES[mode]}", 1.0
        yield from self._fields.slow().items()
        if self._processes:
            used: dict[int, float] = {}
            for one in self._ask(nvml.nvmlDeviceGetComputeRunningProcesses) or ():
                if one.usedGpuMemory is not None:
                    used[one.pid] = used.get(one.pid, 0.0) + one.usedGpuMemory
            for pid, size in used.items():
                yield f"process_memory_bytes.{pid}", size

    def free(self) -> None:
        """Give back what it holds."""
        if self._gpm is not None:
            self._gpm.free()
        self._migs.free()
