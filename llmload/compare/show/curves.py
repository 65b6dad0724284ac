"""Pictures of both sides against the load: percentiles, throughput against latency, memory and power of GPUs.

One point is the geometric mean of a side's rounds. Draws on axes alone.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import Locator, LogLocator, MaxNLocator, NullLocator

from llmload.compare.comparison import Compared
from llmload.compare.figures import FIGURES, Figure
from llmload.compare.show import numbers, points
from llmload.compare.show.inks import SIDES
from llmload.compare.sides import Level, Side
from llmload.compare.words import INFINITE
from llmload.report.rows import ALL

Draw = Callable[[Axes, Compared], str | None]
"""Draws on axes and returns the sentence under the title; None if there is nothing to draw."""

POWER = Figure("power", "GPU", "power", ("gpu", "power_mean_watts"), lower=True, unit="W")
BEYOND = f"△ at the top: {INFINITE}, failures reach the percentile."
"""Said under a picture that has such a mark."""
NAME = 24
"""Characters of a side's name in a legend."""
SHORTEST = 2.0
"""The end of an axis of times is at least so many times its begin."""
SHIFT = 0.015
"""Points of both sides stand so far left and right of their level, as a share of the axis: whiskers do not meet."""


def sides(compared: Compared) -> tuple[tuple[Side, str, str], ...]:
    """Both sides with their colours and markers, their names no longer than a legend has room for."""
    both = (compared.pair.baseline, compared.pair.candidate)
    return tuple((replace(side, name=_name(side.name)), *ink) for side, ink in zip(both, SIDES, strict=True))


def _name(name: str) -> str:
    return name if len(name) <= NAME else f"{name[: NAME - 1]}…"


class Round(Locator):
    """Ticks of a logarithmic axis that a person would choose: powers of ten with 2 and 5; under a decade even steps."""

    def __call__(self) -> Sequence[float]:
        """Of the axis as it is seen."""
        return self.tick_values(*sorted(self.axis.get_view_interval()))  # type: ignore[union-attr]

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """At least two between these ends, whatever they are."""
        locator = LogLocator(subs=(1.0, 2.0, 5.0)) if vmax > 10 * vmin > 0 else MaxNLocator(5)
        return [float(tick) for tick in locator.tick_values(vmin, vmax) if vmin <= tick <= vmax]


def plain(axis: Axis) -> None:
    """Ticks of a logarithmic axis as plain numbers."""
    axis.set_major_locator(Round())
    axis.set_major_formatter(lambda value, _: f"{value:,g}" if value < 1e6 else f"{value:g}")
    axis.set_minor_locator(NullLocator())


def _levels(axes: Axes, levels: Sequence[Level]) -> None:
    """The x axis: what the levels ask for, doubling with equal distance."""
    asked = [level.asked for level in levels]
    if min(asked) > 0 and max(asked) > 2 * min(asked):
        axes.set_xscale("log", base=2)
    axes.set_xticks(asked, labels=[f"{each:g}" for each in asked], minor=False)
    axes.set_xticks([], minor=True)
    rates = any(level.rate is not None for level in levels)
    axes.set_xlabel("requests per second asked for" if rates else "requests in flight")


def _shifted(asked: float, place: int, levels: Sequence[Level]) -> float:
    """Where a side's point stands beside its level."""
    low, high = levels[0].asked, levels[-1].asked
    share = SHIFT * (2 * place - 1)
    if low > 0 and high > 2 * low:
        return asked * math.exp(share * math.log(high / low))
    return asked + share * (high - low)


def percentiles(key: str, unit: str, scale: float) -> Draw:
    """p50 and p95 over all attempts, of the deciding class, with whiskers; triangles where they are infinite."""

    def paint(axes: Axes, compared: Compared) -> str | None:
        levels, workload = compared.pair.levels, compared.deciding.workload
        drawn, beyond = False, False
        for place, (side, colour, marker) in enumerate(sides(compared)):
            for rank, (percent, line) in enumerate((("p50", "--"), ("p95", "-"))):
                figure = FIGURES[f"{key}_{percent}"]
                found = [points.middle(points.rounds(side, level, workload, figure)) for level in levels]
                known = [np.nan if each is None or math.isinf(each) else each * scale for each in found]
                at = [_shifted(level.asked, place, levels) for level in levels]
                for x, each in zip(at, found, strict=True):
                    if each is not None and math.isinf(each):
                        beyond = True
                        axes.plot([x], [0.985 - 0.05 * rank], "^", color=colour, markerfacecolor="white",
                                  transform=axes.get_xaxis_transform(), clip_on=False)  # fmt: skip
                if all(np.isnan(known)):
                    continue
                drawn = True
                face = colour if percent == "p95" else "white"
                axes.plot(at, known, line, color=colour, marker=marker, markerfacecolor=face,
                          label=f"{side.name}, {percent}")  # fmt: skip
                for x, level, each in zip(at, levels, known, strict=True):
                    span = None if np.isnan(each) else points.whiskers(side, level, workload, figure)
                    if span is not None:
                        _whisker(axes, x, (span[0] * scale, span[1] * scale), each, colour)
        if not drawn:  # triangles alone have no scale to stand on
            return None
        _levels(axes, levels)
        axes.set_yscale("log")
        plain(axes.yaxis)
        axes.set_ylabel(f"{unit} (logarithmic)")
        _room(axes)
        axes.legend(ncols=2, loc="upper left")
        words = f"{numbers.of(workload).capitalize()}, all attempts. {_sure(compared)}"
        return words + (f" {BEYOND}" if beyond else "")

    return paint


