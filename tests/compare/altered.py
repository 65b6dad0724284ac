"""Runs that differ from another in one thing, made of one folder in memory: what a test changes is all that differs."""

import copy
from dataclasses import replace
from typing import Any

from llmload.compare.sides import Level, Pair, Side
from llmload.report.building import Built

GONE = object()
"""As a value: the member is taken out."""


def altered(built: Built, **members: Any) -> Built:
    """A run with other members of run.json; `scenario__load__window_s=5.0` is one deep inside."""
    run = copy.deepcopy(built.facts.run)
    for path, value in members.items():
        *outer, last = path.split("__")
        where = run
        for name in outer:
            where = where[int(name)] if isinstance(where, list) else where.setdefault(name, {})
        if value is GONE:
            del where[last]
        else:
            where[last] = value
    return replace(built, facts=replace(built.facts, run=run, scenario=run.get("scenario") or {}))


def pair_of(baseline: Built | tuple[Built, ...], candidate: Built | tuple[Built, ...]) -> Pair:
    """Two sides with the levels and classes of the baseline's first round."""
    one, other = (side if isinstance(side, tuple) else (side,) for side in (baseline, candidate))
    levels = tuple(Level(step.concurrency, step.rate) for step in one[0].facts.steps)
    return Pair(
        scenario="synthetic",
        baseline=Side("baseline", one),
        candidate=Side("candidate", other),
        levels=levels,
        left_out=(),
        workloads=(*one[0].facts.workloads, "all"),
        interleaved=False,
    )
