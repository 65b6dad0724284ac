"""gpu.jsonl and server.jsonl: what a raw sample of a GPU, of its host and of an engine's own metrics looks like.

Plain data and pure. Who reads devices and pages writes such lines, who reports reads them, and the names here are the
only ones between them. A value that was not measured is left out, never 0.

A line of gpu.jsonl is one look at one source (a page, a sidecar's own sampler, a Prometheus):

    {"at": 1764543201.123, "mono_ns": 81…, "source": "http://gpu-host:9835/metrics", "took_ms": 3.1,
     "age_s": 0.42, "clock_offset_ms": 12.5,
     "gpus": [{"uuid": "GPU-…", "gpu": "0", "up": true, "info": {"name": …}, "values": {"energy_joules": 51234.5, …}}],
     "host": {"load1": 0.7, …}}

`at` is when the source was asked, in Unix seconds of the machine that conducts the run; the values are as old as
`age_s` (null: not told), so they are those of `at - age_s`. `clock_offset_ms` is the source's clock less ours (null:
not told). `info` stands in the first line and where it changed. A GPU that was known and is lost is a row with
`"up": false` and no values. Beside `info` may stand `"migs"`, a list of objects with MIG_INFO. Lines out of a
Prometheus have its scrapes' times and neither `mono_ns` nor `took_ms`. A look that failed is a line with
`"error": "one sentence"` and neither gpus nor host.

A line of server.jsonl:

    {"at": …, "mono_ns": …, "source": "http://host:8000/metrics", "took_ms": 2.0, "engine": "vllm",
     "values": {"running": 4, …}}

and, in the first line, "names": {"running": "vllm:num_requests_running", …}; or `"error"` as above. A server's log
is a source of its own in this file: named by its file, without an engine, with `log_errors` alone. Lines
{"at": …, "source": …, "paused": true} and, later, `"paused": false` stand around a time in which nothing was sampled
on purpose.
"""

from dataclasses import dataclass
from typing import Literal

GPU = "gpu.jsonl"
SERVER = "server.jsonl"

Kind = Literal["gauge", "counter"]


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a sample. With a `label`, its keys are `key.value-of-the-label`: `clock_event_seconds.sw_power_cap`.

    In Prometheus its name is the prefix of its kind of source, the key, and `_total` for a counter:
    `llmload_gpu_energy_joules_total`.
    """

    key: str
    kind: Kind
    words: str
    label: str | None = None


def name_of(prefix: str, field: Field) -> str:
    """Its name in Prometheus."""
    return f"{prefix}{field.key}{'_total' if field.kind == 'counter' else ''}"


GPU_INFO = ("name", "pci_bus_id", "driver_version", "cuda_version")
"""What tells a GPU from others, besides its number and UUID …"""
MIG_INFO = ("mig", "mig_uuid", "profile")
"""… and a MIG instance, whose values have `mig` as their label."""

GPU_PREFIX = "llmload_gpu_"
HOST_PREFIX = "llmload_host_"

GPU_FIELDS: tuple[Field, ...] = (
    Field("energy_joules", "counter", "Energy that the GPU has used."),
    Field("power_watts", "gauge", "Power drawn, the driver's average over a second on most GPUs."),
    Field("power_instant_watts", "gauge", "Power drawn at this moment."),
    Field("power_limit_watts", "gauge", "Power limit that is enforced."),
    Field(
        "utilization_ratio", "gauge", "Share of the last sampling period in which any kernel ran; no measure of load."
    ),
    Field("memory_activity_ratio", "gauge", "Share of that period in which memory was read or written."),
    Field("busy_seconds", "counter", "Integral of the utilization over time."),
    Field("sm_active_ratio", "gauge", "Share of time in which the SMs were active."),
    Field("sm_occupancy_ratio", "gauge", "Share of the SMs' warps that were in use."),
    Field("tensor_active_ratio", "gauge", "Share of time in which tensor cores were active."),
    Field("dram_active_ratio", "gauge", "Share of the memory bandwidth that was used."),
    Field("memory_total_bytes", "gauge", "Memory of the GPU."),
    Field("memory_used_bytes", "gauge", "Memory that is allocated, without what the driver reserves where it tells."),
    Field("memory_reserved_bytes", "gauge", "Memory that the driver keeps for itself."),
    Field("memory_free_bytes", "gauge", "Memory that is free."),
    Field("temperature_celsius", "gauge", "Temperature of the GPU."),
    Field("memory_temperature_celsius", "gauge", "Temperature of its memory."),
    Field("temperature_limit_celsius", "gauge", "Temperature at which the GPU slows down."),
    Field("sm_clock_hertz", "gauge", "Clock of the SMs."),
    Field("memory_clock_hertz", "gauge", "Clock of the memory."),
    Field("sm_clock_max_hertz", "gauge", "Highest clock of the SMs."),
    Field("clock_event_active", "gauge", "1 while this holds the clock down.", "reason"),
    Field("clock_event_seconds", "counter", "Time in which this held the clock down.", "reason"),
    Field("pcie_transmit_bytes", "counter", "Bytes sent over PCIe."),
    Field("pcie_receive_bytes", "counter", "Bytes received over PCIe."),
    Field("nvlink_transmit_bytes", "counter", "Bytes sent over NVLink."),
    Field("nvlink_receive_bytes", "counter", "Bytes received over NVLink."),
    Field("pcie_replays", "counter", "PCIe packets that had to be sent again."),
    Field("ecc_errors", "counter", "ECC errors since the driver was loaded.", "severity"),
    Field("xid_errors", "counter", "XID errors seen by this sidecar.", "xid"),
    Field("xid_last_timestamp_seconds", "gauge", "When such an XID error was last seen.", "xid"),
    Field("compute_mode", "gauge", "1 for the compute mode that is set.", "mode"),
    Field("process_memory_bytes", "gauge", "GPU memory of a process.", "pid"),
    Field("mig_memory_total_bytes", "gauge", "Memory of a MIG instance.", "mig"),
    Field("mig_memory_used_bytes", "gauge", "Memory in use in a MIG instance.", "mig"),
    Field("mig_sm_active_ratio", "gauge", "Share of time in which a MIG instance's SMs were active.", "mig"),
    Field("mig_tensor_active_ratio", "gauge", "Share of time in which its tensor cores were active.", "mig"),
    Field("mig_dram_active_ratio", "gauge", "Share of its memory bandwidth that was used.", "mig"),
)
"""Every value of a GPU. Energy, power and clocks of a GPU that is cut by MIG are the whole GPU's, and stand once."""

