"""Whether two sides may be compared: every difference between them, and who declared it."""

from dataclasses import dataclass
from typing import Literal

Standing = Literal["variable under test", "accepted", "undeclared", "note"]
"""`note`: a difference that spoils nothing, or something that is unknown on one side."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One way in which the sides differ. `name` is what --changed and --accept call it."""

    name: str
    baseline: str
    candidate: str
    standing: Standing
    words: str
    """One sentence."""
