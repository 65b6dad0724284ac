"""AMD's GPUs through amdsmi, imported when this kind is chosen: values under NVML's names where they mean the same.

Not called, since they wait: amdsmi_get_gpu_pci_throughput, and amdsmi_get_violation_status, whose times are taken from
the driver's residency counters instead. xGMI is not told as NVLink. Knows no thread and no page.
"""

import contextlib
import importlib
import io
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llmload.sidecar.backend import Absent, Gone, Reading

NOT_SUPPORTED = {2, 3, 5, 49}
"""Codes after which an operation is not asked for again: not supported, not yet implemented, no such symbol."""
NO_PERMISSION = 10
NO_DRIVER = {18, 32, 34, 51, 54}
"""Not initialised, driver not loaded, restarting."""
GAP_S = 10.0
"""Over a longer time between two looks the utilization is not integrated: nobody knows what it was."""
THROTTLES = {
    "sw_power_cap": ("ppt_residency_acc",),
    "hw_thermal": (
        "prochot_residency_acc",
        "socket_thm_residency_acc",
        "vr_thm_residency_acc",
        "hbm_thm_residency_acc",
    ),
}
"""Counters of the driver by our words; each grows beside `accumulation_counter` while it holds the clock down."""

Value = tuple[str, float]
Values = Iterator[Value]


def number(table: Mapping[str, Any], *names: str) -> float | None:
    """The first of these that is a number; what is not known is the text N/A there."""
    for name in names:
        value = table.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    return None


def _some(key: str, value: float | None, factor: float = 1.0) -> Values:
    if value is not None:
        yield key, value * factor


def _energy(smi: Any, handle: Any) -> Values:
    told = smi.amdsmi_get_energy_count(handle)
    ticks, microjoules = number(told, "energy_accumulator", "power"), number(told, "counter_resolution")
    if ticks is not None and microjoules:
        yield "energy_joules", ticks * microjoules / 1e6


def _power(smi: Any, handle: Any) -> Values:
    told = smi.amdsmi_get_power_info(handle)
    yield from _some("power_watts", number(told, "average_socket_power", "socket_power", "current_socket_power"))
    yield from _some("power_instant_watts", number(told, "current_socket_power"))


def _activity(smi: Any, handle: Any) -> Values:
    told = smi.amdsmi_get_gpu_activity(handle)
    yield from _some("utilization_ratio", number(told, "gfx_activity"), 0.01)
    yield from _some("memory_activity_ratio", number(told, "umc_activity"), 0.01)


def _memory(smi: Any, handle: Any) -> Values:
    yield "memory_used_bytes", float(smi.amdsmi_get_gpu_memory_usage(handle, smi.AmdSmiMemoryType.VRAM))


def _temperature(key: str, sensor: str, metric: str = "CURRENT") -> Callable[[Any, Any], Values]:
    def read(smi: Any, handle: Any) -> Values:
        kind, what = getattr(smi.AmdSmiTemperatureType, sensor), getattr(smi.AmdSmiTemperatureMetric, metric)
        yield key, float(smi.amdsmi_get_temp_metric(handle, kind, what))

    return read


def _gfx_clock(smi: Any, handle: Any) -> Values:
    told = smi.amdsmi_get_clock_info(handle, smi.AmdSmiClkType.GFX)
    yield from _some("sm_clock_hertz", number(told, "clk", "cur_clk"), 1e6)
    yield from _some("sm_clock_max_hertz", number(told, "max_clk"), 1e6)


def _memory_clock(smi: Any, handle: Any) -> Values:
    yield from _some(
        "memory_clock_hertz",
        number(smi.amdsmi_get_clock_info(handle, smi.AmdSmiClkType.MEM), "clk", "cur_clk"),
        1e6,
    )


def _limit(smi: Any, handle: Any) -> Values:
    cap = number(smi.amdsmi_get_power_cap_info(handle), "power_cap")
    if cap is not None:
        yield "power_limit_watts", cap / 1e6 if cap > 1e5 else cap  # microwatts, and watts in old versions


def _total(smi: Any, handle: Any) -> Values:
    yield "memory_total_bytes", float(smi.amdsmi_get_gpu_memory_total(handle, smi.AmdSmiMemoryType.VRAM))


def _ecc(smi: Any, handle: Any) -> Values:
    told = smi.amdsmi_get_gpu_total_ecc_count(handle)
    yield from _some("ecc_errors.corrected", number(told, "correctable_count"))
    yield from _some("ecc_errors.uncorrected", number(told, "uncorrectable_count"))


