"""The radar chart of the rule: three ratios, or six, on logarithmic spokes around the baseline at 1.

A ratio that is not known leaves its spoke empty, and no line crosses it.
"""

import math
from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes

from llmload.compare import words
from llmload.compare.rule.rule import SIX, Ratio, Rule
from llmload.compare.show.inks import BASELINE, CANDIDATE
from llmload.report.facts import Floats

Reach = Callable[[float], float]
"""How far out a gain stands, from 0 to 1."""
RINGS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)


def spokes(rule: Rule) -> tuple[Ratio, ...]:
    """The three; six where all of the others are known."""
    others = [ratio for ratio in rule.beside if ratio.name in SIX[3:]]
    six = len(others) == len(SIX[3:]) and all(ratio.gain is not None for ratio in others)
    return (*rule.ratios, *others) if six else rule.ratios


def paint(axes: Axes, rule: Rule) -> str | None:
    """Draw on polar axes; None where no ratio is known."""
    found = spokes(rule)
    known = [ratio.gain for ratio in found if ratio.gain is not None]
    if not known:
        return None
    ends = [end for ratio in found for end in (ratio.gain, ratio.low, ratio.high) if end and math.isfinite(end)]
    low = 0.25 if min(ends, default=1) < 0.5 else 0.5
    high = next((ring for ring in RINGS if ring >= 2 and ring >= max(ends, default=1)), RINGS[-1])
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(found)) / len(found)
    axes.set_ylim(0, 1)

    def reach(gain: float) -> float:
        return float(np.clip(math.log(gain / (low / 1.6)) / math.log(high / (low / 1.6)), 0, 1)) if gain > 0 else 0.0

    _rings(axes, reach, low, high)
    for angle in angles:
        axes.plot([angle, angle], [0, 1], color="#c9d0da", linewidth=0.8, zorder=1)
    around = np.linspace(0, 2 * np.pi, 181)
    axes.plot(around, np.full(181, reach(1)), color=BASELINE, linewidth=2, label="baseline: 1", zorder=2)
    radii = [None if ratio.gain is None else reach(ratio.gain) if math.isfinite(ratio.gain) else 1.0 for ratio in found]
    _polygon(axes, angles, radii)
    for angle, ratio, radius in zip(angles, found, radii, strict=True):
        _spoke(axes, float(angle), ratio, radius, reach)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines["polar"].set_visible(False)
    axes.legend(loc="upper left", bbox_to_anchor=(-0.32, 1.12))
    blank = " A spoke without a point: not known." if None in radii else ""
    return f"Further out is better, logarithmic; bars on the spokes: 95 % intervals.{blank}"


def _rings(axes: Axes, reach: Reach, low: float, high: float) -> None:
    around = np.linspace(0, 2 * np.pi, 181)
    for ring in RINGS:
        if low <= ring <= high:
            if ring != 1:
                axes.plot(around, np.full(181, reach(ring)), color="#dfe3ea", linewidth=0.9, zorder=1)
            axes.text(
                np.pi / 2 - 0.5, reach(ring), f"{ring:g}{words.X}", fontsize=8, color="#5b6575", ha="center",
                va="center", bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8}, zorder=4,
            )  # fmt: skip


def _polygon(axes: Axes, angles: Floats, radii: list[float | None]) -> None:
    """The candidate: a closed line where everything is known, else lines between known neighbours."""
    n = len(radii)
    if None not in radii:
        axes.fill(angles, radii, color=CANDIDATE, alpha=0.14, zorder=2)
    for at in range(n):
        one, other = radii[at], radii[(at + 1) % n]
        if one is not None and other is not None:
            axes.plot([angles[at], angles[(at + 1) % n]], [one, other], color=CANDIDATE, linewidth=2, zorder=3)


def _spoke(axes: Axes, angle: float, ratio: Ratio, radius: float | None, reach: Reach) -> None:
    """The point, its interval, and the name outside."""
    if radius is not None:
        axes.plot([angle], [radius], "s", color=CANDIDATE, markersize=6, zorder=5)
        if ratio.low is not None and ratio.high is not None:
            top = reach(ratio.high) if math.isfinite(ratio.high) else 1.0
            axes.plot([angle, angle], [reach(ratio.low), top], color=CANDIDATE, linewidth=4, alpha=0.45, zorder=3)
    across, up = math.cos(angle), math.sin(angle)
    side = "left" if across > 0.2 else "right" if across < -0.2 else "center"
    told = "not known" if ratio.gain is None else words.times(ratio.gain)
    level = "bottom" if up > 0.5 else "top" if up < -0.5 else "center"
    axes.text(angle, 1.06, f"{ratio.name}\n{told}", ha=side, va=level, fontsize=9.5, linespacing=1.25, zorder=6)
