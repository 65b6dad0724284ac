"""Workers that somebody starts on other machines: what they get, what they are told, and who is refused.

Every one is a real process with a folder of its own; what another machine does not see is hidden from it by a mount.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from llmload import ports
from llmload.cli import joining, launch, run
from llmload.exits import Stop
from tests.cli import commands
from tests.drive import locusts
from tests.drive.locusts import MIXED
from tests.simulate import child

KEY = "sk-not-on-every-machine"

AHEAD = """
import time
real = time.time
time.time = lambda: real() + 5
"""
"""The worker's clock is five seconds ahead of all others."""

OTHER_VERSION = """
import llmload
llmload.__version__ = "9.9.9"
"""

OTHER_SCENARIO = """
import sys
if "locust" in " ".join(sys.argv):
    from llmload.load import reading
    real = reading.from_resolved
    reading.from_resolved = lambda data: real({**data, "seed": data["seed"] + 1})
"""
"""A worker that understands scenarios in another way."""

SCENARIO = f"""
name = "far"

[load]
steps = {[3, 2] * 20}
warmup_requests = 1
warmup_s = 0.2
window_s = 1
window_requests = 0
drain_limit_s = 10

[[class]]
name = "own"
source = "file"
path = "prompts.jsonl"
max_tokens = 20
"""


@dataclass
class Process:
    """A command that was started; its words go to a file."""

    child: "subprocess.Popen[bytes]"
    log: Path

    def words(self) -> str:
        """What it has said so far."""
        return self.log.read_text(errors="replace")

    def until(self, sentence: str) -> None:
        """Wait until it has said this."""
        commands.until(lambda: sentence in self.words() or self.child.poll() is not None)
        assert sentence in self.words(), self.words()

    def end(self, limit_s: float = 60.0) -> int:
        """Wait for its end; its exit code."""
        return self.child.wait(limit_s)


@contextlib.contextmanager
def started(folder: Path, *words: str, patch: str = "", key: str | None = KEY, hide: str = "") -> Iterator[Process]:
    """A command in a new folder while the block runs; `patch` changes it, `hide` is a folder that it does not see."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(patch)
    names = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "LLMLOAD_"))}
    names |= {"PYTHONPATH": str(folder), "COLUMNS": "200"} | ({} if key is None else {"OPENAI_API_KEY": key})
    command = [sys.executable, "-m", *words]
    if hide:
        command = ["unshare", "-rm", "sh", "-c", f'mount -t tmpfs none {hide} && exec "$@"', "sh", *command]
    with (log := folder / "words").open("wb") as out:
        process = subprocess.Popen(
            command, cwd=folder, env=names, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
    try:
        yield Process(process, log)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@dataclass
class Place:
    """An endpoint that wants a key, a port for a master, and a scenario with a data file, in a folder of its own."""

    url: str
    truth: Path
    port: str
    scenario: Path
    folder: Path

    def master(self, workers: int, *more: str) -> contextlib.AbstractContextManager[Process]:
        """A master of so many workers."""
        words = ("llmload", "run", str(self.scenario), "--host", self.url, "--master", "--master-port", self.port)
        expected = ("--expect-workers", str(workers), "--metrics-port", "0", "--out", str(self.folder / "runs"))
        return started(self.folder / "master", *words, *expected, *more)

    def worker(self, name: str, **how: Any) -> contextlib.AbstractContextManager[Process]:
        """A worker as a person starts it."""
        words = ("llmload", "run", "--worker", "--master-host", "127.0.0.1", "--master-port", self.port)
        return started(self.folder / name, *words, **how)

    def plain(self, name: str) -> contextlib.AbstractContextManager[Process]:
        """A worker as Locust starts it."""
        words = ("locust", "-f", str(MIXED), "--worker", "--master-port", self.port)
        return started(self.folder / name, *words)

    def lines(self) -> list[dict[str, Any]]:
        """What the server has seen."""
        return [json.loads(line) for line in self.truth.read_bytes().splitlines()]


@contextlib.contextmanager
def a_place(folder: Path) -> Iterator[Place]:
    """One."""
    (data := folder / "data").mkdir()
    (data / "far.toml").write_text(SCENARIO)
    rows = [{"prompt": f"{number}: " + os.urandom(300).hex()} for number in range(1000)]
    (data / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    truth = folder / "truth.jsonl"
    environment = {**os.environ, "LLMLOAD_SIMULATE_KEY": KEY}
    words = ("--ttft-ms", "40", "--itl-ms", "10", "--truth", str(truth))
    with child.running(*words, environment=environment) as server:
        yield Place(server.url, truth, str(locusts.free_port()), data / "far.toml", folder)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A place for one test."""
    with a_place(tmp_path) as made:
        yield made


