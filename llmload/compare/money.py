"""What each side costs, and what the change brings: every amount with the assumption beside it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """One line: a name, an amount of each side in whole units of the currency (None: not known), the assumption."""

    name: str
    baseline: float | None
    candidate: float | None
    assumption: str


@dataclass(frozen=True, slots=True)
class Money:
    """What it costs."""

    currency: str
    lines: tuple[Line, ...]
    words: tuple[str, ...]
    """Sentences: saving or loss a month, pay-back time."""
