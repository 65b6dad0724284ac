"""GPUs and server are sampled while a real run goes on: what lies in the folder, what is refused, who outlives whom.

The GPUs are those that the sidecar plays. One run serves most tests: in it the sampler is killed, and a step repeated.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import gevent
import psutil
import pytest

from llmload.drive import sampling
from llmload.drive.sampling import Sampling
from llmload.exits import Exit, Stop
from llmload.load.sources import Sources
from llmload.report import building
from llmload.send.settings import Sending
from tests.drive import locusts
from tests.drive.locusts import Left, Running, locust, scenario
from tests.simulate import child

KEY, SECRET = "sk-not-to-be-found-anywhere", "hush-this-is-secret"
EVERY_S = 0.25


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A simulator."""
    with child.running("--ttft-ms", "40", "--itl-ms", "4") as running:
        yield running.url


@pytest.fixture(scope="module")
def gpus() -> Iterator[str]:
    """A sidecar with two GPUs: its host and port."""
    command = [sys.executable, "-m", "llmload", "sidecar", "--fake", "2", "--port", "0", "--interval", "250ms"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().partition("http://")[2].partition("/")[0]
    finally:
        process.terminate()
        process.communicate(timeout=60)


def lines(path: Path) -> list[dict[str, Any]]:
    """Lines of a .jsonl file."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def samplers(parent: int) -> list[psutil.Process]:
    """The samplers that a process, or one that it forked, has started."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return [item for item in psutil.Process(parent).children() if "llmload.gather" in item.cmdline()]
    return []


@pytest.fixture(scope="module")
def others(server: str, gpus: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Running]]:
    """Two single processes that are under way while the run below is: one without an end, one that is refused."""
    pages = {"endless": gpus, "refused": f"http://me:{SECRET}@127.0.0.1:9"}
    with ExitStack() as stack:
        found = {}
        for name, page in pages.items():
            folder = tmp_path_factory.mktemp(name)
            file = scenario(folder, steps=[1], window_s=600, window_cap_s=600)
            words = ("--scenario", str(file), "-H", server, "--gpu", page, "--sample-every", "250ms")
            found[name] = stack.enter_context(locust(folder, *words))
        yield found


@pytest.fixture(scope="module")
def whole(
    others: dict[str, Running],  # begun before
    server: str,
    gpus: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Left, list[dict[str, Any]]]:
    """A run of 1 and 2 in flight, 2 once more without sampling; the sampler is killed in the first window.

    And what the sampler's processes were, the first and the second.
    """
    folder = tmp_path_factory.mktemp("whole")
    (folder / "engine.log").write_text("")
    file = scenario(folder, steps=[1, 2], window_s=1.5, warmup_s=0.1)
    with locust(
        folder, "--scenario", str(file), "-H", f"{server}/v1", "--processes", "1", "--sample-every", "250ms",
        "--gpu", f"http://me:{SECRET}@{gpus}/metrics", "--server-log", str(folder / "engine.log"), "--observer-check",
        OPENAI_API_KEY=KEY,
    ) as running:  # fmt: skip
        running.until_measuring()
        seen = []
        for _ in range(2):
            deadline = time.monotonic() + 60
            while not (found := samplers(running.process.pid)) or found[0].pid in [item["pid"] for item in seen]:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            seen.append({"pid": found[0].pid, "session": os.getsid(found[0].pid), "environment": found[0].environ()})
            if len(seen) == 1:
                found[0].kill()
        left = running.end()
    others["refused"].end()  # before gevent runs in this process: it would take the exit code of any child
    return left, seen


