"""The boards as they are provisioned, and their queries as Grafana would ask them.

Knows the form of a board's JSON, and no metric.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dashboards.draw import fill
from tests.dashboards.prometheus import Prometheus

FOLDER = Path(__file__).parents[2] / "dashboards" / "grafana" / "boards"


@dataclass(frozen=True, slots=True)
class Target:
    """A query of a panel, with what is needed to ask it and to believe its answer."""

    board: str
    panel: str
    number: int
    ref: str
    legend: str
    expr: str
    unit: str
    most: float | None
    """Where the panel's axis ends."""
    least_step_s: float
    instant: bool

    def __str__(self) -> str:
        return f"{self.board}-{self.number}{self.ref}"


@dataclass(frozen=True, slots=True)
class Time:
    """The chosen range, how often was scraped, and how wide a point would be on a screen."""

    begin: float
    end: float
    scrape_s: float
    step_s: float


def read(name: str) -> dict[str, Any]:
    """A board."""
    return json.loads((FOLDER / f"{name}.json").read_bytes())  # type: ignore[no-any-return]


def targets(name: str) -> list[Target]:
    """All queries of a board's panels."""
    found: list[Target] = []
    for panel in panels(read(name)):
        defaults = panel["fieldConfig"]["defaults"]
        by_column = {
            override["matcher"]["options"]: prop["value"]
            for override in panel["fieldConfig"]["overrides"]
            for prop in override["properties"]
            if prop["id"] == "unit"
        }
        found += [
            Target(
                board=name,
                panel=panel["title"],
                number=panel["id"],
                ref=target["refId"],
                legend=target["legendFormat"],
                expr=target["expr"],
                unit=by_column.get(target["legendFormat"], defaults.get("unit", "short")),
                most=defaults.get("max"),
                least_step_s=fill.seconds(panel.get("interval") or "0s"),
                instant=bool(target.get("instant")),
            )
            for target in panel["targets"]
        ]
    return found


def panels(board: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Those that ask something, in rows or out of them."""
    for panel in board["panels"]:
        if panel["type"] == "row":
            yield from panel.get("panels", ())
        else:
            yield panel


def filled(expr: str, time: Time, step_s: float) -> str:
    """A query with all that Grafana puts in, and everything for every variable."""
    return fill.filled(expr, step_s=step_s, range_s=time.end - time.begin, scrape_s=time.scrape_s)


def asked(prometheus: Prometheus, target: Target, time: Time) -> list[list[float]]:
    """The values of each series that a panel would draw; a point is at the end of the range in any case."""
    step_s = max(time.step_s, target.least_step_s)
    expr = filled(target.expr, time, step_s)
    if target.instant:
        return [[float(item["value"][1])] for item in prometheus.ask(expr, time.end)]
    begin = time.end - step_s * math.floor((time.end - time.begin) / step_s)
    return [[float(value) for _, value in item["values"]] for item in prometheus.over(expr, begin, time.end, step_s)]


def choices(prometheus: Prometheus, query: str, time: Time) -> list[str]:
    """What a variable offers: `label_values(series, label)`."""
    found = re.fullmatch(r"label_values\((.*), (\w+)\)", query)
    assert found, query
    asked = {"match[]": filled(found[1], time, time.step_s), "start": time.begin, "end": time.end}
    return list(prometheus.get(f"label/{found[2]}/values", **asked))
