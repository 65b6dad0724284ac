"""Doubts from the server's own metrics: caches, places and queues, and where its figures and ours differ."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llmload.report.doubts.case import Case, at, listed, ms, percent
from llmload.report.steps import Step
from llmload.report.telemetry import restarts, series, servers
from llmload.report.telemetry.sampled import Server
from llmload.report.telemetry.series import Series

Floats = NDArray[np.float64]

HITS = 0.1
"""Share of prompt tokens from the prefix cache, over what all prompts begin with, that new prompts do not have."""
WAITING = 0.5
"""Requests that wait on average, over which there is a queue."""
TTFT_MS = 20.0
TTFT_SHARE = 0.2
"""A difference of first tokens over the larger of both is told …"""
TTFT_LEAST = 20
"""… from so many requests on."""
TOKENS = 0.02
"""Share by which both counts of tokens may differ."""
FAILED = 0.1
"""Share of the looks at the server's metrics that may fail."""


def _watched(case: Case) -> Iterator[tuple[Step, dict[str, Any], Server, float, float]]:
    """Windows in which the server was looked at, with their rows."""
    server = case.facts.telemetry.server
    for step, row in case.whole():
        if server is not None and row["server"] and step.begin is not None and step.end is not None:
            yield step, row, server, step.begin, step.end


def started_anew(case: Case) -> Iterator[str]:
    """An engine that was restarted inside a window."""
    found = [step for step, _, _, begin, end in _watched(case) if restarts(case.facts.telemetry, begin, end)]
    if found:
        yield (
            f"the server was started anew {at(found)}: its counters began from 0 and its caches were empty. Discard "
            "these steps; its log says why"
        )


def log_errors(case: Case) -> Iterator[str]:
    """Errors in the server's log."""
    found = [
        (step, n)
        for step, _, server, begin, end in _watched(case)
        if (n := round(servers.rise(server, "log_errors", begin, end) or 0))
    ]
    if found:
        lines = listed(f"{n} line{'s' * (n != 1)} {at([step])}" for step, n in found)
        yield f"the server's log tells errors: {lines}. Read them before trusting these steps"


def prefix_hits(case: Case) -> Iterator[str]:
    """Prompts that the prefix cache knew, in a run whose prompts are all new."""
    scenario = case.facts.scenario
    if not scenario.get("cache_busting", True) or any(
        item.get("shared_prefix_share") for item in scenario.get("classes") or ()
    ):
        return
    found = []
    for step, row, server, begin, end in _watched(case):
        share = row["server"]["prefix_cache_hit_share"]
        if share is not None and share - _template_share(case, row, server, begin, end) > HITS:
            found.append((step, share))
    if found:
        yield (
            f"the server found up to {percent(max(share for _, share in found))} of the prompt tokens in its prefix "
            f"cache {at(step for step, _ in found)}, although no two prompts of this run begin alike (the limit is "
            f"{percent(HITS)}): TTFT is that of a warm cache. Does someone else send the same prompts? Start the "
            "server anew, and repeat"
        )


def _template_share(case: Case, row: dict[str, Any], server: Server, begin: float, end: float) -> float:
    """The share of prompt tokens that the chat template explains: it stands before every prompt, the same for all.

    Of each request that was in flight in the window, whatever became of it, since the server may have read its prompt
    there. An engine that tells only a ratio is taken by the mean prompt of the successes; without any, all is so.
    """
    template = (case.facts.run.get("preflight") or {}).get("overhead_tokens") or 0
    if not template:
        return 0.0
    looked_up = servers.rise(server, "prefix_queries_tokens", begin, end)
    if not looked_up:
        return template / row["input_tokens_mean"] if row["input_tokens_mean"] else 1.0
    there = (case.facts.numbers("start_s") <= end) & ~(case.facts.numbers("end_s") < begin)
    return template * int(there.sum()) / looked_up


def preempted(case: Case) -> Iterator[str]:
    """Requests that lost their place."""
    found = [(step, row["server"]) for step, row in case.whole() if (row["server"] or {}).get("preemptions")]
    if found:
        full = [block["kv_cache_usage_max"] for _, block in found if block["kv_cache_usage_max"] is not None]
        cache = f" (KV cache up to {percent(max(full))} full)" if full else ""
        counts = listed(f"{block['preemptions']} {at([step])}" for step, block in found)
        yield (
            f"the server took running requests out again to make room: {counts}{cache}. They stall and are computed "
            "twice: give it more KV cache or fewer slots, or read these steps as overload"
        )


