"""The page of nvidia_gpu_exporter (`nvidia_smi_…`), which has base units already, in llmload's words. Pure."""

from collections.abc import Sequence

from llmload.gather.seen import Gpus, Sample, Seen, Unread

PREFIX = "nvidia_smi_"
REASONS = {
    "sw_power_cap": "sw_power_cap",
    "hw_power_brake_slowdown": "hw_power_brake",
    "sw_thermal_slowdown": "sw_thermal",
    "hw_thermal_slowdown": "hw_thermal",
    "sync_boost": "sync_boost",
}
NAMES = {
    "energy_joules_total": "energy_joules",
    "power_draw_watts": "power_watts",
    "power_draw_instant_watts": "power_instant_watts",
    "enforced_power_limit_watts": "power_limit_watts",
    "utilization_gpu_ratio": "utilization_ratio",
    "utilization_memory_ratio": "memory_activity_ratio",
    "memory_total_bytes": "memory_total_bytes",
    "memory_used_bytes": "memory_used_bytes",
    "memory_reserved_bytes": "memory_reserved_bytes",
    "memory_free_bytes": "memory_free_bytes",
    "temperature_gpu": "temperature_celsius",
    "temperature_memory": "memory_temperature_celsius",
    "clocks_current_sm_clock_hz": "sm_clock_hertz",
    "clocks_current_memory_clock_hz": "memory_clock_hertz",
    "clocks_max_sm_clock_hz": "sm_clock_max_hertz",
    "ecc_errors_corrected_volatile_total": "ecc_errors.corrected",
    "ecc_errors_uncorrected_volatile_total": "ecc_errors.uncorrected",
    **{f"clocks_throttle_reasons_{theirs}": f"clock_event_active.{ours}" for theirs, ours in REASONS.items()},
    **{f"clocks_event_reasons_{theirs}": f"clock_event_active.{ours}" for theirs, ours in REASONS.items()},
    **{
        f"clocks_event_reasons_counters_{theirs}_seconds": f"clock_event_seconds.{ours}"
        for theirs, ours in REASONS.items()
    },
}
AGE = "nvidia_gpu_exporter does not tell how old its values are"


def seen(samples: Sequence[Sample]) -> Seen:
    """The GPUs of a page. Raises Unread where the exporter itself could not read them."""
    gpus = Gpus()
    for name, labels, value in samples:
        word = name.removeprefix(PREFIX)
        if word == "last_collect_success" and not value:
            raise Unread("the exporter could not read its GPUs")
        if not (uuid := labels.get("uuid")):
            continue
        gpu = gpus[uuid]
        if word in NAMES:
            gpu.values[NAMES[word]] = value
        elif word == "index":
            gpu.gpu = str(int(value))
        elif word == "gpu_info":
            gpu.info = {key: labels[key] for key in ("name", "driver_version") if labels.get(key)}
    return Seen("nvidia_gpu_exporter", list(gpus.values()), remarks=(AGE,))
