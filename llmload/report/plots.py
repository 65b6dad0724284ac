"""The pictures of a report, as SVG text. Draws with matplotlib's figure objects alone, never with its global state.

Each line has a colour and a marker of its own. What happened over time to GPUs and server is in `overtime`.
"""

import io
import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from llmload.load.spans import span
from llmload.plain import one_line
from llmload.report import columns, overtime, positions
from llmload.report.building import Built
from llmload.report.facts import Floats
from llmload.report.figures import look_up
from llmload.report.inks import COLOURS, INK, MARKERS, STYLE

TIMELINE_MOST = 1500
"""Requests drawn in the timeline at most: every k-th of a longer run, and all failures up to as many again."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture with its title and a sentence on how to read it."""

    title: str
    words: str
    svg: str
    wide: bool
    """Whether it takes the whole width of the page."""


Draw = Callable[[Axes, Built], str | None]
"""Draws on axes and returns the sentence under the title; None if there is nothing to draw."""


def draw(built: Built) -> list[Plot]:
    """All pictures for which the run has data."""
    plots = []
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        # The page's reader has fonts of their own: text stays text in the SVG, whatever signs it has.
        warnings.filterwarnings("ignore", r"Glyph .* missing from font", UserWarning)
        for number, (title, (paint, size)) in enumerate(PLOTS.items()):
            figure = Figure(figsize=size, layout="constrained")
            FigureCanvasSVG(figure)
            words = paint(figure.add_subplot(), built)
            if words is not None:
                plots.append(_plot(title, words, figure, f"p{number}-"))
        if (sampled := overtime.figure(built.facts)) is not None:
            figure, words = sampled
            FigureCanvasSVG(figure)
            plots.append(_plot(overtime.TITLE, words, figure, "t-"))
    return plots


def _plot(title: str, words: str, figure: Figure, prefix: str) -> Plot:
    return Plot(title, words, svg_of(figure, prefix), wide=figure.get_figwidth() > SIZE[0])


def svg_of(figure: Figure, prefix: str) -> str:
    """The figure as an <svg> element; ids carry a prefix, so that several can stand in one page."""
    out = io.StringIO()
    layout = figure.get_layout_engine()
    if layout is not None:  # laid out here, because savefig would draw the whole figure once more for it
        figure.dpi = FigureCanvasSVG.fixed_dpi
        layout.execute(figure)
        figure.set_layout_engine(None)
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = "\n".join(one_line(line) for line in out.getvalue().split("\n"))
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}", svg)


def _all(built: Built) -> list[dict[str, Any]]:
    """Rows of all classes, in the order of what their steps ask for."""
    rows = [row for row in built.summary["rows"] if row["workload"] == "all" and _load(row) is not None]
    return sorted(rows, key=lambda row: _load(row) or 0)


def _load(row: dict[str, Any]) -> float | None:
    wanted: float | None = row["concurrency"] if row["concurrency"] is not None else row["rate"]
    return wanted


def _levels(axes: Axes, rows: Sequence[dict[str, Any]]) -> None:
    """The x axis of plots against the load: what the steps ask for, doubling with equal distance."""
    loads = [_load(row) or 0 for row in rows]
    if min(loads, default=0) > 0 and max(loads, default=0) > 2 * min(loads, default=1):
        axes.set_xscale("log", base=2)
    axes.set_xticks(sorted(set(loads)), labels=[f"{load:g}" for load in sorted(set(loads))], minor=False)
    axes.set_xticks([], minor=True)
    axes.set_xlabel(_asked(rows))


def _asked(rows: Sequence[dict[str, Any]]) -> str:
    """What the numbers of the steps are, as the name of an axis."""
    closed = all(row["concurrency"] is not None for row in rows)
    return "requests in flight" if closed else "requests per second asked for"


def _numbers(built: Built) -> str:
    """What numbers beside points are, in a sentence."""
    return {"rate": "requests per second asked for"}.get(built.facts.loop, "in flight")


def _from_zero(axes: Axes) -> None:
    """The y axis from 0, with room above the highest point."""
    axes.set_ylim(0, axes.get_ylim()[1] * 1.05)


