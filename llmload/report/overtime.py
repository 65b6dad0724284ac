"""The picture of a run over time: first tokens above, below them what GPUs and server did, on one axis.

Each part is drawn where something of it was sampled. Draws on figure objects alone; knows facts, and no file.
"""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from llmload.record.samples import SPOIL
from llmload.report.facts import Facts, Floats
from llmload.report.inks import COLOURS, INK, MANY
from llmload.report.telemetry.series import FAR, Series, usual_s

TITLE = "GPUs, server and first tokens over time"
BINS = 120
"""Parts of the time for which a percentile of first tokens is drawn."""
APART = 5
"""Parts without a first token over which no line is drawn."""
POINTS = 600
"""Points of a line at most; of longer ones each is a mean."""
HELD = 0.1
"""Share of the time between two samples in which a clock must have been held down to be drawn."""
REASONS = {
    "sw_power_cap": ("power cap", "#E69F00"),
    "sync_boost": ("sync boost", "#56B4E9"),
    "sw_thermal": ("heat (software)", "#D55E00"),
    "hw_thermal": ("heat (hardware)", "#8B1A1A"),
    "hw_power_brake": ("power brake", "#000000"),
}
"""How reasons of clock events are called and coloured …"""
SPOILING = {REASONS[reason][0] for reason in SPOIL}
LOST = ("GPU lost", "#b8bec6")
"""… and a GPU that is not there."""

Paint = Callable[["Axis", Axes], bool]
"""Draws one part; False where nothing of it was sampled."""