@dataclass
class Whole:
    """A run of two workers, and two more that came in mid-run and were refused; then the user stopped it."""

    code: int
    folder: Path
    run: dict[str, Any]
    records: list[dict[str, Any]]
    truth: dict[str, dict[str, Any]]
    far: Process
    plain: Process
    late: list[tuple[int, str]]
    """Exit codes and words of the late ones."""
    words: str


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """One worker's clock is ahead and its machine has no data file; the other is a plain Locust worker."""
    folder = tmp_path_factory.mktemp("whole")
    with (
        a_place(folder) as place,
        place.master(2) as master,
        place.worker("far", patch=AHEAD, hide=str(folder / "data")) as far,
        place.plain("plain") as plain,
    ):
        plain.until("ready for run")
        with place.worker("old", patch=OTHER_VERSION) as old, place.worker("odd", patch=OTHER_SCENARIO) as odd:
            late = [(old.end(), old.words()), (odd.end(), odd.words())]
        commands.until(lambda: told_enough(folder / "runs", far))
        master.child.send_signal(signal.SIGINT)
        code = master.end()
        far.end()
        plain.end()
        (run_folder,) = (folder / "runs").iterdir()
        records = commands.records(run_folder)
        truth = {str(line["client_request"]): line for line in place.lines()}
        yield Whole(code, run_folder, commands.run_json(run_folder), records, truth, far, plain, late, master.words())


def told_enough(runs: Path, worker: Process) -> bool:
    """Whether both workers have three lines in generator.jsonl, and this one has told on its terminal how it goes."""
    whole = [line for path in runs.glob("*/generator.jsonl") for line in path.read_bytes().split(b"\n")[:-1]]
    lines = Counter(json.loads(line)["worker"] for line in whole)
    return len(lines) == 2 and min(lines.values()) >= 3 and any(map(how_it_goes, worker.words().splitlines()))


def how_it_goes(line: str) -> bool:
    """Whether a line of a worker's terminal is the one that comes every few seconds."""
    return line.startswith("w") and ": step " in line and " in flight, " in line


def test_a_worker_elsewhere_gets_all_it_needs(whole: Whole) -> None:
    """The data file came from the master: both sent prompts of it, none twice; nothing is missing; all ended well."""
    assert whole.code == 6, whole.words
    assert whole.run["reasons"][0] == "stopped by the user"
    assert (whole.far.child.returncode, whole.plain.child.returncode) == (0, 0)
    assert {row["worker"] for row in whole.records} == {"w0", "w1"}
    assert all(row["prompt"].startswith("own-") for row in whole.records)
    sent = {name: line for name, line in whole.truth.items() if not name.startswith("preflight")}
    locusts.agree(lambda: list(sent.values()), whole.records)
    assert len({line["head"] for line in sent.values()}) == len(sent)
    assert all(line["lost"] == 0 for line in whole.run["accounting"].values())
    (file,) = whole.run["files"]
    assert (Path(file["path"]).name, file["bytes"]) == ("prompts.jsonl", Path(file["path"]).stat().st_size)
    assert file["bytes"] > 2 * 256 * 1024  # in several parts


def test_a_clock_that_is_ahead_is_found_out(whole: Whole) -> None:
    """J12: 5 s ahead: durations are untouched, steps are cut by the estimated offset, and that is told."""
    ahead, right = sorted(whole.run["workers"].items(), key=lambda item: -item[1]["clock_offset_ms"])
    assert abs(ahead[1]["clock_offset_ms"] - 5000) <= ahead[1]["clock_error_ms"] + 1
    assert abs(right[1]["clock_offset_ms"]) <= right[1]["clock_error_ms"] + 1
    assert any(f"the clock of worker {ahead[0]}" in note and "ahead of the master's" in note
               for note in whole.run["reasons"])  # fmt: skip
    slack = 2.4  # far from five seconds, and more than a busy machine takes for a message
    offset = {name: facts["clock_offset_ms"] / 1000 for name, facts in whole.run["workers"].items()}
    for row in whole.records:
        truth = whole.truth.get(f"{row['run']}-{row['worker']}-{row['seq']}")
        if truth is None:  # cut on its way, see above
            continue
        moment = row["sent_at"] - offset[row["worker"]]
        assert abs(moment - truth["received_at"]) < slack
        step = whole.run["steps"][row["step"]]
        if row["phase"] == "measure":
            assert step["window_started_at"] - slack <= moment <= step["window_ended_at"] + slack
        if row["outcome"] == "ok":
            span = (truth["event_at"][-1] - truth["event_at"][0]) * 1000
            assert row["last_token_ms"] - row["ttft_ms"] == pytest.approx(span, abs=slack * 1000)
    lines = [json.loads(line) for line in (whole.folder / "generator.jsonl").read_bytes().splitlines()]
    told = [line["clock_offset_ms"] for line in lines if line["worker"] == ahead[0]]
    assert told == pytest.approx([5000] * len(told), abs=2000)
    assert len(told) >= 3


