"""The WARNINGS of a report: which number is doubtful, by how much, and what to do. The tool doubts itself first.

A plain list of functions; each looks at the facts and the rows of a run and yields sentences, one for all steps where
several have the same trouble. Adding a doubt is adding a function to the list.
"""

from collections.abc import Callable, Iterator

from llmload.report.doubts import (
    answers,
    arrivals,
    enough,
    failing,
    gpus,
    observing,
    ourselves,
    prices,
    servers,
    timing,
)
from llmload.report.doubts.case import Case

Doubt = Callable[[Case], Iterator[str]]

DOUBTS: tuple[Doubt, ...] = (
    failing.lost_records,
    ourselves.fallen,
    enough.cut_windows,
    ourselves.generator_bound,
    ourselves.own_limits,
    gpus.throttled,
    gpus.lost,
    servers.started_anew,
    servers.log_errors,
    failing.failures,
    failing.failing_classes,
    failing.failing_warmup,
    failing.one_duration,
    enough.too_few,
    failing.no_failures,
    ourselves.stamps,
    ourselves.clocks,
    ourselves.drift,
    ourselves.late,
    ourselves.overfull,
    ourselves.not_full,
    arrivals.not_sent,
    arrivals.under_rate,
    arrivals.slipped,
    arrivals.growing,
    ourselves.littles_law,
    timing.unsteady,
    timing.falling,
    answers.short_answers,
    answers.lengths_differ,
    answers.estimated,
    timing.bursts,
    answers.prompts_cut,
    answers.prompt_lengths,
    timing.blocking,
    observing.at_samples,
    answers.models,
    timing.forty,
    timing.cache,
    servers.prefix_hits,
    servers.preempted,
    servers.queue,
    servers.first_tokens,
    servers.tokens,
    servers.unseen,
    gpus.faults,
    gpus.shared,
    gpus.busy_before,
    gpus.hosts,
    gpus.badly_seen,
    gpus.set_back,
    gpus.integrated,
    gpus.capped,
    gpus.sources,
    prices.unreckoned,
    ourselves.abandoned,
    ourselves.cold_connections,
)


def all_of(case: Case) -> list[str]:
    """Every warning of a run."""
    return [sentence for doubt in DOUBTS for sentence in doubt(case)]
