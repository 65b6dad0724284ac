"""The page of NVIDIA's dcgm-exporter, under the names of DCGM before and since 4.6, in llmload's words and units. Pure.

- DCGM reads the GPU at its own interval (30 s unless told otherwise) and a page shows the last value: no age is told.
- Violation times are nanoseconds, as dcgm_fields.h and NVML say, though some lists of counters call them microseconds.
- `…_UTIL_RATIO` was percent in DCGM 4.6 and is a ratio since: percent it is where any GPU of the page is over 1.
- A blank ("not supported" and the like) that an old exporter shows as a huge number is no value.
- Of a GPU that is cut by MIG each instance repeats energy, power, clocks and temperatures of the whole: they
  stand once. What an instance has of its own (memory, SM, tensor, DRAM activity) goes to the `mig_…` values.
- The gauge of the last XID says that such an error was seen, not how often.
- PCIe and NVLink are rates there, not counters, and are left out.
"""

from collections.abc import Mapping, Sequence

from llmload.gather.seen import Gpu, Gpus, Sample, Seen

MIB = float(2**20)

NAMES: dict[str, tuple[tuple[str, float], ...]] = {
    "energy_joules": (("DEV_TOTAL_ENERGY_CONSUMPTION", 1e-3), ("DEV_GPU_ENERGY_JOULES_TOTAL", 1.0)),
    "power_watts": (("DEV_POWER_USAGE", 1.0), ("DEV_BOARD_POWER_WATTS", 1.0)),
    "power_instant_watts": (("DEV_POWER_USAGE_INSTANT", 1.0), ("DEV_BOARD_POWER_RAW_WATTS", 1.0)),
    "power_limit_watts": (("DEV_ENFORCED_POWER_LIMIT", 1.0), ("DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS", 1.0)),
    "utilization_ratio": (("DEV_GPU_UTIL", 0.01), ("DEV_GPU_UTIL_RATIO", 1.0)),
    "memory_activity_ratio": (("DEV_MEM_COPY_UTIL", 0.01), ("DEV_MEMORY_UTIL_RATIO", 1.0)),
    "sm_active_ratio": (("PROF_SM_ACTIVE", 1.0), ("PROF_SM_UTIL_RATIO", 1.0)),
    "sm_occupancy_ratio": (("PROF_SM_OCCUPANCY", 1.0), ("PROF_SM_OCCUPANCY_RATIO", 1.0)),
    "tensor_active_ratio": (("PROF_PIPE_TENSOR_ACTIVE", 1.0), ("PROF_TENSOR_UTIL_RATIO", 1.0)),
    "dram_active_ratio": (("PROF_DRAM_ACTIVE", 1.0), ("PROF_DRAM_UTIL_RATIO", 1.0)),
    "memory_total_bytes": (("DEV_FB_TOTAL", MIB), ("DEV_FB_CAPACITY_BYTES", 1.0)),
    "memory_used_bytes": (("DEV_FB_USED", MIB), ("DEV_FB_USED_BYTES", 1.0)),
    "memory_reserved_bytes": (("DEV_FB_RESERVED", MIB), ("DEV_FB_RESERVED_BYTES", 1.0)),
    "memory_free_bytes": (("DEV_FB_FREE", MIB), ("DEV_FB_FREE_BYTES", 1.0)),
    "temperature_celsius": (("DEV_GPU_TEMP", 1.0), ("DEV_GPU_TEMP_CELSIUS", 1.0)),
    "memory_temperature_celsius": (("DEV_MEMORY_TEMP", 1.0), ("DEV_MEMORY_TEMP_CELSIUS", 1.0)),
    "temperature_limit_celsius": (("DEV_SLOWDOWN_TEMP", 1.0), ("DEV_GPU_TEMP_SLOWDOWN_CELSIUS", 1.0)),
    "sm_clock_hertz": (("DEV_SM_CLOCK", 1e6),),
    "memory_clock_hertz": (("DEV_MEM_CLOCK", 1e6),),
    "sm_clock_max_hertz": (("DEV_MAX_SM_CLOCK", 1e6),),
    "clock_event_seconds.sw_power_cap": (
        ("DEV_POWER_VIOLATION", 1e-9),
        ("DEV_GPU_POWER_THROTTLE_SECONDS_TOTAL", 1.0),
    ),
    "clock_event_seconds.sw_thermal": (
        ("DEV_THERMAL_VIOLATION", 1e-9),
        ("DEV_GPU_THERMAL_THROTTLE_SECONDS_TOTAL", 1.0),
    ),
    "clock_event_seconds.sync_boost": (
        ("DEV_SYNC_BOOST_VIOLATION", 1e-9),
        ("DEV_GPU_SYNC_BOOST_THROTTLE_SECONDS_TOTAL", 1.0),
    ),
    "pcie_replays": (("DEV_PCIE_REPLAY_COUNTER", 1.0), ("DEV_PCIE_REPLAY_TOTAL", 1.0)),
    "ecc_errors.corrected": (("DEV_ECC_SBE_VOL_TOTAL", 1.0),),
    "ecc_errors.uncorrected": (("DEV_ECC_DBE_VOL_TOTAL", 1.0),),
}
"""Under which names (after DCGM_FI_) each value stands, and its factor; the first that is there counts."""

