"""The page `/metrics` under vLLM's names, with vLLM's buckets: what a scraper of a real engine would find.

Counted here by plain additions, since `token()` runs for every token event; written out by prometheus_client.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

CONTENT_TYPE = "text/plain; version=1.0.0; charset=utf-8"
KV_CACHE_TOKENS = 262_144
"""Tokens that the pretended cache holds."""

FIRST_TOKEN = (
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
    160.0, 640.0, 2560.0,
)  # fmt: skip
BETWEEN_TOKENS = (
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
)  # fmt: skip
REQUEST = (
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0,
    1920.0, 7680.0,
)  # fmt: skip


class Histogram:
    """Counts of seconds by bucket."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        """Count one value; a bucket's bound belongs to it."""
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.total += seconds

    def buckets(self) -> list[tuple[str, float]]:
        """Cumulated counts, as the text format wants them."""
        rows, below = [], 0
        for bound, number in zip((*self.bounds, float("inf")), self.counts, strict=True):
            below += number
            rows.append(("+Inf" if bound == float("inf") else str(bound), float(below)))
        return rows


@dataclass(slots=True)
class Now:
    """What is true at the moment of a scrape."""

    running: int
    waiting: int
    kv_tokens: int


class Metrics:
    """The counters of one server of one model."""

    def __init__(self, model: str) -> None:
        self._labels = [model, "0"]
        self.prompt_tokens = 0
        self.generation_tokens = 0
        self.success = {"stop": 0, "length": 0, "abort": 0}
        self.first_token = Histogram(FIRST_TOKEN)
        self.between_tokens = Histogram(BETWEEN_TOKENS)
        self.latency = Histogram(REQUEST)
        self.queue = Histogram(REQUEST)
        self.prefill = Histogram(REQUEST)
        self.decode = Histogram(REQUEST)

    def begin(self, prompt_tokens: int, waited: float) -> None:
        """A request came into service after so many seconds of waiting."""
        self.prompt_tokens += prompt_tokens
        self.queue.observe(waited)

    def over(self, finish: str, latency: float, decode: float | None) -> None:
        """A request ended with this finish reason; `decode` is the time from first to last token, if it had one."""
        self.success[finish] = self.success.get(finish, 0) + 1
        self.latency.observe(latency)
        if decode is not None:
            self.decode.observe(decode)

    def page(self, now: Now) -> bytes:
        """The page in the text format."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Page(self._families(now)))
        return generate_latest(registry)

    def _families(self, now: Now) -> Iterator[Metric]:
        labels = ["model_name", "engine"]
        kv_share = min(1.0, now.kv_tokens / KV_CACHE_TOKENS)
        gauges: Iterable[tuple[str, str, float]] = (
            ("num_requests_running", "Number of requests in service.", now.running),
            ("num_requests_waiting", "Number of requests waiting for a slot.", now.waiting),
            ("kv_cache_usage_perc", "Share of the pretended KV cache in use, 0 to 1.", kv_share),
        )
        for name, text, value in gauges:
            gauge = GaugeMetricFamily(f"vllm:{name}", text, labels=labels)
            gauge.add_metric(self._labels, value)
            yield gauge
        counters: Iterable[tuple[str, str, float]] = (
            ("prompt_tokens", "Prompt tokens of requests that came into service.", self.prompt_tokens),
            ("generation_tokens", "Tokens generated.", self.generation_tokens),
            ("num_preemptions", "Preemptions; this engine never preempts.", 0),
            ("prefix_cache_queries", "Tokens looked up in the prefix cache.", self.prompt_tokens),
            ("prefix_cache_hits", "Tokens found there; this engine has no prefix cache.", 0),
        )
        for name, text, value in counters:
            counter = CounterMetricFamily(f"vllm:{name}", text, labels=labels)
            counter.add_metric(self._labels, value)
            yield counter
        success = CounterMetricFamily("vllm:request_success", "Requests done.", labels=[*labels, "finished_reason"])
        for finish, number in self.success.items():
            success.add_metric([*self._labels, finish], number)
        yield success
        histograms: Iterable[tuple[str, str, Histogram]] = (
            ("time_to_first_token_seconds", "From the whole request to the first token.", self.first_token),
            ("inter_token_latency_seconds", "Between token events of one request.", self.between_tokens),
            ("e2e_request_latency_seconds", "From the whole request to its end.", self.latency),
            ("request_queue_time_seconds", "Waiting for a slot.", self.queue),
            ("request_prefill_time_seconds", "From the start of service to the first token.", self.prefill),
            ("request_decode_time_seconds", "From the first token to the last.", self.decode),
        )
        for name, text, histogram in histograms:
            family = HistogramMetricFamily(f"vllm:{name}", text, labels=labels)
            family.add_metric(self._labels, histogram.buckets(), histogram.total)
            yield family


class _Page:
    """Metric families in the shape that prometheus_client collects from."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterable[Metric]:
        return self._families