class Axis:
    """The axis of time that all parts share: from the first sample of an idle GPU, or the first request, to the end."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        start, end = facts.numbers("start_s"), facts.numbers("end_s")
        self.origin, self.last = float(np.nanmin(start)), float(np.nanmax(end))
        idle = facts.telemetry.idle
        self.first = min(self.origin, idle[0]) if idle else self.origin
        seconds = self.last - self.origin
        self.scale, self.word = (
            (1.0, "seconds") if seconds < 600 else (60.0, "minutes") if seconds < 7200 else (3600.0, "hours")
        )

    def of(self, at: Floats) -> Floats:
        """Places on it of moments."""
        return (at - self.origin) / self.scale

    def line(self, series: Series, factor: float = 1.0) -> tuple[Floats, Floats]:
        """A series to draw: inside the axis, thinned out, broken where there is a gap."""
        inside = (series.at >= self.first) & (series.at <= self.last)
        at, values = series.at[inside], series.values[inside] * factor
        if len(at) > POINTS:
            edges = np.linspace(0, len(at), POINTS + 1).astype(int)[:-1]
            sizes = np.diff(np.append(edges, len(at)))
            at, values = np.add.reduceat(at, edges) / sizes, np.add.reduceat(values, edges) / sizes
        gaps = np.flatnonzero(
            np.diff(at) > FAR * max(series.usual_s, float(np.median(np.diff(at))) if len(at) > 1 else 0)
        )
        return np.insert(self.of(at), gaps + 1, np.nan), np.insert(values, gaps + 1, np.nan)


def figure(facts: Facts) -> tuple[Figure, str] | None:
    """The picture and the sentence on how to read it; None where neither GPUs nor server were sampled."""
    if not (facts.telemetry.gpus or facts.telemetry.server) or np.isnan(facts.numbers("end_s")).all():
        return None
    axis = Axis(facts)
    parts: list[tuple[Paint, float]] = []
    for paint, height in PARTS:  # which of them have something to draw decides how many there are
        if paint(axis, Figure().add_subplot()):
            parts.append((paint, height))
    if not parts:
        return None
    made = Figure(figsize=(13.0, 0.9 + sum(height for _, height in parts)), layout="constrained")
    all_axes = made.subplots(len(parts), 1, sharex=True, squeeze=False, height_ratios=[height for _, height in parts])
    for axes, (paint, _) in zip(all_axes[:, 0], parts, strict=True):
        _steps(axis, axes)
        paint(axis, axes)
        axes.yaxis.label.set_size(9)
    top, bottom = all_axes[0, 0], all_axes[-1, 0]
    for step in facts.steps:
        if step.begin is not None:
            place = float((step.begin - axis.origin) / axis.scale)
            top.text(place, 1.02, f" {step.label}", transform=top.get_xaxis_transform(), fontsize=9)
    bottom.set_xlim(float(axis.of(np.array(axis.first))), float(axis.of(np.array(axis.last))))
    bottom.set_xlabel(f"{axis.word} since the first request")
    return made, (
        "One axis of time for all; grey: windows, numbers over them: what the step asks for. First tokens: of those "
        f"that came in each {_bin(axis)}. A line is broken where nothing was sampled."
    )


def _bin(axis: Axis) -> str:
    seconds = (axis.last - axis.origin) / BINS
    return f"{seconds:.2g} s" if seconds < 100 else f"{seconds / 60:.2g} min"


def _steps(axis: Axis, axes: Axes) -> None:
    for step in axis.facts.steps:
        if step.begin is not None and step.end is not None:
            axes.axvspan(
                *((at - axis.origin) / axis.scale for at in (step.begin, step.end)), color="#eef2f7", linewidth=0
            )


def _from_zero(axes: Axes, top: float | None = None) -> None:
    axes.set_ylim(0, axes.get_ylim()[1] * 1.05 if top is None else top)


def _first_tokens(axis: Axis, axes: Axes) -> bool:
    ttft = axis.facts.numbers("ttft_ms")
    came = axis.facts.numbers("start_s") + ttft / 1000
    known = ~np.isnan(came)
    if not known.any():
        return False
    edges = np.linspace(axis.origin, axis.last, BINS + 1)
    place = np.clip(np.searchsorted(edges, came[known], "right") - 1, 0, BINS - 1)
    order = np.argsort(place, kind="stable")
    parts = np.split(ttft[known][order], np.searchsorted(place[order], np.arange(1, BINS)))
    middles = axis.of((edges[1:] + edges[:-1]) / 2)
    for percent, colour in ((95, COLOURS[1]), (50, COLOURS[0])):
        values = np.array([np.percentile(part, percent) if len(part) else np.nan for part in parts])
        filled = np.flatnonzero(~np.isnan(values))  # first tokens that are rare still make a line
        breaks = np.flatnonzero(np.diff(filled) > APART) + 1
        places, heights = (np.insert(part[filled], breaks, np.nan) for part in (middles, values))
        axes.plot(places, heights, ".-", color=colour, linewidth=1.2, markersize=4, label=f"p{percent}")
    axes.set_ylabel("TTFT, ms")
    _from_zero(axes)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)
    return True


def _each_gpu(axis: Axis, axes: Axes, keys: Sequence[str], factor: float = 1.0) -> bool:
    """A line for each GPU, of the first of these values that it tells."""
    drawn = False
    for place, gpu in enumerate(axis.facts.telemetry.gpus):
        series = next((found for key in keys if len((found := gpu.series(key)).at)), None)
        if series is None:
            continue
        colour, style = MANY[place % len(MANY)]
        axes.plot(*axis.line(series, factor), style, color=colour, linewidth=1.2, label=gpu.label)
        drawn = True
    return drawn


def _power(axis: Axis, axes: Axes) -> bool:
    if not _each_gpu(axis, axes, ("power_watts", "power_instant_watts")):
        return False
    if len(axis.facts.telemetry.gpus) > 1:  # the parts below have the same colours
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2, fontsize=8, labelspacing=0.15)
    limits = {
        float(values[-1]) for gpu in axis.facts.telemetry.gpus if len(values := gpu.series("power_limit_watts").values)
    }
    for limit in limits:
        axes.axhline(limit, color=INK, linestyle=":", linewidth=1.0)
        axes.annotate(f"limit {limit:,.0f} W", (1, limit), xycoords=("axes fraction", "data"), fontsize=8, ha="right",
                      va="bottom", xytext=(-4, 1), textcoords="offset points")  # fmt: skip
    axes.set_ylabel("power, W")
    _from_zero(axes, max([*limits, axes.get_ylim()[1]]) * 1.15)
    return True


def _utilization(axis: Axis, axes: Axes) -> bool:
    drawn = _each_gpu(axis, axes, ("utilization_ratio",), 100.0)
    axes.set_ylabel("any kernel, %")
    axes.set_ylim(0, 105)
    return drawn


def _memory(axis: Axis, axes: Axes) -> bool:
    drawn = _each_gpu(axis, axes, ("memory_used_bytes",), 2.0**-30)
    totals = [
        values[-1] / 2**30
        for gpu in axis.facts.telemetry.gpus
        if len(values := gpu.series("memory_total_bytes").values)
    ]
    axes.set_ylabel("memory, GiB")
    _from_zero(axes, max(totals) * 1.05 if totals else None)
    return drawn


def _clocks(axis: Axis, axes: Axes) -> bool:
    """A lane for each GPU, coloured where something held its clock down, and where it was lost."""
    named: set[str] = set()
    gpus = axis.facts.telemetry.gpus
    for lane, gpu in enumerate(gpus):
        found = [(*LOST, gpu.down, np.diff(gpu.down) <= FAR * max(usual_s(gpu.down), usual_s(gpu.at)))]
        told = gpu.labels("clock_event_seconds")
        for reason in (*(name for name in told if name not in SPOIL), *(name for name in told if name in SPOIL)):
            series = gpu.series(f"clock_event_seconds.{reason}")
            steps = np.diff(series.at)
            held = (np.diff(series.values) > HELD * steps) & (steps <= FAR * series.usual_s)
            found.append((*REASONS.get(reason, (reason, "#999999")), series.at, held))
        for name, colour, at, there in found:
            spans = _spans(axis, at, there)
            if spans:
                label = None if name in named else name
                half = 0.2 if name in SPOILING else 0.4  # so that both show where both are
                axes.broken_barh(spans, (lane - half, 2 * half), facecolors=colour, linewidth=0, label=label)
                named.add(name)
    axes.set_yticks(range(len(gpus)), [gpu.gpu or str(lane) for lane, gpu in enumerate(gpus)], fontsize=8)
    axes.set_ylim(len(gpus) - 0.4, -0.6)
    axes.set_ylabel("clock held\ndown; GPU")
    axes.grid(visible=False, axis="y")
    if named:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2, fontsize=8)
    return bool(named)


def _spans(axis: Axis, at: Floats, there: NDArray[np.bool_]) -> list[tuple[float, float]]:
    """Where something was there, as begin and length: `there` is of the times between neighbouring moments."""
    inside = there & (at[:-1] >= axis.first) & (at[1:] <= axis.last)
    turns = np.flatnonzero(np.diff(np.concatenate(([False], inside, [False])).astype(int)))
    begins, ends = axis.of(at[turns[::2]]), axis.of(at[turns[1::2]])
    return [(float(begin), float(end - begin)) for begin, end in zip(begins, ends, strict=True)]


def _cache(axis: Axis, axes: Axes) -> bool:
    server = axis.facts.telemetry.server
    if server is None or not len((series := server.series("kv_cache_usage_ratio")).at):
        return False
    axes.plot(*axis.line(series, 100.0), color=COLOURS[2], linewidth=1.3, label="in use")
    lost = server.series("preemptions")
    when = lost.at[1:][np.diff(lost.values) > 0]
    when = when[(when >= axis.first) & (when <= axis.last)][:POINTS]
    if len(when):
        axes.plot(axis.of(when), np.full(len(when), 100.0), "v", color="#000000", markersize=5, label="preempted",
                  clip_on=False)  # fmt: skip
    axes.set_ylabel("KV cache, %")
    axes.set_ylim(0, 105)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)
    return True


def _queue(axis: Axis, axes: Axes) -> bool:
    server = axis.facts.telemetry.server
    drawn = False
    for key, colour in (("running", COLOURS[0]), ("waiting", COLOURS[1])):
        if server is not None and len((series := server.series(key)).at):
            axes.plot(*axis.line(series), color=colour, linewidth=1.3, label=key)
            drawn = True
    axes.set_ylabel("requests in\nthe server")
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    _from_zero(axes)
    if drawn:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)
    return drawn


PARTS: tuple[tuple[Paint, float], ...] = (
    (_first_tokens, 1.7),
    (_power, 1.7),
    (_utilization, 1.2),
    (_memory, 1.2),
    (_clocks, 1.2),
    (_queue, 1.3),
    (_cache, 1.2),
)
"""The parts from above, with their heights in inches."""
