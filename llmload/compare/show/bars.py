"""Pictures of gains with their intervals, of the rounds, and of decode speed by position. Draws on axes alone."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from llmload.compare import words
from llmload.compare.comparison import Compared
from llmload.compare.ratios.cells import Cell
from llmload.compare.show import numbers, points
from llmload.compare.show.curves import BEYOND, sides
from llmload.compare.show.inks import BAD, GOOD, NEITHER
from llmload.report import positions

EDGE = 64.0
"""Gains beyond this, or below its reciprocal, stand at the edge …"""
REACH = 1.6
"""… and so do ends of intervals that are this much further out than any gain."""
NARROW = (0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50)
WIDE = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)
"""Ticks of an axis of gains."""
INKS = {"faster": GOOD, "slower": BAD}


def forest(axes: Axes, compared: Compared, claimed: float | None = None) -> str | None:
    """All gains of the deciding level and class on one axis, with 1 as a line, and the gain that is claimed."""
    level, workload = compared.deciding.level, compared.deciding.workload
    found = [cell for cell in compared.cells if (cell.level, cell.workload) == (level, workload)]
    shown = [cell for cell in found if cell.gain is not None]
    if not shown:
        return None
    low, high = _reach(shown, claimed)
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    edge = [_gain(axes, place, cell, (low, high)) for place, cell in enumerate(reversed(shown))]
    for place, cell in enumerate(reversed(shown)):
        if cell.deciding and claimed is not None and 1 / EDGE <= claimed <= EDGE:
            axes.plot([claimed], [place], "D", color="#1c2330", markerfacecolor="white", markersize=8, zorder=3)
            axes.annotate(f"claimed: {claimed:g}{words.X}", (claimed, place), xytext=(0, 9), ha="center", fontsize=9,
                          textcoords="offset points")  # fmt: skip
    axes.axvline(1, color="#3b4454", linewidth=1)
    ticks = [tick for tick in (WIDE if high / low > 12 else NARROW) if low <= tick <= high]
    axes.set_xticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    labels = [cell.figure.words + (f" {numbers.DECIDES}" if cell.deciding else "") for cell in reversed(shown)]
    axes.set_yticks(range(len(shown)), labels, fontsize=9)
    axes.set_ylim(-0.7, len(shown) - 0.3)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("gain (logarithmic); right of 1 the candidate is better")
    beyond = " Arrows: beyond the axis." if any(edge) else ""
    return (
        f"At {level.words}, {numbers.of(workload)}; bars: 95 % intervals; ◆ decides. Green: better, red: worse.{beyond}"
    )


def _reach(shown: Sequence[Cell], claimed: float | None) -> tuple[float, float]:
    """Both ends of the axis: all gains, and the ends of intervals that are not far out."""
    inside = [cell.gain for cell in shown if cell.gain is not None and 1 / EDGE <= cell.gain <= EDGE]
    inside += [0.85, 1.2, *([claimed] if claimed is not None and 1 / EDGE <= claimed <= EDGE else [])]
    low, high = min(inside), max(inside)
    ends = [end for cell in shown for end in (cell.low, cell.high) if end is not None]
    near = [end for end in ends if low / REACH <= end <= high * REACH]
    return min([low, *near]) / 1.08, max([high, *near]) * 1.08


def _gain(axes: Axes, place: int, cell: Cell, ends: tuple[float, float]) -> bool:
    """One gain; whether it, or its interval, goes on beyond the axis."""
    gain, colour = cell.gain or 0.0, INKS.get(cell.word, NEITHER)
    inside = ends[0] <= gain <= ends[1]
    if inside:
        marker, size = ("D", 8.0) if cell.deciding else ("o", 5.5)
        axes.plot([gain], [place], marker, color=colour, markersize=size, zorder=3)
    low, high = (gain if end is None else end for end in (cell.low, cell.high))
    width = 3 if cell.deciding else 2
    spans = max(low, ends[0]), min(high, ends[1])
    if spans[0] < spans[1]:
        axes.plot(spans, [place, place], "-", color=colour, linewidth=width, alpha=0.75)
    beyond = low < ends[0], high > ends[1]
    for end, sign, over in zip(ends, "<>", beyond, strict=True):
        if over:
            axes.plot([end], [place], sign, color=colour, markersize=7, clip_on=False)
    return any(beyond)


def by_round(axes: Axes, compared: Compared) -> str | None:
    """The deciding figure of every round."""
    cell = compared.decided
    if cell is None or max(map(len, cell.values)) < 2:
        return None
    scale = 0.001 if cell.figure.unit == "ms" else 2.0**-30 if cell.figure.unit == "bytes" else 1.0
    unit = {"ms": "s", "bytes": "GiB"}.get(cell.figure.unit, cell.figure.unit)
    finite, beyond = False, False
    for place, ((side, colour, marker), values) in enumerate(zip(sides(compared), cell.values, strict=True)):
        known = [each * scale if math.isfinite(each) else np.nan for each in values]
        finite |= not all(np.isnan(known))
        x = [number + 1 + (2 * place - 1) * 0.04 for number in range(len(known))]
        axes.plot(x, known, ":", color=colour, marker=marker, markersize=7, label=side.name)
        for at, each in zip(x, values, strict=True):
            if math.isinf(each):
                beyond = True
                axes.plot([at], [0.985], "^", color=colour, markerfacecolor="white", clip_on=False,
                          transform=axes.get_xaxis_transform())  # fmt: skip
    if not finite:
        return None
    most = max(map(len, cell.values))
    axes.set_xticks(range(1, most + 1), [str(number) for number in range(1, most + 1)])
    axes.set_xlim(0.5, most + 0.5)
    axes.set_xlabel("round")
    axes.set_ylabel(f"{cell.figure.words}, {unit}")
    axes.set_ylim(0, axes.get_ylim()[1] * 1.25)
    axes.legend(ncols=2, loc="upper left")
    order = "Rounds were run one beside the other. " if compared.pair.interleaved else ""
    over = f" {BEYOND}" if beyond else ""
    return f"{order}How far rounds of one side lie apart is the noise that a difference must exceed.{over}"


def by_position(axes: Axes, compared: Compared) -> str | None:
    """Decode speed by position in the answer at the deciding level, both sides beside each other."""
    found = [(points.speeds(side, compared.deciding.level), side, colour) for side, colour, _ in sides(compared)]
    there = [
        place
        for place in range(len(positions.RANGES))
        if any(place < len(speeds) and speeds[place] for speeds, _, _ in found)
    ]
    if not there:
        return None
    for at, (speeds, side, colour) in enumerate(found):
        values = [speeds[place] if place < len(speeds) else [] for place in there]
        x = [number + (at - 0.5) * 0.36 for number in range(len(there))]
        heights = [float(np.mean(each)) if each else 0.0 for each in values]
        axes.bar(x, heights, 0.34, color=colour, label=side.name)
        for place, each, height in zip(x, values, heights, strict=True):
            if each:
                axes.errorbar([place], [height], yerr=[[height - min(each)], [max(each) - height]], fmt="none",
                              ecolor="#1c2330", elinewidth=1.2, capsize=3)  # fmt: skip
    axes.set_xticks(range(len(there)), [f"tokens {positions.label(*positions.RANGES[place])}" for place in there])
    axes.grid(visible=False, axis="x")
    axes.set_ylabel("tokens per second of one request")
    axes.set_ylim(0, axes.get_ylim()[1] * 1.25)
    axes.legend(ncols=2, loc="upper left")
    return f"At {compared.deciding.level.words}, all classes; whiskers: from the lowest round to the highest."
