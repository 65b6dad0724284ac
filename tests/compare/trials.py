"""Comparisons whose truth is known, made of numbers alone: hundreds of them in a second.

`rows` makes sides out of one figure per round; `requests` draws the attempts of a run without any noise between runs.
"""

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from llmload.compare.figures import FIGURES
from llmload.compare.ratios import bootstrap, cells, drawing
from llmload.compare.ratios.attempts import Attempts
from llmload.compare.ratios.cells import Cell, Deciding
from llmload.compare.sides import Level, Pair, Side
from llmload.report.building import Built

LEVEL = Level(8, None)


def _round(p95_ms: float) -> Built:
    """A run of which nothing is known but one figure."""
    row: dict[str, Any] = {
        "step": 0, "concurrency": 8, "rate": None, "workload": "all", "started": 200, "cancelled": 0, "ok": 200,
        "e2e_ms": {"ok": None, "all": {"n": 200, "p95": p95_ms}}, "tokens_per_event_mean": 1.0,
    }  # fmt: skip
    facts = SimpleNamespace(steps=())
    return cast("Built", SimpleNamespace(summary={"rows": [row]}, facts=facts))


def rows(baseline: Sequence[float], candidate: Sequence[float], *, interleaved: bool) -> Cell:
    """The deciding cell of two sides of which each round has this E2E p95."""
    one, two = (
        Side(name, tuple(map(_round, values))) for name, values in (("baseline", baseline), ("candidate", candidate))
    )
    pair = Pair("trial", one, two, (LEVEL,), (), ("all",), interleaved)
    (cell,) = cells.compute(pair, Deciding(FIGURES["e2e_p95"], LEVEL, "all"))
    return cell


def rounds(
    draw: np.random.Generator, gain: float, count: int, noise: float, *, drift: float = 0.0, paired: bool
) -> Cell:
    """A comparison of so many rounds a side: noise of each round, a drift that neighbours share (sd of logs)."""
    shared = draw.normal(0, drift, count)
    others = shared if paired or not drift else draw.normal(0, drift, count)
    one = 1000 * np.exp(shared + draw.normal(0, noise, count))
    two = 1000 / gain * np.exp(others + draw.normal(0, noise, count))
    return rows(one.tolist(), two.tolist(), interleaved=paired)


def words(trials: int, gain: float, count: int, noise: float, *, drift: float = 0.0, paired: bool) -> float:
    """The share of comparisons that say faster or slower."""
    draw = np.random.default_rng(17)
    told = [rounds(draw, gain, count, noise, drift=drift, paired=paired).word for _ in range(trials)]
    return sum(word in ("faster", "slower") for word in told) / trials


def requests(
    draw: np.random.Generator,
    n: int,
    *,
    pace: float = 1.0,
    prompts: Sequence[float] | None = None,
    fail: float = 0.0,
    gaps: int = 1,
) -> Attempts:
    """Attempts of a run: a log-normal time, of a prompt where these are given (its part of the logarithm)."""
    which = np.arange(n) % len(prompts) if prompts is not None else np.arange(n)
    own = np.zeros(n) if prompts is None else np.asarray(prompts)[which]
    times = 1000 * pace * np.exp(own + draw.normal(0, 0.2, n))
    ok = draw.random(n) >= fail
    e2e = np.where(ok, times, np.inf)
    each = pace * np.exp(draw.normal(0, 0.2, n))  # how fast a request decodes as a whole
    return Attempts(
        workload=np.full(n, "short", dtype=object),
        prompt=np.array([None if prompts is None else f"p{at}" for at in which], dtype=object),
        times={"ttft_ms": e2e, "tpot_ms": e2e / 50, "e2e_ms": e2e},
        ok=ok,
        good=ok,
        tokens=np.where(ok, 50.0, 0.0),
        chars=np.where(ok, 200.0, 0.0),
        seconds=np.where(ok, times, 10.0) / 1000,
        gaps_ms=20 * np.repeat(each, gaps) * np.exp(draw.normal(0, 0.1, n * gaps)),
        owner=np.repeat(np.arange(n), gaps),
    )


def over_requests(baseline: Attempts, candidate: Attempts, key: str) -> bootstrap.Ends:
    """The interval over requests of one run a side."""
    one, two, _ = drawing.sides([baseline], [candidate])
    figure = FIGURES[key]
    before, after = (drawing.drawn(side, "all", figure, closed=True) for side in (one, two))
    assert before is not None
    assert after is not None
    found = bootstrap.ends(before, after, lower=figure.lower) or bootstrap.Ends(0.0, math.inf)
    measured = 1.0
    if key == "requests":  # drawn as a part of what was measured
        measured = (candidate.ok.sum() / candidate.seconds.sum()) / (baseline.ok.sum() / baseline.seconds.sum())
    return bootstrap.Ends(found.low * measured, found.high * measured)


def alarms(trials: int, noise: float, n: int = 200) -> float:
    """The share of A/A pairs of one run a side whose interval over requests excludes 1: what "not repeated" is for."""
    draw = np.random.default_rng(23)
    lengths = np.random.default_rng(5).normal(0, 0.3, 100).tolist()
    wrong = 0
    for _ in range(trials):
        one, two = (requests(draw, n, pace=math.exp(draw.normal(0, noise)), prompts=lengths) for _ in range(2))
        found = over_requests(one, two, "e2e_p95")
        wrong += found.low > 1 or found.high < 1
    return wrong / trials


def coverage(trials: int, key: str, *, prompts: bool, n: int = 200, fail: float = 0.0, gaps: int = 1) -> float:
    """The share of intervals over requests that hold the true gain (1.25 of times), without noise between runs."""
    truth = 1.0 if key == "success" else 1.25
    draw = np.random.default_rng(29)
    held = 0
    for _ in range(trials):
        lengths = draw.normal(0, 0.3, n).tolist() if prompts else None
        one, two = (requests(draw, n, pace=pace, prompts=lengths, fail=fail, gaps=gaps) for pace in (1.25, 1.0))
        found = over_requests(one, two, key)
        held += found.low <= truth <= found.high
    return held / trials
