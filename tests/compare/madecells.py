"""Cells, pairs and comparisons made by hand for the tests: only what matters to one is named. Not a test itself."""

from collections.abc import Sequence
from typing import Any

from llmload.compare.comparison import Compared
from llmload.compare.figures import FIGURES
from llmload.compare.ratios.cells import Cell, Deciding, Word
from llmload.compare.sides import Level, Pair, Side
from llmload.compare.verdict.verdict import Verdict


def level(concurrency: int) -> Level:
    """So many in flight."""
    return Level(concurrency, None)


def word_of(low: float | None, high: float | None) -> Word:
    """What an interval shows."""
    if low is None or high is None:
        return "cannot be judged"
    return "faster" if low > 1 else "slower" if high < 1 else "no difference shown"


def cell(
    key: str,
    gain: float | None,
    low: float | None = None,
    high: float | None = None,
    *,
    at: int = 32,
    workload: str = "all",
    n: int = 3,
    **more: Any,
) -> Cell:
    """A cell of `n` rounds a side; without an interval it has one of 2 % around the gain."""
    if gain is not None and low is None and 0 < gain < float("inf"):
        low, high = gain * 0.98, gain * 1.02
    facts: dict[str, Any] = {
        "level": level(at), "workload": workload, "figure": FIGURES[key], "baseline": 100.0,
        "candidate": None if not gain else 100.0 / gain, "gain": gain, "low": low, "high": high,
        "raw": 1 / gain if gain else None, "how": "rounds" if n >= 3 else "requests", "rounds": (n, n),
        "requests": (300, 300), "p": 0.01, "word": word_of(low, high) if n >= 3 else "not repeated",
    }  # fmt: skip
    return Cell(**(facts | more))


def deciding(key: str = "e2e_p95", at: int = 32, workload: str = "all") -> Deciding:
    """The cell that decides."""
    return Deciding(FIGURES[key], level(at), workload)


def pair(levels: Sequence[int] = (1, 8, 32), workloads: Sequence[str] = ("short", "long", "all"), **more: Any) -> Pair:
    """Two sides without a run."""
    facts: dict[str, Any] = {
        "scenario": "mixed", "baseline": Side("baseline", ()), "candidate": Side("candidate", ()),
        "levels": tuple(level(n) for n in levels), "left_out": (), "workloads": tuple(workloads), "interleaved": True,
    }  # fmt: skip
    return Pair(**(facts | more))


def compared(verdict: Verdict, cells: Sequence[Cell], **more: Any) -> Compared:
    """A comparison of which nothing but its verdict and cells is known."""
    facts: dict[str, Any] = {
        "pair": pair(), "deciding": deciding(), "verdict": verdict, "differences": (), "conditions": (),
        "cells": tuple(cells), "rule": None, "kinds": (), "answers": None, "money": None, "capabilities": (),
        "questions": (), "gates": (), "warnings": (),
    }  # fmt: skip
    return Compared(**(facts | more))
