"""A stand-in for AMD's package amdsmi 7.0.2: its names, kinds of values and errors, on GPUs that a test makes up.

`module(cards)` gives it; a test puts it into `sys.modules`. A card is a dictionary of what each function answers: a
value, an exception, or a code of the library's to fail with. It starts as `card()`, an MI300X under load.
"""

import types
from collections.abc import Callable
from enum import IntEnum
from typing import Any

NAMES = {
    2: "AMDSMI_STATUS_NOT_SUPPORTED - Feature not supported",
    10: "AMDSMI_STATUS_NO_PERM - Permission Denied",
    12: "AMDSMI_STATUS_IO - I/O Error",
    32: "AMDSMI_STATUS_NOT_INIT - Device not initialized",
    34: "AMDSMI_STATUS_DRIVER_NOT_LOADED - Driver not loaded",
}


class AmdSmiException(Exception):
    """Base of its errors."""


class AmdSmiLibraryException(AmdSmiException):
    """An error with a code."""

    def __init__(self, err_code: int) -> None:
        super().__init__(err_code)
        self.err_code = err_code

    def get_error_info(self, detailed: bool = True) -> str:
        """What it means."""
        return NAMES[self.err_code] if detailed else NAMES[self.err_code].split(" - ", maxsplit=1)[0]


class AmdSmiMemoryType(IntEnum):
    """Kinds of memory."""

    VRAM = 0
    VIS_VRAM = 1
    GTT = 2


class AmdSmiTemperatureType(IntEnum):
    """Sensors."""

    EDGE = 0
    HOTSPOT = 1
    VRAM = 2


class AmdSmiTemperatureMetric(IntEnum):
    """What of a sensor."""

    CURRENT = 0
    CRITICAL = 5


class AmdSmiClkType(IntEnum):
    """Clocks."""

    GFX = 0
    MEM = 4


def card(**changes: Any) -> dict[str, Any]:
    """An MI300X: what it does not tell is N/A, as there; its edge has no sensor."""
    metrics = {
        "accumulation_counter": 100_000,
        "ppt_residency_acc": 40_000,
        "prochot_residency_acc": 0,
        "socket_thm_residency_acc": 10,
        "vr_thm_residency_acc": "N/A",
        "hbm_thm_residency_acc": 0,
        "pcie_bandwidth_acc": 77,
    }
    return {
        "amdsmi_get_gpu_asic_info": {"market_name": "AMD Instinct MI300X", "vendor_id": "0x1002"},
        "amdsmi_get_gpu_device_bdf": "0000:0c:00.0",
        "amdsmi_get_gpu_driver_info": {"driver_name": "amdgpu", "driver_version": "6.12.12", "driver_date": "N/A"},
        "amdsmi_get_gpu_device_uuid": "d9ff74a1-0000-1000-802d-7b762fbd75d2",
        "amdsmi_get_energy_count": {"energy_accumulator": 1_000_000_000, "counter_resolution": 15.25, "timestamp": 1},
        "amdsmi_get_power_info": {
            "socket_power": 700,
            "current_socket_power": 703,
            "average_socket_power": "N/A",
            "power_limit": 750,
        },
        "amdsmi_get_gpu_activity": {"gfx_activity": 98, "umc_activity": 45, "mm_activity": "N/A"},
        "amdsmi_get_gpu_memory_usage": {0: 150 * 2**30},
        "amdsmi_get_gpu_memory_total": {0: 192 * 2**30},
        "amdsmi_get_temp_metric": {(0, 0): 2, (1, 0): 71, (1, 5): 100, (2, 0): 64},
        "amdsmi_get_clock_info": {0: {"clk": 2100, "max_clk": 2100}, 4: {"clk": 1300, "max_clk": 1300}},
        "amdsmi_get_power_cap_info": {"power_cap": 750_000_000, "max_power_cap": 750_000_000},
        "amdsmi_get_gpu_total_ecc_count": {"correctable_count": 3, "uncorrectable_count": 1, "deferred_count": 0},
        "amdsmi_get_gpu_pci_replay_counter": 5,
        "amdsmi_get_gpu_metrics_info": metrics,
        "amdsmi_get_gpu_process_list": [
            {"name": "vllm", "pid": 4242, "mem": 9, "memory_usage": {"gtt_mem": 0, "cpu_mem": 0, "vram_mem": 2**30}}
        ],
        **changes,
    }


def module(cards: list[dict[str, Any]]) -> Any:
    """The package over these cards; `module.init` may be set to a code to fail with, `called` lists what was called."""
    smi: Any = types.ModuleType("amdsmi")
    smi.called = []
    smi.init = None
    for kind in (
        AmdSmiException, AmdSmiLibraryException, AmdSmiMemoryType, AmdSmiTemperatureType, AmdSmiTemperatureMetric,
        AmdSmiClkType,
    ):  # fmt: skip
        setattr(smi, kind.__name__, kind)

    def init() -> None:
        smi.called.append("amdsmi_init")
        if smi.init is not None:
            raise AmdSmiLibraryException(smi.init)

    smi.amdsmi_init = init
    smi.amdsmi_shut_down = lambda: smi.called.append("amdsmi_shut_down")
    smi.amdsmi_get_processor_handles = lambda: list(range(len(cards)))
    for name in card():
        setattr(smi, name, answers(smi, cards, name))
    return smi


def answers(smi: Any, cards: list[dict[str, Any]], name: str) -> Callable[..., Any]:
    """One of its functions: by the card's number, and by further arguments if it has any."""

    def function(handle: int, *more: int) -> Any:
        smi.called.append(name)
        told = cards[handle].get("all", cards[handle][name])
        if more and isinstance(told, dict):
            told = told[more if len(more) > 1 else more[0]]
        if isinstance(told, int) and not isinstance(told, bool) and told in NAMES:
            raise AmdSmiLibraryException(told)
        return told

    return function
