"""The measured attempts of one step as arrays: what a bootstrap draws from. Computes no figure.

Which attempts count, and as what, is as in report/rows.py: those that the user's stop cut are left out, whatever else
did not succeed is infinite, attempts that were lost among it.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llmload.compare.sides import Level
from llmload.report.building import Built
from llmload.report.facts import Facts
from llmload.report.rows import ALL

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

TIMES = ("ttft_ms", "tpot_ms", "e2e_ms")
GAPS = 200_000
"""Of more gaps than this each second, third … stands for all: 100 times what a p99 needs."""
LOST = 100_000
"""More lost attempts than this (a garbled seq leaves quadrillions) say no more."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """n attempts of a step. What `rows` counts, in columns."""

    workload: NDArray[np.object_]
    prompt: NDArray[np.object_]
    """Class and id, or None."""
    times: dict[str, Floats]
    """By name: infinite where it failed, NaN where a success has no such figure."""
    ok: Flags
    good: Flags
    """ok, and met each SLO at once."""
    tokens: Floats
    chars: Floats
    """Of those that were ok; 0 for others."""
    seconds: Floats
    """In flight."""
    gaps_ms: Floats
    """Gaps of those that were ok …"""
    owner: NDArray[np.int64]
    """… and the attempt of each."""


def read(built: Built, level: Level) -> Attempts:
    """The attempts of the step of a run that asks for this level; of a run without it none."""
    facts = built.facts
    rows = [
        row for row in built.summary["rows"]
        if (row["concurrency"], row["rate"]) == (level.concurrency, level.rate)
    ]  # fmt: skip
    step = next((item for item in facts.steps if rows and item.index == rows[0]["step"]), None)
    index = -1 if step is None else step.index
    rows = [row for row in rows if row["step"] == index]
    here = facts.records["step"].to_numpy(dtype=np.int64) == index
    chosen = here & facts.measured & ~facts.is_("outcome", "not_sent")
    cut = facts.is_("outcome", "cancelled") & chosen
    workloads = facts.words("workload")
    for row in rows:  # which of the cut ones the user's stop cut is not told apart: they are all alike
        if row["workload"] != ALL:
            chosen[np.flatnonzero(cut & (workloads == row["workload"]))[: row["cancelled"]]] = False
    at = np.flatnonzero(chosen)
    ok = facts.ok[at]
    names = workloads[at]
    times = {name: np.where(ok, facts.numbers(name)[at], np.inf) for name in TIMES}
    if not facts.streaming:
        times |= dict.fromkeys(("ttft_ms", "tpot_ms"), np.where(ok, np.nan, np.inf))
    start, end = facts.numbers("start_s")[at], facts.numbers("end_s")[at]
    over = step.end if step is not None and step.end is not None else np.nan
    lengths = np.where(ok, np.diff(facts.offsets)[at], 0)
    gaps = facts.gaps_of(facts.ok & chosen)
    owner = np.repeat(np.arange(len(at)), lengths)
    every = -(-len(gaps) // GAPS) or 1
    found = Attempts(
        workload=names,
        prompt=np.array(
            [None if one is None else f"{name}/{one}" for name, one in zip(names, _prompts(facts, at), strict=True)],
            dtype=object,
        ),
        times=times,
        ok=ok,
        good=ok & _good(facts, at, names, times),
        tokens=np.nan_to_num(facts.numbers("streamed_tokens")[at]),
        chars=np.where(ok, np.nan_to_num(facts.numbers("output_chars")[at]), 0.0),
        seconds=np.clip(np.nan_to_num(np.where(np.isnan(end), over, end) - start), 0.0, None),
        gaps_ms=gaps[::every],
        owner=owner[::every],
    )
    lost = {row["workload"]: row["lost"] for row in rows}
    lost[ALL] = lost.get(ALL, 0) - sum(n for name, n in lost.items() if name != ALL)  # of no known class
    return _with_lost(found, lost)


def _prompts(facts: Facts, at: NDArray[np.int64]) -> NDArray[np.object_]:
    """Ids of the prompts of these attempts."""
    column = facts.records["prompt"].iloc[at]
    return np.asarray(column.astype(object).where(column.notna(), None), dtype=object)


def _with_lost(found: Attempts, lost: dict[str, int]) -> Attempts:
    """The same, and what was lost: it failed, and nothing else is known of it."""
    names = [name for name, n in lost.items() for _ in range(min(n, LOST))]
    if not names:
        return found
    n = len(names)
    blank, none = np.zeros(n), np.zeros(n, dtype=bool)
    columns: dict[str, Any] = {
        name: np.concatenate((getattr(found, name), more))
        for name, more in {
            "workload": np.array(names, dtype=object), "prompt": np.full(n, None, dtype=object), "ok": none,
            "good": none, "tokens": blank, "chars": blank, "seconds": blank,
        }.items()
    }  # fmt: skip
    times = {name: np.concatenate((values, np.full(n, np.inf))) for name, values in found.times.items()}
    return replace(found, **columns, times=times)


def _good(facts: Facts, at: NDArray[np.int64], names: NDArray[np.object_], times: dict[str, Floats]) -> Flags:
    """Which attempts met each bound of their class at once, as report/rows.py has it (a test holds both together)."""
    single = (facts.records["events"].to_numpy(dtype=np.int64)[at] <= 1) & ~np.isnan(times["ttft_ms"])
    measured = {
        **times,
        "tpot_ms": np.where(single & np.isnan(times["tpot_ms"]), 0.0, times["tpot_ms"]),
        "itl_max_ms": np.where(single, 0.0, facts.numbers("max_gap_ms")[at]),
    }
    met = np.ones(len(at), dtype=bool)
    common = facts.scenario.get("slo") or {}
    classes = {item.get("name"): item.get("slo") for item in facts.scenario.get("classes") or ()}
    for workload in set(names.tolist()):
        for name, bound in (classes.get(workload) or common).items():
            if bound is not None:
                met &= (names != workload) | (measured[name] <= bound)
    return met
