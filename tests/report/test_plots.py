"""The plots, by what is drawn: points, breaks and marks of the axes, and the words of their ticks."""

import math
from pathlib import Path

from matplotlib.figure import Figure

from llmload.report.plots import PLOTS
from tests.report.synthetic import record, step
from tests.report.worked import built_of

STEPS = [step(0, 1, 0, 10), step(1, 2, 20, 30), step(2, 4, 40, 50)]


def test_a_step_that_failed_whole_breaks_the_line_and_is_marked(tmp_path: Path) -> None:
    """1 and 4 in flight have a p50 of 200 ms, 2 has none: no line joins them, and a mark at the top says infinite."""
    records = [
        record(0, ttft=200.0),
        record(1, sent=20, step=1, concurrency=2, outcome="http_error", ttft=None, gaps=[], end=0.1),
        record(2, sent=40, step=2, concurrency=4, ttft=200.0),
    ]
    axes = Figure().subplots()
    words = PLOTS["Time to first token"][0](axes, built_of(tmp_path, records, STEPS))
    assert words is not None
    assert "triangles at the top" in words
    lines = {str(line.get_label()): line for line in axes.lines}
    heights = [float(y) for y in lines["p50"].get_ydata()]
    assert heights[0] == heights[2] == 200.0
    assert math.isnan(heights[1])
    marks = [line for line in axes.lines if line.get_marker() == "^" and len(line.get_xdata()) == 1]
    assert {float(line.get_xdata()[0]) for line in marks} == {2.0}


def test_ticks_of_a_narrow_range_are_plain_numbers(tmp_path: Path) -> None:
    """All gaps between 8 and 12 ms lie within one decade; its ticks are numbers that a person can read."""
    records = [record(0, gaps=[8.0, 9.0, 10.0, 11.0, 12.0])]
    figure = Figure()
    axes = figure.subplots()
    PLOTS["Distribution of gaps"][0](axes, built_of(tmp_path, records, STEPS[:1]))
    figure.draw_without_rendering()
    ticks = [label.get_text() for label in (*axes.get_xticklabels(), *axes.get_xticklabels(minor=True))]
    assert "10" in ticks
    assert all(text == "" or text.replace(".", "").isdigit() for text in ticks)


def test_a_timeline_says_how_many_are_drawn(tmp_path: Path) -> None:
    """Of 1,501 successes every second is drawn: 751."""
    built = built_of(tmp_path, [record(n, sent=n / 200) for n in range(1501)], STEPS[:1])
    words = PLOTS["Timeline of requests"][0](Figure().subplots(), built)
    assert words is not None
    assert words.endswith("One in 2 of the 1,501 successes is drawn.")


def test_only_positions_that_were_reached_are_drawn(tmp_path: Path) -> None:
    """Answers of six tokens have no token 51: one bar a step, and one entry in the legend."""
    axes = Figure().subplots()
    PLOTS["Decode speed by position in the answer"][0](
        axes, built_of(tmp_path, [record(0, gaps=[10.0] * 5)], STEPS[:1])
    )
    assert axes.get_legend_handles_labels()[1] == ["tokens 1-50"]
