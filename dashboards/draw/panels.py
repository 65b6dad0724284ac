"""One panel each: what came is drawn as its type says. A panel of a type that is not known is a fault, not a blank."""

import itertools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.patches import Patch

from dashboards.draw.ask import Line
from dashboards.draw.units import told

COLORS = {"green": "#56a64b", "orange": "#ff9830", "red": "#e02f44", "blue": "#3274d9", "semi-dark-blue": "#8ab8ff"}
CYCLE = ("#56a64b", "#f2cc0c", "#3274d9", "#ff780a", "#a352cc", "#e02f44", "#37872d", "#8f3bb8", "#5195ce", "#806eb7")
SHOWN = 5
"""Lines of a legend at the most."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A panel's JSON, with what came for each of its targets."""

    panel: dict[str, Any]
    answers: list[tuple[dict[str, Any], list[Line]]]
    start: float
    end: float
    marks: list[tuple[float, str]] = field(default_factory=list)

    @property
    def lines(self) -> list[tuple[str, Line]]:
        """Every series by its name."""
        return [(legend(target, line), line) for target, lines in self.answers for line in lines]

    @property
    def empty(self) -> bool:
        """Whether no target brought a number."""
        return not any(not math.isnan(value) for _, line in self.lines for value in line.values)

    @property
    def defaults(self) -> dict[str, Any]:
        """The defaults of its fields."""
        return dict(self.panel["fieldConfig"]["defaults"])

    @property
    def unit(self) -> str:
        """Of its values."""
        return str(self.defaults.get("unit", "short"))

    def override(self, name: str, key: str, default: Any = None) -> Any:
        """A property that one column or line has for itself."""
        for item in self.panel["fieldConfig"]["overrides"]:
            if item["matcher"] == {"id": "byName", "options": name}:
                for given in item["properties"]:
                    if given["id"] == key:
                        return given["value"]
        return default


