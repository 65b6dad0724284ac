"""The board Soak: whether hours under the same load leave it as fast, as whole and as frugal as it was."""

from dashboards.build.frame import framed
from dashboards.build.gpu import SPOILS, host
from dashboards.build.load import COUNTED_CLASS, FAILED, ITL, REQUESTS, TTFT
from dashboards.build.panels import BAD, CALM, WARN, change, chart, figure, rows_of, states
from dashboards.build.queries import CLASS, ENGINE, GPU, LOAD, RUN, Query, now, quantile, slo

EVERY = "5m"
"""A soak is looked at over hours: shorter intervals would be noise."""
STEP = "$__interval"
"""Of a table by hour; its panel asks for at least an hour."""
HOUR = "1h"
AGO = " offset 1h"
NAMED = "GPU {{gpu}}"
USED = f"max by (instance, gpu, uuid) (llmload_gpu_memory_used_bytes{{{GPU}}})"
TOTAL = f"max by (instance, gpu, uuid) (llmload_gpu_memory_total_bytes{{{GPU}}})"
COUNTERS = (
    '{__name__=~"vllm:generation_tokens_total|sglang:generation_tokens_total|tgi_request_generated_tokens_sum'
    f'|llamacpp:tokens_predicted_total", {ENGINE}}}'
)
"""The counter of tokens of every engine that llmload knows; it falls when the engine begins anew."""


GROWTH = (
    f"max by (instance, gpu, uuid) (deriv(llmload_gpu_memory_used_bytes{{{GPU}}}[30m])"
    f" and min_over_time(llmload_gpu_memory_used_bytes{{{GPU}}}[30m])"
    f" > 0.5 * max_over_time(llmload_gpu_memory_used_bytes{{{GPU}}}[30m])) * 3600"
)
"""Bytes an hour. While an engine fills or empties its memory there is no slope to speak of."""


def drift(q: float, histogram: str) -> str:
    """A quantile less that of an hour ago, as a share of it."""
    return f"{quantile(q, histogram)} / ({quantile(q, histogram, ago=AGO)} > 0) - 1"


def by_hour(inner: str) -> str:
    """A counter's growth in each hour, of the chosen runs."""
    return f"increase({inner}[{STEP}]) and on (job, instance) last_over_time({RUN}[{STEP}])"


def quantile_by_hour(q: float, histogram: str) -> str:
    """Of all values of an hour together."""
    return f"histogram_quantile({q}, sum by (le) ({by_hour(f'{histogram}_bucket{{{CLASS}}}')}))"


SUMMARY = [
    figure(
        101, "TTFT p99, an hour's drift",
        "Of five minutes, less that of the same five an hour before, as a share of it. Over 20 % is an alert. Only of "
        "use while the load is the same; blank in the first hour. The report's verdict is of raw values.",
        "percentunit", Query(drift(0.99, TTFT), "drift"), thresholds=[(0.1, WARN), (0.2, BAD)], interval=EVERY,
        decimals=1, nothing="first hour",
    ),
    figure(
        102, "Failed, last 5 minutes", "Share of the attempts; see failures by outcome on the board Load.",
        "percentunit", Query("max(run:error_ratio:rate5m)", "failed"), thresholds=[(0.001, WARN), (0.01, BAD)],
        least=0, most=1, decimals=2,
    ),
    figure(
        103, "GPU memory grows, per hour",
        "Slope of 30 minutes, worst GPU; blank while an engine starts. An engine fills what it allocates once; what "
        "goes on growing is a leak. Over 1 % of the memory an hour is an alert.",
        "bytes", Query(f"max({GROWTH})", "per hour"),
        thresholds=[(100e6, WARN), (1e9, BAD)], decimals=1, interval="1m",
    ),
    figure(
        104, "KV cache in use", "Worst engine. Over 95 % requests lose their place and begin anew.",
        "percentunit", Query(f"max(server:kv_cache_usage:ratio{{{ENGINE}}})", "in use"),
        thresholds=[(0.8, WARN), (0.95, BAD)], least=0, most=1, decimals=0, nothing="no engine is scraped",
    ),
    figure(
        105, "Engine restarts",
        "How often a counter of the engine fell back in the chosen time. Figures before and after are those of two "
        "engines: a cold cache, and memory that was given back.",
        "short", Query(f"max(resets({COUNTERS}[$__range]))", "restarts", instant=True), thresholds=[(1, BAD)],
        decimals=0, nothing="no engine is scraped",
    ),
    figure(
        106, "Records lost",
        "Attempts whose record never came, known at the end of a run. Over 0: llmload collect takes in the workers' "
        "spools.",
        "short", Query(f"sum({now('llmload_records_lost_total')})", "lost"), thresholds=[(1, BAD)], decimals=0,
    ),
]  # fmt: skip

