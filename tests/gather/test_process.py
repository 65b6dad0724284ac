"""The process as a whole over real sockets: good sources and bad ones side by side, pauses, and each of its ends."""

import contextlib
import json
import os
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from llmload.gather import sampler
from llmload.ports import free
from tests.gather.children import ANCHOR_S, Child, child, until
from tests.gather.places import Asked, answer, packed, page, place

SIDECAR = page("sidecar").replace('uuid="GPU-bb"} 0.0', 'uuid="GPU-bb"} 1.0')


def hang(_: Asked) -> Iterator[bytes]:
    """Nothing comes."""
    time.sleep(3)
    yield b""


class Playing:
    """All sources of one run, and what they do in the course of it."""

    def __init__(self, folder: Path) -> None:
        self.refuses_pauses = False
        self.fails = False
        with contextlib.ExitStack() as stack:
            good = stack.enter_context(place(self.sidecar))
            stubborn = stack.enter_context(place(self.stubborn))
            dcgm = stack.enter_context(place(lambda _: packed(page("dcgm"))))
            flaky = stack.enter_context(place(lambda _: answer("", 500) if self.fails else answer(page("smi"))))
            hanging = stack.enter_context(place(hang))
            engine = stack.enter_context(place(lambda _: answer(page("vllm") + "vllm:prompt_tokens_total{ 5\n")))
            urls = [good.url, stubborn.url, dcgm.url, flaky.url, hanging.url, "http://u:pw@127.0.0.1:1/metrics"]
            self.names = SimpleNamespace(
                good=f"{good.url}/metrics", stubborn=f"{stubborn.url}/metrics", dcgm=f"{dcgm.url}/metrics",
                flaky=f"{flaky.url}/metrics", hanging=f"{hanging.url}/metrics", nobody="http://127.0.0.1:1/metrics",
                engine=f"{engine.url}/metrics",
            )  # fmt: skip
            log = folder / "server.log"
            log.write_text("ERROR of yesterday\n")
            self.child = stack.enter_context(child(folder / "run"))
            self.ready = self.child.order(
                every_s=0.1, gpu=[*urls, good.url], server=engine.url, server_log=str(log), server_asked=True
            )
            with log.open("a") as file:
                file.write("INFO\nERROR a secret of the log\n")
            self.looked(4)
            self.fails = True
            self.looked(3)
            self.fails = False
            self.looked(3)
            self.paused = self.child.do(do="pause")
            self.asked_at_pause = [(item.method, item.path) for item in good.asked][-1]
            self.at_pause = len(good.asked)
            time.sleep(0.35)
            self.in_pause = len(good.asked) - self.at_pause
            self.odd = [self.child.do(do="dance"), self.child.do(do="stop"), self.child.do(x=1)]
            self.resumed = self.child.do(do="resume")
            self.asked_at_resume = [(item.method, item.path) for item in good.asked if item.method == "POST"][-1]
            self.looked(2)
            self.before_stop = time.perf_counter() + ANCHOR_S
            self.over = self.child.do(do="stop", from_s=1.0, to_s=2.0)
            self.end = self.child.end()

    def looked(self, times: int) -> None:
        """Wait until the flaky source was looked at so many times more."""
        before = len(self.child.lines(source=self.names.flaky))
        until(lambda: len(self.child.lines(source=self.names.flaky)) >= before + times, "looks")

    def sidecar(self, asked: Asked) -> bytes:
        """A sidecar that does as it is told."""
        return answer(SIDECAR) if asked.method == "GET" else answer("", 204)

    def stubborn(self, asked: Asked) -> bytes:
        """A sidecar that does not."""
        return answer(SIDECAR) if asked.method == "GET" else answer("", 500)

    def of(self, source: str, name: str = "gpu.jsonl") -> list[dict[str, Any]]:
        """The lines of a source."""
        return self.child.lines(name, source)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Playing:
    """One run with all of them, which the tests look at."""
    return Playing(tmp_path_factory.mktemp("gather"))


def test_ready_says_what_each_source_is(played: Playing) -> None:
    """Good and bad ones after one look, each once, without credentials."""
    told = {item["source"]: item for item in played.ready["gpu"]}
    names = played.names
    assert list(told) == [names.good, names.stubborn, names.dcgm, names.flaky, names.hanging, names.nobody]
    assert [item["ok"] for item in told.values()] == [True, True, True, True, False, False]
    two = [{"uuid": "GPU-aa", "name": "Test H100"}, {"uuid": "GPU-bb", "name": "Test H100"}]
    good = told[names.good]
    assert (good["kind"], good["gpus"], good["error"]) == ("llmload", two, None)
    assert good["clock_offset_ms"] == played.of(names.good)[0]["clock_offset_ms"]
    assert (told[names.dcgm]["kind"], told[names.dcgm]["clock_offset_ms"]) == ("dcgm", None)
    assert told[names.hanging]["error"] == "no whole answer within 1 s"
    assert told[names.nobody]["error"] == "connection refused"
    server = played.ready["server"]
    assert (server["ok"], server["engine"], server["source"]) == (True, "vllm", names.engine)
    assert server["names"]["running"] == "vllm:num_requests_running"
    assert played.ready["log"] == {"source": "server.log", "ok": True, "error": None}
    assert played.ready["prometheus"] is None


