"""Hours of a soak that never was, as OpenMetrics text: `promtool tsdb create-blocks-from openmetrics` takes it in.

Sixteen in flight against one engine on two GPUs. First tokens slow down by 8 % an hour, GPU memory grows by 1.2 GB an
hour, and at 60 % of the time the engine is gone for 90 s and begins anew: its counters, its cache and its memory, too.
All is worked out, nothing is drawn by chance: the same arguments give the same text.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LOAD = {"job": "llmload", "instance": "127.0.0.1:9836"}
GPU = {"job": "llmload-gpu", "instance": "gpu-host:9835"}
SERVER = {"job": "llm-server", "instance": "engine:8000"}
ENGINE = {**SERVER, "model_name": "m", "engine": "0"}
HOURLY_DRIFT = 0.08
HOURLY_CREEP_BYTES = 1.2e9
RESTART = 0.6
"""When, as a share of the time …"""
GONE_S = 90.0
"""… and for how long the engine is gone."""
BOUNDS = (0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0,
          10.0)  # fmt: skip
CLASSES = {"short": (3.0, 90), "long": (0.6, 400)}
"""Requests per second and tokens of an answer."""
GPUS = ("GPU-00000000-0000-0000-0000-000000000000", "GPU-11111111-1111-1111-1111-111111111111")


@dataclass(frozen=True, slots=True)
class Soak:
    """Its moments, and what is so at each of them."""

    t: Floats
    """Unix seconds."""

    @property
    def hours(self) -> Floats:
        """Since the beginning."""
        return np.asarray((self.t - self.t[0]) / 3600)

    @property
    def gone_at(self) -> float:
        """When the engine goes."""
        return float(self.t[0] + RESTART * (self.t[-1] - self.t[0]))

    @property
    def there(self) -> NDArray[np.bool_]:
        """Whether the engine is."""
        return np.asarray((self.t < self.gone_at) | (self.t >= self.gone_at + GONE_S))

    @property
    def engine_hours(self) -> Floats:
        """Since the engine began."""
        again = self.gone_at + GONE_S
        return np.asarray(np.where(self.t < again, self.hours, (self.t - again) / 3600))

    def counted(self, per_s: Floats | float) -> Floats:
        """A counter that grows at this rate."""
        steps = np.diff(self.t, prepend=self.t[0])
        return np.asarray(np.floor(np.cumsum(np.broadcast_to(per_s, self.t.shape) * steps) + 1e-9))

    def anew(self, counter: Floats) -> Floats:
        """The same, of an engine that began anew."""
        before = counter[np.searchsorted(self.t, self.gone_at)]
        return np.asarray(np.where(self.t < self.gone_at, counter, counter - before))

    def wave(self, minutes: float, phase: float = 0.0) -> Floats:
        """Between -1 and 1."""
        return np.asarray(np.sin(2 * math.pi * (self.t / 60 / minutes + phase)))


Series = tuple[Mapping[str, str], Floats]
"""Labels and values; NaN is where there is no sample."""


def openmetrics(hours: float = 6.0, step_s: float = 15.0, end: float = 1_764_547_200.0) -> str:
    """The text. `end` is the time of the last sample, Unix seconds."""
    soak = Soak(np.arange(end - hours * 3600, end + step_s / 2, step_s))
    times = [f"{t:.3f}" for t in soak.t.tolist()]
    lines: list[str] = []
    for name, kind, series in (*_load(soak), *_gpu(soak), *_server(soak), *_targets(soak)):
        lines.append(f"# TYPE {name.removesuffix('_total')} {kind}")
        for labels, values in series:
            suffix = labels.get("", "")
            told = ",".join(f'{key}="{value}"' for key, value in labels.items() if key)
            head = f"{name}{suffix}{{{told}}} "
            lines += [
                f"{head}{value!r} {time}"
                for value, time in zip(values.tolist(), times, strict=True)
                if value == value  # noqa: PLR0124  (NaN)
            ]
    return "\n".join([*lines, "# EOF", ""])


Family = tuple[str, str, list[Series]]


def _load(soak: Soak) -> Iterator[Family]:
    there = soak.there.astype(float)
    ones = np.ones_like(soak.t)
    run = {"run": "20261201T000000Z-soak", "scenario": "soak", "model": "m", "target": "http://engine:8000/v1",
           "version": "0.1.0"}  # fmt: skip
    yield "llmload_run_info", "gauge", [({**LOAD, **run}, ones)]
    ok = {name: rate * (1 + 0.05 * soak.wave(20)) * there for name, (rate, _) in CLASSES.items()}
    limited = 0.004 + 0.002 * soak.wave(45)
    outcomes: list[Series] = []
    for name, rate in ok.items():
        mine = {**LOAD, "workload": name}
        outcomes += [
            ({**mine, "outcome": "ok"}, soak.counted(rate)),
            ({**mine, "outcome": "rate_limited"}, soak.counted(rate * limited)),
            ({**mine, "outcome": "connect_error"}, soak.counted((1 - there) * 0.5)),
        ]
    yield "llmload_requests_total", "counter", outcomes
    kept = 0.995 - 0.01 * soak.hours
    yield (
        "llmload_requests_good_total",
        "counter",
        [({**LOAD, "workload": name}, soak.counted(rate * kept)) for name, rate in ok.items()],
    )
    yield (
        "llmload_slo_seconds",
        "gauge",
        [
            ({**LOAD, "workload": name, "figure": figure}, ones * bound)
            for name in CLASSES
            for figure, bound in (("ttft", 0.5), ("tpot", 0.03))
        ],
    )
    for name, median, spread, per_request in (
        ("ttft", 0.18, 0.35, False),
        ("inter_token_latency", 0.014, 0.2, True),
        ("time_per_output_token", 0.0145, 0.1, False),
        ("request_duration", 2.2, 0.4, False),
    ):
        drifting = median * (1 + HOURLY_DRIFT * soak.hours * (name == "ttft")) * (1 + 0.03 * soak.wave(30))
        series: list[Series] = []
        for workload, rate in ok.items():
            values = rate * (CLASSES[workload][1] - 1 if per_request else 1)
            series += _histogram(soak, {**LOAD, "workload": workload}, values, drifting, spread)
        yield f"llmload_{name}_seconds", "histogram", series
    lag = _histogram(soak, LOAD, 50 * ones, 0.0003 * ones, 0.5)
    yield "llmload_event_loop_lag_seconds", "histogram", lag
    for name, share in (("llmload_output_tokens_total", 1.0), ("llmload_input_tokens_total", 2.4)):
        yield (
            name,
            "counter",
            [
                ({**LOAD, "workload": workload}, soak.counted(rate * CLASSES[workload][1] * share))
                for workload, rate in ok.items()
            ],
        )
    yield "llmload_stalls_total", "counter", [({**LOAD, "workload": "short"}, soak.counted(0.002 * ones))]
    yield "llmload_records_lost_total", "counter", [(LOAD, 0 * ones)]
    for name, value in (("requests_in_flight", 16 * there), ("users", 16 * ones), ("workers", 2 * ones)):
        yield f"llmload_{name}", "gauge", [(LOAD, value)]
    step = {**LOAD, "step": "0", "concurrency": "16"}
    yield "llmload_step_target_concurrency", "gauge", [(LOAD, 16 * ones)]
    yield "llmload_step_start_timestamp_seconds", "gauge", [(step, soak.t[0] * ones)]
    for name, value in (("cpu_ratio", 0.21 + 0.02 * soak.wave(10)), ("clock_offset_seconds", 0.0004 * soak.wave(60))):
        yield f"llmload_worker_{name}", "gauge", [({**LOAD, "worker": worker}, value) for worker in ("w0", "w1")]


def _histogram(soak: Soak, labels: Mapping[str, str], per_s: Floats, median: Floats, spread: float) -> list[Series]:
    """Log-normal values at a rate; the key "" is what the name ends in."""
    rows: list[Series] = []
    for bound in BOUNDS:
        below = 0.5 * (
            1 + np.tanh(1.702 / 2 * (math.log(bound) - np.log(median)) / spread)
        )  # the logistic's, close to it
        rows.append(({"": "_bucket", **labels, "le": repr(bound)}, soak.counted(per_s * below)))
    total = soak.counted(per_s)
    return [
        *rows,
        ({"": "_bucket", **labels, "le": "+Inf"}, total),
        ({"": "_count", **labels}, total),
        ({"": "_sum", **labels}, np.cumsum(per_s * median * np.diff(soak.t, prepend=soak.t[0]))),
    ]


def _gpu(soak: Soak) -> Iterator[Family]:
    there, ones = soak.there.astype(float), np.ones_like(soak.t)
    each = [{**GPU, "gpu": str(index), "uuid": uuid} for index, uuid in enumerate(GPUS)]
    watts = [110 + there * (430 + 40 * index + 25 * soak.wave(12, index / 3)) for index in range(len(each))]
    creep = 62e9 + HOURLY_CREEP_BYTES * soak.engine_hours
    names = {"name": "NVIDIA H200", "pci_bus_id": "00000000:01:00.0", "driver_version": "570.1", "cuda_version": "12.8"}
    table: dict[str, list[Floats]] = {
        "up": [ones, ones],
        "energy_joules_total": [np.cumsum(w * np.diff(soak.t, prepend=soak.t[0])) for w in watts],
        "power_watts": watts,
        "power_limit_watts": [700 * ones] * 2,
        "utilization_ratio": [np.clip(0.02 + there * (0.9 + 0.08 * soak.wave(7, i / 2)), 0, 1) for i in range(2)],
        "memory_total_bytes": [80e9 * ones] * 2,
        "memory_used_bytes": [np.where(soak.there, creep + 1e9 * index, 2e9) for index in range(2)],
        "temperature_celsius": [44 + w / 30 for w in watts],
    }
    yield "llmload_gpu_info", "gauge", [({**labels, **names}, ones) for labels in each]
    for key, values in table.items():
        kind = "counter" if key.endswith("_total") else "gauge"
        yield f"llmload_gpu_{key}", kind, list(zip(each, values, strict=True))
    reasons = (("sw_power_cap", 0.05), ("hw_thermal", 0.0))
    yield (
        "llmload_gpu_clock_event_seconds_total",
        "counter",
        [({**labels, "reason": reason}, soak.counted(share * there)) for labels in each for reason, share in reasons],
    )
    yield "llmload_gpu_collect_success", "gauge", [(GPU, ones)]
    yield "llmload_gpu_collect_timestamp_seconds", "gauge", [(GPU, soak.t - 0.3)]
    yield "llmload_gpu_collect_age_seconds", "gauge", [(GPU, 0.3 * ones)]
    yield "llmload_host_memory_total_bytes", "gauge", [(GPU, 512e9 * ones)]
    yield "llmload_host_memory_available_bytes", "gauge", [(GPU, 400e9 - 2e9 * soak.hours)]


def _server(soak: Soak) -> Iterator[Family]:
    """In vLLM's names; nothing while the engine is gone."""
    full = np.minimum(1.0, 0.55 + 0.02 * soak.engine_hours + 0.06 * soak.wave(15))
    gauges = {"num_requests_running": 15 + np.round(soak.wave(9)), "kv_cache_usage_perc": full}
    gauges["num_requests_waiting"] = np.round(1 + 0.4 * soak.hours + soak.wave(9, 0.5)).clip(0)
    tokens = sum(rate * length for rate, length in CLASSES.values())
    counters = {
        "generation_tokens_total": tokens * 1.0,
        "prompt_tokens_total": tokens * 2.4,
        "num_preemptions_total": 0.002,
        "prefix_cache_queries_total": tokens * 2.4,
        "prefix_cache_hits_total": tokens * 0.12,
    }
    for key, value in gauges.items():
        yield f"vllm:{key}", "gauge", [(ENGINE, np.where(soak.there, value, np.nan))]
    for key, rate in counters.items():
        counter = soak.anew(soak.counted(rate * soak.there))
        yield f"vllm:{key}", "counter", [(ENGINE, np.where(soak.there, counter, np.nan))]
    began = np.where(soak.t < soak.gone_at, soak.t[0] - 600, soak.gone_at + GONE_S)
    yield "process_start_time_seconds", "gauge", [(SERVER, np.where(soak.there, began, np.nan))]
    yield (
        "process_resident_memory_bytes",
        "gauge",
        [(SERVER, np.where(soak.there, 9e9 + 40e6 * soak.engine_hours, np.nan))],
    )


def _targets(soak: Soak) -> Iterator[Family]:
    """What Prometheus itself says of its targets."""
    ones = np.ones_like(soak.t)
    yield "up", "gauge", [(LOAD, ones), (GPU, ones), (SERVER, soak.there.astype(float))]
    yield "scrape_duration_seconds", "gauge", [(labels, 0.004 * ones) for labels in (LOAD, GPU, SERVER)]
