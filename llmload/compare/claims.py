"""A claim: who says what, of which figure, by which factor, under which conditions. From claim.toml or a phrase."""

from dataclasses import dataclass, field

from llmload.compare.figures import Figure


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that can fail."""

    text: str
    """As written: `14x e2e_p95`, or the sentence of the file."""
    figure: Figure
    factor: float
    """The gain that is claimed: 14 for 14 times faster; 1.5 for 50 % faster."""
    concurrency: float | None = None
    """Where it is said to hold; None: not said."""
    workload: str | None = None
    who: str | None = None
    when: str | None = None
    where: str | None = None
    stated: dict[str, str] = field(default_factory=dict)
    """Conditions that were stated, by their name in `conditions.CONDITIONS`."""