REASONS = ("sw_power_cap", "hw_power_brake", "sw_thermal", "hw_thermal", "sync_boost")
"""Reasons of clock events that have counters …"""
SPOIL = ("hw_power_brake", "sw_thermal", "hw_thermal")
"""… and those that spoil a measurement; a power cap is how a busy GPU often runs."""

HOST_FIELDS: tuple[Field, ...] = (
    Field("cpu_seconds", "counter", "CPU time of all cores.", "mode"),
    Field("cpus", "gauge", "Cores."),
    Field("load1", "gauge", "Processes that run or wait, mean of a minute."),
    Field("memory_total_bytes", "gauge", "Memory of the machine."),
    Field("memory_available_bytes", "gauge", "Memory that programs could still get."),
    Field("swap_used_bytes", "gauge", "Swap in use."),
    Field("swapped_in_bytes", "counter", "Bytes read back from swap."),
    Field("tcp_segments_sent", "counter", "TCP segments sent."),
    Field("tcp_retransmits", "counter", "TCP segments sent again."),
)
"""Every value of the machine in which the GPUs are. `mode` is busy, iowait or steal."""

SERVER_FIELDS: tuple[Field, ...] = (
    Field("running", "gauge", "Requests in service."),
    Field("waiting", "gauge", "Requests that wait for a place."),
    Field("slots", "gauge", "Requests that it can serve at once, where it tells."),
    Field("kv_cache_usage_ratio", "gauge", "Share of the KV cache in use."),
    Field("preemptions", "counter", "Requests that lost their place to others."),
    Field("prefix_queries_tokens", "counter", "Prompt tokens looked up in the prefix cache."),
    Field("prefix_hits_tokens", "counter", "Prompt tokens found there."),
    Field("prefix_hit_ratio", "gauge", "Share of them, from engines that tell only this."),
    Field("prompt_tokens", "counter", "Prompt tokens."),
    Field("output_tokens", "counter", "Generated tokens."),
    Field("requests", "counter", "Requests that ended."),
    Field("ttft_seconds_sum", "counter", "Time to first token by the server's own clock, summed …"),
    Field("ttft_seconds_count", "counter", "… over so many requests."),
    Field("queue_seconds_sum", "counter", "Time in the queue, summed …"),
    Field("queue_seconds_count", "counter", "… over so many requests."),
    Field("prefill_seconds_sum", "counter", "Time of prefill, summed …"),
    Field("prefill_seconds_count", "counter", "… over so many requests."),
    Field("decode_seconds_sum", "counter", "Time of decoding, summed …"),
    Field("decode_seconds_count", "counter", "… over so many requests."),
    Field("drafted_tokens", "counter", "Tokens that speculation proposed."),
    Field("accepted_tokens", "counter", "Tokens of those that were accepted."),
    Field("acceptance_ratio", "gauge", "Share of them, from engines that tell only this."),
    Field("start_time_seconds", "gauge", "When the server's process began."),
    Field("resident_memory_bytes", "gauge", "Memory of the server's process."),
    Field("log_errors", "counter", "Lines of the server's log that tell an error."),
)
"""Every value of an engine, in llmload's own words; which of its names each one is found under is told in `names`."""
