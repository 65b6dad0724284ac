"""The pictures of a comparison, by what is drawn: lines, ends, marks beyond an axis, the words of ticks and legends."""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from llmload.compare.comparison import Compared
from llmload.compare.figures import FIGURES
from llmload.compare.ratios.cells import Cell, Deciding
from llmload.compare.show import bars, curves, plots, points, radar, spreads
from llmload.compare.show.inks import BASELINE, CANDIDATE
from llmload.compare.sides import Level, Pair, Side
from llmload.report import building
from llmload.report.inks import STYLE
from tests.compare import sample
from tests.report.synthetic import planned, record, step, write
from tests.report.synthetic import scenario as scenario_of

LEVELS = (Level(1, None), Level(4, None))


@pytest.fixture(autouse=True)
def style() -> Iterator[None]:
    """The style that the page is drawn in."""
    with mpl.rc_context(STYLE):
        yield


def one_side(folder: Path, name: str, ttft: float, fails: int = 0, rounds: int = 1) -> Side:
    """Two levels: at 1 in flight four answers, at 4 in flight as many, of which `fails` failed."""
    found = []
    for number in range(rounds):
        late = ttft + 10.0 * number
        rows = [record(n, ttft=late + n) for n in range(4)]
        rows += [
            record(4 + n, sent=20, step=1, concurrency=4, ttft=2 * (late + n))
            if n >= fails
            else record(4 + n, sent=20, step=1, concurrency=4, outcome="http_error", end=1.0)
            for n in range(4)
        ]
        steps = [step(0, 1, 0, 10), step(1, 4, 20, 30)]
        found.append(building.compute(write(folder / name / str(number), rows, steps)))
    return Side(name, tuple(found))


def small(folder: Path, fails: int = 0, rounds: int = 1) -> Compared:
    """A candidate whose first tokens come in half the time."""
    sides = [one_side(folder, "one", 100.0, 0, rounds), one_side(folder, "other", 50.0, fails, rounds)]
    pair = Pair("small", *sides, LEVELS, (), ("short", "all"), interleaved=False)
    return sample.compared(pair)


def by_label(axes: Axes) -> dict[str, list[float]]:
    """What is drawn, by its name in the legend."""
    return {str(line.get_label()): [float(y) for y in line.get_ydata()] for line in axes.lines}


def test_points_and_whiskers_of_one_round(tmp_path: Path) -> None:
    """First tokens of 100 to 103 ms against 50 to 53: medians of 101.5 and 51.5; at 4 in flight twice that."""
    axes = Figure().subplots()
    words = curves.percentiles("ttft", "TTFT, ms", 1)(axes, small(tmp_path))
    assert words is not None
    assert "not repeated" in words
    lines = by_label(axes)
    assert lines["one, p50"] == [101.5, 203.0]
    assert lines["other, p50"] == [51.5, 103.0]


def test_whiskers_of_rounds_go_from_the_lowest_to_the_highest(tmp_path: Path) -> None:
    """Rounds with medians of 101.5, 111.5 and 121.5 ms; the point is their geometric mean."""
    compared = small(tmp_path, rounds=3)
    side = compared.pair.baseline
    figure = FIGURES["ttft_p50"]
    assert points.whiskers(side, LEVELS[0], "all", figure) == (101.5, 121.5)
    values = points.rounds(side, LEVELS[0], "all", figure)
    assert points.middle(values) == pytest.approx((101.5 * 111.5 * 121.5) ** (1 / 3))
    words = curves.percentiles("ttft", "TTFT, ms", 1)(Figure().subplots(), compared)
    assert words is not None
    assert "from the lowest round to the highest" in words


@pytest.mark.parametrize(
    ("values", "middle"),
    [([], None), ([4.0, 9.0], 6.0), ([4.0, math.inf], math.inf), ([0.0, 1.0], 0.0)],
)
def test_the_middle_of_rounds(values: list[float], middle: float | None) -> None:
    """Geometric, as in the tables; infinite where any round is, 0 where one has 0."""
    assert points.middle(values) == (None if middle is None else pytest.approx(middle))