def _percentiles(key: str, unit: str, scale: float) -> Draw:
    """p50, p95 and p99 of a figure against the load: successes as lines, all attempts as dashes where they differ."""

    def paint(axes: Axes, built: Built) -> str | None:
        rows, path = _all(built), key.split(".")
        drawn = differ = beyond = False
        at_top = axes.get_xaxis_transform()  # x as the data's, y as a share of the height
        for place, percent in enumerate(("p50", "p95", "p99")):
            for kind, line in (("ok", "-"), ("all", "--")):
                values = [look_up(row, [*path, kind, percent]) for row in rows]
                known = [value * scale if isinstance(value, int | float) else np.nan for value in values]
                if kind == "all":
                    infinite = {_load(row) or 0 for row, value in zip(rows, values, strict=True) if value == "inf"}
                    for load in infinite:  # above the frame's top edge: no value is high enough
                        axes.plot(
                            [load], [0.985 - 0.045 * place], "^", color=COLOURS[place], transform=at_top,
                            markerfacecolor="white", clip_on=False,
                        )  # fmt: skip
                    beyond |= bool(infinite)
                    if values == [look_up(row, [*path, "ok", percent]) for row in rows]:
                        continue
                if all(np.isnan(known)):
                    continue
                drawn, differ = True, differ or kind == "all"
                axes.plot(
                    [_load(row) or 0 for row in rows],
                    known,  # a step without the figure breaks the line: nothing is known between its neighbours
                    line,
                    color=COLOURS[place],
                    marker=MARKERS[place],
                    markerfacecolor=COLOURS[place] if kind == "ok" else "white",
                    label=percent if kind == "ok" else f"{percent}, all attempts",
                )
        if not drawn:
            return None
        _levels(axes, rows)
        _from_zero(axes)
        axes.set_ylabel(unit)
        axes.legend()
        words = ["Lines: successes"]
        words += ["dashed: all attempts"] if differ else []
        words += ["triangles at the top: infinite over all attempts (failures)"] if beyond else []
        return "; ".join(words) + ". A p99 needs 100 requests."

    return paint


def _throughput(axes: Axes, built: Built) -> str | None:
    rows = [row for row in _all(built) if row["output_tokens_per_s"] is not None]
    if not rows:
        return None
    classes = [name for name in built.facts.workloads if len(built.facts.workloads) > 1]
    for place, name in enumerate(("all", *classes)):
        mine = [
            row for row in built.summary["rows"] if row["workload"] == name and row["output_tokens_per_s"] is not None
        ]
        mine = sorted((row for row in mine if _load(row) is not None), key=lambda row: _load(row) or 0)
        axes.plot(
            [_load(row) or 0 for row in mine],
            [row["output_tokens_per_s"] for row in mine],
            "-" if name == "all" else ":",
            color=COLOURS[place % len(COLOURS)],
            marker=MARKERS[place % len(MARKERS)],
            label=name,
        )
    _levels(axes, rows)
    _from_zero(axes)
    axes.set_ylabel("output tokens per second")
    axes.legend()
    return "Tokens streamed inside the window, by class and in all."


def _trade(axes: Axes, built: Built) -> str | None:
    rows = [
        row
        for row in _all(built)
        if row["output_tokens_per_s"] is not None and row["output_tokens_per_s_per_user"] is not None
    ]
    if not rows:
        return None
    across = [row["output_tokens_per_s_per_user"] for row in rows]
    up = [row["output_tokens_per_s"] for row in rows]
    axes.plot(across, up, "-o", color=COLOURS[0])
    for row, x, y in zip(rows, across, up, strict=True):
        axes.annotate(columns.step_label(row), (x, y), textcoords="offset points", xytext=(7, 5), fontsize=9)
    axes.set_xlabel("tokens per second of one user (1 / TPOT)")
    axes.set_ylabel("output tokens per second, all users")
    axes.set_xlim(left=0, right=max(across) * 1.12)
    axes.set_ylim(bottom=0, top=max(up) * 1.12)
    numbers = f"numbers: {_numbers(built)}"
    return f"What the machine gives in all against what each user feels; {numbers}. Up and right is better."


