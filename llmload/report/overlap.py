"""Does one class of the mix get in the way of another? Told from a run's own records.

Requests of the class with the shortest prompts are parted by whether a request of the class with the longest prompts
was in flight at the same time (at any moment between their own sending and their first token). If their first tokens
come later with a long one beside them, the server lets one wait for the other's prefill.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from llmload.report.facts import Facts, Floats
from llmload.report.percentiles import percentile

LEAST = 10
"""Requests that each side needs."""
PROMPT_RATIO = 2.0
"""Classes whose mean prompts differ by less than this are not told apart."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """TTFT of `short` requests of one step with and without a `long` one in flight at the same time."""

    step: int
    short: str
    long: str
    n_with: int
    n_without: int
    p50_with_ms: float
    p50_without_ms: float


def find(facts: Facts) -> Iterator[Overlap]:
    """One comparison for each step in which both sides have LEAST requests; none where the classes are alike."""
    names = _extremes(facts)
    if names is None:
        return
    short, long = names
    start, end, ttft = facts.numbers("start_s"), facts.numbers("end_s"), facts.numbers("ttft_ms")
    steps = facts.numbers("step")
    mine = facts.ok & facts.is_("workload", short) & ~np.isnan(ttft)
    theirs = facts.is_("workload", long) & ~np.isnan(start) & ~np.isnan(end)
    begins, ends = np.sort(start[theirs]), np.sort(end[theirs])
    for step in facts.steps:
        chosen = mine & (steps == step.index)
        first = start[chosen] + ttft[chosen] / 1000
        beside = np.searchsorted(begins, first, side="right") - np.searchsorted(ends, start[chosen], side="left")
        with_, without = np.sort(ttft[chosen][beside > 0]), np.sort(ttft[chosen][beside <= 0])
        if len(with_) >= LEAST and len(without) >= LEAST:
            yield Overlap(step.index, short, long, len(with_), len(without), _median(with_), _median(without))


def _median(ordered: Floats) -> float:
    return percentile(ordered, 50) or 0.0


def _extremes(facts: Facts) -> tuple[str, str] | None:
    """The classes with the shortest and with the longest prompts."""
    tokens = np.where(
        np.isnan(facts.numbers("input_tokens")),
        facts.numbers("requested_input_tokens"),
        facts.numbers("input_tokens"),
    )
    means = {}
    for workload in facts.workloads:
        values = tokens[facts.measured & facts.is_("workload", workload)]
        values = values[~np.isnan(values)]
        if len(values):
            means[workload] = float(values.mean())
    if not means:
        return None
    short, long = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    return (short, long) if means[long] > PROMPT_RATIO * means[short] else None
