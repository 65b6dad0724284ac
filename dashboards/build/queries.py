"""PromQL of the boards: which series are meant, and the few formulas that come again and again.

Series of the load generator are those of the chosen runs: only `llmload_run_info` has the label `run`, so they are
held against it. Percentiles are of sums of buckets, never of percentiles; a ratio over nothing is no point, never 0.
"""

from dataclasses import dataclass

RATE = "$__rate_interval"
LOAD = 'job=~"$job", instance=~"$instance"'
GPU = 'job=~"$gpu_job", instance=~"$gpu_host", uuid=~"$uuid"'
HOST = 'job=~"$gpu_job", instance=~"$gpu_host"'
ENGINE = 'instance=~"$engine"'
CLASS = f'{LOAD}, workload=~"$workload"'
COUNTED = 'outcome!~"cancelled|not_sent"'
"""What was cut at a step's end or never sent is no failure of the server, as in the report."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked, and what its line is called."""

    expr: str
    legend: str
    format: str = "time_series"
    instant: bool = False


RUN = f'llmload_run_info{{{LOAD}, run=~"$run"}}'
OF_RUN = f"and on (job, instance) {RUN}"
"""Of the chosen runs; stands behind series of the load generator."""


def rated(name: str, matchers: str = CLASS, window: str = RATE, *, ago: str = "") -> str:
    """A counter of the load generator as a rate."""
    return f"rate({name}{{{matchers}}}[{window}]{ago}) {OF_RUN}{ago}"


def added(name: str, matchers: str = CLASS, by: str = "") -> str:
    """The sum of a counter's rates."""
    return f"sum{f' by ({by})' if by else ''} ({rated(name, matchers)})"


def now(name: str, matchers: str = LOAD) -> str:
    """A gauge of the load generator."""
    return f"{name}{{{matchers}}} {OF_RUN}"


def quantile(q: float, histogram: str, by: str = "", *, ago: str = "", matchers: str = CLASS) -> str:
    """A quantile of a histogram, of all buckets together or by a label."""
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({q}, sum by ({labels}) ({rated(f'{histogram}_bucket', matchers, ago=ago)}))"


def share(part: str, whole: str) -> str:
    """A ratio; no point where the whole is nothing."""
    return f"{part} / ({whole} > 0)"


def slo(figure: str) -> Query:
    """The bound that a figure is held against: the tightest of the chosen classes'."""
    return Query(f'min(llmload_slo_seconds{{{CLASS}, figure="{figure}"}} {OF_RUN})', "SLO")
