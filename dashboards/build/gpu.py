"""The board GPU: what the GPUs drew and did, what held them back, and how their host and the sidecar fare."""

from dashboards.build.frame import framed
from dashboards.build.panels import BAD, CALM, WARN, chart, figure, labels_only, rows_of, states
from dashboards.build.queries import GPU, HOST, LOAD, RATE, Query, rated, share

NAMED = "GPU {{gpu}}"
TOOK = "llmload_gpu_collect_duration_seconds_bucket"
SPOILS = 'reason=~"hw_thermal|sw_thermal|hw_power_brake"'
ENERGY = f"rate(llmload_gpu_energy_joules_total{{{GPU}}}[{RATE}])"
TOKENS = f"sum({rated('llmload_output_tokens_total', LOAD)})"


def gauge(name: str, legend: str = NAMED, labels: str = "gpu, uuid") -> Query:
    """A value of each GPU; `max` only leaves out the labels of the scrape."""
    return Query(f"max by (instance, {labels}) (llmload_gpu_{name}{{{GPU}}})", legend)


def rate(name: str, legend: str, labels: str = "gpu, uuid", matchers: str = GPU) -> Query:
    """A counter of each GPU as a rate."""
    return Query(f"sum by (instance, {labels}) (rate(llmload_gpu_{name}{{{matchers}}}[{RATE}]))", legend)


def host(expr: str, legend: str) -> Query:
    """Of the GPUs' machine; `{}` stands for its matchers."""
    return Query(expr.replace("{}", f"{{{HOST}}}"), legend)


NOW = [
    figure(
        101, "GPUs that answer",
        "Share of the known GPUs that are up. Under 100 % one is lost: look for Xid in the kernel's log of its host.",
        "percentunit", Query(f"avg(llmload_gpu_up{{{GPU}}})", "up"), thresholds=[(1, CALM)], least=0, most=1,
        decimals=0, nothing="no sidecar is scraped",
    ),
    figure(
        102, "Power", "All chosen GPUs together, from their energy counters; by GPU it is below.", "watt",
        Query(f"sum({ENERGY})", "power"), interval="5s", decimals=0,
    ),
    figure(
        103, "Energy per output token",
        "Energy of the chosen GPUs divided by output tokens of all classes; idle power is in it. Choose only the GPUs "
        "that serve the engine. The report's figure is of whole steps.",
        "joule", Query(share(f"sum({ENERGY})", TOKENS), "J/token"), interval="30s", decimals=2, nothing="no load",
    ),
    figure(
        104, "Energy in the chosen time", "What the chosen GPUs used in it, by their counters, load or no load.",
        "joule", Query(f"sum(increase(llmload_gpu_energy_joules_total{{{GPU}}}[$__range]))", "energy", instant=True),
        decimals=0,
    ),
    figure(
        105, "Held down by heat or brake",
        "Share of the time in which heat or the power brake held clocks down, worst GPU. Over 0: discard what was "
        "measured meanwhile.",
        "percentunit",
        Query(f"max(rate(llmload_gpu_clock_event_seconds_total{{{GPU}, {SPOILS}}}[{RATE}]))", "held down"),
        thresholds=[(0.0001, WARN), (0.01, BAD)], least=0, most=1, decimals=1, interval="5s", nothing="not told",
    ),
    figure(
        106, "Hottest below its limit",
        "Degrees between the hottest GPU and the temperature at which it slows down. Under 5: see to the cooling.",
        "celsius",
        Query(f"min(llmload_gpu_temperature_limit_celsius{{{GPU}}} - llmload_gpu_temperature_celsius{{{GPU}}})", "K"),
        thresholds=[(5, WARN), (10, CALM)], decimals=0, nothing="limit not told",
    ),
]  # fmt: skip