def _latency(axes: Axes, built: Built) -> str | None:
    rows = [row for row in _all(built) if row["output_tokens_per_s"] is not None]
    drawn = False
    for place, percent in enumerate(("p50", "p95")):
        points = [(row["output_tokens_per_s"], look_up(row, ["e2e_ms", "ok", percent]), row) for row in rows]
        known = [(x, y / 1000, row) for x, y, row in points if isinstance(y, int | float)]
        if not known:
            continue
        drawn = True
        axes.plot(
            [x for x, _, _ in known],
            [y for _, y, _ in known],
            "-",
            color=COLOURS[place],
            marker=MARKERS[place],
            label=f"E2E {percent}",
        )
        for x, y, row in known:
            axes.annotate(columns.step_label(row), (x, y), textcoords="offset points", xytext=(4, 7), fontsize=9)
    if not drawn:
        return None
    axes.set_xlabel("output tokens per second, all users")
    axes.set_ylabel("s")
    axes.set_xlim(left=0)
    _from_zero(axes)
    axes.legend()
    return f"Throughput against latency (successes); numbers: {_numbers(built)}. Down and right is better."


def _gaps(axes: Axes, built: Built) -> str | None:
    facts = built.facts
    steps = facts.numbers("step")
    zeros = []
    edges = np.logspace(-1, 4, 151)
    used = np.zeros(len(edges) - 1, dtype=bool)
    for place, step in enumerate(facts.steps):
        gaps = facts.gaps_of(facts.ok & (steps == step.index))
        if not len(gaps):
            continue
        zeros.append((step.label, float((gaps < edges[0]).mean())))
        counts, _ = np.histogram(np.clip(gaps, edges[0], edges[-1]), edges)
        counts[0] = 0 if zeros[-1][1] else counts[0]
        used |= counts > 0
        colour = COLOURS[place % len(COLOURS)]
        axes.stairs(100 * counts / len(gaps), edges, color=colour, linewidth=1.5, label=f"{step.words}")
    if not zeros:
        return None
    axes.set_xscale("log")
    filled = np.flatnonzero(used) if used.any() else np.arange(len(used))
    axes.set_xlim(float(edges[max(int(filled[0]) - 3, 0)]), float(edges[min(int(filled[-1]) + 4, len(edges) - 1)]))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else "")
    axes.set_xlabel("gap, ms (logarithmic)")
    axes.set_ylabel("% of the gaps")
    _from_zero(axes)
    axes.legend()
    worst = max(share for _, share in zeros)
    zero = (
        f" Up to {worst * 100:.1f} % of a step's gaps are under 0.1 ms (read together) and not drawn."
        if worst > 0.0005
        else ""
    )
    return f"Time between consecutive token-bearing events, successes, 30 bins a decade.{zero}"


