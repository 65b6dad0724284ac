"""The seven conditions of a claim: as it was stated, and as these runs had them."""

from dataclasses import dataclass
from typing import Literal

CONDITIONS = ("model", "input", "output limit", "hardware", "software", "concurrency", "metric")
"""In claim.toml with `_` for the space."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One of the seven."""

    name: str
    stated: str | None
    """As the claimant stated it; None: left unstated, or there is no claim."""
    baseline: str | None
    """As the runs had it; None: unknown."""
    candidate: str | None
    standing: Literal["as stated", "differs", "unstated", "unknown", "cannot be told"]
    """`cannot be told`: stated in words that nobody can hold against the runs mechanically."""
    words: str = ""
