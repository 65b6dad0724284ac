"""Samples out of a Prometheus: a real one that scrapes, and a played one for what a real one seldom does."""

import itertools
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmload.gather import prometheus
from llmload.gather.ask import Trust
from llmload.gather.lines import Lines, Notes
from llmload.gather.series import interval_s, scrapes
from tests.gather.children import ANCHOR_S, child, now, until
from tests.gather.conftest import Scraping
from tests.gather.places import Asked, answer, place


@pytest.fixture(scope="module")
def real(scraping: Scraping) -> Scraping:
    """A Prometheus that has scraped both its targets."""
    until(lambda: min(len(scraping.sidecar.asked), len(scraping.dcgm.asked)) > 6, "scrapes")
    return scraping


@pytest.fixture(scope="module")
def fetched(real: Scraping) -> SimpleNamespace:
    """What a run of a second and a half got out of it."""
    with child(real.folder / "run") as one:
        ready = one.order(prometheus=real.url + "/", selector='{job="llmload-gpu"}')
        begin = now()
        paused = one.do(do="pause")
        one.do(do="resume")
        before = len(real.sidecar.asked)
        until(lambda: len(real.sidecar.asked) > before + 6, "scrapes")
        end = now()
        over = one.do(do="stop", from_s=begin, to_s=end)
        assert one.end() == (0, "")
        return SimpleNamespace(ready=ready, paused=paused, over=over, begin=begin, end=end, lines=one.lines())


def test_ready_says_which_prometheus_and_which_gpus(real: Scraping, fetched: SimpleNamespace) -> None:
    """Its version, the GPUs that the selector finds now, and how far its clock is from ours; a pause is not for it."""
    told = fetched.ready["prometheus"]
    assert (told["source"], told["ok"], told["error"]) == (real.url, True, None)
    assert told["version"].startswith("2.")
    assert told["gpus"] == [{"uuid": "GPU-aa", "name": "Test H100"}]
    assert abs(told["clock_offset_ms"]) < 1000  # it is this machine's own
    assert fetched.paused["went_on"] == [real.url]