def test_run_json_says_what_was_sampled(whole: tuple[Left, list[dict[str, Any]]], server: str, gpus: str) -> None:
    """Each source and what it is, the server's page found beside /v1; how long the GPUs idled before the first step."""
    left, _ = whole
    run = left.run
    told = run["sampling"]
    assert told["every_s"] == EVERY_S
    (page,) = told["gpu"]
    assert page["source"] == f"http://{gpus}/metrics"
    assert [gpu["uuid"] for gpu in page["gpus"]] == ["GPU-fake-0", "GPU-fake-1"]
    assert abs(page["clock_offset_ms"]) < 2000
    assert (told["server"]["source"], told["server"]["engine"]) == (f"{server}/metrics", "vllm")
    assert told["server"]["names"]["running"] == "vllm:num_requests_running"
    assert told["prometheus"] is None
    assert 3.0 <= told["idle"]["to_s"] - told["idle"]["from_s"] < 15.0
    assert told["idle"]["to_s"] <= run["steps"][0]["started_at"]
    sources = (f"2 GPUs at http://{gpus}/metrics", f"server metrics: in vllm's form, at {server}/metrics", "errors in ")
    assert "\n  ".join(("sampled every 0.25 s:", *sources)) in left.words
    assert "watching the idle GPUs for 3 s" in left.words


def test_both_files_are_there_and_cover_the_run(whole: tuple[Left, list[dict[str, Any]]], gpus: str) -> None:
    """Whole lines, GPUs with energy, and the run's own clock: from before the idle time to the end of the last step."""
    left, _ = whole
    run = left.run
    for name in ("gpu.jsonl", "server.jsonl"):
        found = [line for line in lines(left.folder / name) if "took_ms" in line]
        assert found[0]["at"] <= run["sampling"]["idle"]["from_s"]
        assert found[-1]["at"] >= run["steps"][-1]["ended_at"]
        assert found[-1]["at"] <= run["ended_at"]
    looks = [line for line in lines(left.folder / "gpu.jsonl") if "gpus" in line]
    assert {line["source"] for line in looks} == {f"http://{gpus}/metrics"}
    full = [line for line in looks if len(line["gpus"]) == 2]
    assert all(gpu["values"]["energy_joules"] > 0 for line in full for gpu in line["gpus"] if gpu["up"])
    window = run["steps"][1]["window_started_at"], run["steps"][1]["window_ended_at"]
    assert len([line for line in full if window[0] <= line["at"] - line["age_s"] <= window[1]]) >= 2
    assert [line for line in full if window[1] <= line["at"] - line["age_s"] < run["steps"][2]["started_at"]]


def test_a_sampler_that_is_killed_is_started_once_more_and_that_is_a_note(
    whole: tuple[Left, list[dict[str, Any]]],
) -> None:
    """No client figure is spoilt: the verdict stays OK, with a sentence."""
    left, _ = whole
    assert (left.code, left.run["verdict"]) == (0, "OK"), left.words
    note = "the sampler of GPUs and server died (signal 9) and was started again: its samples have a gap"
    assert note in left.run["sampling"]["notes"]
    assert note in left.run["notes"]
    assert "Traceback" not in left.words


def test_the_sampler_is_alone_and_knows_no_key(whole: tuple[Left, list[dict[str, Any]]]) -> None:
    """A session of its own, so that no Ctrl-C reaches it; no key in its environment; gone behind the run."""
    _, seen = whole
    for item in seen:
        assert item["session"] == item["pid"]
        assert "OPENAI_API_KEY" not in item["environment"]
        assert KEY not in item["environment"].values()
    assert locusts.gone([item["pid"] for item in seen])


def test_no_password_is_written(whole: tuple[Left, list[dict[str, Any]]]) -> None:
    """Neither in a file of the run nor in the log; the command in run.json shows that there was one."""
    left, _ = whole
    for path in [item for item in left.folder.rglob("*") if item.is_file()]:
        assert SECRET.encode() not in path.read_bytes(), path
    assert SECRET not in left.words
    assert any("://…@" in word for word in left.run["command"])