def _failures(axes: Axes, built: Built) -> str | None:
    rows = [row for row in built.summary["rows"] if row["workload"] == "all"]
    totals: dict[str, int] = {}
    for row in rows:
        for word, n in {**row["outcomes"], "lost": row["lost"], "not_sent": row["not_sent"]}.items():
            if word != "ok" and n:
                totals[word] = totals.get(word, 0) + n
    if not totals or not rows:
        return None
    base = np.zeros(len(rows))
    for place, word in enumerate(sorted(totals, key=lambda name: -totals[name])):
        shares = np.array(
            [
                100
                * {**row["outcomes"], "lost": row["lost"], "not_sent": row["not_sent"]}.get(word, 0)
                / (row["planned"] or 1)
                for row in rows
            ]
        )
        axes.bar(
            range(len(rows)),
            shares,
            0.62,
            bottom=base,
            color=COLOURS[place % len(COLOURS)],
            hatch=("", "//", "..", "xx")[place // len(COLOURS) % 4],
            edgecolor="white",
            label=f"{word} ({totals[word]})",
        )
        base += shares
    axes.set_xticks(range(len(rows)), [columns.step_label(row) for row in rows])
    axes.grid(visible=False, axis="x")
    axes.set_xlabel(_asked(rows))
    axes.set_ylabel("% of the planned requests")
    axes.legend(loc="upper left")
    axes.set_ylim(0, max(base.max() * 1.25, 1))
    return "Everything that was no success, by outcome; the number of attempts in brackets."


def _positions(axes: Axes, built: Built) -> str | None:
    found = {step: speeds for step, speeds in built.speeds.items() if any(speeds)}
    if not found:
        return None
    there = [place for place in range(len(positions.RANGES)) if any(speeds[place] for speeds in found.values())]
    ranges = [positions.label(*positions.RANGES[place]) for place in there]
    labels = {step.index: step.label for step in built.facts.steps}
    width = 0.8 / len(ranges)
    for place, name in enumerate(ranges):
        axes.bar(
            [x + (place - (len(ranges) - 1) / 2) * width for x in range(len(found))],
            [speeds[there[place]] or 0 for speeds in found.values()],
            width * 0.94,
            color=COLOURS[place],
            label=f"tokens {name}",
        )
    axes.set_xticks(range(len(found)), [labels[step] for step in found])
    axes.grid(visible=False, axis="x")
    axes.set_xlabel(_asked(built.summary["rows"]))
    axes.set_ylabel("tokens per second of one request")
    axes.legend(ncols=3, loc="upper right")
    axes.set_ylim(0, max(speed or 0 for speeds in found.values() for speed in speeds) * 1.2)
    return "Some engines slow down after a number of tokens; then the bars of a step differ."


def _timeline(axes: Axes, built: Built) -> str | None:
    facts = built.facts
    start, end = facts.numbers("start_s"), facts.numbers("end_s")
    known = ~np.isnan(start) & ~np.isnan(end)
    if not known.any():
        return None
    origin = float(start[known].min())
    outcome = facts.words("outcome")
    good = np.flatnonzero(known & (outcome == "ok"))
    shown = _every(good)
    cut = _every(np.flatnonzero(known & (outcome == "cancelled")))
    failed = _every(np.flatnonzero(known & (outcome != "ok") & (outcome != "cancelled")))
    lanes = _lanes(np.concatenate((shown, cut, failed)).tolist(), start, end)
    for step in facts.steps:
        if step.begin is not None and step.end is not None:
            axes.axvspan(step.begin - origin, step.end - origin, color="#eef2f7", linewidth=0)
            axes.text(step.begin - origin, 1.01, f" {step.label}", transform=axes.get_xaxis_transform(), fontsize=9)
    workload = facts.words("workload")
    for place, name in enumerate(facts.workloads):
        mine = [row for row in shown.tolist() if workload[row] == name]
        _strokes(axes, [(start[row] - origin, end[row] - origin, lanes[row]) for row in mine], COLOURS[place % 6], name)
    for rows, colour, name, sign in ((cut, "#b8bec6", "cut", ""), (failed, "#000000", "failed", "x")):
        strokes = [(start[row] - origin, end[row] - origin, lanes[row]) for row in rows.tolist()]
        _strokes(axes, strokes, colour, name, sign)
    axes.set_xlim(0, float(np.nanmax(end)) - origin)
    axes.set_ylim(-1, max(lanes.values()) + 2)
    axes.set_yticks([])
    axes.set_xlabel("seconds since the first request")
    axes.grid(visible=False)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1.04), ncols=6, frameon=False)
    every = (
        f" One in {-(-len(good) // len(shown))} of the {len(good):,} successes is drawn."
        if len(shown) < len(good)
        else ""
    )
    return f"One stroke for each request, from sent to end; grey: windows, numbers over them: {_numbers(built)}.{every}"