def legend(target: dict[str, Any], line: Line) -> str:
    """`{{label}}` filled in."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: line.labels.get(found[1], ""), target["legendFormat"])


def color_at(value: float, thresholds: dict[str, Any]) -> str:
    """The colour of a value."""
    color = "green"
    for item in thresholds["steps"]:
        if item["value"] is None or value >= item["value"]:
            color = item["color"]
    return COLORS[color]


def timeseries(ax: Axes, it: Filled) -> None:
    """Lines, areas or bars over time; a legend with the last value, the mean and the highest."""
    custom = it.defaults.get("custom", {})
    stacked = custom.get("stacking", {}).get("mode") == "normal"
    grid = np.linspace(it.start, it.end, 200)
    under = np.zeros_like(grid)
    rows = []
    for (name, line), cycled in zip(it.lines, CYCLE * 9, strict=False):
        times, values = np.array(line.times), np.array(line.values)
        fixed = it.override(name, "color")
        color = COLORS[fixed["fixedColor"]] if fixed else cycled
        if custom.get("drawStyle") == "bars":
            ax.bar(times, values, width=(it.end - it.start) / 12, color=color, alpha=0.7)
        elif stacked:
            last = np.searchsorted(times, grid, side="right") - 1
            known = (last >= 0) & (grid - times[last] <= np.diff(times, append=np.inf).min())
            on = np.where(known, np.nan_to_num(values)[last], 0.0)
            ax.fill_between(grid, under, under + on, color=color, alpha=0.5, linewidth=0.8)
            under = under + on
        else:
            style = "--" if it.override(name, "custom.lineStyle") else "-"
            mark = "o" if len(times) < 3 else ""
            ax.plot(*gaps(times, values), color=color, linestyle=style, linewidth=1.3, marker=mark, markersize=2)
        good = values[~np.isnan(values)]
        if len(good):
            rows.append((name, color, *(told(float(x), it.unit) for x in (good[-1], good.mean(), good.max()))))
    limits(ax, it)
    bounds(ax, it)
    clock(ax, it)
    below(ax, rows)


def limits(ax: Axes, it: Filled) -> None:
    """Thresholds that lie near the values, dashed."""
    if it.defaults.get("custom", {}).get("thresholdsStyle", {}).get("mode") == "dashed":
        low, high = ax.get_ylim()
        for item in it.defaults["thresholds"]["steps"]:
            if item["value"] is not None and low - (high - low) < item["value"] <= high * 1.5:
                ax.axhline(item["value"], color=COLORS[item["color"]], linestyle="--", linewidth=0.8, alpha=0.8)


def inches(ax: Axes) -> float:
    """How wide it is."""
    return float(ax.get_window_extent().width / ax.figure.dpi)


def below(ax: Axes, rows: list[Any]) -> None:
    """The legend, as a table."""
    wide = max(6, int(inches(ax) * 72 / 3.95) - 31)
    table = [f"{'':<{wide}} {'last':>9} {'mean':>9} {'max':>9}"]
    table += [f"{name[:wide]:<{wide}} {last:>9} {mean:>9} {most:>9}" for name, _, last, mean, most in rows[:SHOWN]]
    if len(rows) > SHOWN:
        table.append(f"and {len(rows) - SHOWN} more")
    words: dict[str, Any] = {
        "va": "top",
        "fontsize": 6.2,
        "family": "monospace",
        "linespacing": 1.15,
        "annotation_clip": False,
    }
    ax.annotate("\n".join(table), (0, 0), (0, -16), "axes fraction", "offset points", **words)
    for index, row in enumerate(rows[:SHOWN]):
        ax.annotate(
            "\n" * (index + 1) + "━", (0, 0), (-8, -16), "axes fraction", "offset points", color=row[1], **words
        )


def gaps(times: Any, values: Any) -> tuple[Any, Any]:
    """A hole where points are missing."""
    if len(times) < 3:
        return times, values
    distance = np.diff(times)
    holes = np.flatnonzero(distance > 1.5 * distance.min()) + 1
    return np.insert(times, holes, times[holes - 1]), np.insert(values.astype(float), holes, np.nan)


def bounds(ax: Axes, it: Filled) -> None:
    """From the lowest to the highest value, or as the panel says."""
    low, high = ax.get_ylim()
    ax.set_ylim(it.defaults.get("min", low), it.defaults.get("max", high if high > low else low + 1))
    ax.yaxis.set_major_formatter(lambda value, _: told(float(value), it.unit))


def clock(ax: Axes, it: Filled) -> None:
    """Time below, steps as lines."""
    ax.set_xlim(it.start, it.end)
    for at, _ in it.marks:
        if it.start <= at <= it.end:
            ax.axvline(at, color=COLORS["blue"], linewidth=0.7, linestyle=":")
    ticks = np.linspace(it.start, it.end, 6 if inches(ax) > 2 else 4)[:-1]
    ax.set_xticks(ticks)
    shape = "%H:%M" if it.end - it.start > 1200 else "%H:%M:%S"
    ax.set_xticklabels([datetime.fromtimestamp(float(tick), UTC).strftime(shape) for tick in ticks])
    ax.grid(visible=True, linewidth=0.3)


def stat(ax: Axes, it: Filled) -> None:
    """The last number, in the colour of its threshold, its course behind it."""
    _, line = it.lines[0]
    values = np.array(line.values)
    good = values[~np.isnan(values)]
    color = color_at(float(good[-1]), it.defaults["thresholds"])
    ax.axis("off")
    if len(values) > 1:
        low = min(0.0, float(good.min()))
        ax.fill_between(line.times, low, values, color=color, alpha=0.15)
        ax.set_ylim(low, max(float(good.max()) * 2, low + 1e-9))
        ax.set_xlim(it.start, it.end)
    ax.text(0.5, 0.5, told(float(good[-1]), it.unit), transform=ax.transAxes, ha="center", va="center", fontsize=17,
            color=color, fontweight="bold")  # fmt: skip


def heatmap(ax: Axes, it: Filled) -> None:
    """Counts by bucket: each series less the one below."""
    cumulated = sorted(((float(line.labels["le"]), line) for _, line in it.lines), key=lambda pair: pair[0])
    times = sorted({t for _, line in cumulated for t in line.times})
    place = {t: index for index, t in enumerate(times)}
    table = np.zeros((len(cumulated), len(times)))
    for row, (_, line) in enumerate(cumulated):
        for t, value in zip(line.times, line.values, strict=True):
            table[row, place[t]] = value
    counts = np.diff(table, axis=0, prepend=0).clip(0)
    used = np.flatnonzero(counts.sum(axis=1) > 0)
    first, last = (int(used[0]), int(used[-1])) if len(used) else (0, 0)
    counts = counts[first : last + 1]
    step = times[1] - times[0] if len(times) > 1 else 1
    shown = np.where(counts > 0, counts, np.nan)
    ax.pcolormesh(
        [*(t - step for t in times), times[-1]], np.arange(len(counts) + 1), shown, cmap="Oranges",
        norm=PowerNorm(0.5, vmin=0, vmax=max(counts.max(), 1e-9)),
    )  # fmt: skip
    ticks = list(range(0, len(counts), max(1, len(counts) // 8)))
    ax.set_yticks([tick + 1 for tick in ticks])
    ax.set_yticklabels([told(cumulated[first + tick][0], "s") for tick in ticks])
    clock(ax, it)


def statetimeline(ax: Axes, it: Filled) -> None:
    """A bar a series."""
    names = it.defaults["mappings"][0]["options"]
    for row, (_, line) in enumerate(it.lines):
        ends = [*line.times[1:], min(it.end, 2 * line.times[-1] - line.times[max(0, len(line.times) - 2)])]
        spans = zip(line.times, ends, line.values, strict=True)
        for value, group in itertools.groupby(spans, key=lambda span: span[2]):
            color = COLORS[names[f"{value:g}"]["color"]]
            ax.broken_barh([(t, end - t) for t, end, _ in group], (row - 0.4, 0.8), color=color, linewidth=0)
    ax.set_yticks(range(len(it.lines)))
    ax.set_yticklabels([name for name, _ in it.lines])
    ax.set_ylim(len(it.lines) - 0.4, -0.6)
    clock(ax, it)
    told_once = {item["text"]: COLORS[item["color"]] for item in names.values()}
    patches = [Patch(color=color, label=text) for text, color in told_once.items()]
    ax.legend(handles=patches, loc="upper left", bbox_to_anchor=(0, -0.12), ncols=3, fontsize=6.5, frameon=False)


def table(ax: Axes, it: Filled) -> None:
    """Rows by time where series are joined by it, else a row a series with its labels."""
    ax.axis("off")
    joined = any(item["id"] == "joinByField" for item in it.panel["transformations"])
    head, rows = by_time(it) if joined else by_labels(it)
    room = max(8, int(inches(ax) * 72 / 4.2 / len(head)) + 4)
    shortened = [[text if len(text) <= room else f"{text[: room - 1]}…" for text, _ in row] for row in rows]
    made = ax.table(cellText=shortened, colLabels=head, loc="upper left", cellLoc="left")
    made.auto_set_font_size(False)
    made.set_fontsize(6.5)
    made.auto_set_column_width(list(range(len(head))))
    for index, row in enumerate(rows):
        for column, (_, color) in enumerate(row):
            made[index + 1, column].get_text().set_color(color)
    for cell in made.get_celld().values():
        cell.set_linewidth(0.2)


Cell = tuple[str, str]


def by_time(it: Filled) -> tuple[list[str], list[list[Cell]]]:
    """A column a series."""
    times = sorted({t for _, line in it.lines for t in line.times})
    rows: list[list[Cell]] = [[(datetime.fromtimestamp(t, UTC).strftime("%m-%d %H:%M"), "black")] for t in times]
    for name, line in it.lines:
        known = dict(zip(line.times, line.values, strict=True))
        thresholds = it.override(name, "thresholds")
        for t, row in zip(times, rows, strict=True):
            value = known.get(t, math.nan)
            plain = thresholds is None or math.isnan(value)
            row.append(
                (told(value, it.override(name, "unit", it.unit)), "black" if plain else color_at(value, thresholds))
            )
    return ["Time", *(name for name, _ in it.lines)], rows


def by_labels(it: Filled) -> tuple[list[str], list[list[Cell]]]:
    """A column a label."""
    head = sorted({key for _, line in it.lines for key in line.labels})
    return head, [[(line.labels.get(key, ""), "black") for key in head] for _, line in it.lines]


KINDS: dict[str, Callable[[Axes, Filled], None]] = {
    "timeseries": timeseries, "stat": stat, "heatmap": heatmap, "state-timeline": statetimeline, "table": table,
}  # fmt: skip


def draw(ax: Axes, it: Filled) -> None:
    """Title, and what came; or what the panel says where nothing did."""
    ax.set_title("")
    ax.annotate(it.panel["title"], (0, 1), (-4, 4), "axes fraction", "offset points", fontsize=8, fontweight="bold",
                annotation_clip=False)  # fmt: skip
    ax.tick_params(labelsize=6.5, length=2)
    for side in ax.spines.values():
        side.set_linewidth(0.4)
    if it.empty:
        ax.set_xticks([])
        ax.set_yticks([])
        ax.text(0.5, 0.5, str(it.defaults.get("noValue", "no data")), transform=ax.transAxes, ha="center", color="gray")
        return
    KINDS[it.panel["type"]](ax, it)


mpl.use("Agg")