def _sure(compared: Compared) -> str:
    """What whiskers are."""
    counts = {len(side.rounds) for side, _, _ in sides(compared)}
    if counts == {1}:
        return "Whiskers: 95 % interval over requests; the runs were not repeated."
    one = " (of a side with one round: the 95 % interval over requests)" if 1 in counts else ""
    return f"Points: geometric means of the rounds; whiskers: from the lowest round to the highest{one}."


def _whisker(axes: Axes, x: float, span: tuple[float, float], middle: float, colour: str) -> None:
    """An interval; one that goes on for ever is an arrow upwards."""
    if math.isinf(span[1]):
        axes.errorbar([x], [middle], yerr=[[middle - min(span[0], middle)], [middle * 0.6]], lolims=[True], fmt="none",
                      ecolor=colour, elinewidth=1.3, capsize=3)  # fmt: skip
        return
    low, high = min(span[0], middle), max(span[1], middle)
    axes.errorbar([x], [middle], yerr=[[middle - low], [high - middle]], fmt="none", ecolor=colour, elinewidth=1.3,
                  capsize=3)  # fmt: skip


def _room(axes: Axes) -> None:
    """Room for the legend above a logarithmic axis, which is never so short that 1 % of noise looks like a slope."""
    low, high = axes.get_ylim()
    apart = max(1.0, SHORTEST * low / high) ** 0.5
    low, high = low / apart, high * apart
    room = (high / low) ** 0.28
    axes.set_ylim(low / room**0.2, high * room)


def trade(axes: Axes, compared: Compared) -> str | None:
    """Throughput against E2E p95, a point per level."""
    workload = compared.deciding.workload
    drawn = False
    beyond = []
    for place, (side, colour, marker) in enumerate(sides(compared)):
        found = []
        for level in compared.pair.levels:
            x = points.middle(points.rounds(side, level, workload, FIGURES["tokens"]))
            y = points.middle(points.rounds(side, level, workload, FIGURES["e2e_p95"]))
            if y is not None and math.isinf(y):
                beyond.append(f"{side.name} at {level.words}")
            elif x is not None and y is not None:
                found.append((x, y / 1000, level))
        if not found:
            continue
        drawn = True
        axes.plot([x for x, _, _ in found], [y for _, y, _ in found], "-", color=colour, marker=marker,
                  label=side.name)  # fmt: skip
        for x, y, level in found:
            axes.annotate(
                level.label, (x, y), textcoords="offset points", xytext=(6, -12) if place else (-4, 7), fontsize=9,
                color=colour, ha="left" if place else "right",
            )  # fmt: skip
    if not drawn:
        return None
    axes.set_yscale("log")
    plain(axes.yaxis)
    _room(axes)
    axes.set_xlim(left=0)
    axes.set_xlabel("output tokens per second, all users")
    axes.set_ylabel("E2E p95, s (logarithmic)")
    axes.legend(loc="upper left", ncols=2)
    kind = "requests per second asked for" if compared.deciding.level.rate is not None else "requests in flight"
    left = f" Not drawn, because {INFINITE}: {', '.join(beyond)}." if beyond else ""
    return f"{numbers.of(workload).capitalize()}; numbers: {kind}. Down and right is better.{left}"


def of_gpus(figure: Figure, unit: str, scale: float) -> Draw:
    """A figure of the GPUs against the load, from 0."""

    def paint(axes: Axes, compared: Compared) -> str | None:
        levels, drawn = compared.pair.levels, False
        for place, (side, colour, marker) in enumerate(sides(compared)):
            found = [points.rounds(side, level, ALL, figure) for level in levels]
            middles = [points.middle(values) for values in found]
            known = [np.nan if each is None else each * scale for each in middles]
            if all(np.isnan(known)):
                continue
            drawn = True
            at = [_shifted(level.asked, place, levels) for level in levels]
            axes.plot(at, known, "-", color=colour, marker=marker, label=side.name)
            for x, values, each in zip(at, found, known, strict=True):
                if len(values) > 1:
                    _whisker(axes, x, (min(values) * scale, max(values) * scale), each, colour)
        if not drawn:
            return None
        _levels(axes, levels)
        axes.set_ylim(0, axes.get_ylim()[1] * 1.25)
        axes.set_ylabel(unit)
        axes.legend(ncols=2, loc="upper left")
        return "All GPUs together, in the windows; whiskers: from the lowest round to the highest."

    return paint


MEMORY = of_gpus(FIGURES["memory"], "GPU memory in use at most, GiB", 2.0**-30)
WATTS = of_gpus(POWER, "power, W (mean)", 1.0)
