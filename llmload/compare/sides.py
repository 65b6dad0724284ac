"""The sides of a comparison: runs, read, grouped into rounds of one side and one scenario. Computes no figure."""

from dataclasses import dataclass
from typing import Any

from llmload.report.building import Built


@dataclass(frozen=True, slots=True)
class Level:
    """What a step asks for; one of the two is None."""

    concurrency: int | None
    rate: float | None

    @property
    def label(self) -> str:
        """`32`, or `2.5/s`."""
        return str(self.concurrency) if self.concurrency is not None else f"{self.rate:g}/s"

    @property
    def words(self) -> str:
        """`32 in flight`, or `2.5 requests/s`."""
        return f"{self.concurrency} in flight" if self.concurrency is not None else f"{self.rate:g} requests/s"

    @property
    def asked(self) -> float:
        """As a number, to sort by."""
        return float(self.concurrency if self.concurrency is not None else self.rate or 0.0)


@dataclass(frozen=True, slots=True)
class Side:
    """All rounds of one side with one scenario, in the order of their begin."""

    name: str
    """`baseline`, `candidate`, or as it was named on the command line."""
    rounds: tuple[Built, ...]

    def row(self, at: int, level: Level, workload: str) -> dict[str, Any] | None:
        """The row of summary.json of a round (0-based), level and class; None where there is none."""
        wanted = (level.concurrency, level.rate, workload)
        rows: list[dict[str, Any]] = self.rounds[at].summary["rows"]
        return next((row for row in rows if (row["concurrency"], row["rate"], row["workload"]) == wanted), None)


@dataclass(frozen=True, slots=True)
class Pair:
    """A baseline and a candidate with the same scenario."""

    scenario: str
    baseline: Side
    candidate: Side
    levels: tuple[Level, ...]
    """Those that every round of both has, ascending …"""
    left_out: tuple[Level, ...]
    """… and those that some have."""
    workloads: tuple[str, ...]
    """Classes that both have, and `all` last."""
    interleaved: bool
    """Whether the k-th rounds of both were run one beside the other (A B B A …), so that they may be paired."""