def queue(case: Case) -> Iterator[str]:
    """A queue although the server has places: as many as it told, or as it had in service in another step.

    Of those that wait as many count as there are places that our own requests do not fill at that moment: arrivals at
    random fill them all now and then, however few are in flight on average.
    """
    server = case.facts.telemetry.server
    if server is None:
        return
    told, waiting = server.series("slots").values, server.series("waiting")
    most = max((row["server"]["running_mean"] or 0.0 for _, row, *_ in _watched(case)), default=0.0)
    places = float(told[-1]) if len(told) else most
    free = np.clip(places - _in_flight(case, waiting.at), 0, None)
    idly = Series(waiting.at, np.minimum(waiting.values, free))
    found = []
    for step, row, _, begin, end in _watched(case):
        mean = series.level(idly, begin, end)
        if mean is not None and mean.mean > WAITING:
            found.append((step, f"{mean.mean:.3g} of {row['in_flight_mean']:.3g} {at([step])}"))
    if found:
        yield (
            f"requests waited in the server's queue although it has room for {places:.3g}: on average "
            f"{listed(words for _, words in found)} (the limit is {WAITING:g}). Its scheduler holds them back (token "
            "budget, KV cache, batching delay), or others send to it too: see its settings"
        )


def _in_flight(case: Case, moments: Floats) -> Floats:
    """How many of our requests were in flight at each moment."""
    begun, over = (np.sort(case.facts.numbers(name)) for name in ("start_s", "end_s"))  # what is not known comes last
    return np.subtract(np.searchsorted(begun, moments, "right"), np.searchsorted(over, moments, "right"), dtype=float)


def first_tokens(case: Case) -> Iterator[str]:
    """First tokens by the server's clock and by ours, both of those that came inside the window."""
    if not case.facts.streaming:
        return  # nothing but whole answers was timed here
    came = case.facts.numbers("start_s") + case.facts.numbers("ttft_ms") / 1000
    ttft = case.facts.numbers("ttft_ms")
    slower: list[str] = []
    faster: list[str] = []
    for step, _, server, begin, end in _watched(case):
        n = servers.rise(server, "ttft_seconds_count", begin, end)
        theirs = servers.mean_ms(server, "ttft_seconds", begin, end)
        mine = ttft[(came >= begin) & (came <= end)]
        if theirs is None or n is None or min(len(mine), n) < TTFT_LEAST:
            continue
        ours = float(mine.mean())
        if abs(ours - theirs) > max(TTFT_MS, TTFT_SHARE * ours):
            words = f"{ms(ours)} against {ms(theirs)} {at([step])}"
            (slower if ours > theirs else faster).append(words)
    limits = f"the limit is {TTFT_MS:g} ms and {percent(TTFT_SHARE)}"
    if slower:
        yield (
            f"first tokens came here later than the server says it made them (means: {listed(slower)}; {limits}): the "
            "rest is the network, a proxy in between, the server's own front end, or this generator (see its lag)"
        )
    if faster:
        yield (
            f"first tokens came here sooner than the server says (means: {listed(faster)}; {limits}): it timed other "
            "requests too. Does someone else send to it? Repeat alone"
        )


def tokens(case: Case) -> Iterator[str]:
    """Output tokens as the server counted them and as they came here, inside the same window.

    An engine may count a request's tokens at its end, and what ended between two looks at an edge may fall to either
    side: any count between ours and that of the requests that ended in the window is as good as ours.
    """
    if np.nansum(case.facts.numbers("hidden_tokens")) > 0:
        return  # generated, and never streamed
    over, each = case.facts.numbers("end_s"), np.nan_to_num(case.facts.numbers("streamed_tokens"))
    found = []
    for step, row, server, begin, end in _watched(case):
        theirs, rate = servers.rise(server, "output_tokens", begin, end), row["output_tokens_per_s"]
        if theirs is None or not rate:
            continue
        ours = rate * (end - begin)
        near = server.series("output_tokens").usual_s
        fewer, more = (each[(over >= begin + off) & (over <= end - off)].sum() for off in (near, -near))
        if not (1 - TOKENS) * min(ours, fewer) <= theirs <= (1 + TOKENS) * max(ours, more):
            found.append(f"{theirs:,.0f} against {ours:,.0f} {at([step])}")
    if found:
        yield (
            f"the server counted other numbers of output tokens than came here: {listed(found)} (over "
            f"{percent(TOKENS)}, and over what requests at the edges explain). "
            "More: others send to it, or not all is streamed; "
            "fewer: its counter or the token counts of this run are wrong. Compare throughput only when that is clear"
        )


def unseen(case: Case) -> Iterator[str]:
    """Metrics of the server that could often not be read."""
    server = case.facts.telemetry.server
    for source in case.facts.telemetry.sources:
        if server is not None and source.name == server.source and source.failed > FAILED * source.looks:
            yield (
                f"the server's own metrics could not be read in {source.failed} of {source.looks} looks "
                f"({source.errors[-1][1]}): an engine too busy to answer them blanks its columns. Sample less often"
            )