POWER = [
    chart(
        201, "Power",
        "From the energy counters, so that nothing between two scrapes is missed; dashed the limit. At the limit the "
        "GPU is power-capped, which is usual with many in flight.",
        "watt", Query(f"sum by (instance, gpu, uuid) ({ENERGY})", NAMED),
        Query(f"max(llmload_gpu_power_limit_watts{{{GPU}}})", "limit"), dashed=("limit",), interval="5s",
        width=6,
    ),
    chart(
        202, "Power as the driver tells it",
        "The driver's average over a second, and the power of the moment. For peaks; means come from the counter.",
        "watt", gauge("power_watts", "GPU {{gpu}} average"), gauge("power_instant_watts", "GPU {{gpu}} now"),
        width=6,
    ),
    chart(
        203, "Energy per output token",
        "Energy of the chosen GPUs over output tokens of attempts that ended. It falls as more are in flight, until "
        "the engine is full; more power for the same tokens shows here first.",
        "joule", Query(share(f"sum({ENERGY})", TOKENS), "J/token"), interval="30s", nothing="no load",
        width=6,
    ),
    chart(
        204, "Output tokens per second and GPU",
        "Output tokens of attempts that ended, divided by the chosen GPUs that are up. Compare boxes by it.",
        "suffix: tok/s", Query(f"{TOKENS} / (sum(llmload_gpu_up{{{GPU}}}) > 0)", "per GPU"), interval="10s",
        nothing="no load",
        width=6,
    ),
]  # fmt: skip

ACTIVITY = [
    chart(
        301, "Memory bandwidth in use",
        "Share of the DRAM's bandwidth (Hopper and later). The best single sign of how full decoding is: near 100 % no "
        "more tokens come.",
        "percentunit", gauge("dram_active_ratio"), most=1, nothing="not told by these GPUs",
        width=6,
    ),
    chart(
        302, "Tensor cores active",
        "Share of time (Hopper and later). High in prefill, low in decode: long prompts are seen here.",
        "percentunit", gauge("tensor_active_ratio"), most=1, nothing="not told by these GPUs",
        width=6,
    ),
    chart(
        303, "SMs active and occupied",
        "Share of time in which SMs were active, and of their warps in use. Active, hardly occupied: small batches.",
        "percentunit", gauge("sm_active_ratio", "GPU {{gpu}} active"),
        gauge("sm_occupancy_ratio", "GPU {{gpu}} occupied"), most=1, nothing="not told by these GPUs",
        width=6,
    ),
    chart(
        304, "Any kernel running",
        "Share of the driver's last period in which any kernel ran, and in which memory was read or written. One "
        "request alone makes it 100 %: good for 'was it idle', no measure of load.",
        "percentunit", gauge("utilization_ratio", "GPU {{gpu}} kernels"),
        gauge("memory_activity_ratio", "GPU {{gpu}} memory"), most=1,
        width=6,
    ),
]  # fmt: skip

MEMORY = [
    chart(
        401, "Memory in use",
        "Allocated, without what the driver reserves; dashed what there is. Engines allocate at their start: what they "
        "use of it is the KV cache on the boards Load and Soak.",
        "bytes", gauge("memory_used_bytes"), Query(f"max(llmload_gpu_memory_total_bytes{{{GPU}}})", "total"),
        dashed=("total",),
    ),
    chart(
        402, "Memory left",
        "Share that is free. Under a fifth a soak has little room: a leak ends it.",
        "percentunit",
        Query(f"1 - max by (instance, gpu, uuid) (llmload_gpu_memory_used_bytes{{{GPU}}}) / "
              f"max by (instance, gpu, uuid) (llmload_gpu_memory_total_bytes{{{GPU}}})", NAMED),
        most=1, thresholds=[(0.1, WARN), (0.2, CALM)],
    ),
    rows_of(
        403, "GPUs",
        "What is there, by the driver. Another driver than in the run that is compared with: figures may differ by it.",
        [Query(f"max by (instance, gpu, name, driver_version, cuda_version, uuid) (llmload_gpu_info{{{GPU}}})", "",
               "table", True)],
        {}, width=8, changes=[labels_only()],
    ),
]  # fmt: skip

