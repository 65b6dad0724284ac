"""Three ratios and the rule, of one pair at one level: makes the ratios and asks `weighing`.

P95 speed-up is of E2E over all attempts, stability of E2E among successes class by class (`stability`), resources of
peak GPU memory (`memory`). What stands beside them explains them, and makes a radar chart of six.
"""

import math
from dataclasses import dataclass

from llmload.compare.figures import FIGURES
from llmload.compare.ratios.cells import tokens_per_event
from llmload.compare.ratios.intervals import ROUNDS
from llmload.compare.ratios.measured import Measured
from llmload.compare.ratios.ratios import Ratios
from llmload.compare.rule import memory, stability
from llmload.compare.rule.weighing import (
    DEPENDENT,
    RESOURCES,
    SIX,
    SPEEDUP,
    STABILITY,
    UNMEASURED,
    Limits,
    Ratio,
    Success,
    Word,
    decide,
    weigh,
)
from llmload.compare.sides import Level, Pair
from llmload.compare.words import percent, times
from llmload.report.rows import ALL

__all__ = ["RESOURCES", "SIX", "SPEEDUP", "STABILITY", "Limits", "Ratio", "Rule", "decide", "judge"]
VARIATION, WEIGHTS, KV_CACHE = "coefficient of variation", "weights", "KV cache in use"


@dataclass(frozen=True, slots=True)
class Rule:
    """What the rule says at one level."""

    level: Level
    ratios: tuple[Ratio, ...]
    """Speed-up, stability, resources …"""
    beside: tuple[Ratio, ...]
    """… and what stands beside them: ratio of the coefficients of variation, weights and KV cache in use; TTFT p95,
    gaps p99 and joules per token, which make a radar of six."""
    success: tuple[float | None, float | None]
    word: Word
    words: tuple[str, ...]
    """Why, one sentence each."""


def judge(pair: Pair, level: Level, limits: Limits) -> Rule:
    """The rule at a level, over all classes, with all rounds of both sides."""
    baseline, candidate = Measured(pair.baseline), Measured(pair.candidate)
    ratios = Ratios(baseline, candidate, interleaved=pair.interleaved)
    speed = _of(ratios, level, "e2e_p95", SPEEDUP, "E2E p95 over all attempts")
    steady = _spread(pair, level, (baseline, candidate), relative=False)
    varied = _spread(pair, level, (baseline, candidate), relative=True)
    resources = _resources(pair, level, ratios)
    gaps = "tpot_p99" if tokens_per_event(baseline, candidate, level, ALL) else "itl_p99"
    said = "gaps between events; over successes" if gaps == "itl_p99" else "TPOT, since tokens per event differ"
    beside = (
        varied,
        *_weights(pair),
        *_kv_cache(pair, level),
        _of(ratios, level, "ttft_p95", SIX[3], "first tokens over all attempts"),
        _of(ratios, level, gaps, SIX[4], said),
        _of(ratios, level, "joules", SIX[5], "energy of the GPUs in the window / output tokens in it"),
    )
    before, after = (Success(*side.counts(level, ALL)) for side in (pair.baseline, pair.candidate))
    three = (speed, steady, resources)
    word, why = weigh(three, before, after, limits)
    notes = [DEPENDENT]
    if min(baseline.count, candidate.count) < ROUNDS:
        notes.append(
            f"Of {baseline.count} + {candidate.count} runs the intervals are over requests: how much runs differ by "
            f"themselves is not in them ({ROUNDS} rounds a side show it)"
        )
    shown = tuple(item for item in beside if item.gain is not None or item.name in (VARIATION, WEIGHTS))
    return Rule(level, three, shown, (before.share, after.share), word, (*why, *notes))


def _of(ratios: Ratios, level: Level, key: str, name: str, made_of: str) -> Ratio:
    """A ratio of a figure of the rows."""
    found = ratios.of(level, ALL, FIGURES[key])
    if found is None:
        return Ratio(name, None, None, None, None, UNMEASURED)
    if found.gain is None:
        measured = found.baseline is not None and found.candidate is not None
        if measured and found.baseline != found.candidate:  # it falls on failures in some rounds: it may be anything
            return Ratio(name, None, 0.0, math.inf, None, f"{made_of}; {found.why}")
        return Ratio(
            name, None, None, None, None, found.why or ("both are alike" if measured else "not measured on a side")
        )
    words = f"{made_of}; {found.why}" if found.why else made_of
    low, high = found.low, found.high
    if low is None and (found.why or found.how is not None):  # no interval could be drawn: it may be anything
        low, high = 0.0, math.inf
    return Ratio(name, found.gain, low, high, found.raw, words)


def _spread(pair: Pair, level: Level, sides: tuple[Measured, Measured], *, relative: bool) -> Ratio:
    """Stability, or the ratio of coefficients of variation."""
    found = stability.of(sides, level, pair.workloads, interleaved=pair.interleaved, relative=relative)
    name = VARIATION if relative else STABILITY
    least = f"under {stability.LEAST} successes, or no spread, in some round"
    if found.gain is None:
        return Ratio(name, None, None, None, None, f"{least}, in every class")
    what = "standard deviation / mean" if relative else "standard deviation"
    words = f"{what} of E2E among successes, geometric mean over classes"
    if len(found.each) > 1:
        words += f": {', '.join(f'{workload} {times(gain)}' for workload, gain in found.each)}"
    if found.left_out:
        words += f"; left out: {', '.join(found.left_out)} ({least})"
    if relative:
        words += "; a uniform speed-up alone leaves it at 1"
    return Ratio(name, found.gain, found.low, found.high, 1 / found.gain, words)


def _resources(pair: Pair, level: Level, ratios: Ratios) -> Ratio:
    """Peak GPU memory."""
    found = _of(ratios, level, "memory", RESOURCES, "peak GPU memory in the window")
    flat = memory.flat(pair, level)
    if found.gain is None or flat is None:
        return found
    return Ratio(found.name, found.gain, found.low, found.high, found.raw, f"{found.words}; {flat}")


def _weights(pair: Pair) -> list[Ratio]:
    """Bytes of the weights, as far as the servers tell: a fact, without an interval."""
    (before, said), (after, saying) = memory.weights(pair.baseline), memory.weights(pair.candidate)
    if said is None and saying is None:
        return []
    words = f"{said or 'unknown'} against {saying or 'unknown'}, as the servers tell"
    if before is None or after is None:
        return [Ratio(WEIGHTS, None, None, None, None, words)]
    sizes = f"{before / memory.GIB:.1f} GiB against {after / memory.GIB:.1f} GiB"
    return [Ratio(WEIGHTS, before / after, None, None, after / before, f"{sizes}: parameters x bits; {words}")]


def _kv_cache(pair: Pair, level: Level) -> list[Ratio]:
    """The most of the KV cache that was in use; shares of caches that need not be of one size."""
    before, after = memory.kv_cache(pair.baseline, level), memory.kv_cache(pair.candidate, level)
    if not before or not after:
        return []
    words = f"at most {percent(before)} against {percent(after)} of each side's own cache, as the servers tell"
    return [Ratio(KV_CACHE, before / after, None, None, after / before, words)]
