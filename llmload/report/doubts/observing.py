"""Doubts about our own looking: whether the sampling of GPUs and server disturbs what is measured."""

from collections.abc import Iterator

import numpy as np

from llmload.report import instants
from llmload.report.doubts.case import Case
from llmload.report.instants import Moments, Waits


def at_samples(case: Case) -> Iterator[str]:
    """Slow first tokens that come when something is sampled."""
    facts = case.facts
    ttft = facts.numbers("ttft_ms")
    chosen = facts.ok & ~np.isnan(ttft)
    classes = facts.records["workload"].cat.codes.to_numpy(dtype=np.int64)
    group = facts.records["step"].to_numpy(dtype=np.int64) * (classes.max(initial=0) + 1) + classes
    waits = Waits(facts.numbers("start_s")[chosen], ttft[chosen] / 1000, group[chosen])
    for found in instants.find(waits, moments(case)):
        yield (
            f"slow first tokens come when {found.source} (about every {found.every_s:.2g} s): {found.hit} of "
            f"{found.n} of the slowest 5 % waited at such a moment, and {found.expected:.1f} would by chance (p "
            f"{'< 0.000001' if found.p < 1e-6 else f'= {found.p:.2g}'}). The sampling disturbs the server: sample less "
            "often (--sample-every, or --interval of llmload sidecar), and let --observer-check tell by how much"
        )


def moments(case: Case) -> dict[str, Moments]:
    """When each source was looked at, and when those who sample by themselves did."""
    told = case.facts.telemetry
    found = {
        f"{item.name} is asked": Moments(item.asked, np.maximum.accumulate(item.asked + item.took_s))
        for item in told.sources
    }
    for gpu in told.gpus:
        found.setdefault(f"{gpu.source} samples its GPUs", Moments(gpu.at, gpu.at))
    return found
