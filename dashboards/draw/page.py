"""A board as one picture: its panels are asked for and drawn at their places."""

import io
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from PIL import Image

from dashboards.draw.ask import Prometheus
from dashboards.draw.fill import filled, seconds, step
from dashboards.draw.panels import Filled, draw

COLUMNS = 24
WIDE_IN, HIGH_IN = 0.58, 0.36
"""Of one unit of Grafana's grid."""


class Page:
    """A board, a Prometheus and a time."""

    def __init__(
        self, board: dict[str, Any], prometheus: Prometheus, start: float, end: float, scrape_s: float
    ) -> None:
        self.board = board
        self.prometheus = prometheus
        self.start, self.end, self.scrape_s = start, end, scrape_s
        self.marks = self._marks()

    @property
    def panels(self) -> list[dict[str, Any]]:
        """All but the rows."""
        return [item for item in self.board["panels"] if item["type"] != "row"]

    def asked(self, panel: dict[str, Any]) -> Filled:
        """A panel with its answers."""
        least = seconds(panel["interval"]) if panel.get("interval") else self.scrape_s
        points = step(self.end - self.start, least)
        answers = []
        for target in panel["targets"]:
            query = self._filled(target["expr"], points)
            if target.get("instant"):
                lines = self.prometheus.at(query, self.end)
            else:
                first = self.start - self.start % points + points
                lines = self.prometheus.over(query, first, self.end, points)
            answers.append((target, lines))
        return Filled(panel, answers, self.start, self.end, self.marks)

    def picture(self, out: Path) -> list[str]:
        """Draw it; the titles of panels that had nothing to show."""
        high = max(item["gridPos"]["y"] + item["gridPos"]["h"] for item in self.board["panels"]) + 2
        figure = Figure(figsize=(COLUMNS * WIDE_IN, high * HIGH_IN), facecolor="white")
        figure.text(0.01, 1 - 0.8 / high, self.board["title"], fontsize=14, fontweight="bold", va="center")
        figure.text(0.99, 1 - 0.8 / high, "drawn by llmload's own renderer, not by Grafana", fontsize=8, va="center",
                    ha="right", color="gray")  # fmt: skip
        blank = []
        for item in self.board["panels"]:
            place = item["gridPos"]
            top = place["y"] + 2
            if item["type"] == "row":
                figure.text(
                    0.01, 1 - (top + 0.5) / high, f"▾ {item['title']}", fontsize=10, va="center", color="#444444"
                )
                continue
            below = 2.4 if item["type"] in {"timeseries", "state-timeline"} else 0.8
            left = place["x"] + (1.3 if item["type"] not in {"stat", "table"} else 0.3)
            if item["type"] == "state-timeline":
                left += 1.2
            ax = figure.add_axes((
                left / COLUMNS, 1 - (top + place["h"] - below) / high,
                (place["x"] + place["w"] - 0.3 - left) / COLUMNS, (place["h"] - below - 1.0) / high,
            ))  # fmt: skip
            it = self.asked(item)
            if it.empty:
                blank.append(item["title"])
            draw(ax, it)
        with io.BytesIO() as whole:
            figure.savefig(whole, dpi=90)
            Image.open(whole).convert("RGB").quantize(64).save(out, optimize=True)  # a third of the bytes
        return blank

    def _filled(self, expr: str, step_s: float) -> str:
        return filled(expr, step_s=step_s, range_s=self.end - self.start, scrape_s=self.scrape_s)

    def _marks(self) -> list[tuple[float, str]]:
        """Where steps began: values are times, in milliseconds."""
        found = []
        for mark in self.board["annotations"]["list"]:
            if mark.get("useValueForTime"):
                query = self._filled(mark["expr"], self.scrape_s)
                for line in self.prometheus.over(query, self.start, self.end, step(self.end - self.start, 1)):
                    found += [(value / 1000, line.labels.get("step", "")) for value in sorted(set(line.values))]
        return found