DRIFT = [
    chart(
        201, "Time to first token against an hour ago",
        "p50, p95 and p99 of five minutes, less those of an hour before, as a share. Estimates from buckets: a step in "
        "the line may be a bucket's edge. All three up: the engine is slower; only the p99: a queue, or preemptions.",
        "percentunit", *[Query(drift(q / 100, TTFT), f"p{q}") for q in (50, 95, 99)], least=None,
        thresholds=[(0.2, BAD)], interval=EVERY, nothing="first hour",
    ),
    chart(
        202, "Time between tokens against an hour ago",
        "The same of the gaps between tokens. Up without more in flight: clocks (see the board GPU), or a cache that "
        "is full.",
        "percentunit", *[Query(drift(q / 100, ITL), f"p{q}") for q in (50, 95, 99)], least=None,
        thresholds=[(0.2, BAD)], interval=EVERY, nothing="first hour",
    ),
    chart(
        203, "Time to first token",
        "p50 and p99 of five minutes, by recording rules, of the whole run; dashed the SLO. A trend here and none in "
        "the drift to the left: it is slow.",
        "s", Query("max(run:ttft_seconds:p50_5m)", "p50"), Query("max(run:ttft_seconds:p99_5m)", "p99"), slo("ttft"),
        interval="1m",
    ),
    chart(
        204, "Output tokens per second",
        "By recording rule, of the whole run. It falls with drift: requests take longer, and as many are in flight.",
        "suffix: tok/s", Query("sum(run:output_tokens:rate1m)", "tokens"), interval="1m",
    ),
    chart(
        205, "Failed", "Share of the attempts of five minutes. Peaks at restarts are the engine's; a level is not.",
        "percentunit", Query("max(run:error_ratio:rate5m)", "failed"), thresholds=[(0.01, BAD)], interval="1m",
    ),
    chart(
        206, "In flight, and what is asked for",
        "Drift means something only where this is flat: a closed loop keeps it so by itself.",
        "short", Query(f"sum({now('llmload_requests_in_flight')})", "in flight"),
        Query(f"max({now('llmload_step_target_concurrency')})", "target"),
        Query(f"max({now('llmload_step_target_requests_per_second')})", "target per second"),
        dashed=("target", "target per second"), interval="1m",
    ),
]  # fmt: skip

HOURS = [
    rows_of(
        301, "Hour by hour",
        "Each row is the hour that ended then (UTC). Percentiles are of all values of the hour, by buckets. "
        "Read down a column: what goes one way through all rows drifts.",
        [
            Query(f"sum({by_hour(f'{REQUESTS}{{{COUNTED_CLASS}}}')})", "attempts"),
            Query(f"(sum({by_hour(f'{REQUESTS}{{{FAILED}}}')}) or 0 * sum({by_hour(f'{REQUESTS}{{{COUNTED_CLASS}}}')}))"
                  f" / (sum({by_hour(f'{REQUESTS}{{{COUNTED_CLASS}}}')}) > 0)", "failed"),
            *[Query(quantile_by_hour(q / 100, TTFT), f"TTFT p{q}") for q in (50, 95, 99)],
            *[Query(quantile_by_hour(q / 100, ITL), f"ITL p{q}") for q in (50, 99)],
            Query(f"sum({by_hour(f'llmload_output_tokens_total{{{LOAD}}}')})", "output tokens"),
            Query(f"sum(increase(llmload_gpu_energy_joules_total{{{GPU}}}[{STEP}]))", "energy"),
            Query(f"sum(increase(llmload_gpu_energy_joules_total{{{GPU}}}[{STEP}]))"
                  f" / (sum({by_hour(f'llmload_output_tokens_total{{{LOAD}}}')}) > 0)", "per token"),
            Query(f"max(max_over_time(llmload_gpu_memory_used_bytes{{{GPU}}}[{STEP}]))", "GPU memory"),
            Query(f"max(max_over_time(server:kv_cache_usage:ratio{{{ENGINE}}}[{STEP}]))", "KV cache"),
            Query(f"max(max_over_time(server:waiting{{{ENGINE}}}[{STEP}]))", "waiting"),
            Query(f"max(resets({COUNTERS}[{STEP}]))", "restarts"),
        ],
        {
            "attempts": "locale", "failed": "percentunit", "TTFT p50": "s", "TTFT p95": "s", "TTFT p99": "s",
            "ITL p50": "s", "ITL p99": "s", "output tokens": "locale", "energy": "joule", "per token": "joule",
            "GPU memory": "bytes", "KV cache": "percentunit", "waiting": "short", "restarts": "short",
        },
        changes=[change("joinByField", byField="Time", mode="outer")],
        thresholds={"failed": [(0.01, BAD)], "KV cache": [(0.8, WARN), (0.95, BAD)], "restarts": [(1, BAD)]},
        interval=HOUR, height=7,
    ),
]  # fmt: skip

