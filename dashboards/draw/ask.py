"""Prometheus' HTTP API: two questions."""

import json
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any


class Refused(Exception):
    """Prometheus did not answer the question, in one sentence."""


@dataclass(frozen=True, slots=True)
class Line:
    """One series: labels, times and values."""

    labels: dict[str, str]
    times: list[float]
    values: list[float]


class Prometheus:
    """One at a URL."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def over(self, query: str, start: float, end: float, step: float) -> list[Line]:
        """Points at every step from start to end."""
        return [
            line(item, item["values"])
            for item in self._ask("query_range", query=query, start=start, end=end, step=step)
        ]

    def at(self, query: str, time: float) -> list[Line]:
        """One point each."""
        return [line(item, [item["value"]]) for item in self._ask("query", query=query, time=time)]

    def _ask(self, path: str, **given: Any) -> list[dict[str, Any]]:
        data = urllib.parse.urlencode(given).encode()
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/{path}", data, timeout=30) as answer:  # noqa: S310
                return list(json.load(answer)["data"]["result"])
        except urllib.error.HTTPError as error:
            raise Refused(f"{given['query']}: {error.read().decode(errors='replace')}") from None
        except OSError as error:
            raise Refused(f"no Prometheus answers at {self.url}: {error}") from None


def line(item: dict[str, Any], points: list[Any]) -> Line:
    """As the API has it."""
    return Line(item["metric"], [float(t) for t, _ in points], [float(value) for _, value in points])
