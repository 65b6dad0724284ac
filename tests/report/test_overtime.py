"""The picture over time and the pages of a run that was sampled: goldens, parts that are there, lines that break."""

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import orjson
import pytest
from matplotlib.axes import Axes

from llmload import report
from llmload.report import columns, files, head, overtime, terminal
from llmload.report.building import Built
from tests.report.sampled import constant, every, gpu, look, sample, served
from tests.report.synthetic import START, believable, lines, record, step
from tests.report.test_pages import golden, near, number
from tests.report.worked import built_of


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Three levels, two GPUs, of which one is too hot from the middle on."""
    folder = believable(tmp_path_factory.mktemp("sampled") / "run", (1, 8, 32), 12.0, seed=2)
    return report.build(sample(folder, 2, hot=1))


def test_golden_of_tables(built: Built) -> None:
    """What the GPUs did and what the server said, letter by letter, with the warnings about them."""
    text = terminal.text(built).replace(str(built.folder), "FOLDER")
    text = "\n".join(line.rstrip() for line in text[text.index(" What the GPUs did") :].splitlines()) + "\n"
    assert text == golden("sampled.txt", text)


def test_golden_of_blocks(built: Built) -> None:
    """The blocks of the rows, value by value; the last bits of a sum may differ between processors."""
    blocks = [{name: row[name] for name in ("gpu", "server")} for row in built.summary["rows"] if row["gpu"]]
    text = orjson.dumps(blocks, option=orjson.OPT_INDENT_2).decode() + "\n"
    assert near(orjson.loads(text), orjson.loads(golden("sampled.json", text)))


def test_sources_are_among_the_settings(tmp_path: Path) -> None:
    """With looks that failed, a clock that is another one, and what was noted meanwhile."""
    told = [line | {"clock_offset_ms": 12.4} for line in constant(300, 5)]
    lines(tmp_path / "gpu.jsonl", [*told, {key: told[0][key] for key in ("at", "source")} | {"error": "refused"}])
    lines(tmp_path / "server.jsonl", [served(at) for at in range(3)])
    settings = dict(head.settings(built_of(tmp_path, [record(0)], run={"sampling": {"notes": ["one line"]}}).facts))
    assert settings["sampled"] == (
        "1 GPU from http://gpu-host:9835/metrics (its clock +12 ms, not used): 11 looks, 1 failed; "
        "vllm from http://127.0.0.1:8000/metrics: 3 looks"
    )
    assert settings["note of the sampling"] == "one line"


def test_every_figure_stands_in_the_csv(built: Built) -> None:
    """Each part of both blocks is a column; the seconds by reason share one."""
    *_, last = csv.DictReader(io.StringIO(files.FORMATS["csv"](built)))
    row = built.summary["rows"][-1]
    for name in ("gpu", "server"):
        for key, value in row[name].items():
            cell = last[f"{name}.{key}"]
            if key == "throttled_seconds":
                assert cell == ";".join(f"{reason}={seconds}" for reason, seconds in value.items())
            else:
                assert number(cell) == (pytest.approx(value) if isinstance(value, int | float) else value or "")


def test_tables_are_there_where_something_was_sampled(built: Built) -> None:
    """In every format for people; without samples neither is there."""
    titles = [columns.TABLES[name] for name in columns.IF_SAMPLED]
    texts = [files.FORMATS[kind](built) for kind in ("table", "markdown")]
    texts.append((built.folder / "report.html").read_text(encoding="utf-8"))
    assert all(title in text for title in titles for text in texts)
    bare = [row | {"gpu": None, "server": None} for row in built.summary["rows"]]
    assert [table.title for table in columns.tables(bare) if table.title in titles] == []


def labels(axes: Axes) -> dict[str, np.ndarray]:
    """What is drawn as lines, by label."""
    return {str(line.get_label()): np.asarray(line.get_xdata(), dtype=float) for line in axes.lines}


def test_the_picture_has_a_part_for_each_thing_that_was_sampled(built: Built) -> None:
    """All of them on one axis of time, with a mark for each step."""
    found = overtime.figure(built.facts)
    assert found is not None
    parts = {axes.get_ylabel().split(",")[0].split("\n")[0]: axes for axes in found[0].axes}
    assert list(parts) == ["TTFT", "power", "any kernel", "memory", "clock held", "requests in", "KV cache"]
    assert {axes.get_xlim() for axes in parts.values()} == {parts["TTFT"].get_xlim()}
    assert [text.get_text().strip() for text in parts["TTFT"].texts] == ["1", "8", "32"]
    assert {"GPU 0", "GPU 1"} <= labels(parts["power"]).keys()
    assert {"running", "waiting"} == labels(parts["requests in"]).keys()
    assert parts["clock held"].get_legend_handles_labels()[1] == ["power cap", "heat (hardware)"]
    page = (built.folder / "report.html").read_text(encoding="utf-8")
    whole = re.findall(r'<figure class="wide"><figcaption><b>(.*?)</b>', page)
    assert whole == ["Timeline of requests", overtime.TITLE]  # of the page's whole width
    assert len(re.findall("<svg", page)) == len(re.findall("</svg>", page))


def picture(folder: Path, told: list[dict[str, object]]) -> Callable[[str], Axes]:
    """The part of a picture with such a name on its left, of a run with these lines in gpu.jsonl."""
    lines(folder / "gpu.jsonl", told)
    records = [record(n, sent=n / 2) for n in range(80)]
    found = overtime.figure(built_of(folder, records, [step(0, 1, 0, 40)]).facts)
    assert found is not None
    return lambda name: next(axes for axes in found[0].axes if axes.get_ylabel().startswith(name))


def test_a_line_breaks_where_nothing_was_sampled(tmp_path: Path) -> None:
    """Of 30 s the ten in the middle are missing."""
    told = [line for line in constant(300, 30) if not 10 < line["at"] - START < 20]
    line = picture(tmp_path, told)("power").lines[0]
    across, up = (np.asarray(values, dtype=float) for values in line.get_data())
    assert np.isnan(up).sum() == 1
    assert across[np.flatnonzero(np.isnan(up))[0] - 1] == pytest.approx(9.5)


def test_a_lost_gpu_has_a_lane(tmp_path: Path) -> None:
    """From 20 s on it was told to be down."""
    told = every(1, 0, 38, lambda at: look(at, gpu(0, power_watts=300), gpu(1, up=at < 20, power_watts=300)))
    lane = picture(tmp_path, told)("clock held")
    assert lane.get_legend_handles_labels()[1] == ["GPU lost"]
    box = lane.collections[0].get_paths()[0].get_extents()
    assert (box.x0, box.x1) == (pytest.approx(20), pytest.approx(38))


def test_long_runs_are_thinned_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 300 samples of 300 and 400 W in turn 100 points are drawn, each the mean of three."""
    monkeypatch.setattr(overtime, "POINTS", 100)
    told = [look(n / 8, gpu(0, power_watts=300 + 100 * (n % 2))) for n in range(300)]
    heights = np.asarray(picture(tmp_path, told)("power").lines[0].get_ydata(), dtype=float)
    assert len(heights) == 100
    assert set(heights.round(3)) == {333.333, 366.667}


def test_nothing_is_drawn_of_nothing(tmp_path: Path) -> None:
    """No samples; or a server that tells no gauge, in a run without first tokens."""
    assert overtime.figure(built_of(tmp_path, [record(0)]).facts) is None
    lines(tmp_path / "server.jsonl", [served(at) for at in range(10)])
    assert overtime.figure(built_of(tmp_path, [record(0, ttft=None, gaps=[], end=90.0)]).facts) is None