def _replays(smi: Any, handle: Any) -> Values:
    yield "pcie_replays", float(smi.amdsmi_get_gpu_pci_replay_counter(handle))


def _processes(smi: Any, handle: Any) -> Values:
    for process in smi.amdsmi_get_gpu_process_list(handle):
        yield from _some(f"process_memory_bytes.{process['pid']}", number(process.get("memory_usage", {}), "vram_mem"))


FAST: dict[str, Callable[[Any, Any], Values]] = {
    "energy_count": _energy,
    "power_info": _power,
    "gpu_activity": _activity,
    "memory_usage": _memory,
    "temperature_edge": _temperature("temperature_celsius", "EDGE"),
    "temperature_hotspot": _temperature("temperature_celsius", "HOTSPOT"),
    "temperature_vram": _temperature("memory_temperature_celsius", "VRAM"),
    "clock_gfx": _gfx_clock,
    "clock_memory": _memory_clock,
}
"""By operation, as it is called in the counter of errors. The hotspot's temperature is the one its limit is for, so it
goes before that of the edge."""
SLOW: dict[str, Callable[[Any, Any], Values]] = {
    "power_cap_info": _limit,
    "memory_total": _total,
    "temperature_limit": _temperature("temperature_limit_celsius", "HOTSPOT", "CRITICAL"),
    "total_ecc_count": _ecc,
    "pci_replay_counter": _replays,
}


@dataclass
class Card:
    """One GPU, and what is summed up of it here."""

    handle: Any
    gpu: str
    uuid: str
    info: Mapping[str, str]
    skipped: set[str] = field(default_factory=set)
    """Operations that it does not support."""
    slow: dict[str, float] = field(default_factory=dict)
    at: float | None = None
    """When it was read last; the utilization and the residencies of then are below."""
    utilization: float | None = None
    residencies: Mapping[str, float] = field(default_factory=dict)
    busy_s: float = 0.0
    throttled_s: dict[str, float] = field(default_factory=dict)

    def integrate(self, now: float, utilization: float | None, residencies: Mapping[str, float]) -> Values:
        """Seconds that it was busy and held down since this began, with one more look."""
        gone_s = 0.0 if self.at is None else now - self.at
        if utilization is not None:
            if self.utilization is not None and gone_s <= GAP_S:
                self.busy_s += (self.utilization + utilization) / 2 * gone_s
            yield "busy_seconds", self.busy_s
        for reason, names in THROTTLES.items():
            shares = [_share(name, self.residencies, residencies) for name in names]
            known = [share for share in shares if share is not None]
            if known:
                self.throttled_s[reason] = self.throttled_s.get(reason, 0.0) + max(known) * gone_s
                yield f"clock_event_active.{reason}", float(max(known) > 0)
            if reason in self.throttled_s:
                yield f"clock_event_seconds.{reason}", self.throttled_s[reason]
        self.at, self.utilization, self.residencies = now, utilization, residencies


def _share(name: str, before: Mapping[str, float], now: Mapping[str, float]) -> float | None:
    """Of the time between two looks in which this counter grew; None where the driver does not tell, or began anew."""
    if not {name, "accumulation_counter"} <= before.keys() & now.keys():
        return None
    held, all_ = now[name] - before[name], now["accumulation_counter"] - before["accumulation_counter"]
    return held / all_ if 0 <= held <= all_ and all_ > 0 else None