def test_the_interval_of_a_percentile() -> None:
    """Of 100 values the median lies between the 40th and the 61st (tables of the binomial), the p95 up to the 100th.

    With failures behind them the upper end may be one; of five values there is none.
    """
    hundred = np.arange(1.0, 101.0)
    assert points.ends(hundred, 0, 50) == (40.0, 61.0)
    assert points.ends(hundred, 0, 95) == (90.0, 100.0)
    assert points.ends(hundred[:98], 2, 95) == (90.0, math.inf)
    assert points.ends(hundred[:5], 0, 50) is None


def test_infinite_percentiles_are_triangles_at_the_top(tmp_path: Path) -> None:
    """One of four failed at 4 in flight: the candidate's p95 is infinite there, its p50 is not."""
    axes = Figure().subplots()
    words = curves.percentiles("ttft", "TTFT, ms", 1)(axes, small(tmp_path, fails=1))
    assert words is not None
    assert words.endswith(" △ at the top: ∞, failures reach the percentile.")
    marks = [line for line in axes.lines if line.get_marker() == "^"]
    assert [to_hex(line.get_color()) for line in marks] == [CANDIDATE.lower()]
    assert math.isnan(by_label(axes)["other, p95"][1])
    assert not math.isnan(by_label(axes)["other, p50"][1])


def test_what_is_infinite_is_named_where_it_cannot_be_drawn(tmp_path: Path) -> None:
    """Throughput against latency has no place for it."""
    words = curves.trade(Figure().subplots(), small(tmp_path, fails=1))
    assert words is not None
    assert words.endswith("Not drawn, because ∞: other at 4 in flight.")


def test_noise_is_no_slope(tmp_path: Path) -> None:
    """1 % between two levels is a small part of the axis of times, which ends at twice its begin or further."""
    compared = small(tmp_path)
    for draw in (curves.trade, curves.percentiles("e2e", "E2E, s", 0.001)):
        axes = Figure().subplots()
        assert draw(axes, replace(compared, pair=replace(compared.pair, levels=LEVELS[:1]))) is not None
        low, high = axes.get_ylim()
        assert high / low >= curves.SHORTEST
        assert math.log(1.01) / math.log(high / low) < 0.015
    axes = Figure().subplots()
    axes.set_yscale("log")
    axes.set_ylim(0.7288, 0.7312)
    curves._room(axes)
    low, high = axes.get_ylim()
    assert low < 0.55
    assert high > 1.0


def test_what_reaches_the_top_of_the_rounds_is_explained(tmp_path: Path) -> None:
    """A round whose figure is infinite has a mark there, and the words under the picture say what it is."""
    compared = small(tmp_path, rounds=2)
    made = cell("e2e_p95", None, deciding=True)
    for values, said in ((((1.0, 1.1), (1.0, math.inf)), True), (((1.0, 1.1), (1.0, 1.2)), False)):
        words = bars.by_round(Figure().subplots(), replace(compared, cells=(replace(made, values=values),)))
        assert words is not None
        assert words.endswith("△ at the top: ∞, failures reach the percentile.") is said


def test_a_distribution_ends_where_failures_begin(tmp_path: Path) -> None:
    """One of four failed: the line of the candidate ends at 75 %, and says why."""
    axes = Figure().subplots()
    words = spreads.ecdf("ttft_ms", "TTFT, ms", 1)(axes, small(tmp_path, fails=1))
    assert words is not None
    assert "the rest failed" in words
    lines = by_label(axes)
    assert lines["one"] == [25.0, 50.0, 75.0, 100.0]
    assert lines["other (1 of 4 failed)"] == [25.0, 50.0, 75.0]


def test_each_side_has_its_colour_everywhere(tmp_path: Path) -> None:
    """Whatever is drawn of a side has the side's colour; nothing else has."""
    compared = small(tmp_path, rounds=3)
    for title, (paint, _) in plots.PLOTS.items():
        axes = Figure().subplots()
        if paint is bars.forest or paint(axes, compared) is None:
            continue
        handles, labels = axes.get_legend_handles_labels()
        assert labels, title
        for handle, label in zip(handles, labels, strict=True):
            colour = handle.get_color() if hasattr(handle, "get_color") else handle.patches[0].get_facecolor()
            assert to_hex(colour) == (BASELINE if label.startswith("one") else CANDIDATE).lower(), (title, label)


