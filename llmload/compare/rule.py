"""Three ratios and the rule: P95 speed-up, stability, resources; at least two above a limit and the third near 1."""

from dataclasses import dataclass
from typing import Literal

from llmload.compare.sides import Level


@dataclass(frozen=True, slots=True)
class Ratio:
    """One of the ratios; above 1 is better. None: cannot be told."""

    name: str
    gain: float | None
    low: float | None
    high: float | None
    raw: float | None
    """candidate / baseline."""
    words: str
    """What it is made of, and what to know about it."""


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
    word: Literal["acceptable", "not acceptable", "cannot be judged"]
    words: tuple[str, ...]
    """Why, one sentence each."""
