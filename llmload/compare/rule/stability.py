"""Stability: how much less E2E latency varies among successes, class by class, with its interval. Numbers only.

Of each class the standard deviations of both sides make a ratio, and all classes together their geometric mean: pooled
over a mix of short and long answers the mix would be all that is seen. `relative` takes the coefficient of variation
(standard deviation / mean): a uniform speed-up raises the first and leaves the second.

With three rounds a side and more the interval is Student's over the rounds' logarithms; with fewer a bootstrap over
requests, which does not know how runs differ.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from llmload.compare.ratios import intervals
from llmload.compare.ratios.bootstrap import DRAWS, UNITS, Floats, ends, weights
from llmload.compare.ratios.intervals import ROUNDS
from llmload.compare.ratios.measured import Measured
from llmload.compare.sides import Level
from llmload.report.rows import ALL

LEAST = 10
"""Successes of a class in every round, for a standard deviation that says anything."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Baseline's spread / candidate's. Without any class that could be told, all is None."""

    gain: float | None
    low: float | None
    high: float | None
    each: tuple[tuple[str, float], ...]
    """The gain of each class …"""
    left_out: tuple[str, ...]
    """… and classes with too few successes, or without any spread, in some round."""


def of(
    sides: tuple[Measured, Measured], level: Level, workloads: Sequence[str], *, interleaved: bool, relative: bool
) -> Spread:
    """The spread of baseline and candidate at a level."""
    told: dict[str, tuple[list[Floats], list[Floats]]] = {}
    left_out = []
    for name in [one for one in workloads if one != ALL] or [ALL]:
        both = _values(sides[0], level, name), _values(sides[1], level, name)
        if all(len(values) >= LEAST and np.ptp(values) > 0 for side in both for values in side):
            told[name] = both
        else:
            left_out.append(name)
    if not told:
        return Spread(None, None, None, (), tuple(left_out))
    logs = [[[_log(values, relative=relative) for values in both[at]] for both in told.values()] for at in (0, 1)]
    before, after = ([math.fsum(round_) / len(round_) for round_ in zip(*side, strict=True)] for side in logs)
    each = tuple((name, math.exp(_mean(b) - _mean(c))) for name, b, c in zip(told, *logs, strict=True))
    gain = math.exp(_mean(before) - _mean(after))
    if min(len(before), len(after)) >= ROUNDS:
        if interleaved and len(before) == len(after):
            found = intervals.contrast([[b - c for b, c in zip(before, after, strict=True)]], [1.0])
        else:
            found = intervals.contrast([before, after], [1.0, -1.0])
        return Spread(gain, found.low, found.high, each, tuple(left_out))
    drawn = [_drawn([both[at] for both in told.values()], seed=10 + at, relative=relative) for at in (0, 1)]
    span = ends(drawn[0], drawn[1], lower=True)
    low, high = (None, None) if span is None else (span.low, span.high)
    return Spread(gain, low, high, each, tuple(left_out))


def _values(side: Measured, level: Level, workload: str) -> list[Floats]:
    """E2E of the successes of each round, in milliseconds."""
    found = []
    for at in range(side.count):
        attempts = side.attempts(at, level)
        mine = attempts.ok if workload == ALL else attempts.ok & (attempts.workload == workload)
        values = attempts.times["e2e_ms"][mine]
        found.append(values[~np.isnan(values)])
    return found


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _log(values: Floats, *, relative: bool) -> float:
    """The logarithm of a sample's standard deviation, or of its coefficient of variation."""
    return math.log(values.std(ddof=1) / (values.mean() if relative else 1.0))


def _drawn(classes: Sequence[Sequence[Floats]], *, seed: int, relative: bool) -> Floats:
    """The spread of a side in every draw (DRAWS): requests of each class and round are drawn for themselves."""
    logs = np.zeros(DRAWS)
    parts = [values for rounds in classes for values in rounds]
    for at, values in enumerate(parts):
        units = min(len(values), UNITS)
        drawn = weights(units, seed * 1000 + at).astype(np.float64)
        unit, off = np.arange(len(values)) % units, values - values.mean()  # about its mean: squares stay exact
        sums = [drawn @ np.bincount(unit, part, minlength=units) for part in (np.ones(len(off)), off, off**2)]
        n, first, second = sums
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.sqrt(np.clip(second - first**2 / n, 0.0, None) / (n - 1))
            logs += np.log(spread / (values.mean() + first / n) if relative else spread)
    return np.asarray(np.exp(logs / len(parts)))
