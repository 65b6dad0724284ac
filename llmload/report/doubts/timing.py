"""Doubts about what times mean: bursts, caches, one class in the way of another, unsteadiness."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from llmload.report import overlap
from llmload.report.doubts.case import Case, at, listed, ms, percent
from llmload.report.percentiles import percentile

UNSTEADY = 3.0
"""A maximum over so many times the mean."""


def unsteady(case: Case) -> Iterator[str]:
    """A maximum far over the mean."""
    for key, name in (("ttft_ms", "TTFT"), ("e2e_ms", "E2E latency")):
        found = []
        for step, row in case.classes():
            block = row[key]["ok"]
            if block and block["n"] >= 5 and block["max"] > UNSTEADY * block["mean"]:
                found.append(
                    (
                        block["max"] / block["mean"],
                        f"{row['workload']} at {step.label}: {ms(block['max'])} against a mean of {ms(block['mean'])}",
                    )
                )
        found.sort(reverse=True)
        if found:
            yield (
                f"unsteady {name}: the maximum is over {UNSTEADY:.0f} times the mean "
                f"({listed((text for _, text in found), 3)}). "
                "Look at the timeline for what happened then, and repeat the step"
            )


def falling(case: Case) -> Iterator[str]:
    """Less throughput with more load."""
    rows = [(step, row) for step, row in case.whole() if step.asked and row["output_tokens_per_s"]]
    rows.sort(key=lambda pair: pair[0].asked or 0)
    for (before, low), (after, high) in pairwise(rows):
        was, now = low["output_tokens_per_s"], high["output_tokens_per_s"]
        if (after.asked or 0) > (before.asked or 0) and now < 0.95 * was:
            yield (
                f"throughput falls from {was:.4g} to {now:.4g} tokens/s between {before.label} and {after.words}: "
                "the server is past its best load there, or something else took its time"
            )


def bursts(case: Case) -> Iterator[str]:
    """Tokens that do not come one by one."""
    ok = case.facts.ok
    whole = ok & case.facts.has_flag("buffered")
    if whole.any():
        yield (
            f"{whole.sum()} of {ok.sum()} answers came in one burst: something on the way holds the stream "
            "back (a proxy that "
            "buffers). TTFT and gaps are then those of the buffer, not of the model: switch its buffering off"
        )
    piled = [(step, row["coalesced_share"]) for step, row in case.whole() if (row["coalesced_share"] or 0) > 0.1]
    if piled:
        yield (
            f"tokens come in bursts: up to {percent(max(share for _, share in piled))} of the events came in "
            "the same read as the one "
            f"before ({at(step for step, _ in piled)}). Their gaps are 0 and the others too long: read TPOT "
            "instead of ITL"
        )
    rows = [(step, row["tokens_per_event_mean"]) for step, row in case.whole() if row["tokens_per_event_mean"]]
    if rows:
        (_, least), (busy, most) = min(rows, key=lambda pair: pair[1]), max(rows, key=lambda pair: pair[1])
        if most > 1.2 * least:
            yield (
                f"tokens per event go from {least:.2f} to {most:.2f} ({at([busy])}): gaps between events get "
                "longer there without "
                "tokens getting slower. Compare TPOT between steps, not ITL"
            )
        elif most > 1.5:
            yield (
                f"an event carries {most:.2f} tokens on average: ITL is the gap between events, not between tokens; "
                "TPOT is the time per token"
            )


def forty(case: Case) -> Iterator[str]:
    """Gaps that cluster at 40 ms: small writes held back until an acknowledgement."""
    chosen = np.repeat(case.facts.ok, np.diff(case.facts.offsets))
    gaps, n = case.facts.gaps_ms, int(chosen.sum())
    if n < 20:
        return
    at_forty = float(((gaps >= 38) & (gaps <= 46) & chosen).sum() / n)
    at_zero = float(((gaps < 2) & chosen).sum() / n)
    if at_forty >= 0.1 and at_zero >= 0.1 and 1 - at_forty - at_zero < 0.5:
        yield (
            f"{percent(at_forty)} of the gaps lie at 40 ms and {percent(at_zero)} near 0: small writes are "
            "held back until "
            "the acknowledgement comes (Nagle's algorithm with delayed ACK). Set TCP_NODELAY on the server or proxy"
        )


def blocking(case: Case) -> Iterator[str]:
    """One class in another's way."""
    found = [
        item
        for item in overlap.find(case.facts)
        if item.p50_with_ms > 1.5 * item.p50_without_ms and item.p50_with_ms - item.p50_without_ms > 10
    ]
    if found:
        worst = max(found, key=lambda item: item.p50_with_ms / item.p50_without_ms)
        step = next(step for step in case.facts.steps if step.index == worst.step)
        yield (
            f"{worst.long} requests block {worst.short} ones: first token of {worst.short} after "
            f"{ms(worst.p50_with_ms)} (p50, n = "
            f"{worst.n_with}) with a {worst.long} one in flight, {ms(worst.p50_without_ms)} (n = "
            f"{worst.n_without}) without, "
            f"{at([step])}. The server lets short prompts wait for long prefills: look for chunked prefill or "
            "priorities"
        )


def cache(case: Case) -> Iterator[str]:
    """First tokens that a cache may have given."""
    cached, given = (
        case.facts.numbers("cached_tokens")[case.facts.ok],
        case.facts.numbers("input_tokens")[case.facts.ok],
    )
    # What the chat template puts before every prompt is the same for all: a cache that holds it says nothing.
    template = (case.facts.run.get("preflight") or {}).get("overhead_tokens") or 0
    known = ~np.isnan(cached) & (given > 0)
    hit = float((cached[known] - template).clip(0).sum() / given[known].sum()) if known.any() else 0.0
    busting = case.facts.scenario.get("cache_busting", True)
    if busting:
        if hit > 0.1:
            yield (
                f"the server says that {percent(hit)} of the prompt tokens came from its cache, although "
                "every prompt has a head of "
                "its own: TTFT is that of a warm cache. Was the same run made on this server before?"
            )
        return
    groups = _two_groups(case)
    seen = f"; first tokens fall into two groups ({groups})" if groups else ""
    yield (
        f"prompts may repeat (cache_busting is off), so caches may answer{seen}; {percent(hit)} of the prompt "
        "tokens came from the "
        "server's cache as far as it says. TTFT is then not that of new prompts"
    )


def _two_groups(case: Case) -> str:
    """Where first tokens of one class and step fall into two groups: neighbours in order a factor of 3 apart."""
    ttft, step_of = case.facts.numbers("ttft_ms"), case.facts.numbers("step")
    for item in case.steps:
        for workload in case.facts.workloads:
            mine = case.facts.ok & case.facts.is_("workload", workload) & (step_of == item.step.index) & ~np.isnan(ttft)
            values = np.sort(ttft[mine])
            edge = max(1, len(values) // 10)
            if len(values) < 10:
                continue
            jumps = values[edge:-edge][1:] / np.maximum(values[edge:-edge][:-1], 0.001)
            if len(jumps) and jumps.max() >= 3:
                cut = edge + int(jumps.argmax()) + 1
                low, high = percentile(values[:cut], 50) or 0.0, percentile(values[cut:], 50) or 0.0
                return f"{workload} {at([item.step])}: {cut} about {ms(low)}, {len(values) - cut} about {ms(high)}"
    return ""
