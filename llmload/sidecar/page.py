"""What Prometheus reads: made anew from what is kept at each scrape, so that a value that is gone is not on it.

Asks no GPU. Names and words are those of `record/samples.py`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry, Metric, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from llmload.record.samples import (
    GPU_FIELDS,
    GPU_INFO,
    GPU_PREFIX,
    HOST_FIELDS,
    HOST_PREFIX,
    MIG_INFO,
    Field,
    name_of,
)
from llmload.sidecar.backend import Reading
from llmload.sidecar.kept import BOUNDS_S
from llmload.sidecar.sampler import Sampler

LE = tuple(map(floatToGoString, (*BOUNDS_S, math.inf)))


class Page(Collector):
    """One per sidecar; `library` is that of the backend."""

    def __init__(self, sampler: Sampler, library: str) -> None:
        self._sampler = sampler
        self._library = library
        self.registry = CollectorRegistry()
        self.registry.register(self)
        ProcessCollector(registry=self.registry)

    def describe(self) -> list[Metric]:
        """Nothing, so that being registered does not collect."""
        return []

    def collect(self) -> Iterator[Metric]:
        """All families as they are now."""
        look = self._sampler.fresh()
        yield from self._health(well=look is not None)
        if look is None:
            return
        yield from _identity(look.gpus)
        rows = [({"gpu": gpu.gpu, "uuid": gpu.uuid}, gpu.values) for gpu in look.gpus if gpu.up]
        yield from _fields(GPU_PREFIX, GPU_FIELDS, rows)
        yield from _fields(HOST_PREFIX, HOST_FIELDS, [({}, look.host)])

    def _health(self, *, well: bool) -> Iterator[Metric]:
        kept = self._sampler.kept
        yield _gauge("collect_success", "1 if the values on this page are fresh; 0: there are none.", float(well))
        if kept.last_at is not None:
            yield _gauge("collect_timestamp_seconds", "When GPUs were last read with success.", kept.last_at)
        if (age_s := self._sampler.age_s()) is not None:
            yield _gauge("collect_age_seconds", "How long ago that was, at this scrape, by no wall clock.", age_s)
        counts = map(float, accumulate(kept.durations.counts))
        yield HistogramMetricFamily(
            f"{GPU_PREFIX}collect_duration_seconds",
            "How long reading all GPUs took.",
            buckets=list(zip(LE, counts, strict=True)),
            sum_value=kept.durations.sum_s,
        )
        outcomes = CounterMetricFamily(f"{GPU_PREFIX}collections", "Times GPUs were read.", labels=["outcome"])
        for outcome, count in kept.outcomes.items():
            outcomes.add_metric([outcome], count)
        yield outcomes
        yield CounterMetricFamily(f"{GPU_PREFIX}backend_calls", "Calls into the vendor's library.", kept.calls)
        if self._library:
            name = f"{GPU_PREFIX}{self._library}_errors"
            errors = CounterMetricFamily(name, "Errors of the vendor's library.", labels=["operation", "error"])
            for (operation, error), count in kept.errors.items():
                errors.add_metric([operation, error], count)
            yield errors
        yield _gauge("paused", "1 while nothing is sampled on purpose.", float(self._sampler.paused_s() > 0))


def _gauge(key: str, words: str, value: float) -> Metric:
    return GaugeMetricFamily(f"{GPU_PREFIX}{key}", words, value)


def _identity(gpus: Sequence[Reading]) -> Iterator[Metric]:
    up = GaugeMetricFamily(f"{GPU_PREFIX}up", "1 if the GPU answers; 0: it did, and is lost.", labels=["gpu", "uuid"])
    info = GaugeMetricFamily(f"{GPU_PREFIX}info", "Which GPU it is.", labels=["gpu", "uuid", *GPU_INFO])
    migs = GaugeMetricFamily(f"{GPU_PREFIX}mig_info", "A MIG instance.", labels=["gpu", "uuid", *MIG_INFO])
    for gpu in gpus:
        here = [gpu.gpu, gpu.uuid]
        up.add_metric(here, float(gpu.up))
        if gpu.up:
            info.add_metric([*here, *(gpu.info.get(key, "") for key in GPU_INFO)], 1)
            for mig in gpu.migs:
                migs.add_metric([*here, *(mig.get(key, "") for key in MIG_INFO)], 1)
    yield up
    yield info
    yield migs


def _fields(
    prefix: str, fields: Sequence[Field], rows: Sequence[tuple[Mapping[str, str], Mapping[str, float]]]
) -> Iterator[Metric]:
    """A family for each field that has a value anywhere."""
    for field in fields:
        name = name_of(prefix, field)
        metric = Metric(name.removesuffix("_total"), field.words, field.kind)
        for labels, values in rows:
            if field.label is None:
                if field.key in values:
                    metric.add_sample(name, dict(labels), values[field.key])
                continue
            for key, value in values.items():
                if key.startswith(f"{field.key}."):
                    metric.add_sample(name, {**labels, field.label: key[len(field.key) + 1 :]}, value)
        if metric.samples:
            yield metric
