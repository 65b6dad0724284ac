"""The metric families of a run: names, kinds, words and labels, all in one place; numbers are taken from the tally.

Plain data: the exporter puts it into Prometheus' formats. Base units; no ids in labels but the run's on
`llmload_run_info` and the workers' on their own gauges. An attempt counts when its record has come, whatever its phase.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

from llmload.live.measured import pick
from llmload.live.tally import Tally
from llmload.live.totals import Histogram

Kind = Literal["counter", "gauge", "histogram"]
STEPS = 100
"""Steps that are told of, the latest."""

HISTOGRAMS = {
    "ttft_ms": ("llmload_ttft_seconds", "Time to first token of successful requests."),
    "itl_ms": ("llmload_inter_token_latency_seconds", "Time between token-bearing events of successful requests."),
    "tpot_ms": ("llmload_time_per_output_token_seconds", "Time per output token of successful requests."),
    "e2e_ms": ("llmload_request_duration_seconds", "Time from sending to the last token of successful requests."),
}
"""By figure."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One number of a family: what its name ends in, its labels."""

    value: float
    labels: Mapping[str, str]
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """All numbers of one name."""

    name: str
    kind: Kind
    words: str
    samples: tuple[Sample, ...]


def families(tally: Tally) -> Iterator[Family]:
    """All families of the present run, or of the last one. What is not known has no samples."""
    tally.fold()
    if tally.about is None:
        return
    about, totals, workers = tally.about, tally.totals, tally.workers
    yield gauge(
        "llmload_run_info",
        "The run: always 1.",
        {"run": about.run, "scenario": about.scenario.name, "model": about.model, "target": about.target,
         "version": about.version},
        1,
    )  # fmt: skip
    # Successes are told from the beginning on: a rate sees nothing of what a series came into the world with.
    outcomes = {(code, "ok"): 0 for code in range(len(tally.groups))} | totals.outcomes
    yield Family(
        "llmload_requests_total",
        "counter",
        "Attempts that ended, by outcome.",
        tuple(
            Sample(n, {"outcome": word, "workload": tally.groups.names[code]})
            for (code, word), n in sorted(outcomes.items())
        ),
    )
    yield from of_promise(tally)
    yield gauge("llmload_requests_in_flight", "Requests in flight.", {}, workers.in_flight)
    yield gauge("llmload_users", "Users that are up.", {}, workers.users)
    yield from of_steps(tally)
    for figure, (name, words) in HISTOGRAMS.items():
        yield histogram(tally, name, words, totals.histograms[figure])
    if about.scenario.load.kind == "rate":
        yield histogram(
            tally, "llmload_schedule_lag_seconds", "By how much later than planned requests were sent.", totals.late
        )
    yield Family(
        "llmload_event_loop_lag_seconds",
        "histogram",
        "By how much too late the workers' event loops woke, looked at every 20 ms.",
        cumulated(totals.loop_lag, 0, {}),
    )
    yield counter(tally, "llmload_input_tokens_total", "Prompt tokens of attempts that ended.", totals.input_tokens)
    yield counter(tally, "llmload_output_tokens_total", "Output tokens of attempts that ended.", totals.output_tokens)
    yield counter(tally, "llmload_stream_chunks_total", "Token-bearing events of attempts that ended.", totals.events)
    yield counter(
        tally, "llmload_stalls_total", "Gaps of successful requests over the scenario's limit.", totals.stalls
    )
    yield Family(
        "llmload_records_lost_total",
        "counter",
        "Attempts whose record never came, known at the end of a run.",
        (Sample(tally.lost, {}),),
    )
    yield gauge("llmload_workers", "Workers that are there.", {}, len(workers.there))
    yield Family(
        "llmload_worker_cpu_ratio",
        "gauge",
        "Share of one core that a worker uses.",
        tuple(Sample(cpu, {"worker": worker}) for worker, cpu in workers.cpu().items()),
    )
    yield Family(
        "llmload_worker_clock_offset_seconds",
        "gauge",
        "A worker's clock less the master's.",
        tuple(
            Sample(item.clock_offset_ms / 1000, {"worker": item.worker})
            for item in workers.there
            if item.clock_offset_ms is not None
        ),
    )


def of_promise(tally: Tally) -> Iterator[Family]:
    """What users are promised, and how often it was kept; nothing where nothing is promised."""
    promise, names = tally.totals.promise, tally.groups.names
    yield Family(
        "llmload_slo_seconds",
        "gauge",
        "What the scenario promises its users, by figure.",
        tuple(
            Sample(bound / 1000, {"figure": figure, "workload": word})
            for word in names
            for figure, bound in promise.of(word).items()
        ),
    )
    name, words = "llmload_requests_good_total", "Successes that met every bound of their SLO."
    yield counter(tally, name, words, tally.totals.good) if promise else Family(name, "counter", words, ())


def of_steps(tally: Tally) -> Iterator[Family]:
    """What the present step asks for, and when steps began and ended."""
    rows = tally.steps[-STEPS:]
    targets = {
        "concurrency": ("llmload_step_target_concurrency", "Requests in flight that the present step asks for."),
        "rate": ("llmload_step_target_requests_per_second", "Arrivals per second that the present step asks for."),
    }
    for key, (name, words) in targets.items():
        wanted = rows[-1].get(key) if rows and tally.state == "running" else None
        if wanted is not None:
            yield gauge(name, words, {}, wanted)
    times = {
        "started_at": ("llmload_step_start_timestamp_seconds", "When a step began, its ramp included."),
        "ended_at": ("llmload_step_end_timestamp_seconds", "When a step was over, its drain included."),
    }
    for key, (name, words) in times.items():
        yield Family(
            name, "gauge", words, tuple(Sample(row[key], labels(row)) for row in rows if row.get(key) is not None)
        )


def labels(row: Mapping[str, Any]) -> dict[str, str]:
    """The labels of a step; in Prometheus an empty one is none."""
    return {key: "" if row.get(key) is None else f"{row[key]:g}" for key in ("step", "concurrency", "rate")}


def gauge(name: str, words: str, own: Mapping[str, str], value: float) -> Family:
    """A family of one number that goes up and down."""
    return Family(name, "gauge", words, (Sample(value, own),))


def counter(tally: Tally, name: str, words: str, sums: Any) -> Family:
    """A family of sums by class."""
    return Family(
        name,
        "counter",
        words,
        tuple(Sample(pick(sums, code), {"workload": word}) for code, word in enumerate(tally.groups.names)),
    )


def histogram(tally: Tally, name: str, words: str, of: Histogram) -> Family:
    """A family of values in buckets by class."""
    names = tally.groups.names
    samples = tuple(sample for code, word in enumerate(names) for sample in cumulated(of, code, {"workload": word}))
    return Family(name, "histogram", words, samples)


def cumulated(of: Histogram, code: int, own: Mapping[str, str]) -> tuple[Sample, ...]:
    """One histogram: values up to each bound, their sum and their number."""
    counts = of.counts[code].tolist() if code < len(of.counts) else [0] * (len(of.bounds_ms) + 1)
    bounds = [*map(bound_text, of.bounds_ms), "+Inf"]
    upto = [*accumulate(counts)]
    return (
        *(Sample(n, {**own, "le": bound}, "_bucket") for bound, n in zip(bounds, upto, strict=True)),
        Sample(upto[-1], own, "_count"),
        Sample(of.sums_ms[code] / 1000, own, "_sum"),
    )


def bound_text(bound_ms: float) -> str:
    """A bound in seconds, as Prometheus writes it."""
    return repr(round(float(bound_ms) / 1000, 9))
