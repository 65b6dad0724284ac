"""GPUs that are not there, for trying out boards and reports: a load that comes and goes, and all that follows from it.

Every value is a function of the time alone, so that counters are exact integrals of their gauges and whoever tests
against them can work them out by hand. Their names say that they are fake. Knows no thread and no page.
"""

import time
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from llmload.sidecar.backend import Absent, Reading

CYCLE_S = 60.0
"""10 s idle, 5 s up, 30 s of full load, 5 s down, 10 s idle."""
SHIFT_S = 7.0
"""Each GPU is so much behind the one before it."""
IDLE_W, LIMIT_W, WANTED_W = 80.0, 400.0, 480.0
"""At full load it would draw `WANTED_W` if it were let, so from 80 % of the load on the power cap holds it."""
CAPPED_FROM = (LIMIT_W - IDLE_W) / (WANTED_W - IDLE_W)
GIB = 2.0**30
ROOM_C, PER_WATT_C, INERTIA_S = 28.0, 0.12, 20.0
"""Its temperature follows the mean power of the last `INERTIA_S` seconds."""


class Line:
    """A piecewise straight line that repeats each cycle; two points at one time are a step."""

    def __init__(self, *points: tuple[float, float]) -> None:
        self.times = [t for t, _ in points]
        self.heights = [height for _, height in points]
        self.areas = [0.0]
        for (t, height), (later, other) in pairwise(points):
            self.areas.append(self.areas[-1] + (height + other) / 2 * (later - t))

    def at(self, t: float) -> float:
        """Its height."""
        return self._inside(t % CYCLE_S)[0]

    def area(self, t: float) -> float:
        """Its integral from 0 to t."""
        cycles, rest = divmod(t, CYCLE_S)
        return cycles * self.areas[-1] + self._inside(rest)[1]

    def _inside(self, t: float) -> tuple[float, float]:
        k = min(bisect_right(self.times, t), len(self.times) - 1) - 1
        begun, low, high = self.times[k], self.heights[k], self.heights[k + 1]
        height = low + (high - low) * (t - begun) / (self.times[k + 1] - begun)
        return height, self.areas[k] + (low + height) / 2 * (t - begun)


UP, DOWN = 10 + 5 * CAPPED_FROM, 50 - 5 * CAPPED_FROM
"""When the power cap begins and ends to hold it."""
LOAD = Line((0, 0), (10, 0), (15, 1), (45, 1), (50, 0), (60, 0))
POWER = Line((0, IDLE_W), (10, IDLE_W), (UP, LIMIT_W), (DOWN, LIMIT_W), (50, IDLE_W), (60, IDLE_W))
CAPPED = Line((0, 0), (UP, 0), (UP, 1), (DOWN, 1), (DOWN, 0), (60, 0))


class Backend:
    """Plays `count` GPUs, or those of them that were asked for."""

    library = ""

    def __init__(
        self,
        gpus: Sequence[str],
        *,
        processes: bool = False,
        count: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.calls = 0
        self.errors: Mapping[tuple[str, str], int] = {}
        self._processes = processes
        self._clock = clock
        names = {number: {str(number), uuid_of(number)} for number in range(count)}
        unknown = [name for name in gpus if not any(name in each for each in names.values())]
        if unknown:
            raise Absent(f"--gpus {unknown[0]}: there is no such GPU; the fake ones are 0 to {count - 1}")
        self._numbers = [number for number, each in names.items() if not gpus or each & set(gpus)]

    def open(self) -> None:
        """Nothing is to be reached."""

    def read(self, *, slow: bool) -> list[Reading]:  # noqa: ARG002  (all is equally quick here)
        """All of them now."""
        self.calls += len(self._numbers)
        now = self._clock()
        return [self._reading(number, max(now - SHIFT_S * number, 0.0)) for number in self._numbers]

    def close(self) -> None:
        """Nothing is held."""

    def _reading(self, number: int, t: float) -> Reading:
        info = {
            "name": "llmload fake GPU 80GB",
            "pci_bus_id": f"0000:{number:02X}:00.0",
            "driver_version": "fake",
            "cuda_version": "fake",
        }
        values = _values(t)
        if self._processes:
            values["process_memory_bytes.4242"] = values["memory_used_bytes"]
        return Reading(str(number), uuid_of(number), info=info, values=values)


def uuid_of(number: int) -> str:
    """The UUID of a fake GPU."""
    return f"GPU-fake-{number}"


def _values(t: float) -> dict[str, float]:
    load, capped, busy_s = LOAD.at(t), CAPPED.at(t), LOAD.area(t)
    watts, joules = POWER.at(t), POWER.area(t)
    lately_w = (joules - POWER.area(max(t - INERTIA_S, 0.0))) / min(max(t, 1e-9), INERTIA_S)
    used = (46 + 22 * load) * GIB
    return {
        "energy_joules": joules,
        "power_watts": watts,
        "power_instant_watts": watts,
        "power_limit_watts": LIMIT_W,
        "utilization_ratio": load,
        "memory_activity_ratio": 0.6 * load,
        "busy_seconds": busy_s,
        "sm_active_ratio": 0.8 * load,
        "sm_occupancy_ratio": 0.3 * load,
        "tensor_active_ratio": 0.35 * load,
        "dram_active_ratio": 0.6 * load,
        "memory_total_bytes": 80 * GIB,
        "memory_used_bytes": used,
        "memory_reserved_bytes": 0.5 * GIB,
        "memory_free_bytes": 79.5 * GIB - used,
        "temperature_celsius": ROOM_C + PER_WATT_C * lately_w,
        "memory_temperature_celsius": ROOM_C + 8 + PER_WATT_C * lately_w,
        "temperature_limit_celsius": 90.0,
        "sm_clock_hertz": (345 + 1635 * load - 225 * capped) * 1e6,
        "memory_clock_hertz": 2619e6,
        "sm_clock_max_hertz": 1980e6,
        "clock_event_active.sw_power_cap": capped,
        "clock_event_active.hw_power_brake": 0.0,
        "clock_event_active.sw_thermal": 0.0,
        "clock_event_active.hw_thermal": 0.0,
        "clock_event_active.sync_boost": 0.0,
        "clock_event_seconds.sw_power_cap": CAPPED.area(t),
        "clock_event_seconds.hw_power_brake": 0.0,
        "clock_event_seconds.sw_thermal": 0.0,
        "clock_event_seconds.hw_thermal": 0.0,
        "clock_event_seconds.sync_boost": 0.0,
        "pcie_transmit_bytes": 2e8 * busy_s,
        "pcie_receive_bytes": 5e8 * busy_s,
        "nvlink_transmit_bytes": 3e10 * busy_s,
        "nvlink_receive_bytes": 3e10 * busy_s,
        "pcie_replays": 0.0,
        "ecc_errors.corrected": 0.0,
        "ecc_errors.uncorrected": 0.0,
        "compute_mode.default": 1.0,
    }