def test_the_repeated_step_is_not_sampled_and_makes_no_row(whole: tuple[Left, list[dict[str, Any]]]) -> None:
    """Nothing is looked at between its pause and its end, nor does the sidecar; its requests are all accounted for."""
    left, _ = whole
    run = left.run
    assert [(step["step"], step["concurrency"], step.get("observed")) for step in run["steps"]] == [
        (0, 1, None), (1, 2, None), (2, 2, False)
    ]  # fmt: skip
    step = run["steps"][2]
    for name in ("gpu.jsonl", "server.jsonl"):
        told = lines(left.folder / name)
        inside = [line for line in told if step["started_at"] + 0.1 < line["at"] < step["ended_at"] - 0.1]
        assert not [line for line in inside if "took_ms" in line]
        for source in {line["source"] for line in told}:
            assert [line["paused"] for line in told if line["source"] == source and "paused" in line] == [True, False]
    built = building.compute(left.folder)
    assert [row["step"] for row in built.summary["rows"] if row["workload"] == "all"] == [0, 1]
    assert not [
        reason for reason in built.verdict.reasons if "generator-bound" not in reason and "sampler" not in reason
    ]
    assert built.observed is not None
    (row,) = [row for item in built.observed.steps for row in item.rows if row["workload"] == "all"]
    mine = [record for record in left.records if record["step"] == 2]
    measured = [record for record in mine if record["phase"] == "measure"]
    assert (row["started"], row["ok"]) == (len(measured), len(measured))
    assert row["warmup"] + row["started"] + row["drain"] == len(mine)
    assert built.observed.n == (sum(record["phase"] == "measure" for record in left.records if record["step"] == 1),
                                len(measured))  # fmt: skip


def test_who_conducts_is_killed_and_no_sampler_stays(others: dict[str, Running]) -> None:
    """Kill -9 of the only process: its sampler ends by itself, and all lines but perhaps a last one are whole."""
    running = others["endless"]
    running.until_measuring()
    (sampler,) = samplers(running.process.pid)
    running.process.send_signal(signal.SIGKILL)
    assert locusts.gone([sampler.pid])
    for name in ("gpu.jsonl", "server.jsonl"):
        *whole_lines, rest = (running.folder / name).read_bytes().split(b"\n")
        assert [json.loads(line) for line in whole_lines]
        assert rest == b""


# What is refused before the load


SENDING = Sending(base_url="http://127.0.0.1:9/v1", model="m")


def begun(folder: Path, sources: Sources, base_url: str = SENDING.base_url) -> str:
    """What a sampler of these sources says at its beginning; it is ended then."""
    mine = Sampling(sources, folder, replace(SENDING, base_url=base_url))
    try:
        return mine.begin()
    finally:
        mine.close()


@pytest.mark.parametrize(
    ("sources", "sentence"),
    [
        (
            Sources(gpu=("http://127.0.0.1:9/metrics",)),
            r"--gpu: http://127\.0\.0\.1:9/metrics: .*; see that `llmload sidecar` runs there",
        ),
        (Sources(gpu=("SERVER/metrics",)), r"--gpu: http://127\.0\.0\.1:\d+/metrics: "),
        (Sources(server="http://127.0.0.1:9/metrics"), r"--server-metrics: http://127\.0\.0\.1:9/metrics: "),
        (Sources(prometheus="http://127.0.0.1:9"), r"--prometheus: http://127\.0\.0\.1:9"),
        (
            Sources(repeated=1),
            r"--observer-check: nothing is sampled that could be paused \(server metrics: none at http://127\.0\.0\.1:9/m",
        ),
    ],
)
def test_a_source_that_was_named_and_tells_nothing_is_refused(
    sources: Sources, sentence: str, server: str, tmp_path: Path
) -> None:
    """Nobody there, or a page without a GPU: a sentence that names the option and the place, exit code 3, no file."""
    mine = replace(sources, gpu=tuple(url.replace("SERVER", server) for url in sources.gpu))
    with pytest.raises(Stop, match=sentence) as caught:
        begun(tmp_path, mine)
    assert caught.value.code is Exit.UNMEASURABLE
    assert not [*tmp_path.iterdir()]


def test_a_server_without_metrics_is_no_fault(server: str, tmp_path: Path) -> None:
    """Nothing was asked for: what was found is told, and no more comes of it. A query of the endpoint goes nowhere."""
    assert begun(tmp_path, Sources()) == "sampled every 1 s: server metrics: none at http://127.0.0.1:9/metrics"
    found = begun(tmp_path, Sources(), f"{server}/v1?key={SECRET}")
    assert found == f"sampled every 1 s: server metrics: in vllm's form, at {server}/metrics"