CLOCKS = [
    chart(
        501, "Clock of the SMs",
        "Dashed the highest. It falls when power or heat holds it down; what did is to the right.",
        "hertz", gauge("sm_clock_hertz"), Query(f"max(llmload_gpu_sm_clock_max_hertz{{{GPU}}})", "highest"),
        dashed=("highest",),
    ),
    states(
        502, "What holds clocks down",
        "sw_power_cap is usual with many in flight. Thermal reasons and hw_power_brake spoil a measurement: cool, and "
        "repeat. A look once a scrape; the share of time is below.",
        gauge("clock_event_active", "GPU {{gpu}} {{reason}}", "gpu, uuid, reason"),
        {"0": ("free", CALM), "1": ("held down", BAD)}, width=16, nothing="not told by these GPUs",
    ),
    chart(
        503, "Share of time held down, worst GPU",
        "From the driver's counters, by reason: nothing between scrapes is missed. Over 1 % by heat or brake: discard.",
        "percentunit",
        Query(f"max by (reason) (rate(llmload_gpu_clock_event_seconds_total{{{GPU}}}[{RATE}]))", "{{reason}}"), most=1,
        thresholds=[(0.01, WARN)], interval="5s", nothing="not told by these GPUs",
    ),
    chart(
        504, "Clock of the memory", "It is steady in a run; a change is another power state: the run began cold.",
        "hertz", gauge("memory_clock_hertz"),
    ),
    chart(
        505, "Temperature",
        "Of the GPU and of its memory; dashed where the GPU slows down. Wait until it is steady before you measure.",
        "celsius", gauge("temperature_celsius"), gauge("memory_temperature_celsius", "GPU {{gpu}} memory"),
        Query(f"min(llmload_gpu_temperature_limit_celsius{{{GPU}}})", "limit"), dashed=("limit",),
    ),
]  # fmt: skip

LINKS = [
    chart(
        601, "PCIe", "Bytes per second. Much of it while serving: weights or KV cache are swapped to the host.",
        "Bps", rate("pcie_transmit_bytes_total", "GPU {{gpu}} sent"),
        rate("pcie_receive_bytes_total", "GPU {{gpu}} received"), interval="5s", nothing="not told by these GPUs",
    ),
    chart(
        602, "NVLink", "Bytes per second between GPUs: the cost of tensor parallelism. Uneven: the split is uneven.",
        "Bps", rate("nvlink_transmit_bytes_total", "GPU {{gpu}} sent"),
        rate("nvlink_receive_bytes_total", "GPU {{gpu}} received"), interval="5s", nothing="no NVLink",
    ),
    chart(
        603, "PCIe packets sent again", "Per second. Over 0 for long: reseat the card, or look at the riser.",
        "cps", rate("pcie_replays_total", NAMED), thresholds=[(0.1, WARN), (1, BAD)], interval="5s",
        nothing="not told by these GPUs",
    ),
    chart(
        604, "ECC errors since the driver was loaded",
        "Corrected ones are usual in small numbers; an uncorrected one makes answers wrong: reset the GPU.",
        "short", gauge("ecc_errors_total", "GPU {{gpu}} {{severity}}", "gpu, uuid, severity"), width=12,
        thresholds=[(1, WARN)], nothing="not told by these GPUs",
    ),
    chart(
        605, "XID errors since the sidecar began",
        "By number. 13, 31, 43 and 45 are faults of programs; 48, 62, 64, 74, 79, 95, 119 and 120 are of the GPU or "
        "its links: stop, and reset or replace it.",
        "short", gauge("xid_errors_total", "GPU {{gpu}} XID {{xid}}", "gpu, uuid, xid"), width=12,
        thresholds=[(1, BAD)], nothing="no XID was seen",
    ),
]  # fmt: skip