def test_ticks_are_plain_numbers(tmp_path: Path) -> None:
    """No power of ten on any axis that a person reads."""
    compared = small(tmp_path, rounds=2)
    for title, (paint, _) in plots.PLOTS.items():
        figure = Figure()
        axes = figure.subplots()
        if paint(axes, compared) is None:
            continue
        figure.draw_without_rendering()
        ticks = [*axes.get_xticklabels(), *axes.get_xticklabels(minor=True), *axes.get_yticklabels()]
        texts = [text.get_text() for text in (*ticks, *axes.get_yticklabels(minor=True))]
        assert any(texts), title
        assert not any("10^" in text or "mathdefault" in text or "e+" in text for text in texts), title


@pytest.mark.parametrize("ends", [(61.2, 63.9), (60, 75), (0.48, 0.95), (0.3, 2.5), (20, 400), (3, 90_000)])
def test_an_axis_has_two_ticks_at_least(ends: tuple[float, float]) -> None:
    """However short or long it is; all of them with their numbers."""
    axes = Figure().subplots()
    axes.set_yscale("log")
    axes.set_ylim(*ends)
    curves.plain(axes.yaxis)
    axes.figure.draw_without_rendering()  # type: ignore[union-attr]
    shown = [text.get_text() for text in axes.get_yticklabels()]
    assert 2 <= len(shown) <= 16
    assert all(ends[0] <= float(text.replace(",", "")) <= ends[1] for text in shown)
    assert not list(axes.get_yticklabels(minor=True))


def test_without_data_nothing_is_drawn(tmp_path: Path) -> None:
    """A pair without levels and cells has no picture; one without GPUs none of them."""
    compared = small(tmp_path)
    titles = {plot.title for plot in plots.draw(compared, "a-")}
    assert not {"GPU memory", "GPU power", "The deciding figure, round by round"} & titles
    assert {"Time to first token", "Gaps between tokens", "All gains at the level that decides"} <= titles
    elsewhere = replace(compared, cells=(), deciding=Deciding(FIGURES["e2e_p95"], Level(64, None), "all"))
    assert plots.draw(replace(elsewhere, pair=replace(compared.pair, levels=())), "a-") == []


def test_where_all_failed_nothing_is_drawn(tmp_path: Path) -> None:
    """Both sides infinite at every level: triangles alone would have no scale to stand on."""
    sides = [one_side(tmp_path / name, name, 100.0, fails=4) for name in ("baseline", "candidate")]
    compared = small(tmp_path / "small")
    pair = replace(compared.pair, baseline=sides[0], candidate=sides[1], levels=LEVELS[1:])
    titles = {plot.title for plot in plots.draw(replace(compared, pair=pair), "a-")}
    assert "Time to first token" not in titles


def cell(key: str, gain: float | None, **more: object) -> Cell:
    """A cell of a figure at 4 in flight."""
    facts = Cell(
        LEVELS[1], "all", FIGURES[key], 1.0, 1.0, gain, None, None, None, None, (3, 3), (9, 9), None, "not repeated"
    )
    return replace(facts, **more)  # type: ignore[arg-type]