def test_a_refusal_ends_the_command_with_code_3_and_leaves_no_file(others: dict[str, Running]) -> None:
    """As a user of plain Locust sees it: one sentence, and no request of the load."""
    left = others["refused"].end()
    assert left.code == Exit.UNMEASURABLE
    assert re.match(r"--gpu: http://127\.0\.0\.1:9/metrics: .*refused.*; see that `llmload sidecar`", left.complaint())
    assert "Traceback" not in left.words
    assert SECRET not in left.words
    assert not [*left.folder.glob("*")]


# A sampler that does not do what it should


DYING = """
import json, sys
json.loads(sys.stdin.readline())
print(json.dumps({"say": "ready", "gpu": [], "server": None, "prometheus": None}), flush=True)
sys.stdin.readline()
sys.exit(7)
"""
SILENT = "import sys; sys.exit(9)"
SLOW = DYING.replace("sys.exit(7)", "import time; time.sleep(60)")


def test_a_ctrl_c_while_the_last_is_fetched_shortens_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has some seconds from then on, and not all the time that it would have had."""
    monkeypatch.setattr(sampling, "COMMAND", (sys.executable, "-c", SLOW))
    monkeypatch.setattr(sampling, "HURRY_S", 0.3)
    mine = Sampling(Sources(server_log="x", no_server=True), tmp_path, SENDING)
    mine.begin()
    asked = iter([False, False, False])
    with gevent.Timeout(30):
        mine.end(0.0, 1.0, lambda: next(asked, True))
    assert next(asked, "all") == "all"
    assert mine.notes == ["the sampler of GPUs and server was ended before it was done; what it has written is there"]


def test_a_sampler_that_dies_again_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is started once more, and not for ever; nobody waits for its answers."""
    monkeypatch.setattr(sampling, "COMMAND", (sys.executable, "-c", DYING))
    mine = Sampling(Sources(server_log="x", no_server=True), tmp_path, SENDING)
    mine.begin()
    with mine.paused(0.0), gevent.Timeout(30):
        while not any("again (exit" in note for note in mine.notes):
            gevent.sleep(0.02)
    mine.end(0.0, 1.0, lambda: False)
    assert [note for note in mine.notes if "exit code 7" in note] == [
        "the sampler of GPUs and server died (exit code 7) and was started again: its samples have a gap",
        "the sampler of GPUs and server died again (exit code 7): nothing was sampled from then on",
    ]


def test_one_that_does_not_start_is_a_refusal_only_if_something_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who named nothing has a run all the same."""
    monkeypatch.setattr(sampling, "COMMAND", (sys.executable, "-c", SILENT))
    assert begun(tmp_path, Sources()).endswith("server metrics: none at http://127.0.0.1:9/metrics")
    with pytest.raises(Stop, match=r"did not start.*leave out --gpu") as caught:
        begun(tmp_path, Sources(gpu=("http://127.0.0.1:9/metrics",)))
    assert caught.value.code is Exit.UNMEASURABLE


def test_a_machine_that_refuses_the_process_is_a_note_or_a_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why it does so is told; nothing of it stays open."""
    monkeypatch.setattr(sampling, "COMMAND", ("/nowhere/python",))
    mine = Sampling(Sources(), tmp_path, SENDING)
    before = psutil.Process().num_fds()
    assert mine.begin().endswith("server metrics: none at http://127.0.0.1:9/metrics")
    assert mine.notes == ["the sampler of GPUs and server could not be started: No such file or directory"]
    assert psutil.Process().num_fds() == before
    with pytest.raises(Stop, match=r"^the sampler .* not be started: No such file or directory; leave out") as caught:
        begun(tmp_path, Sources(gpu=("http://127.0.0.1:9/metrics",)))
    assert caught.value.code is Exit.UNMEASURABLE
