"""The colours, marks and style that all pictures of a report share.

Colours are those of Okabe and Ito, told apart by people with any kind of colour vision.
"""

from typing import Any

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
MANY = (*((colour, "-") for colour in COLOURS), ("#999999", "-"), *((colour, "--") for colour in COLOURS))
"""Colours and line styles where there may be as many lines as a machine has GPUs."""
INK, GRID = "#3b4454", "#e3e7ee"

STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "llmload",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica", "sans-serif"],
    "font.size": 10,
    "axes.edgecolor": "#9aa4b2",
    "axes.labelcolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": GRID,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "text.parse_math": False,  # a class may be called what it likes
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
}
