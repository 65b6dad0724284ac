"""What is written and printed: goldens, pages that need no network, text that cannot break out, never NaN.

`UPDATE_GOLDENS=1 pytest tests/report` writes the goldens anew; look at the difference before committing it.
"""

import csv
import io
import os
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import orjson
import pytest
from rich.console import Console, Group

from llmload import report
from llmload.exits import Stop
from llmload.report import building, columns, files, plots, terminal
from llmload.report.building import Built
from llmload.report.grid import Head, parts
from llmload.report.grid import lines as grid_lines
from tests.report.synthetic import believable, record, scenario, second, step, write
from tests.report.worked import built_of

GOLDENS = Path(__file__).parent / "goldens"
UPDATE = bool(os.environ.get("UPDATE_GOLDENS"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three steps with failures, small enough to read."""
    return believable(tmp_path_factory.mktemp("runs") / "run", (1, 8, 32), 12.0, seed=2)


@pytest.fixture(scope="module")
def built(folder: Path) -> Built:
    """The run, built, with a gate that holds and one that does not."""
    return report.build(folder, gates=["success_share>=0.5", "short/ttft_ms.p99<=1@8"], max_fail_ratio=0.5)


def golden(name: str, text: str) -> str:
    """The golden of a name; with UPDATE it becomes the text."""
    path = GOLDENS / name
    if UPDATE:
        GOLDENS.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize(("kind", "name"), [("markdown", "report.md"), ("table", "table.txt")])
def test_golden_of_text(built: Built, kind: str, name: str) -> None:
    """Tables for people, letter by letter."""
    text = files.FORMATS[kind](built).replace(str(built.folder), "FOLDER")
    text = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    assert text == golden(name, text)


def test_golden_of_json(built: Built) -> None:
    """summary.json, value by value; the last bits of a sum may differ between processors."""
    text = files.FORMATS["json"](built)
    assert near(orjson.loads(text), orjson.loads(golden("summary.json", text)))


def test_golden_of_csv(built: Built) -> None:
    """table.csv, cell by cell."""
    text = files.FORMATS["csv"](built)
    got, wanted = (list(csv.reader(io.StringIO(table))) for table in (text, golden("table.csv", text)))
    assert [[number(cell) for cell in row] for row in got] == [
        [pytest.approx(number(cell), rel=1e-9) if isinstance(number(cell), float) else cell for cell in row]
        for row in wanted
    ]


def number(cell: str) -> float | str:
    """A cell as a number, if it is one."""
    try:
        return float(cell)
    except ValueError:
        return cell


def near(got: Any, wanted: Any) -> bool:
    """Whether two JSON values are the same but for the last bits of floats."""
    if isinstance(wanted, dict):
        return list(got) == list(wanted) and all(near(got[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return len(got) == len(wanted) and all(near(*pair) for pair in zip(got, wanted, strict=True))
    return got == (pytest.approx(wanted, rel=1e-9) if isinstance(wanted, float) else wanted)


def test_every_figure_of_the_contract_is_there(built: Built) -> None:
    """The keys of a row of summary.json, in the contract's order."""
    assert list(built.summary) == ["schema", "run", "scenario", "verdict", "reasons", "rows"]
    assert list(built.summary["rows"][-1]) == [
        "step", "concurrency", "rate", "workload", "window_s", "planned", "not_sent", "warmup", "drain", "started",
        "ok", "failed", "cancelled", "lost", "outcomes", "success_share", "in_flight_mean", "ttft_ms",
        "ttft_content_ms", "itl_ms", "tpot_ms", "e2e_ms", "requests_per_s", "goodput_per_s", "goodput_share",
        "slow_requests", "output_tokens_per_s", "output_tokens_per_s_peak", "output_tokens_per_s_per_user",
        "output_tokens_per_s_request", "input_tokens_per_s", "input_tokens_mean", "output_tokens_mean",
        "requested_output_tokens_mean", "token_source", "tokens_per_event_mean", "reached_length_share",
        "from_schedule", "cost", "prefill_share", "stalls_per_1000_gaps", "stalled_request_share", "coalesced_share",
        "flags", "gpu", "server", "generator",
    ]  # fmt: skip


def test_files_are_those_of_the_formats(folder: Path, built: Built) -> None:
    """What lies in the folder is what --format prints, and nothing half written is left."""
    for name, kind in files.FILES.items():
        assert (folder / name).read_text(encoding="utf-8") == files.FORMATS[kind](built)
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


class Page(HTMLParser):
    """Collects tags, attributes and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.words.append(data)


def test_the_page_needs_no_network(folder: Path, built: Built) -> None:
    """No script, no link to anything outside, no style that loads something."""
    text = (folder / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "link", "iframe", "img", "object", "embed", "base"}
    for tag, attributes in page.tags:
        for name in ("src", "href", "xlink:href", "action"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, attributes)
        assert not any(name.startswith("on") for name in attributes)
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)


def test_the_page_shows_everything(folder: Path, built: Built) -> None:
    """All pictures, tables, warnings, gates and settings."""
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    words = " ".join(page.words)
    others = ("Latency from the schedule", "through the soak")  # those of an open loop, and of a long window
    titles = [title for title in plots.PLOTS if not title.endswith(others)]
    for expected in (
        *titles,
        *(table.title for table in built.tables),
        *built.warnings,
        "WARNINGS",
        "Settings",
        "Lengths in tokens",
    ):
        assert expected in words
    assert "short/ttft_ms.p99<=1@8" in words
    assert "does not hold" in words
    assert [tag for tag, _ in page.tags].count("svg") == len(titles)


def test_ids_of_pictures_do_not_meet(folder: Path, built: Built) -> None:
    """Each reference inside a picture finds one id, of its own picture."""
    text = (folder / "report.html").read_text(encoding="utf-8")
    pictures = re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)
    seen: set[str] = set()
    for picture in pictures:
        ids = set(re.findall(r'\bid="([^"]+)"', picture))
        assert not ids & seen
        assert set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', picture)) <= {(i, "") for i in ids} | {
            ("", i) for i in ids
        }
        seen |= ids


EVIL = '<script>alert("x")</script> $\\frac{1}{2 | `code` **b** [red]r[/red]'


def test_words_from_outside_stay_words(tmp_path: Path) -> None:
    """Names and errors with markup of every format come out as they are, and draw."""
    rows = [
        record(0, workload=EVIL, served_model=EVIL),
        record(1, workload=EVIL, outcome="http_error", end=9.0, error=EVIL),
    ]
    folder = write(
        tmp_path, rows, scenario=scenario(name=EVIL, classes=[{"name": EVIL}, {"name": "b"}]), labels={"a": EVIL}
    )
    built = report.build(folder)
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert "<script" not in html
    assert EVIL in " ".join(Page(html).words)
    assert EVIL in files.FORMATS["table"](built)
    assert "\\<script\\>" in files.FORMATS["markdown"](built)
    assert orjson.loads(files.FORMATS["json"](built))["rows"][0]["workload"] == EVIL


STEERING = "短 a\x1b[2Jb\x9b31mc\x07d\r\ne\x7ff\u202eg"


def test_no_control_character_reaches_a_terminal(tmp_path: Path) -> None:
    """Whoever said it, and whichever format is printed: escape sequences, line ends, turned text."""
    names = {"workload": STEERING, "prompt": STEERING, "served_model": STEERING}
    rows = [record(0, **names), record(1, served_model="b")]
    rows += [record(2 + n, outcome=STEERING if n else "http_error", end=9.0, error=STEERING, **names) for n in range(2)]
    environment = {"server": {"model": STEERING, "server_header": STEERING}, "client": {"host": STEERING}}
    built = built_of(
        tmp_path,
        rows,
        run={"labels": {STEERING: STEERING}, "environment": environment, "preflight": {"notes": [STEERING]},
             "reasons": [STEERING], "run": STEERING, "verdict": "DEGRADED", "command": [STEERING]},
        name=STEERING,
        classes=[{"name": STEERING}, {"name": "short"}],
    )  # fmt: skip
    for kind, render in files.FORMATS.items():
        text = render(built)
        assert not {sign for sign in text if not sign.isprintable()} - {"\n"}, kind
        assert {"json": "a\\u001b[2Jb", "markdown": "a \\[2Jb"}.get(kind, "a [2Jb") in text, kind
    assert orjson.loads(files.FORMATS["json"](built))["rows"][0]["workload"] == STEERING


def test_never_nan(tmp_path: Path) -> None:
    """Blank is blank in every format, also where nothing was measured."""
    rows = [record(n, ttft=None, gaps=[], end=None, input_tokens=None, stamp_lag_ms=None) for n in range(3)]
    rows += [record(3 + n, outcome="connect_error", end=None) for n in range(3)]
    built = built_of(tmp_path, rows, steps=[step(), step(1, 4, None, None)])
    for kind, render in files.FORMATS.items():
        text = render(built)
        assert not re.search(r"\bnan\b", text, re.IGNORECASE), kind
        assert "Infinity" not in text


@pytest.mark.parametrize("width", [80, 100, 120])
def test_a_table_fits_into_a_terminal(built: Built, width: int) -> None:
    """No line is wider; what does not fit stands in a table below, with every cell and the steps named again."""
    text = terminal.text(built, width).splitlines()
    assert max(map(len, text)) <= width
    rules = [line for line in text if set(line.strip()) == {"─"}]
    assert len(rules) == {80: 5, 100: 5, 120: 3}[width]
    for table in columns.tables(built.summary["rows"]):
        cells = Counter(cell for line in table.lines for cell in line.cells)
        shown = Counter(word for line in text for word in line.split())
        assert all(shown[cell] >= n for cell, n in cells.items() if cell)


def test_a_number_and_its_unit_stay_on_one_line() -> None:
    """As a sign and its meaning do; what is longer than a line is still cut."""

    def wrapped(words: str, width: int) -> list[str]:
        return terminal.as_text(Group(terminal.Words(words)), width).splitlines()

    assert wrapped("the limit is 1 %. Late", 14) == ["the limit is", "1 %. Late"]
    assert wrapped("it was late by 6.2 ms, or 1,000 tokens/s", 20) == ["it was late by", "6.2 ms, or", "1,000 tokens/s"]
    assert wrapped("of few   ‡ the generator", 12) == ["of few", "‡ the", "generator"]
    assert wrapped("2 words of 3 more", 9) == ["2 words", "of 3 more"]
    assert wrapped("abcdefgh", 5) == ["abcde", "fgh"]


def test_what_is_no_terminal_gets_no_blanks_at_the_ends_of_lines(
    built: Built, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same text as elsewhere, whole and without colours."""
    terminal.show(built, Console(width=80))
    shown = capsys.readouterr().out
    assert shown == terminal.text(built, 80)
    assert not re.search(r"[ \x1b]$", shown, re.MULTILINE)


@pytest.mark.parametrize("title", ["What failed", "files:", "What users felt"])
def test_what_goes_on_in_the_next_line_is_indented(built: Built, title: str) -> None:
    """Titles and the list of files, in 40 columns."""
    lines = terminal.text(built, 40).splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith(f" {title}"))
    end = next(place for place in range(first, len(lines) + 1) if place == len(lines) or not lines[place].strip())
    assert all(line.startswith(" ") for line in lines[first:end])


def test_generator_bound_and_estimates_are_marked(tmp_path: Path) -> None:
    """‡ beside the step, ~ beside figures built on estimated tokens, * beside a p95 of few."""
    rows = [record(n, output_tokens_source="events") for n in range(20)]
    built = built_of(tmp_path, rows, generator=[second(at, cpu=0.99) for at in range(5)])
    felt, tried, _ = columns.tables(built.summary["rows"])
    assert felt.lines[0].step == "1‡"
    cells = dict(zip([column.key for column in felt.columns], felt.lines[0].cells, strict=True))
    assert cells["ttft_ms.ok.p95"] == "100*"
    assert cells["output_tokens_per_s"] == "20.0~"
    assert "ttft_ms.ok.p99" not in cells
    assert set(felt.marks) == {"*", "†", "~", "‡"}
    assert "*" in tried.marks


def test_blank_and_infinite_cells(tmp_path: Path) -> None:
    """A figure that was not measured is blank, one that falls on failures is inf, none of them is 0."""
    built = built_of(tmp_path, [record(n, outcome="overloaded", end=5.0) for n in range(5)])
    (row,) = (row for row in built.summary["rows"] if row["workload"] == "all")
    by_key = {column.key: column for column in columns.COLUMNS}
    assert columns.cell(row, by_key["ttft_ms.ok.p50"]) == ""
    assert columns.cell(row, by_key["ttft_ms.all.p50"]) == "inf"
    assert columns.cell(row, by_key["failed"]) == "5"


def test_every_column_is_written(built: Built) -> None:
    """Each names a table, a writer and a figure that a row has."""
    row = built.summary["rows"][-1]
    flat = set(row) | set(report.frames(built.folder).table.columns) | set(columns.DERIVED)
    for column in columns.COLUMNS:
        assert set(column.tables) <= set(columns.TABLES)
        assert isinstance(columns.cell(row, column), str)
        assert column.key in flat


def test_grid() -> None:
    """Groups over headings, digits under digits with marks beside."""
    heads = [Head("in", "flight"), Head("", "class", left=True), Head("TTFT", "p50"), Head("TTFT", "p95")]
    cells = [["1", "short", "9.5", "12*"], ["", "all", "10.25", "7"]]
    assert grid_lines(heads, cells, "*") == [
        "    in         ── TTFT ─",
        "flight  class    p50 p95",
        "────────────────────────",
        "     1  short    9.5 12*",
        "        all    10.25  7",
    ]


def test_a_grid_that_is_too_wide_is_cut_between_groups() -> None:
    """The first column stands in each part; a group that is too wide alone is not cut."""
    heads = [Head("in", "flight"), Head("A", "one"), Head("A", "two"), Head("B", "three"), Head("C", "four")]
    cells = [["1", "2", "3", "4", "5"]]
    assert parts(heads, cells, 1, 100) == [[0, 1, 2, 3, 4]]
    assert parts(heads, cells, 1, 20) == [[0, 1, 2], [0, 3, 4]]
    assert parts(heads, cells, 1, 5) == [[0, 1, 2], [0, 3], [0, 4]]


def test_a_folder_that_cannot_be_written_is_one_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk ends in a sentence with what to do, and leaves the old file."""
    before = (folder / "summary.json").read_bytes()

    def full(self: Path, *_: Any, **__: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(Stop, match="No space left on device"):
        files.write(building.compute(folder))
    monkeypatch.undo()
    assert (folder / "summary.json").read_bytes() == before
