"""The pictures of a comparison, as SVG text: both sides in the same two colours everywhere.

Draws with matplotlib's figure objects alone, in the report's style.
"""

import warnings
from html import escape

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from llmload.compare.comparison import Compared
from llmload.compare.rule.rule import Rule
from llmload.compare.show import bars, curves, radar, spreads
from llmload.compare.show.curves import Draw
from llmload.plain import one_line
from llmload.report.inks import STYLE
from llmload.report.plots import SIZE, Plot, svg_of

WIDE = (13.0, 4.4)
NAMES = 0.2
"""Inches left free on both sides of the radar."""
PLOTS: dict[str, tuple[Draw, tuple[float, float]]] = {
    "All gains at the level that decides": (bars.forest, WIDE),
    "Time to first token": (curves.percentiles("ttft", "TTFT, ms", 1), SIZE),
    "End-to-end latency": (curves.percentiles("e2e", "E2E, s", 0.001), SIZE),
    "Distribution of first tokens": (spreads.ecdf("ttft_ms", "TTFT, ms", 1), SIZE),
    "Distribution of end-to-end latency": (spreads.ecdf("e2e_ms", "E2E, s", 0.001), SIZE),
    "Throughput against latency": (curves.trade, SIZE),
    "Gaps between tokens": (spreads.gaps, SIZE),
    "Decode speed by position in the answer": (bars.by_position, SIZE),
    "The deciding figure, round by round": (bars.by_round, SIZE),
    "GPU memory": (curves.MEMORY, SIZE),
    "GPU power": (curves.WATTS, SIZE),
}
"""Every picture: its title, who draws it, its size in inches."""


def draw(compared: Compared, prefix: str, claimed: float | None = None) -> list[Plot]:
    """All pictures for which there is data.

    Ids in them begin with `prefix`: several pairs stand in one page. `claimed` is the gain that is said.
    """
    found = []
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        # The page's reader has fonts of their own: text stays text in the SVG, whatever signs it has.
        warnings.filterwarnings("ignore", r"Glyph .* missing from font", UserWarning)
        for number, (title, (paint, size)) in enumerate(PLOTS.items()):
            figure = _figure(size)
            axes = figure.add_subplot()
            words = paint(axes, compared) if paint is not bars.forest else bars.forest(axes, compared, claimed)
            if words is not None:
                found.append(Plot(title, words, _named(figure, f"{prefix}p{number}-", title, words), size == WIDE))
    return found


def rule(told: Rule, prefix: str) -> Plot | None:
    """The radar chart; None where no ratio is known."""
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph .* missing from font", UserWarning)
        figure = _figure((4.6, 4.0))
        # Names stand outside of the rings, in the reader's font, which may be wider than ours.
        figure.set_layout_engine("constrained", w_pad=NAMES)
        title = f"{len(radar.spokes(told))} ratios at {told.level.words}"
        words = radar.paint(figure.add_subplot(projection="polar"), told)
        return None if words is None else Plot(title, words, _named(figure, f"{prefix}r-", title, words), wide=False)


def _figure(size: tuple[float, float]) -> Figure:
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasSVG(figure)
    return figure


def _named(figure: Figure, prefix: str, title: str, words: str) -> str:
    """The SVG with a name for those who hear it read."""
    label = escape(one_line(f"{title}. {words}"), quote=True)
    return svg_of(figure, prefix).replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