class Backend:
    """AMD's GPUs of this machine. Raises Absent without the package or its library."""

    library = "amdsmi"

    def __init__(
        self,
        gpus: Sequence[str],
        *,
        processes: bool = False,
        count: int = 1,  # noqa: ARG002  (the fake one's)
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.calls = 0
        self.errors: dict[tuple[str, str], int] = {}
        self._smi = _library()
        self._gpus = gpus
        self._slow = {**SLOW, "process_list": _processes} if processes else SLOW
        self._clock = clock
        self._cards: list[Card] = []

    def open(self) -> None:
        """Reach the driver. Raises Absent."""
        smi = self._smi
        try:
            self.calls += 2
            smi.amdsmi_init()
            cards = [self._card(k, handle) for k, handle in enumerate(smi.amdsmi_get_processor_handles())]
        except smi.AmdSmiException as error:
            raise Absent(
                f"the AMD driver cannot be reached ({_name(error)}); is amdgpu loaded, and may this user open "
                "/dev/kfd and /dev/dri (groups render and video)?"
            ) from error
        if not cards:
            raise Absent("amdsmi finds no AMD GPU on this machine")
        unknown = [name for name in self._gpus if not any(name in {card.gpu, card.uuid} for card in cards)]
        if unknown:
            raise Absent(f"--gpus {unknown[0]}: there is no such GPU; amdsmi numbers them 0 to {len(cards) - 1}")
        self._cards = [card for card in cards if not self._gpus or {card.gpu, card.uuid} & set(self._gpus)]

    def read(self, *, slow: bool) -> list[Reading]:
        """All GPUs now. Raises Gone."""
        readings = [self._reading(card, slow=slow) for card in self._cards]
        if not any(reading.up for reading in readings):
            raise Gone("none of the AMD GPUs answers any more; it is tried again")
        return readings

    def close(self) -> None:
        """Let go of the driver."""
        with contextlib.suppress(Exception):
            self._smi.amdsmi_shut_down()

    def _card(self, k: int, handle: Any) -> Card:
        smi = self._smi
        asked: tuple[tuple[str, Callable[[], object]], ...] = (
            ("name", lambda: smi.amdsmi_get_gpu_asic_info(handle)["market_name"]),
            ("pci_bus_id", lambda: smi.amdsmi_get_gpu_device_bdf(handle)),
            ("driver_version", lambda: smi.amdsmi_get_gpu_driver_info(handle)["driver_version"]),
            ("uuid", lambda: smi.amdsmi_get_gpu_device_uuid(handle)),
        )
        info: dict[str, str] = {}
        for key, ask in asked:
            self.calls += 1
            try:
                info[key] = str(ask())
            except smi.AmdSmiException as error:
                self._count(key, error)
        uuid = info.pop("uuid", "") or info.get("pci_bus_id") or f"amd-{k}"
        return Card(handle, str(k), uuid, info)

    def _reading(self, card: Card, *, slow: bool) -> Reading:
        values, answers = self._ask(card, FAST)
        if not answers:
            card.at = None
            return Reading(card.gpu, card.uuid, up=False)
        if slow:
            card.slow, _ = self._ask(card, self._slow)
        metrics, _ = self._ask(card, {"gpu_metrics_info": _residencies})
        values.update(card.slow)
        values.update(card.integrate(self._clock(), values.get("utilization_ratio"), metrics))
        if {"memory_total_bytes", "memory_used_bytes"} <= values.keys():
            values["memory_free_bytes"] = values["memory_total_bytes"] - values["memory_used_bytes"]
        return Reading(card.gpu, card.uuid, info=card.info, values=values)

    def _ask(self, card: Card, operations: Mapping[str, Callable[[Any, Any], Values]]) -> tuple[dict[str, float], bool]:
        """What these tell, and whether the GPU answers at all. Raises Gone."""
        values: dict[str, float] = {}
        failed = asked = 0
        for operation, read in operations.items():
            if operation in card.skipped:
                continue
            self.calls += 1
            asked += 1
            try:
                values.update(read(self._smi, card.handle))
            except self._smi.AmdSmiException as error:
                self._count(operation, error)
                code = getattr(error, "err_code", None)
                if code in NO_DRIVER:
                    raise Gone(f"the AMD driver went away ({_name(error)}); it is tried again") from error
                if code in NOT_SUPPORTED:
                    card.skipped.add(operation)
                elif code != NO_PERMISSION:
                    failed += 1
        return values, failed < asked or not asked

    def _count(self, operation: str, error: Exception) -> None:
        key = (operation, _name(error))
        self.errors[key] = self.errors.get(key, 0) + 1


def _residencies(smi: Any, handle: Any) -> Values:
    told = smi.amdsmi_get_gpu_metrics_info(handle)
    for name in ("accumulation_counter", *(name for names in THROTTLES.values() for name in names)):
        yield from _some(name, number(told, name))


def _library() -> Any:
    """The package. Raises Absent."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # it prints what it misses
            return importlib.import_module("amdsmi")
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "amdsmi":
            raise Absent('AMD GPUs are read through the package amdsmi: pip install "llmload[amd]"') from error
        raise Absent(
            "amdsmi finds no libamd_smi.so; it comes with ROCm (amd-smi-lib), or name its place by ROCM_PATH"
        ) from error


def _name(error: Exception) -> str:
    """NOT_SUPPORTED and the like."""
    about = getattr(error, "get_error_info", None)
    text = str(about(detailed=False)) if about is not None else type(error).__name__
    return text.removeprefix("AMDSMI_STATUS_").strip()