MEMORY = [
    chart(
        401, "GPU memory in use",
        "Dashed the total. A fall back to almost nothing is an engine that began anew.",
        "bytes", Query(USED, NAMED), Query(f"max(llmload_gpu_memory_total_bytes{{{GPU}}})", "total"), dashed=("total",),
    ),
    chart(
        402, "GPU memory: growth per hour",
        "Slope of 30 minutes; blank while an engine starts. Over 0 for hours: reckon when the rest is used "
        "up, and look for the engine's leak.",
        "bytes", Query(GROWTH, NAMED), interval="1m",
    ),
    chart(
        403, "GPU memory left", "Share that is free. Keep a fifth: under it long prompts may not fit.",
        "percentunit", Query(f"1 - {USED} / {TOTAL}", NAMED), most=1, thresholds=[(0.1, WARN), (0.2, CALM)],
    ),
    chart(
        404, "Memory of the GPUs' machine", "That programs could still get. If it falls hour by hour, a process leaks.",
        "bytes", host("max by (instance) (llmload_host_memory_available_bytes{})", "available"),
    ),
    chart(
        405, "KV cache and prefix hits",
        "Share of the KV cache in use, and of prompt tokens found in the prefix cache. A cache that fills while as "
        "many are in flight keeps what nobody needs.",
        "percentunit", Query(f"max(server:kv_cache_usage:ratio{{{ENGINE}}})", "KV cache"),
        Query(f"max(server:prefix_hit:ratio5m{{{ENGINE}}})", "prefix hits"), most=1,
        thresholds=[(0.8, WARN), (0.95, BAD)], nothing="no engine is scraped",
    ),
    chart(
        406, "Queue and preemptions",
        "Requests that wait in the engine, and those that lose their place, per minute. A queue that grows under the "
        "same load: the engine is slower than it was.",
        "short", Query(f"sum(server:waiting{{{ENGINE}}})", "waiting"),
        Query(f"sum(server:running{{{ENGINE}}})", "running"),
        Query(f"sum(server:preemptions:rate5m{{{ENGINE}}}) * 60", "preempted per minute"),
        nothing="no engine is scraped",
    ),
]  # fmt: skip

ENERGY = [
    chart(
        501, "Power", "By recording rule, from the energy counters. More for the same tokens: look at temperatures.",
        "watt", Query('max by (gpu, uuid) (gpu:power_watts:rate1m{uuid=~"$uuid"})', NAMED), interval="1m",
    ),
    chart(
        502, "Energy per hour", "Joules of all chosen GPUs in each hour that ended then.",
        "joule", Query(f"sum(increase(llmload_gpu_energy_joules_total{{{GPU}}}[{STEP}]))", "energy"), bars=True,
        interval=HOUR,
    ),
    chart(
        503, "Energy per output token", "By recording rule, five minutes, all GPUs. Steady in a steady soak.",
        "joule", Query("max(run:joules_per_output_token:rate5m)", "J/token"), interval="1m", nothing="no load",
    ),
]  # fmt: skip

WHOLE = [
    states(
        601, "What answers",
        "Load generator, sidecar and engine, as Prometheus sees them. While one is down its series have holes, and "
        "figures that need it are blank.",
        Query('min by (job, instance) (up{job=~"$job|$gpu_job|llm-server"})', "{{job}} {{instance}}"),
        {"0": ("down", BAD), "1": ("up", CALM)}, width=12,
    ),
    chart(
        602, "Restarts of the engine, and what held GPUs down",
        "Restarts within ten minutes, and the share of time in which heat or the brake held clocks down. Hold drift "
        "against both.",
        "short", Query(f"max(resets({COUNTERS}[10m]))", "restarts"),
        Query(f"max(rate(llmload_gpu_clock_event_seconds_total{{{GPU}, {SPOILS}}}[$__rate_interval]))",
              "held down by heat or brake"),
        width=6, interval="1m",
    ),
    chart(
        603, "The generator: workers, CPU, records lost",
        "Workers that are there, the busiest one's share of a core, and records lost. A generator that grows busier "
        "drifts itself.",
        "short", Query(f"sum({now('llmload_workers')})", "workers"),
        Query(f"max({now('llmload_worker_cpu_ratio')})", "CPU of the busiest"),
        Query(f"sum({now('llmload_records_lost_total')})", "records lost"), width=6, interval="1m",
    ),
]  # fmt: skip

BOARD = framed(
    "llmload-soak",
    "llmload: Soak",
    "Whether hours under the same load leave it as fast, as whole and as frugal as it was. The verdict is the "
    "report's: llmload report on the run folder.",
    [
        (100, "In short", SUMMARY),
        (200, "Drift", DRIFT),
        (300, "By the hour", HOURS),
        (400, "Memory, cache and queue", MEMORY),
        (500, "Energy", ENERGY),
        (600, "Is it whole?", WHOLE),
    ],
    ("run", "workload", "engine", "gpu_host", "uuid"),
    since="now-6h",
    refresh="1m",
)
