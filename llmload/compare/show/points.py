"""What pictures are drawn from: values of requests and of rounds, of one side at one level. Reads runs' facts alone."""

import math
from typing import Any

import numpy as np

from llmload.compare.figures import Figure, value
from llmload.compare.ratios.ratios import middle
from llmload.compare.sides import Level, Side
from llmload.report.building import Built
from llmload.report.facts import Flags, Floats
from llmload.report.figures import look_up
from llmload.report.rows import ALL

__all__ = ["chosen", "ends", "gaps", "latencies", "middle", "rounds", "speeds", "whiskers"]
SURE = 0.95


def rounds(side: Side, level: Level, workload: str, figure: Figure) -> list[float]:
    """The figure in every round that has it; infinite where it falls on failures."""
    found = (value(side.row(at, level, workload), figure) for at in range(len(side.rounds)))
    return [each for each in found if each is not None]


def chosen(built: Built, level: Level, workload: str) -> Flags:
    """Which attempts of a run are measured successes of a level and a class."""
    facts = built.facts
    wanted = [step.index for step in facts.steps if (step.concurrency, step.rate) == (level.concurrency, level.rate)]
    mine = facts.ok & np.isin(facts.numbers("step"), wanted)
    return mine if workload == ALL else mine & facts.is_("workload", workload)


def latencies(side: Side, at: int, level: Level, workload: str, column: str) -> tuple[Floats, int]:
    """Values of a round's successes, ascending, and how many attempts never finished (`column`: ttft_ms or e2e_ms)."""
    built = side.rounds[at]
    values = built.facts.numbers(column)[chosen(built, level, workload)]
    values = np.sort(values[~np.isnan(values)])
    row: dict[str, Any] = side.row(at, level, workload) or {}
    attempts = look_up(row, [column, "all", "n"]) if row.get(column) else None
    return values, max(0, int(attempts or 0) - len(values))


def ends(ordered: Floats, failures: int, percent: int) -> tuple[float, float] | None:
    """The 95 % interval of a percentile of these attempts. The upper end may be infinite; None of too few.

    From one of their ranks to another, whatever the distribution (David and Nagaraja, Order Statistics, 7.1).
    """
    from scipy.stats import binom

    n = len(ordered) + failures
    if n < 6:
        return None
    low, high = (int(binom.ppf(q, n, percent / 100)) for q in ((1 - SURE) / 2, (1 + SURE) / 2))
    every = np.concatenate((ordered, np.full(failures, np.inf)))
    return float(every[max(0, low - 1)]), float(every[high]) if high < n else math.inf


def whiskers(side: Side, level: Level, workload: str, figure: Figure) -> tuple[float, float] | None:
    """How sure a point is: from the lowest round to the highest, or of a single round the interval over requests."""
    values = rounds(side, level, workload, figure)
    if len(values) > 1:
        return min(values), max(values)
    column, _, percent = figure.path
    if not values or column not in ("ttft_ms", "e2e_ms") or len(side.rounds) != 1:
        return None
    return ends(*latencies(side, 0, level, workload, column), int(percent.removeprefix("p")))


def gaps(side: Side, level: Level, workload: str) -> Floats:
    """Gaps of the successes of all rounds."""
    return np.concatenate(
        [np.empty(0), *(built.facts.gaps_of(chosen(built, level, workload)) for built in side.rounds)]
    )


def speeds(side: Side, level: Level) -> list[list[float]]:
    """Decode speed by range of positions, of every round that has it."""
    found: list[list[float]] = []
    for built in side.rounds:
        for step in built.facts.steps:
            if (step.concurrency, step.rate) == (level.concurrency, level.rate):
                for place, speed in enumerate(built.speeds.get(step.index) or ()):
                    found += [[]] if place == len(found) else []
                    found[place] += [] if speed is None else [speed]
    return found
