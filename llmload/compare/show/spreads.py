"""Pictures of how values are spread at the deciding level: first tokens, whole answers, gaps. Draws on axes alone."""

import numpy as np
from matplotlib.axes import Axes

from llmload.compare.comparison import Compared
from llmload.compare.show import points
from llmload.compare.show.curves import Draw, plain, sides
from llmload.compare.show.numbers import of
from llmload.compare.words import percent
from llmload.report.facts import Floats

POINTS = 400
"""Points of a line at most."""


def ecdf(column: str, unit: str, scale: float) -> Draw:
    """The share of attempts that had ended (or begun) by a time; each round thin, all of a side thick."""

    def paint(axes: Axes, compared: Compared) -> str | None:
        level, workload = compared.deciding.level, compared.deciding.workload
        drawn, failed = False, False
        for side, colour, _ in sides(compared):
            found = [points.latencies(side, at, level, workload, column) for at in range(len(side.rounds))]
            pooled, failures = np.sort(np.concatenate([values for values, _ in found])), sum(n for _, n in found)
            if not len(pooled):
                continue
            drawn, failed = True, failed or failures > 0
            if len(found) > 1:
                for values, n in found:
                    if len(values):
                        axes.plot(*_steps(values * scale, n), color=colour, linewidth=0.7, alpha=0.45)
            label = side.name + (f" ({failures:,} of {len(pooled) + failures:,} failed)" if failures else "")
            axes.plot(*_steps(pooled * scale, failures), color=colour, linewidth=2.2, label=label)
        if not drawn:
            return None
        axes.set_xscale("log")
        plain(axes.xaxis)
        axes.set_xlabel(f"{unit} (logarithmic)")
        axes.set_ylabel("% of the attempts")
        axes.set_ylim(0, 102)
        for share, name in ((50, "p50"), (95, "p95")):
            axes.axhline(share, color="#9aa4b2", linewidth=0.8, linestyle=":")
            axes.annotate(name, (1, share), xycoords=("axes fraction", "data"), xytext=(-2, 2), fontsize=8, ha="right",
                          textcoords="offset points")  # fmt: skip
        axes.legend(loc="lower right", bbox_to_anchor=(1, 0.03))
        thin = " Thin: each round." if any(len(side.rounds) > 1 for side, _, _ in sides(compared)) else ""
        short = " A line that ends below 100 %: the rest failed." if failed else ""
        return f"At {level.words}, {of(workload)}; further left is better.{thin}{short}"

    return paint


def _steps(ordered: Floats, failures: int) -> tuple[Floats, Floats]:
    """Points of the line, thinned out."""
    n = len(ordered) + failures
    picked = np.unique(np.linspace(0, len(ordered) - 1, min(POINTS, len(ordered))).astype(int))
    return ordered[picked], 100 * (picked + 1) / n


def gaps(axes: Axes, compared: Compared) -> str | None:
    """The share of gaps longer than a time: both axes logarithmic, so that stalls show."""
    level, workload = compared.deciding.level, compared.deciding.workload
    drawn, together = False, []
    for side, colour, _ in sides(compared):
        found = np.sort(points.gaps(side, level, workload))
        if not len(found):
            continue
        drawn = True
        together.append(float((found < 0.1).mean()))
        n = len(found)
        ranks = np.unique(np.concatenate((np.linspace(0, n - 1, POINTS), n - np.geomspace(1, n, POINTS))).astype(int))
        axes.plot(np.maximum(found[ranks], 0.1), 100 * (n - ranks) / n, color=colour, linewidth=2, label=side.name)
    if not drawn:
        return None
    axes.set_xscale("log")
    axes.set_yscale("log")
    plain(axes.xaxis)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(lambda *_: "")
    axes.set_xlabel("gap, ms (logarithmic)")
    axes.set_ylabel("% of the gaps that are at least as long")
    axes.legend()
    zero = (
        f" Up to {percent(max(together))} of a side's gaps are under 0.1 ms (read together)."
        if max(together) > 0.0005
        else ""
    )
    return f"Between token-bearing events of successes, {of(workload)}, at {level.words}; further left is better.{zero}"
