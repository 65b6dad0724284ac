"""Several steps of change: what each change brings alone and together. Geometric: gains multiply."""

from dataclasses import dataclass

from llmload.compare.figures import Figure
from llmload.compare.sides import Level


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one set of changes brings against the baseline, or one change on top of others."""

    changes: tuple[str, ...]
    on_top_of: tuple[str, ...]
    gain: float | None
    low: float | None
    high: float | None
    words: str


@dataclass(frozen=True, slots=True)
class Changes:
    """All steps of change of one scenario, of the deciding figure."""

    figure: Figure
    level: Level
    workload: str
    contributions: tuple[Contribution, ...]
    combined: tuple[str, ...]
    """Sentences on what changes together bring of what each alone would promise."""
    warnings: tuple[str, ...]