MACHINE = [
    chart(
        701, "CPU of the GPUs' machine",
        "Share of all cores. A starved host looks like a slow engine: tokenizing and scheduling run here. steal: the "
        "machine's own host takes it away.",
        "percentunit",
        host(f"sum by (instance, mode) (rate(llmload_host_cpu_seconds_total{{}}[{RATE}])) "
             "/ on (instance) group_left () max by (instance) (llmload_host_cpus{})", "{{mode}}"),
        most=1, thresholds=[(0.8, WARN), (0.95, BAD)], stacked=True, interval="5s",
        width=6,
    ),
    chart(
        702, "Processes that run or wait, per core", "Mean of a minute. Over 1 they wait for a core.",
        "short",
        host("max by (instance) (llmload_host_load1{}) / max by (instance) (llmload_host_cpus{})", "{{instance}}"),
        thresholds=[(1, WARN), (2, BAD)],
        width=6,
    ),
    chart(
        703, "Memory that programs could still get",
        "Of the host. If it falls through a soak, a process leaks; swap in use makes every figure slow.",
        "bytes", host("max by (instance) (llmload_host_memory_available_bytes{})", "available"),
        host("max by (instance) (llmload_host_swap_used_bytes{})", "swap in use"),
        width=6,
    ),
    chart(
        704, "TCP segments sent again",
        "Share of those sent. Over 0.1 % the network is part of what users feel: gaps of 200 ms and more come from it.",
        "percentunit",
        host(f"sum by (instance) (rate(llmload_host_tcp_retransmits_total{{}}[{RATE}])) "
             f"/ (sum by (instance) (rate(llmload_host_tcp_segments_sent_total{{}}[{RATE}])) > 0)", "{{instance}}"),
        thresholds=[(0.001, WARN), (0.01, BAD)], interval="10s",
        width=6,
    ),
]  # fmt: skip

SIDECAR = [
    states(
        801, "Sidecar",
        "Whether the last look at the GPUs succeeded. Failed: see the errors to the right. While it fails or is paused "
        "no values are served, so that no old one passes for a new one.",
        host("min by (instance) (llmload_gpu_collect_success{}) + 2 * max by (instance) (llmload_gpu_paused{})",
             "{{instance}}"),
        {"0": ("failed", BAD), "1": ("fine", CALM), "2": ("paused", WARN), "3": ("paused", WARN)},
        width=6, nothing="no sidecar is scraped",
    ),
    chart(
        802, "Age of the values", "At the moment of the scrape. Over three intervals the driver hangs.",
        "s", host("max by (instance) (llmload_gpu_collect_age_seconds{})", "{{instance}}"), width=6,
        thresholds=[(3, WARN), (5, BAD)],
    ),
    chart(
        803, "Time of a look at the GPUs",
        "p50 and p99, estimated from buckets. Long looks hold the driver's lock and can slow the engine: sample less "
        "often, and run once with --observer-check.",
        "s",
        *[host(f"histogram_quantile({q / 100}, sum by (le) (rate({TOOK}{{}}[{RATE}])))", f"p{q}") for q in (50, 99)],
        width=6, interval="10s",
    ),
    chart(
        804, "Calls of the driver, and errors",
        "Per second. Errors of one operation for ever: these GPUs do not tell it; more and more: "
        "permission or driver.",
        "cps", host(f"sum by (instance) (rate(llmload_gpu_backend_calls_total{{}}[{RATE}]))", "calls"),
        *[host(f"sum by (operation, error) (rate(llmload_gpu_{library}_errors_total{{}}[{RATE}]))",
               "{{operation}} {{error}}") for library in ("nvml", "amdsmi")],
        width=6, interval="10s",
    ),
]  # fmt: skip

BOARD = framed(
    "llmload-gpu",
    "llmload: GPU",
    "What the GPUs drew and did, what held them back, and how their host and the sidecar fare. Choose the GPUs that "
    "serve the engine.",
    [
        (100, "Now", NOW),
        (200, "Power and energy", POWER),
        (300, "Activity", ACTIVITY),
        (400, "Memory", MEMORY),
        (500, "Clocks and temperature", CLOCKS),
        (600, "Links and errors", LINKS),
        (700, "The machine of the GPUs", MACHINE),
        (800, "Can the sidecar be believed?", SIDECAR),
    ],
    ("gpu_job", "gpu_host", "uuid", "run"),
    since="now-30m",
    refresh="5s",
)