def test_lines_are_as_the_records_say(played: Playing) -> None:
    """Moment, monotonic clock, age and values; who a GPU is stands in the first line alone."""
    first, second, *_ = played.of(played.names.good)
    assert first["at"] == pytest.approx(ANCHOR_S + first["mono_ns"] / 1e9, abs=1e-3)
    assert (first["age_s"], first["host"]["load1"]) == (0.25, 0.75)
    assert first["clock_offset_ms"] == pytest.approx((1764543200.25 - first["at"]) * 1e3, abs=1e-3)
    assert first["gpus"][0]["values"]["energy_joules"] == 51234.5
    assert first["gpus"][0]["info"]["name"] == "Test H100"
    assert second["gpus"][1] == {"uuid": "GPU-bb", "gpu": "1", "up": True, "values": {"power_watts": 99.0}}
    assert played.of(played.names.dcgm)[0]["age_s"] is None
    server = played.of(played.names.engine, "server.jsonl")
    assert server[0]["values"]["running"] == 7.0
    assert server[0]["names"] == played.ready["server"]["names"]
    assert all("names" not in line for line in server[1:])


def test_a_slow_source_disturbs_no_other(played: Playing) -> None:
    """While one hangs for a second at a time, the others are looked at on their grid of a tenth."""
    hanging, good = played.of(played.names.hanging), played.of(played.names.good)
    assert {line.get("error", "no whole answer within 1 s") for line in hanging} == {"no whole answer within 1 s"}
    assert len(good) > 3 * len(hanging)


def test_a_source_that_fails_and_comes_back(played: Playing) -> None:
    """Errors stand between values, and the report is told how many."""
    lines = [line for line in played.of(played.names.flaky) if "paused" not in line]
    kinds = "".join("e" if "error" in line else "v" for line in lines)
    assert kinds.strip("v").strip("e") == ""
    assert len(kinds.strip("v")) >= 3
    failed = kinds.count("e")
    assert {line["error"] for line in lines if "error" in line} == {"HTTP 500, expected 200"}
    assert played.over["failed"][played.names.flaky] == failed
    assert played.over["looks"][played.names.flaky] == len(kinds)
    note = f"{played.names.flaky}: {failed} of {len(kinds)} looks failed; the first said: HTTP 500, expected 200"
    assert note in played.over["notes"]


def test_a_pause_reaches_the_sidecars_and_is_written_down(played: Playing) -> None:
    """No look meanwhile; sources that go on by themselves are named; lines stand around it in both files."""
    names = played.names
    assert played.paused["say"] == "paused"
    assert played.paused["went_on"] == [names.dcgm, names.flaky, names.hanging, names.nobody, names.stubborn]
    assert played.asked_at_pause == ("POST", "/pause?seconds=120")
    assert played.in_pause == 0
    assert played.resumed == {"say": "resumed"}
    assert played.asked_at_resume == ("POST", "/resume")
    for source, name in ((names.good, "gpu.jsonl"), (names.engine, "server.jsonl"), ("server.log", "server.jsonl")):
        lines = played.of(source, name)
        marks = [index for index, line in enumerate(lines) if "paused" in line]
        assert [lines[index]["paused"] for index in marks] == [True, False]
        assert marks[1] == marks[0] + 1
        assert set(lines[marks[0]]) == {"at", "source", "paused"}


def test_what_is_no_command_is_answered(played: Playing) -> None:
    """A word that is not known, and a stop without its time, end nothing."""
    assert played.odd == [{"say": "error", "error": "expected pause, resume or stop"}] * 3


def test_the_end_has_a_last_look_and_says_what_was_odd(played: Playing) -> None:
    """Each source is looked at after the stop came; notes tell traps, broken lines and a sidecar that hears nothing."""
    assert played.end == (0, "")
    names = played.names
    for source, name in ((names.good, "gpu.jsonl"), (names.engine, "server.jsonl"), ("server.log", "server.jsonl")):
        assert played.of(source, name)[-1]["at"] > played.before_stop
    notes = "\n".join(played.over["notes"])
    assert f"{names.dcgm}: DCGM's values are up to one interval" in notes
    assert f"{names.engine}: 1 line of its page left out, as no sample: vllm:prompt_tokens_total{{ 5" in notes
    assert f"{names.stubborn}: could not be told to go on; it does so by itself within 120 s" in notes
    assert f"{names.nobody}: " in notes
    assert "pw" not in notes
    assert played.over["prometheus"] is None


def test_of_a_log_the_number_of_errors_alone_is_kept(played: Playing) -> None:
    """Those of yesterday are not counted, and no word of the log is written."""
    counts = [line["values"]["log_errors"] for line in played.of("server.log", "server.jsonl") if "values" in line]
    assert counts[0] == 0
    assert counts[-1] == 1
    text = (played.child.folder / "server.jsonl").read_text()
    assert "secret" not in text