def _every(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Every k-th row, so that no more than can be drawn are left."""
    return rows[:: max(1, -(-len(rows) // TIMELINE_MOST))]


def _lanes(rows: Sequence[int], start: Floats, end: Floats) -> dict[int, int]:
    """A lane for each request, so that strokes of one lane do not overlap."""
    free: list[float] = []
    lanes: dict[int, int] = {}
    for row in sorted(rows, key=lambda row: start[row]):
        lane = next((place for place, until in enumerate(free) if until <= start[row]), len(free))
        if lane == len(free):
            free.append(0.0)
        free[lane] = end[row]
        lanes[row] = lane
    return lanes


def _strokes(axes: Axes, strokes: list[tuple[float, float, int]], colour: str, name: str, sign: str = "") -> None:
    if not strokes:
        return
    axes.add_collection(
        LineCollection([[(a, y), (b, y)] for a, b, y in strokes], colors=colour, linewidths=1.6, label=name)
    )
    if sign:
        axes.plot([b for _, b, _ in strokes], [y for _, _, y in strokes], sign, color=colour, markersize=4)


def _soak(key: str, unit: str) -> Draw:
    """A figure's percentiles bucket by bucket; dotted lines where the engine began anew."""

    def paint(axes: Axes, built: Built) -> str | None:
        soak = built.soak
        if soak is None:
            return None
        scale, word = (3600, "hours") if soak.cut.edges[-1] - soak.cut.begin >= 7200 else (60, "minutes")
        edges = [(edge - soak.cut.begin) / scale for edge in soak.cut.edges]
        drawn = False
        for place, percent in enumerate(("p50", "p95", "p99")):
            values = [look_up(row, [key, "ok", percent]) for row in soak.rows]
            known = [np.nan if value is None else float(value) for value in values]
            if all(np.isnan(known)):
                continue
            drawn = True
            middles = [(begin + end) / 2 for begin, end in pairwise(edges)]
            few = len(known) <= 100
            axes.stairs(known, edges, baseline=None, color=COLOURS[place], linewidth=1.4, label=percent)
            axes.plot(middles, known, MARKERS[place] if few else "", color=COLOURS[place])
        if not drawn:
            return None
        for at in soak.restarts:
            axes.axvline((at - soak.cut.begin) / scale, color=INK, linestyle=":", linewidth=1.2)
        axes.set_xlim(0, edges[-1])
        axes.set_xlabel(f"{word} since the window opened")
        axes.set_ylabel(unit)
        _from_zero(axes)
        axes.legend(ncols=3)
        anew = "; dotted: the engine began anew" if soak.restarts else ""
        return f"Successes, {span(soak.cut.size_s)} by {span(soak.cut.size_s)}, by when they were sent{anew}."

    return paint


def _soak_failures(axes: Axes, built: Built) -> str | None:
    soak = built.soak
    if soak is None:
        return None
    words = Counter[str]()
    for row in soak.rows:
        words.update({word: n for word, n in row["outcomes"].items() if word != "ok"})
    if not words:
        return None
    scale, word = (3600, "hours") if soak.cut.edges[-1] - soak.cut.begin >= 7200 else (60, "minutes")
    edges = np.array([(edge - soak.cut.begin) / scale for edge in soak.cut.edges])
    base = np.zeros(soak.cut.count)
    for place, (outcome, _) in enumerate(words.most_common()):
        share = np.array([100 * row["outcomes"].get(outcome, 0) / (row["started"] or 1) for row in soak.rows])
        axes.bar(
            edges[:-1], share, np.diff(edges), bottom=base, align="edge", color=COLOURS[place % len(COLOURS)],
            hatch=("", "//", "..", "xx")[place // len(COLOURS) % 4], edgecolor="white", linewidth=0.4, label=outcome,
        )  # fmt: skip
        base += share
    axes.set_xlim(0, float(edges[-1]))
    axes.set_xlabel(f"{word} since the window opened")
    axes.set_ylabel("% of the attempts")
    axes.legend()
    _from_zero(axes)
    return f"What was no success, by outcome, {span(soak.cut.size_s)} by {span(soak.cut.size_s)}."


SIZE = (6.4, 3.7)
PLOTS: dict[str, tuple[Draw, tuple[float, float]]] = {
    "Time to first token": (_percentiles("ttft_ms", "TTFT, ms", 1), SIZE),
    "Time between tokens": (_percentiles("itl_ms", "ITL, ms", 1), SIZE),
    "End-to-end latency": (_percentiles("e2e_ms", "E2E, s", 0.001), SIZE),
    "Latency from the schedule": (_percentiles("from_schedule.e2e_ms", "E2E from the planned moment, s", 0.001), SIZE),
    "Throughput": (_throughput, SIZE),
    "Throughput against latency": (_latency, SIZE),
    "Throughput against speed of one user": (_trade, SIZE),
    "Distribution of gaps": (_gaps, SIZE),
    "Decode speed by position in the answer": (_positions, SIZE),
    "Failures by outcome": (_failures, SIZE),
    "Time to first token through the soak": (_soak("ttft_ms", "TTFT, ms"), SIZE),
    "Time between tokens through the soak": (_soak("itl_ms", "ITL, ms"), SIZE),
    "Failures through the soak": (_soak_failures, SIZE),
    "Timeline of requests": (_timeline, (13.0, 4.2)),
}
"""Every picture: its title, who draws it, its size in inches."""
