"""What the server says of itself in a window: the block `server` of a row of summary.json, and what doubts ask for.

Pure. Times are means: of the requests whose sums the server counted in the window, the sum's rise over the count's.
"""

from typing import Any

from llmload.report.telemetry import series
from llmload.report.telemetry.sampled import Server, Telemetry

BLOCK = (
    "engine", "running_mean", "waiting_mean", "kv_cache_usage_max", "preemptions", "prefix_cache_hit_share",
    "queue_time_mean_ms", "prefill_time_mean_ms", "decode_time_mean_ms", "speculation_acceptance",
)  # fmt: skip
"""What the block `server` holds."""


def server_of(telemetry: Telemetry, begin: float, end: float) -> dict[str, Any] | None:
    """The block `server` of a row of summary.json for any window; None where the server was not looked at in it."""
    server = telemetry.server
    if server is None or not ((server.at >= begin) & (server.at <= end)).any():
        return None
    levels = {
        key: series.level(server.series(key), begin, end) for key in ("running", "waiting", "kv_cache_usage_ratio")
    }
    running, waiting, kv = levels.values()
    preemptions = rise(server, "preemptions", begin, end)
    return {
        "engine": server.engine,
        "running_mean": running.mean if running else None,
        "waiting_mean": waiting.mean if waiting else None,
        "kv_cache_usage_max": kv.highest if kv else None,
        "preemptions": None if preemptions is None else round(preemptions),
        "prefix_cache_hit_share": _share(
            server, ("prefix_hits_tokens", "prefix_queries_tokens", "prefix_hit_ratio"), begin, end
        ),
        "queue_time_mean_ms": mean_ms(server, "queue_seconds", begin, end),
        "prefill_time_mean_ms": mean_ms(server, "prefill_seconds", begin, end),
        "decode_time_mean_ms": mean_ms(server, "decode_seconds", begin, end),
        "speculation_acceptance": _share(server, ("accepted_tokens", "drafted_tokens", "acceptance_ratio"), begin, end),
    }


def told_until(telemetry: Telemetry, end: float) -> float:
    """Until when a window is known that a kill cut, as `gpus.told_until`."""
    at = telemetry.server.at if telemetry.server is not None else series.NOTHING.at
    return min(end, float(at[-1])) if len(at) and end - at[-1] <= series.FAR * series.usual_s(at) else end


def rise(server: Server, key: str, begin: float, end: float) -> float | None:
    """How far one of its counters rose in a window."""
    found = series.rise(server.series(key), begin, end)
    return found.amount if found else None


def mean_ms(server: Server, key: str, begin: float, end: float) -> float | None:
    """The mean of a time of which it tells sum and count, in milliseconds; None where less than one was counted."""
    total, count = rise(server, f"{key}_sum", begin, end), rise(server, f"{key}_count", begin, end)
    return total / count * 1000 if total is not None and count is not None and count >= 1 else None


def _share(server: Server, keys: tuple[str, str, str], begin: float, end: float) -> float | None:
    """A share of two counters, part and whole; from engines that tell only the ratio, its mean."""
    part, whole, ratio = keys
    some, of = rise(server, part, begin, end), rise(server, whole, begin, end)
    if some is not None and of:
        return some / of
    if len(server.series(whole).at):
        return None
    found = series.level(server.series(ratio), begin, end)
    return found.mean if found else None


def restarts(telemetry: Telemetry, begin: float, end: float) -> list[float]:
    """When the server was first seen after it was started anew: it tells another start, or a counter was set back.

    Those that may lie in a window: between two samples of which the first lies before its end, the second not before
    its begin.
    """
    server = telemetry.server
    if server is None:
        return []
    seen: list[float] = []
    for key in ("start_time_seconds", *COUNTERS):
        known = server.series(key)
        off = known.values[1:] - known.values[:-1]
        anew = abs(off) > STARTED_S if key == "start_time_seconds" else off < 0
        seen += known.at[1:][anew & (known.at[:-1] < end) & (known.at[1:] >= begin)].tolist()
    found: list[float] = []
    for at in sorted(seen):
        if not found or at - found[-1] > TOGETHER_S:
            found.append(at)
    return found


COUNTERS = ("output_tokens", "prompt_tokens", "requests", "ttft_seconds_count", "preemptions")
"""Those of its counters that show a restart."""
STARTED_S = 1.0
"""Seconds by which the moment of its start may seem to change: some engines compute it anew."""
TOGETHER_S = 30.0
"""What is seen within so long of one another is one restart: an engine is not up again sooner."""