def begin(one: Child, url: str, **more: Any) -> None:
    """An order with one page, and a few looks at it."""
    assert one.order(every_s=0.02, gpu=[url], **more)["say"] == "ready"
    until(lambda: len(one.lines()) >= 3, "looks")


@pytest.mark.parametrize("how", ["kill -9", "SIGTERM", "end of input"])
def test_each_end_leaves_whole_lines(tmp_path: Path, how: str) -> None:
    """A kill at any moment, SIGTERM, and a parent that is gone; SIGINT is not for this process."""
    with place(lambda _: answer(SIDECAR)) as here, child(tmp_path / "run") as one:
        begin(one, here.url)
        one.process.send_signal(signal.SIGINT)
        before = len(one.lines())
        until(lambda: len(one.lines()) > before, "a look after SIGINT")
        if how != "end of input":
            one.process.send_signal(signal.SIGKILL if how == "kill -9" else signal.SIGTERM)
        code, errors = one.end()
        assert (code, errors) == (-9 if how == "kill -9" else 0, "")
        text = (one.folder / "gpu.jsonl").read_text()
        assert text.endswith("\n")
        assert all(json.loads(line)["gpus"] for line in text.splitlines())


def test_a_sidecar_that_was_paused_goes_on_when_the_parent_is_gone(tmp_path: Path) -> None:
    """The end of input in a pause resumes it."""
    with place(lambda asked: answer(SIDECAR if asked.method == "GET" else "")) as here, child(tmp_path / "run") as one:
        begin(one, here.url)
        assert one.do(do="pause")["went_on"] == []
        assert one.end() == (0, "")
        assert here.asked[-1].path == "/resume"


def test_a_long_pause_is_renewed_and_not_behind_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sidecar that would go on by itself is told again in time, and after the end no more."""
    monkeypatch.setattr(sampler, "PAUSE_S", 0.1)
    with place(lambda asked: answer(SIDECAR if asked.method == "GET" else "")) as here:
        one = sampler.Sampler(sampler.Order(str(tmp_path), ANCHOR_S, every_s=0.02, gpu=(here.url,)))
        one.begin()

        def told() -> list[str]:
            return [asked.path for asked in here.asked if asked.method == "POST"]

        assert one.pause() == []
        until(lambda: len(told()) >= 4, "the pause to be renewed")
        one.resume()
        time.sleep(0.15)
        assert told() == ["/pause?seconds=0.1"] * (len(told()) - 1) + ["/resume"]
        one.end()


def test_a_full_disk_is_told_once_and_ends_nothing(tmp_path: Path) -> None:
    """What fits is kept whole, the rest is looked at all the same, and there is one note."""

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    with (
        place(lambda _: answer(SIDECAR)) as here,
        child(tmp_path / "run", preexec_fn=little_room, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}) as one,
    ):
        assert one.order(every_s=0.02, gpu=[here.url])["say"] == "ready"
        until(lambda: len(here.asked) > 20, "looks")
        over = one.do(do="stop", from_s=1.0, to_s=2.0)
        assert one.end() == (0, "")
        path = one.folder / "gpu.jsonl"
        what = "cannot be written: File too large; what was written before is kept; samples are missing from then on"
        assert over["notes"] == [f"{path}: {what}"]
        assert path.stat().st_size <= 4096
        assert path.read_text().endswith("\n")
        assert 3 < len(one.lines()) < over["looks"][f"{here.url}/metrics"]


@pytest.mark.parametrize("told", ["refused", "another page"])
def test_a_guess_that_is_wrong_leaves_no_trace(tmp_path: Path, told: str) -> None:
    """Where the guessed address of the server's metrics has none, it is told and not looked at again."""
    with (
        place(lambda _: answer("up 1\n")) as here,
        child(tmp_path / "run") as one,
    ):
        url = f"http://127.0.0.1:{free()}/metrics" if told == "refused" else here.url
        ready = one.order(every_s=0.02, server=url, server_asked=False)
        assert ready["server"]["ok"] is False
        assert one.do(do="pause")["went_on"] == []
        over = one.do(do="stop", from_s=1.0, to_s=2.0)
        assert over == {"say": "over", "looks": {}, "failed": {}, "notes": [], "prometheus": None}
        assert len(here.asked) == (told != "refused")
        assert list(one.folder.iterdir()) == []


@pytest.mark.parametrize("order", ["nonsense\n", "[" * 10_000 + "\n", '{"folder": "x", "anchor_s": 0, "what": 1}\n'])
def test_what_is_no_order_is_refused(tmp_path: Path, order: str) -> None:
    """A sentence and exit code 2."""
    with child(tmp_path / "run") as one:
        assert one.process.stdin is not None
        assert one.process.stdout is not None
        one.process.stdin.write(order)
        one.process.stdin.flush()
        told = json.loads(one.process.stdout.readline())
        assert told["say"] == "error"
        assert told["error"].startswith("no order: ")
        assert one.end() == (2, "")
