"""What a side does for its price: what its rounds cost together, how much they served, and where the SLO held. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from llmload.compare.sides import Level, Pair, Side
from llmload.load.scenario import Cost
from llmload.report import cost
from llmload.report.cost import Spent
from llmload.report.rows import ALL, gpus_paid


@dataclass(frozen=True, slots=True)
class Offer:
    """What a side was seen to do for its price: windows, requests a second and share within the SLO, by level."""

    name: str
    price: Cost
    gpus: int | None
    spent: dict[Level, Spent | None]
    per_s: dict[Level, Decimal | None]
    good: dict[Level, float | None]

    @property
    def basis(self) -> str:
        """What is paid, in words."""
        return cost.basis(self.price, self.gpus) if cost.priced(self.price) else "no price"

    @property
    def best(self) -> Level | None:
        """The highest level within the SLO; the highest of all where there is no SLO; None where none is within it."""
        if all(share is None for share in self.good.values()):
            return max(self.good, key=lambda level: level.asked, default=None)
        within = [level for level, share in self.good.items() if share is not None and share >= cost.WITHIN_SLO]
        return max(within, key=lambda level: level.asked, default=None)

    @property
    def at_best(self) -> Spent | None:
        """What was paid at the best level, and for what."""
        return None if self.best is None else self.spent[self.best]

    @property
    def why(self) -> str:
        """Why there is no cost at its best level."""
        if not cost.priced(self.price):
            return "it has no price"
        if cost.of_gpus(self.price) and self.gpus is None:
            return "how many GPUs serve is not known (cost.gpus)"
        if self.best is None:
            return f"no step has at least {cost.WITHIN_SLO * 100:.0f} % of its attempts within the SLO"
        return "not everything to reckon by was measured"


def of(pair: Pair, side: Side, name: str) -> Offer:
    """Sums over the rounds of a side."""
    first = side.rounds[0].facts
    spent: dict[Level, Spent | None] = {}
    per_s: dict[Level, Decimal | None] = {}
    good: dict[Level, float | None] = {}
    for level in pair.levels:
        rows = [side.row(at, level, ALL) for at in range(len(side.rounds))]
        known = [row for row in rows if row is not None and row["window_s"]]
        spent[level] = cost.total(
            None if row is None else cost.spent(cost.prices(built.facts.scenario), gpus_paid(built.facts), row)
            for built, row in zip(side.rounds, rows, strict=True)
        )
        seconds = sum((cost.decimal(row["window_s"]) for row in known), Decimal(0))
        per_s[level] = Decimal(sum(row["ok"] for row in known)) / seconds if seconds else None
        good[level] = _good(known)
    return Offer(name, cost.prices(first.scenario), gpus_paid(first), spent, per_s, good)


def _good(rows: Sequence[dict[str, Any]]) -> float | None:
    """The share of the attempts of all rounds that met the SLO."""
    counted = sum(row["started"] - row["cancelled"] for row in rows)
    if not counted or any(row["goodput_share"] is None for row in rows):
        return None
    good = sum(row["goodput_share"] * (row["started"] - row["cancelled"]) for row in rows)
    return float(round(good / counted, 9))  # a count over a count: 0.99 is no 0.98999…