def test_gains_on_one_axis(tmp_path: Path) -> None:
    """A line for each with its interval; what is beyond the axis is an arrow; the claim stands in its line."""
    found = (
        cell("ttft_p50", 2.0, low=1.5, high=2.5, word="faster"),
        cell("ttft_p95", None),
        cell("e2e_p95", 1.25, low=1.0, high=1.5, deciding=True),
        cell("tokens", 0.0),
        cell("requests", math.inf),
    )
    compared = replace(small(tmp_path), cells=found)
    axes = Figure().subplots()
    words = bars.forest(axes, compared, 14.0)
    assert words is not None
    assert words.endswith("Arrows: beyond the axis.")
    assert [text.get_text() for text in axes.get_yticklabels()] == [
        "requests per s", "output tokens per s", "E2E p95 ◆", "TTFT p50",
    ]  # fmt: skip
    markers = {(line.get_marker(), float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in axes.lines}
    low, high = axes.get_xlim()
    assert {("D", 1.25, 2.0), ("D", 14.0, 2.0), ("<", low, 1.0), (">", high, 0.0), ("o", 2.0, 3.0)} <= markers
    assert [text.get_text() for text in axes.texts] == ["claimed: 14\N{MULTIPLICATION SIGN}"]


def test_an_interval_that_goes_on_for_ever_leaves_the_others_room(tmp_path: Path) -> None:
    """Its ends of 0 and infinity are arrows at the edge; the axis is as wide as the gains need."""
    found = (
        cell("e2e_p50", 1.5, low=1.4, high=1.6),
        cell("e2e_p95", 1.5, low=0.0, high=math.inf, deciding=True),
    )
    axes = Figure().subplots()
    words = bars.forest(axes, replace(small(tmp_path), cells=found))
    assert words is not None
    assert words.endswith("Arrows: beyond the axis.")
    assert axes.get_xlim() == pytest.approx((0.85 / 1.08, 1.6 * 1.08))
    assert [line.get_marker() for line in axes.lines if line.get_marker() in "<>"] == ["<", ">"]


def polar() -> Axes:
    """Axes for a radar."""
    return Figure().add_subplot(projection="polar")


def test_a_radar_of_three_or_six() -> None:
    """Six where all six are known, else the three; the baseline is a ring at 1."""
    assert [ratio.name for ratio in radar.spokes(sample.RULE)] == list(radar.SIX)
    fewer = replace(sample.RULE, beside=tuple(replace(ratio, gain=None) for ratio in sample.RULE.beside))
    assert [ratio.name for ratio in radar.spokes(fewer)] == list(radar.SIX[:3])
    axes = polar()
    assert radar.paint(axes, fewer) is not None
    ring = by_label(axes)["baseline: 1"]
    assert min(ring) == max(ring)


def test_a_spoke_that_is_not_known_is_empty() -> None:
    """No GPU data: two points, one line between them, no area, and the words say so."""
    speed, steady, memory = sample.RULE.ratios
    unknown = replace(memory, gain=None, low=None, high=None, raw=None)
    axes = polar()
    words = radar.paint(axes, replace(sample.RULE, ratios=(speed, steady, unknown), beside=()))
    assert words is not None
    assert words.endswith("not known.")
    assert len([line for line in axes.lines if line.get_marker() == "s"]) == 2
    assert not axes.patches
    assert any(text.get_text() == f"{memory.name}\nnot known" for text in axes.texts)
    nothing = tuple(replace(ratio, gain=None) for ratio in sample.RULE.ratios)
    assert radar.paint(polar(), replace(sample.RULE, ratios=nothing, beside=())) is None


def test_an_infinite_ratio_stands_at_the_edge() -> None:
    """And one of 0 in the middle."""
    speed, steady, memory = sample.RULE.ratios
    ratios = (replace(speed, gain=math.inf, high=math.inf), replace(steady, gain=0.0, low=0.0), memory)
    axes = polar()
    radar.paint(axes, replace(sample.RULE, ratios=ratios, beside=()))
    heights = [float(line.get_ydata()[0]) for line in axes.lines if line.get_marker() == "s"]
    assert heights[:2] == [1.0, 0.0]


def test_an_open_loop_is_drawn_against_its_rates(tmp_path: Path) -> None:
    """The axis says what was asked for, and labels carry the unit."""
    level = Level(None, 2.5)
    sides = []
    for name in ("one", "other"):
        rows = [planned(n, n * 0.4, rate=2.5) for n in range(8)]
        steps = [step(0, None, 0, 10, rate=2.5)]
        made = scenario_of(load=scenario_of()["load"] | {"kind": "rate", "rates": [2.5], "steps": []})
        sides.append(Side(name, (building.compute(write(tmp_path / name, rows, steps, scenario=made)),)))
    pair = Pair("rates", sides[0], sides[1], (level,), (), ("short", "all"), interleaved=False)
    compared = sample.compared(pair)
    axes = Figure().subplots()
    assert curves.percentiles("e2e", "E2E, s", 0.001)(axes, compared) is not None
    assert axes.get_xlabel() == "requests per second asked for"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["2.5"]
    words = curves.trade(Figure().subplots(), compared)
    assert words is not None
    assert "requests per second asked for" in words