def test_each_scrape_is_a_line_with_its_own_time(real: Scraping, fetched: SimpleNamespace) -> None:
    """No scrape is missing, none is there twice or made up, and one lies beyond either edge."""
    lines = fetched.lines
    assert {line["source"] for line in lines} == {f"{real.url} llmload-gpu/{real.sidecar.url[7:]}"}
    rows = [line["gpus"][0] for line in lines]
    energies = [row["values"]["energy_joules"] for row in rows if row["up"]]
    first = energies[0]
    up = [10.0 * number for number in range(int(first // 10), int(energies[-1] // 10) + 1) if number % 5]
    assert energies == up
    assert len(rows) >= 7
    assert {row["up"] for row in rows} == {True, False}
    moments = [line["at"] for line in lines]
    assert moments == sorted(moments)
    assert moments[0] < fetched.begin
    assert moments[-1] > fetched.end
    assert sum(not fetched.begin <= moment <= fetched.end for moment in moments) <= 4  # at 1.5 intervals either side
    assert all(line["age_s"] == 0.125 for line in lines)
    assert all(line["host"] == {"load1": 0.5} for line in lines)
    assert all(set(row.get("values", {})) <= {"energy_joules"} for row in rows)
    assert [row.get("info") for row in rows] == [{"name": "Test H100"}, *[None] * (len(rows) - 1)]


def test_the_end_says_what_was_asked(real: Scraping, fetched: SimpleNamespace) -> None:
    """Queries, scrape interval and version for run.json; one look for each scrape."""
    told = fetched.over["prometheus"]
    assert told["queries"][0].startswith('{__name__=~"(llmload_gpu_|DCGM_FI_|nvidia_smi_|llmload_host_).+"')
    assert ',job="llmload-gpu"}[' in told["queries"][0]
    assert told["scrape_interval_s"] == pytest.approx(0.25, abs=0.1)
    assert fetched.over["looks"] == {real.url: len(fetched.lines)}
    assert fetched.over["failed"] == {real.url: 0}
    assert fetched.over["notes"] == []


def asked(url: str, selector: str | None = None) -> prometheus.Prometheus:
    """A Prometheus as a run has it."""
    return prometheus.Prometheus(url, selector, ANCHOR_S, Trust(), Notes())


def test_small_pieces_are_the_same_as_a_large_one(
    real: Scraping, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No scrape is lost or doubled where pieces meet, of the sidecar and of DCGM, which is told by its remarks.

    Both ask for the very same time: what each finds out of clock and interval by itself differs by milliseconds.
    """
    monkeypatch.setattr(prometheus.Prometheus, "_offset_s", lambda *_: 0.0)
    monkeypatch.setattr(prometheus.Prometheus, "_interval_s", lambda *_: 0.25)
    end = now() - 1
    time.sleep(2)  # what was scraped until then is stored by now, also on a busy machine
    got = []
    for seconds in (60.0, 0.1):
        monkeypatch.setattr(prometheus, "PIECE_S", seconds)
        one = asked(real.url)
        assert {gpu["uuid"] for gpu in one.begin(5)["gpus"]} == {"GPU-aa", "GPU-dd"}
        path = tmp_path / str(seconds)
        lines = Lines(path, one._notes)
        told = one.fetch(end - 1, end, lines)
        lines.close()
        got.append([json.loads(line) for line in path.read_text().splitlines()])
        assert (told["pieces"] == 1) == (seconds == 60.0)
        dcgm = f"{real.url} dcgm/{real.dcgm.url[7:]}: DCGM's values are up to one interval"
        assert [note[: len(dcgm)] for note in one._notes.all()] == [dcgm]
    large, small = ([(line["source"], line["gpus"]) for line in lines] for lines in got)
    assert large == small
    assert len(large) > 6


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        ('{job="nobody"}', 'it has no series of a GPU now with {job="nobody"}; expected llmload_gpu_…, DCGM_FI_… or'),
        ("{job=}", "it refused the query: invalid parameter"),
    ],
)
def test_a_selector_that_fits_nothing_is_told_before_the_run(real: Scraping, selector: str, words: str) -> None:
    """One that finds no GPU, and one that is no selector."""
    told = asked(real.url, selector).begin(5)
    assert told["ok"] is False
    assert str(told["error"]).startswith(words)


@dataclass
class Played:
    """A Prometheus of one series, scraped each second from 0 on by its clock, that may refuse and fail."""

    ahead_s: float = 0.0
    longest_s: float = 1e9
    broken: Callable[[float], bool] = lambda _: False
    seconds: list[float] = field(default_factory=list)

    def __call__(self, question: Asked) -> bytes:
        """The answer to a question."""
        query = parse_qs(urlsplit(question.path).query)
        if question.path.endswith("buildinfo"):
            return answer("", 404)  # as some that speak its language
        text = query["query"][0]
        if text == "time()":
            return self.told({"resultType": "scalar", "result": [0, str(now() + self.ahead_s)]})
        series = {"metric": {"__name__": "llmload_gpu_power_watts", "uuid": "GPU-aa", "gpu": "0"}}
        if not text.endswith("s]"):
            return self.told({"result": [{**series, "value": [now() + self.ahead_s, "5"]}]})
        at = float(query["time"][0])
        length = text.rpartition("[")[2]
        seconds = float(length[:-3]) / 1e3 if length.endswith("ms]") else float(length[:-2])
        if length.endswith("ms]"):
            self.seconds.append(seconds)
        if length.endswith("ms]") and seconds > self.longest_s:
            refused = {"status": "error", "error": "query processing would load too many samples into memory"}
            return answer(json.dumps(refused), 422)
        if length.endswith("ms]") and self.broken(at):
            return answer("", 500)
        moments = range(int(at - seconds), int(at) + 1)
        values = [[moment, str(moment)] for moment in moments if at - seconds <= moment <= at]
        return self.told({"result": [{**series, "values": values}]})

    @staticmethod
    def told(data: object) -> bytes:
        """An answer as Prometheus gives it."""
        return answer(json.dumps({"status": "success", "data": data}))


def fetch(played: Played, path: Path, from_s: float, to_s: float) -> tuple[list[Any], list[str]]:
    """The moments and values that were got, and the notes."""
    with place(played) as here:
        one = asked(here.url)
        ready = one.begin(5)
        assert (ready["ok"], ready["version"]) == (True, None)
        lines = Lines(path, one._notes)
        one.fetch(from_s, to_s, lines)
        lines.close()
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [(row["at"], row["gpus"][0]["values"]["power_watts"]) for row in rows], one._notes.all()


def test_a_clock_that_is_apart_is_told_and_undone(tmp_path: Path) -> None:
    """A Prometheus five minutes ahead: its samples stand where they belong by our clock."""
    end = float(int(now())) - 100.0
    got, notes = fetch(Played(ahead_s=300.0), tmp_path / "gpu", end - 10, end)
    assert [value - at for at, value in got] == pytest.approx([300.0] * len(got), abs=0.5)
    assert got[0][0] < end - 10
    assert got[-1][0] > end
    assert [note.partition(": ")[2] for note in notes] == [
        "its clock is +300.0 s from this machine's; its samples were moved by that"
    ]


def test_what_is_too_much_is_asked_for_in_halves(tmp_path: Path) -> None:
    """A Prometheus that loads no more than 10 s at once gives all of two minutes in pieces of 7.5 s."""
    end = float(int(now())) - 400.0
    played = Played(longest_s=10.0)
    got, notes = fetch(played, tmp_path / "gpu", end - 120, end)
    values = [value for _, value in got]
    assert values == [values[0] + number for number in range(len(values))]
    assert len(values) in {123, 124}
    assert [round(seconds, 1) for seconds in played.seconds[:4]] == [60.0, 30.0, 15.0, 7.5]
    assert notes == []


def test_a_query_that_fails_is_a_note_and_the_others_count(tmp_path: Path) -> None:
    """One minute of three is missing; where nothing comes any more the rest is not asked for."""
    end = float(int(now())) - 400.0
    begin = end - 180
    got, notes = fetch(Played(broken=lambda at: begin + 90 < at < begin + 150), tmp_path / "one", begin, end)
    assert len(got) in {122, 123, 124}
    assert len(notes) == 1
    assert "UTC: HTTP 500: its answer is none of a Prometheus" in notes[0]
    played = Played(broken=lambda _: True)
    got, notes = fetch(played, tmp_path / "all", end - 3600, end)
    assert (got, len(played.seconds)) == ([], 3)
    assert notes[3].endswith("3 queries failed in a row; later samples were not asked for")
    assert notes[4].endswith("it has no samples of a GPU of the time of the run")


@pytest.mark.parametrize("body", ["<html>", "[]", '{"status": "success", "data": {"result": "x"}}', '{"status": 1}'])
def test_another_server_is_none(body: str) -> None:
    """What answers, but not as Prometheus does, is told by one sentence."""
    with place(lambda _: answer(body)) as here:
        told = asked(here.url).begin(5)
        assert told["ok"] is False
        assert told["error"].endswith("its answer is none of a Prometheus")


@settings(max_examples=40)
@given(
    st.dictionaries(st.integers(0, 300), st.integers(0, 99), min_size=1),
    st.lists(st.integers(1, 299), unique=True).map(sorted),
    st.booleans(),
)
def test_no_edge_of_pieces_loses_or_doubles_a_sample(values: dict[int, int], edges: list[int], closed: bool) -> None:
    """Whether a Prometheus counts the first edge in or not, pieces together are the whole."""
    got: list[tuple[float, float]] = []
    for after, before in itertools.pairwise([-1, *edges, 300]):
        first = after - 0.001
        inside = [[at, str(value)] for at, value in values.items() if first < at <= before or (closed and at == first)]
        for (_, moment), samples in scrapes([{"metric": {"__name__": "a"}, "values": inside}], after, before).items():
            got += [(moment, sample.value) for sample in samples]
    assert got == sorted(values.items())


def test_a_scrape_is_all_series_of_one_target_at_one_moment() -> None:
    """By hand: two targets, two moments, one NaN."""

    def series(name: str, instance: str, *values: tuple[float, str]) -> dict[str, Any]:
        return {"metric": {"__name__": name, "job": "j", "instance": instance}, "values": values}

    found = scrapes(
        [series("a", "x", (1, "5"), (2, "6")), series("b", "x", (1, "7"), (2, "NaN")), series("a", "y", (1.5, "8"))]
    )
    told = {key: [(sample.name, sample.value) for sample in samples] for key, samples in found.items()}
    assert list(told.items()) == [
        (("j/x", 1.0), [("a", 5.0), ("b", 7.0)]),
        (("j/y", 1.5), [("a", 8.0)]),
        (("j/x", 2.0), [("a", 6.0)]),
    ]
    assert [interval_s(moments) for moments in ([], [1.0], [1.0, 2.0, 3.0, 9.0])] == [None, None, 1.0]
