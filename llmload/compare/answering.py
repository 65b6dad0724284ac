"""Are the answers still right: what `llmload.answers` found between the two sides, as a comparison holds it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Example:
    """One prompt with both answers and what was found between them."""

    prompt_id: str
    prompt: str | None
    baseline: str
    candidate: str
    found: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClassQuality:
    """Answers of one class. Shares from 0 to 1; None: nothing to tell it by."""

    workload: str
    n: int
    identical: float | None
    similarity: float | None
    """Mean similarity of those that are not identical."""
    correct: tuple[float | None, float | None]
    """Share of right answers of both sides, of those that can be checked …"""
    checked: int
    loss_points: float | None
    """… and how many points (parts of 100) the candidate lost, with its 95 % interval …"""
    loss_interval: tuple[float, float] | None
    limit_points: float
    """… and how many it may."""
    troubles: tuple[tuple[str, int, int], ...]
    """(what: numbers differ, cut, empty, garbled, loop, language; baseline's, candidate's)."""


@dataclass(frozen=True, slots=True)
class Answers:
    """All classes. `loss`: whether any class lost more than it may."""

    classes: tuple[ClassQuality, ...]
    examples: tuple[Example, ...]
    loss: bool
    words: tuple[str, ...]
    """Sentences."""
