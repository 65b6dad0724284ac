"""What stands beside peak GPU memory: whether it is flat because an engine takes it all at once, weights, KV cache.

An engine that preallocates its KV cache shows the same peak whatever it needs of it, so that the ratio of peaks says
little about resources there. Reads rows and `environment`.
"""

from typing import Any

from llmload.compare.sides import Level, Pair, Side
from llmload.compare.words import percent

FULL = 0.8
"""Share of the GPUs' memory in use on both sides from which on it was taken at once, not as needed."""
ALIKE = 0.02
"""Part by which peaks differ that are the same."""
GIB = 2**30


def flat(pair: Pair, level: Level) -> str | None:
    """A sentence where the peaks tell nothing; None where they may."""
    peaks = [peak(side, level) for side in (pair.baseline, pair.candidate)]
    before, after = peaks
    if before is None or after is None:
        return None
    shares = [share for share in (_share(pair.baseline, before), _share(pair.candidate, after)) if share is not None]
    why = "an engine that preallocates its KV cache shows a flat figure whatever it needs of it"
    if len(shares) == 2 and min(shares) > FULL:
        told = f"{percent(shares[0])} and {percent(shares[1])} of the GPUs' memory were taken"
        return f"{told}, as engines do at their start: {why}"
    if abs(after - before) <= ALIKE * before:
        return f"the peaks are the same within {percent(ALIKE)}: {why}"
    return None


def peak(side: Side, level: Level) -> float | None:
    """The highest peak of all rounds in bytes; None where one was not seen."""
    return _highest(side, level, "gpu", "memory_used_max_bytes")


def kv_cache(side: Side, level: Level) -> float | None:
    """The highest share of the KV cache in use, of all rounds; None where the server does not tell."""
    return _highest(side, level, "server", "kv_cache_usage_max")


def weights(side: Side) -> tuple[float | None, str | None]:
    """Bytes of the weights, as parameters and bits make them, and what the server told of them in words."""
    told = _server(side)
    parameters, bits = told.get("parameters"), told.get("quantization_bits")
    known = isinstance(parameters, int | float) and isinstance(bits, int | float)
    size = parameters * bits / 8 if known and parameters and bits else None
    names = [str(told[name]) for name in ("weights_format", "quantization") if told.get(name)]
    if isinstance(bits, int | float):
        names.append(f"{bits:g} bits")
    return size, ", ".join(names) or None


def _server(side: Side) -> dict[str, Any]:
    """What the first round told of its server."""
    environment = side.rounds[0].facts.run.get("environment") if side.rounds else None
    server = environment.get("server") if isinstance(environment, dict) else None
    return server if isinstance(server, dict) else {}


def _highest(side: Side, level: Level, block: str, name: str) -> float | None:
    """The highest of a figure over all rounds; None where one does not have it."""
    rows = [side.row(at, level, "all") for at in range(len(side.rounds))]
    told = [((row or {}).get(block) or {}).get(name) for row in rows]
    known = [float(value) for value in told if value is not None]
    return max(known) if known and len(known) == len(told) else None


def _share(side: Side, used: float) -> float | None:
    """Part of the memory of all GPUs that were looked at."""
    totals = []
    for gpu in side.rounds[0].facts.telemetry.gpus if side.rounds else ():
        values = gpu.series("memory_total_bytes").values
        if not len(values):
            return None
        totals.append(float(values[-1]))
    return used / sum(totals) if totals and sum(totals) > 0 else None