def test_who_is_of_another_kind_is_refused_on_both_sides_and_the_run_goes_on(whole: Whole) -> None:
    """Another version, or another reading of the scenario: exit code 2 there, a note here, and no user for them."""
    (old_code, old), (odd_code, odd) = whole.late
    version = "it runs llmload 9.9.9, the master"
    digest = "it understands scenario 'far' in another way: expected digest"
    assert (old_code, odd_code) == (2, 2), old + odd
    assert f"the master refuses this worker: {version}" in old
    assert f"the master refuses this worker: {digest}" in odd
    for why in (version, digest):
        assert any(f"is refused: {why}" in note for note in whole.run["reasons"]), whole.run["reasons"]
    assert len(whole.run["workers"]) == 2


def test_a_worker_says_what_becomes_of_it(whole: Whole) -> None:
    """On its own terminal, in a few lines; the same in a plain Locust's log."""
    for words in (whole.far.words(), whole.plain.words()):
        for sentence in ("connected to the master at", "ready for run", "begins; this is worker w", "is over after"):
            assert sentence in words, words
    lines = whole.far.words().splitlines()
    assert any(map(how_it_goes, lines)), lines
    assert len([line for line in lines if not how_it_goes(line)]) <= 7, lines


def test_a_run_does_not_begin_with_fewer(place: Place) -> None:
    """One of two is of another version: code 2 on every side, each says why, and the server has seen nothing."""
    with place.master(2) as master, place.worker("good") as good:
        good.until("connected to the master")
        with place.worker("old", patch=OTHER_VERSION) as old:
            assert (master.end(), old.end(), good.end()) == (2, 2, 2), master.words()
            assert "is refused: it runs llmload 9.9.9, the master" in master.words()
            assert "install the same version on both" in old.words()
            assert "the run did not begin: " in good.words()
    assert not place.truth.exists() or not place.lines()
    assert list((place.folder / "runs").iterdir()) == []


def test_a_worker_without_the_key_is_refused_before_the_load(place: Place) -> None:
    """The endpoint wants one: both sides say which variable is missing where; nothing was sent but the preflight."""
    with place.master(1) as master, place.worker("keyless", key=None) as keyless:
        assert (master.end(), keyless.end()) == (3, 3), master.words()
        missing = "no OPENAI_API_KEY in its environment, but the endpoint wants one"
        assert missing in master.words()
        assert missing in keyless.words()
        assert KEY not in master.words() + keyless.words()
    assert list((place.folder / "runs").iterdir()) == []
    assert len(place.lines()) <= 3


def test_a_master_waits_and_says_so(place: Place) -> None:
    """How many are there, how others join, and after its time an end with a sentence on both sides: code 6."""
    with place.master(2, "--max-wait", "20s") as master, place.worker("lonely") as lonely:
        assert (master.end(), lonely.end()) == (6, 6), master.words()
        assert "of 2 workers connected; port" in master.words()
        assert "--master-bind-host 0.0.0.0 lets other machines in" in master.words()
        assert "1 of 2 workers came within 20 s; nothing was sent" in master.words()
        assert "the run did not begin: 1 of 2 workers came within 20 s" in lonely.words()


def test_a_worker_without_a_master_gives_up_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens; no such host."""
    port = str(locusts.free_port())
    words = ("run", "--worker", "--master-host", "127.0.0.1", "--master-port", port, "--max-wait", "1s")
    ended = commands.llmload(*words, cwd=tmp_path)
    assert ended.code == 6
    assert f"no master at 127.0.0.1:{port} yet (connection refused); trying for 1 s more" in ended.out
    assert f"no master at 127.0.0.1:{port} within 1 s: connection refused; start it there first" in ended.err

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "create_connection", unknown)
    with pytest.raises(Stop, match="--master-host: no such host: 'nowhere'"):
        joining.wait("nowhere", 5557, 1.0, print)


def test_a_port_that_is_taken_is_a_sentence() -> None:
    """Another master listens there; or the address is none of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Stop, match=f"cannot listen on 127.0.0.1:{port}: address already in use; is another master"):
            run.check_port(ports.no_master("127.0.0.1", port))
    run.check_port(ports.no_master("127.0.0.1", port))
    with pytest.raises(Stop, match="cannot assign requested address; name an address of this machine"):
        run.check_port(ports.no_master("192.0.2.1", port))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--worker",), "--worker needs --master-host"),
        (("--master", "--worker"), "exclude each other"),
        (("--master", "--processes", "2"), "--processes belongs to one machine, or to --worker"),
        (("--master-bind-host", "0.0.0.0"), "--master-bind-host belongs to --master"),
        (("--max-wait", "5s"), "--max-wait belongs to --master and --worker"),
        (("--master", "--max-wait", "soon"), "--max-wait: expected a duration over 0"),
        (("--master", "--expect-workers", "0"), "--expect-workers: expected 1 or more, got 0"),
    ],
)
def test_roles_that_do_not_go_together(words: tuple[str, ...], sentence: str) -> None:
    """One sentence each."""
    parser = ArgumentParser()
    run.add_arguments(parser)
    with pytest.raises(Stop, match=sentence):
        launch.check(parser.parse_args(words))
