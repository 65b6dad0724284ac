"""Doubts about an open loop: what was not sent, was sent late, was planned too rarely, and what piled up meanwhile."""

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np

from llmload.report import inflight, slip
from llmload.report.doubts.case import Case, at, listed, ms, percent
from llmload.report.percentiles import percentile
from llmload.report.steps import Step

SLIP_MS = 10.0
SLIP_OF_TTFT = 0.1
"""A p99 of the slip over the larger of SLIP_MS and this share of the median TTFT is told."""
UNDER = 0.02
"""Share of the rate by which the plan may miss it, apart from chance."""
CHANCE = 4.0
"""Standard deviations that chance may explain."""
GROWTH = 0.05
"""Share of the window's requests that may have piled up in it."""
EDGE = 0.1
"""In flight at the begin and the end of a window are means over this share of it."""


def not_sent(case: Case) -> Iterator[str]:
    """Arrivals that could not be sent: how many, why, what was offered, what to do."""
    step_of, missing = case.facts.numbers("step"), case.facts.measured & case.facts.is_("outcome", "not_sent")
    for step, row in case.whole():
        n, planned = row["not_sent"], row["planned"]
        if not n:
            continue
        said = Counter(case.facts.words("error")[missing & (step_of == step.index)].tolist()).most_common(1)[0][0]
        why = f" ({said})" if said else ""
        offered = (
            f"{row['started'] / step.window_s:.3g} of {step.words} were" if step.window_s and step.rate else "less was"
        )
        yield (
            f"{n} of {planned} planned requests ({percent(n / planned)}) were not sent in time {at([step])}{why}: "
            f"{offered} really offered. The server does not keep up, or load.max_in_flight is too low for its latency: "
            "lower the rate or raise the limit. From the schedule they count as never finished"
        )


def slipped(case: Case) -> Iterator[str]:
    """Requests that left late: the generator's own fault, and in no figure counted from `sent`."""
    found, most = [], 0.0
    for step, row in case.whole():
        if step.rate is None:
            continue
        late_ms = slip.of(case.facts, step)
        p99, ttft_ms = percentile(late_ms, 99), (row["ttft_ms"]["ok"] or {}).get("p50")
        if p99 is not None and p99 > max(SLIP_MS, SLIP_OF_TTFT * (ttft_ms or 0.0)):
            found.append(f"{ms(p99)} {at([step])}")
            most = max(most, float(late_ms[-1]))
    if found:
        yield (
            f"requests were sent later than planned (p99 {listed(found)}; at most {ms(most)}): the load generator was "
            "late, not the server. Only latency from the schedule has that wait in it; repeat with more processes "
            "(--processes) or on a machine that does nothing else"
        )


def under_rate(case: Case) -> Iterator[str]:
    """A plan that had fewer arrivals than its rate, by more than chance makes."""
    plan = case.facts.scenario.get("load") or {}
    spread = {"constant": 0.0, "gamma": 1 / math.sqrt(plan.get("burstiness") or 1.0)}.get(
        str(plan.get("arrivals")), 1.0
    )
    found = []
    for step, row in case.whole():
        if not step.rate or not step.window_s or case.workers(step)[1]:
            continue
        wanted = step.rate * step.window_s
        if wanted - row["planned"] > max(1.0, UNDER * wanted, CHANCE * spread * math.sqrt(wanted)):
            found.append(f"{row['planned'] / step.window_s:.3g} of {step.words}")
    if found:
        yield (
            f"fewer requests arrived than the rate asks for: {listed(found)}. A worker that stood still does "
            "that; the step stands for the lower rate"
        )


def growing(case: Case) -> Iterator[str]:
    """In flight at the end far over the begin: the server does not keep up, and latency depends on the window."""
    for step, first, last in _grown(case):
        yield (
            f"requests pile up {at([step])}: {first:.3g} in flight when the window began, {last:.3g} when it ended. "
            "The server does not keep up with that rate, or the warm-up was shorter than a request takes; in a longer "
            "window latency would be longer still: lower the rate, or lengthen load.warmup_s"
        )


def piled_up(case: Case) -> set[int]:
    """The steps, by index, in which requests pile up."""
    return {step.index for step, _, _ in _grown(case)}


def _grown(case: Case) -> Iterator[tuple[Step, float, float]]:
    """Steps by rate with in flight at the begin and at the end of the window, where it grew by more than chance."""
    if case.facts.loop != "rate":
        return
    starts, ends = case.facts.numbers("start_s"), case.facts.numbers("end_s")
    for step, row in case.whole():
        if step.begin is None or step.end is None or not step.window_s:
            continue
        known = np.where(np.isnan(ends), step.end, ends)
        edge = EDGE * step.window_s
        first = inflight.mean(starts, known, step.begin, step.begin + edge)
        last = inflight.mean(starts, known, step.end - edge, step.end)
        if first is None or last is None:
            continue
        if last - first > max(GROWTH * row["started"], CHANCE * math.sqrt(max(first, 1.0))):
            yield step, first, last