PLACES = {
    f"DCGM_FI_{name}": (rank, key, scale)
    for key, names in NAMES.items()
    for rank, (name, scale) in enumerate(names)
}  # fmt: skip

PERCENT_OR_RATIO = "DCGM_FI_DEV_GPU_UTIL_RATIO"
LAST_XID = ("DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_XID_ERROR")
REASONS = ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS")
BITS = {0x4: "sw_power_cap", 0x10: "sync_boost", 0x20: "sw_thermal", 0x40: "hw_thermal", 0x80: "hw_power_brake"}
"""NVML's bits of clock events."""

OF_INSTANCES = {
    "memory_total_bytes": "mig_memory_total_bytes",
    "memory_used_bytes": "mig_memory_used_bytes",
    "sm_active_ratio": "mig_sm_active_ratio",
    "tensor_active_ratio": "mig_tensor_active_ratio",
    "dram_active_ratio": "mig_dram_active_ratio",
    "memory_free_bytes": "",
    "memory_reserved_bytes": "",
    "sm_occupancy_ratio": "",
    "utilization_ratio": "",
    "memory_activity_ratio": "",
}
"""What an instance has of its own, and where it stands ("": nowhere); all else that it shows is the whole GPU's."""

INT_BLANK = 9.2e18
FLOAT_BLANK = float(2**47)
LABELS = {
    "name": ("modelName", "model_name"),
    "pci_bus_id": ("pci_bus_id",),
    "driver_version": ("DCGM_FI_DRIVER_VERSION",),
    "host": ("hostname", "Hostname"),
}

AGE = "DCGM's values are up to one interval of its own collection old (30 s unless told otherwise); no page tells it"
TIMES = "DCGM's violation times are taken as nanoseconds"


def is_blank(value: float) -> bool:
    """True for the numbers by which DCGM says that there is no value."""
    return value >= INT_BLANK or FLOAT_BLANK <= value < FLOAT_BLANK + 16


def seen(samples: Sequence[Sample]) -> Seen:
    """The GPUs of a page."""
    gpus = Gpus()
    ranks: dict[tuple[str, str], int] = {}
    samples = [sample for sample in samples if not is_blank(sample.value)]
    percent = any(sample.name == PERCENT_OR_RATIO and sample.value > 1 for sample in samples)
    for name, labels, value in samples:
        uuid = labels.get("UUID") or labels.get("gpu_uuid") or labels.get("uuid")
        if not uuid:
            continue
        gpu = gpus[uuid]
        _identify(gpu, labels)
        if name in PLACES:
            rank, key, scale = PLACES[name]
            key = _place(key, labels.get("GPU_I_ID", ""))
            if rank <= ranks.get((uuid, key), rank):
                ranks[uuid, key] = rank
                gpu.values[key] = value * (0.01 if name == PERCENT_OR_RATIO and percent else scale)
        elif name in REASONS:
            for bit, reason in BITS.items():
                gpu.values[f"clock_event_active.{reason}"] = float(bool(int(value) & bit))
        elif name in LAST_XID and value > 0:
            gpu.values[f"xid_errors.{int(value)}"] = 1.0
    for gpu in gpus.values():
        gpu.values.pop("", None)
        _total(gpu)
    has_times = any(sample.name.endswith("_VIOLATION") for sample in samples)
    return Seen("dcgm", list(gpus.values()), remarks=(AGE, TIMES) if has_times else (AGE,))


def _place(key: str, instance: str) -> str:
    """The key under which a value of a whole GPU (`instance` is "") or of an instance stands; "" for nowhere."""
    if not instance or key not in OF_INSTANCES:
        return key
    own = OF_INSTANCES[key]
    return own and f"{own}.{instance}"


def _identify(gpu: Gpu, labels: Mapping[str, str]) -> None:
    gpu.gpu = gpu.gpu or labels.get("gpu", "")
    for key, names in LABELS.items():
        if told := next((labels[name] for name in names if labels.get(name)), None):
            gpu.info[key] = told
    mig = {"mig": labels.get("GPU_I_ID", ""), "mig_uuid": "", "profile": labels.get("GPU_I_PROFILE", "")}
    if mig["mig"] and mig not in gpu.migs:
        gpu.migs.append(mig)


def _total(gpu: Gpu) -> None:
    """The exporter's usual list leaves the total out; it is the sum of its parts, where those are told."""
    values = gpu.values
    if "memory_total_bytes" not in values and {"memory_used_bytes", "memory_free_bytes"} <= values.keys():
        parts = ("memory_used_bytes", "memory_free_bytes", "memory_reserved_bytes")
        values["memory_total_bytes"] = sum(values.get(part, 0.0) for part in parts)
