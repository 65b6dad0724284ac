"""Whole runs with real Locust processes against the simulator, held against the server's own account of them."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.drive import locusts
from tests.drive.locusts import Left, locust, scenario
from tests.simulate import child

KEY = "sk-not-to-be-found-anywhere"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A simulator with a key, for all tests of this file: its URL, and its truth file."""
    truth = tmp_path_factory.mktemp("truth") / "truth.jsonl"
    environment = {**os.environ, "LLMLOAD_SIMULATE_KEY": KEY}
    with child.running("--ttft-ms", "60", "--itl-ms", "10", "--truth", str(truth), environment=environment) as running:
        yield running.url, truth


def truth_of(path: Path, since: float, until: float) -> list[dict[str, Any]]:
    """The server's lines on requests between two moments: those of one run, without its preflight."""
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    return [line for line in lines if since <= line["received_at"] <= until]


STEPPED = """
import os, time
real = time.time
time.time = lambda: real() - (3600 if os.path.exists("clock-is-set") else 0)
"""


@pytest.fixture(scope="module", params=["two workers", "one process"])
def whole(
    request: pytest.FixtureRequest, server: tuple[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Left, list[dict[str, Any]]]:
    """A run of 4 and 1 in flight by master and two workers, one of 2 and 1 by a single process, and the server's truth.

    The clock that the first one's processes see is set back by an hour in its first window: nothing below may notice.
    """
    folder = tmp_path_factory.mktemp("whole")
    url, truth = server
    two = request.param == "two workers"
    file = scenario(folder, window_s=1.5, steps=[4, 1] if two else [2, 1])
    processes = ["--processes", "2"] if two else []
    (folder / "sitecustomize.py").write_text(STEPPED)
    names = {"OPENAI_API_KEY": KEY, "PYTHONPATH": str(folder)}
    with locust(folder, "--scenario", str(file), "-H", url, *processes, **names) as running:
        running.until_measuring()
        if two:
            (folder / "clock-is-set").touch()
        left = running.end()
    run = left.run
    return left, truth_of(truth, run["steps"][0]["started_at"], run["ended_at"])


def test_a_whole_run_is_ok_and_accounts_for_everything(whole: tuple[Left, list[dict[str, Any]]]) -> None:
    """Started = finished = received per worker, seqs without a hole, as many records as the server saw requests."""
    left, truth = whole
    run = left.run
    assert (left.code, run["verdict"], run["reasons"]) == (0, "OK", []), left.words
    by_worker: dict[str, list[int]] = {}
    for row in left.records:
        by_worker.setdefault(row["worker"], []).append(row["seq"])
    for worker, seqs in by_worker.items():
        n = len(seqs)
        assert seqs == list(range(n))
        assert run["accounting"][worker] == {"started": n, "finished": n, "received": n, "lost": 0}
    locusts.agree(lambda: truth, left.records)
    assert {row["outcome"] for row in left.records} <= {"ok", "cancelled"}


def test_never_more_in_flight_than_the_step_and_hardly_ever_fewer(whole: tuple[Left, list[dict[str, Any]]]) -> None:
    """By the server's own times: peak N in every step, warm-up and drain included; mean 0.85 N in its window and more.

    A machine at rest reaches 0.99 N. What is missing is the time until the next request is under way, a few per cent of
    these short answers where other work shares the cores; while a worker stood still it could send none.
    """
    left, truth = whole
    lags: dict[str, float] = {}
    for line in left.samples:
        lags[line["worker"]] = lags.get(line["worker"], 0.0) + sum(line["loop_lag_ms"]) / 1000
    for step in left.run["steps"]:
        n = step["concurrency"]
        opened, closed = step["window_started_at"], step["window_ended_at"]
        peak, _ = locusts.in_flight(truth, step["started_at"], step["ended_at"])
        _, mean = locusts.in_flight(truth, opened, closed)
        assert peak == n, step
        assert mean >= 0.85 * n * (1 - max(lags.values()) / (closed - opened)), (step, lags)


def test_phases_come_in_order_and_hold_what_they_should(whole: tuple[Left, list[dict[str, Any]]]) -> None:
    """J15: Phases go by the moment of sending; every user and class is warmed up; no window is cut short."""
    left, _ = whole
    run = left.run
    assert [step["ended_by"] for step in run["steps"]] == ["window"] * len(run["steps"])
    for step in run["steps"]:
        opened, closed = step["window_started_at"], step["window_ended_at"]
        assert 1.5 <= closed - opened < 10
        rows = [row for row in left.records if row["step"] == step["step"]]
        for worker in run["workers"]:
            sent = [row for row in rows if row["worker"] == worker]
            phases = [row["phase"] for row in sorted(sent, key=lambda row: row["sent_at"])]
            assert phases == sorted(phases, key=["warmup", "measure", "drain"].index)
        # a single process is told at once; the message to a worker takes its time, which the machine says
        slack = 0.05 if len(run["workers"]) == 1 else 3.0
        for row in rows:
            assert row["concurrency"] == step["concurrency"]
            if row["phase"] == "measure":
                assert opened - slack <= row["sent_at"] <= closed + slack
            elif row["phase"] == "warmup":
                assert step["started_at"] <= row["sent_at"] <= opened + slack
            else:
                assert closed - slack <= row["sent_at"] <= step["ended_at"]
        warm = [row for row in rows if row["phase"] == "warmup"]
        assert {row["workload"] for row in warm} == {"short", "medium"}
        assert len(warm) >= 2 * step["concurrency"]
        measured = [row for row in rows if row["phase"] == "measure"]
        assert {row["outcome"] for row in measured} == {"ok"}
        cut = [row for row in rows if row["outcome"] == "cancelled"]
        assert {row["error"] for row in cut} <= {"cut at the end of the step"}
        assert len(cut) == step["abandoned"]


def test_no_two_requests_are_the_same(whole: tuple[Left, list[dict[str, Any]]]) -> None:
    """H05, K01, J17: Every prompt begins differently, over all users and workers."""
    _, truth = whole
    heads = [line["head"] for line in truth]
    assert len(set(heads)) == len(heads)


def test_every_worker_tells_how_it_does(whole: tuple[Left, list[dict[str, Any]]]) -> None:
    """I05: A line a second and worker: its share of a core, a lag for each tick of 20 ms, its streams and events."""
    left, _ = whole
    run = left.run
    seconds = run["ended_at"] - run["steps"][0]["started_at"]
    for worker, facts in run["workers"].items():
        lines = [line for line in left.samples if line["worker"] == worker]
        assert 2 <= len(lines) <= seconds + 1
        assert all(0 <= line["cpu"] <= 2 and line["rss_bytes"] > 1e6 for line in lines)
        ticks_s = [sum(20 + lag for lag in line["loop_lag_ms"]) / 1000 for line in lines]
        assert min(ticks_s) > 0.5
        assert seconds * 0.6 <= sum(ticks_s) <= seconds + 1
        assert facts["pid"] > 0
        assert abs(facts["clock_offset_ms"]) <= facts["clock_error_ms"] + 1
    assert max(line["streams"] for line in left.samples) <= 4
    told = sum(line["events"] for line in left.samples)
    assert 0.5 <= told / sum(row["events"] for row in left.records) <= 1.0


def test_a_clock_that_is_set_is_told(whole: tuple[Left, list[dict[str, Any]]]) -> None:
    """Windows and moments go on as if nothing had been (see the other tests); by how much it was set is told."""
    left, _ = whole
    run = left.run
    drift = -3600 if len(run["workers"]) == 2 else 0
    assert run["clock_drift_s"] == pytest.approx(drift, abs=0.5)
    assert [worker["clock_drift_s"] for worker in run["workers"].values()] == pytest.approx(
        [drift] * len(run["workers"]), abs=0.5
    )


def test_the_key_is_nowhere(whole: tuple[Left, list[dict[str, Any]]]) -> None:
    """Neither in the run folder nor in anything that was said; nor is any prompt or answer."""
    left, truth = whole
    for path in left.folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert KEY.encode() not in data, path
            assert truth[0]["head"].encode()[:40] not in data, path
    assert KEY not in left.words


def test_locusts_own_table_counts_every_attempt_once(whole: tuple[Left, list[dict[str, Any]]]) -> None:
    """One entry per class in Locust's statistics, as many requests as records."""
    left, _ = whole
    rows = [line.split() for line in left.words.splitlines() if line.startswith("LLM ")]
    told = {row[1]: int(row[2]) for row in rows[:2]}
    assert told == {name: n for (name,), n in left.count("workload").items()}


def test_ctrl_c_ends_the_step_and_keeps_everything(server: tuple[str, Path], tmp_path: Path) -> None:
    """To the whole process group, as a terminal does it: workers ignore it, the master ends the run, exit code 6."""
    file = scenario(tmp_path, steps=[1, 2, 3], window_s=0.5, warmup_s=0.0)
    arguments = ("--scenario", str(file), "-H", server[0], "--processes", "2", "--set", "load.window_requests=0")
    with locust(tmp_path, *arguments, OPENAI_API_KEY=KEY) as running:
        running.until_measuring(1)
        os.killpg(running.process.pid, signal.SIGINT)
        left = running.end()
    run = left.run
    assert (left.code, run["verdict"], run["reasons"]) == (6, "INCOMPLETE", ["stopped by the user"]), left.words
    assert [step["ended_by"] for step in run["steps"]] == ["window", "stopped"]
    assert all(line["lost"] == 0 and line["started"] == line["finished"] for line in run["accounting"].values())
    cut = [row for row in left.records if row["error"] == "stopped by the user"]
    assert 1 <= len(cut) <= 2
    assert {row["outcome"] for row in cut} == {"cancelled"}
    locusts.agree(lambda: truth_of(server[1], run["steps"][0]["started_at"], run["ended_at"]), left.records)


def test_the_second_ctrl_c_ends_at_once(server: tuple[str, Path], tmp_path: Path) -> None:
    """What was recorded is readable, no worker goes on, the exit code is 6."""
    file = scenario(tmp_path, steps=[2], window_s=300.0)
    with locust(tmp_path, "--scenario", str(file), "-H", server[0], "--processes", "2", OPENAI_API_KEY=KEY) as running:
        running.until_measuring()
        workers = running.workers()
        running.process.send_signal(signal.SIGINT)
        running.process.send_signal(signal.SIGTERM)
        left = running.end()
        assert locusts.gone(workers)
    assert left.code == 6
    assert left.run["verdict"] in {None, "INCOMPLETE"}
    assert sum("start" in row for row in left.spooled) >= 4


def test_a_worker_that_stands_still_is_waited_for_and_a_killed_one_is_counted(
    server: tuple[str, Path], tmp_path: Path
) -> None:
    """One is stopped for six seconds in a window of one, and in the next step the other is killed.

    The first comes back, takes part in the next step, and loses nothing (what it sends in its first moment, before it
    has heard that the window is over, is the report's to name). The run goes on without the second; what that one had
    begun is in its spool.
    """
    file = scenario(tmp_path, steps=[4, 4], window_s=1.0, drain_limit_s=10)
    with locust(tmp_path, "--scenario", str(file), "-H", server[0], "--processes", "2", OPENAI_API_KEY=KEY) as running:
        running.until_measuring()
        stopped, killed = running.workers()
        stopped_at = time.monotonic()
        os.kill(stopped, signal.SIGSTOP)
        time.sleep(6)
        os.kill(stopped, signal.SIGCONT)
        still_s = time.monotonic() - stopped_at
        running.until_measuring(1)
        time.sleep(0.5)  # so that both have sent something in the window
        os.kill(killed, signal.SIGKILL)
        left = running.end()
    run = left.run
    assert (left.code, run["verdict"]) == (5, "DEGRADED"), left.words
    assert [step["ended_by"] for step in run["steps"]] == ["window", "window"]
    names = {facts["pid"]: worker for worker, facts in run["workers"].items()}
    living, dead = names[stopped], names[killed]
    reasons = " | ".join(run["reasons"])
    for told in (rf"worker {living} stood still for ([0-9.]+) s", rf"worker {living} was not heard for (\d+) s"):
        found = re.search(told, reasons)
        assert found, reasons
        assert 5 <= float(found[1]) <= still_s + 10, reasons  # a busy machine may hear of it late
    assert f"worker {dead} went missing in mid-run: its process is dead" in reasons
    late = [
        row
        for row in left.records
        if (row["worker"], row["phase"]) == (living, "measure")
        and row["sent_at"] > run["steps"][row["step"]]["window_ended_at"] + 0.5
    ]
    assert len(late) <= 2, late
    assert {row["worker"] for row in left.records if row["step"] == 1} == {living, dead}
    assert run["accounting"][living]["lost"] == 0
    lost = run["accounting"][dead]
    assert 1 <= lost["lost"] <= 2
    assert lost["started"] == lost["received"] + lost["lost"]
    locusts.agree(
        lambda: truth_of(server[1], run["steps"][0]["started_at"], run["ended_at"]), left.records, lost=lost["lost"]
    )


def test_a_killed_master_takes_its_workers_along(server: tuple[str, Path], tmp_path: Path) -> None:
    """No load without a master on one machine, and the spools hold what was sent."""
    file = scenario(tmp_path, steps=[2], window_s=300.0)
    with locust(tmp_path, "--scenario", str(file), "-H", server[0], "--processes", "2", OPENAI_API_KEY=KEY) as running:
        running.until_measuring()
        workers = running.workers()
        running.process.kill()
        left = running.end()
        assert locusts.gone(workers)
    assert left.run["verdict"] is None
    since, rows = left.run["steps"][0]["started_at"], [row for row in left.spooled if "outcome" in row]
    lost = sum("start" in row for row in left.spooled) - len(rows)
    assert 0 <= lost <= 2
    locusts.agree(lambda: truth_of(server[1], since, float("inf")), rows, lost=lost)


def test_workers_elsewhere_stop_when_their_master_is_dead(server: tuple[str, Path], tmp_path: Path) -> None:
    """Nobody listens at its port any more: no request some seconds later, the spool is kept, the exit code is 6.

    The port was open to this machine alone.
    """
    port = str(locusts.free_port())
    file = scenario(tmp_path, steps=[2], window_s=300.0)
    (elsewhere := tmp_path / "elsewhere").mkdir()
    there = ("--master-bind-port", port, "--expect-workers", "1")
    with (
        locust(tmp_path, "--scenario", str(file), "-H", server[0], "--master", *there, OPENAI_API_KEY=KEY) as master,
        locust(elsewhere, "--worker", "--master-port", port, headless=False, OPENAI_API_KEY=KEY) as worker,
    ):
        master.until_measuring()
        open_at = {(way.laddr.ip, way.status) for way in psutil.Process(master.process.pid).net_connections("tcp")}
        assert {ip for ip, status in open_at if status == psutil.CONN_LISTEN} == {"127.0.0.1"}  # Locust's: everywhere
        master.process.kill()
        killed_at = time.time()
        left = worker.end()
    assert left.code == 6, left.words
    run = locusts.Left(0, tmp_path / "run", "")
    truth = truth_of(server[1], run.run["steps"][0]["started_at"], float("inf"))
    assert max(line["received_at"] for line in truth) - killed_at < 20
    rows = run.spooled
    ended = [row for row in rows if "outcome" in row]
    assert sum("start" in row for row in rows) == len(ended)
    locusts.agree(lambda: truth_of(server[1], run.run["steps"][0]["started_at"], float("inf")), ended)
    assert {row["error"] for row in rows if row.get("outcome") == "cancelled"} == {
        "cut because its worker had to leave"
    }


def test_a_server_that_fails_at_once_is_not_hammered(tmp_path: Path) -> None:
    """F03: users pause, steps end after their number of failures in a row and are rows; exit code 1."""
    file = scenario(tmp_path, steps=[4, 2], max_failures_in_a_row=6)
    with (
        child.running("--ttft-ms", "5", "--itl-ms", "1") as failing,
        locust(tmp_path, "--scenario", str(file), "-H", failing.url) as running,
    ):
        running.until_measuring()
        failing.process.kill()
        left = running.end()
    run = left.run
    assert (left.code, run["verdict"]) == (1, "OK"), left.words
    assert [step["ended_by"] for step in run["steps"]] == ["failures", "failures"]
    failed = Counter(row["step"] for row in left.records if row["outcome"] not in {"ok", "cancelled"})
    # without a pause it would be thousands; how many there are before all have heard of the end, the machine says
    assert 6 <= failed[0] <= 40
    assert 6 <= failed[1] <= 40
    assert left.count("step", "outcome")[(1, "connect_error")] == failed[1]


def test_a_cap_of_requests_is_never_passed(server: tuple[str, Path], tmp_path: Path) -> None:
    """Warm-up and drain count too; the run says that it did not come to its end."""
    file = scenario(tmp_path, steps=[2, 3], window_s=0.5, max_requests=20)
    with locust(tmp_path, "--scenario", str(file), "-H", server[0], OPENAI_API_KEY=KEY) as running:
        left = running.end()
    run = left.run
    assert (left.code, run["verdict"]) == (6, "INCOMPLETE"), left.words
    assert run["steps"][-1]["ended_by"] == "budget"
    assert 16 <= len(left.records) <= 20
    assert "max_requests" in run["reasons"][0]


def test_a_full_disk_ends_the_run_and_loses_nothing(server: tuple[str, Path], tmp_path: Path) -> None:
    """One sentence, INCOMPLETE, and the records are in the spools."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "requests.jsonl").symlink_to("/dev/full")
    file = scenario(tmp_path, steps=[2], window_s=300.0)
    with locust(tmp_path, "--scenario", str(file), "-H", server[0], OPENAI_API_KEY=KEY) as running:
        left = running.end()
    assert left.code == 6, left.words
    assert left.run["verdict"] == "INCOMPLETE"
    assert left.run["steps"][0]["ended_by"] == "fault"
    assert left.complaint().startswith(f"{left.folder}/requests.jsonl: cannot be written: No space left on device")
    assert "Traceback" not in left.words
    rows = left.spooled
    assert sum("outcome" in row for row in rows) == sum("start" in row for row in rows) > 0


def test_nobody_listens(tmp_path: Path) -> None:
    """A refused port is a sentence and exit code 3, and no run folder stays."""
    url = f"http://127.0.0.1:{locusts.free_port()}"
    arguments = ("--scenario", str(scenario(tmp_path)), "-H", url)
    with locust(tmp_path, *arguments) as running:
        left = running.end()
    assert left.code == 3, left.words
    assert "Traceback" not in left.words
    assert url.removeprefix("http://") in left.complaint()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("-t", "5"), "use --duration 5 for the window of each step"),
        (("--steps", "0"), "load.steps"),
        (("--scenario", "nope"), "nope"),
    ],
)
def test_wrong_usage_is_a_sentence(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    """Exit code 2, no traceback, no request."""
    with locust(tmp_path, "--scenario", str(scenario(tmp_path)), "-H", "http://127.0.0.1:9", *arguments) as running:
        left = running.end()
    assert left.code == 2
    assert sentence in left.words
    assert "Traceback" not in left.words


def test_no_endpoint_named(tmp_path: Path) -> None:
    """Without -H there is nothing to do."""
    with locust(tmp_path, "--scenario", str(scenario(tmp_path))) as running:
        left = running.end()
    assert (left.code, "--host" in left.complaint()) == (2, True)


def test_a_run_ends_when_its_parent_is_gone(server: tuple[str, Path], tmp_path: Path) -> None:
    """`llmload run` is killed: Locust ends the run as at Ctrl-C."""
    parent = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    file = scenario(tmp_path, steps=[1], window_s=300.0)
    names = {"OPENAI_API_KEY": KEY, "LLMLOAD_PARENT_PID": str(parent.pid)}
    try:
        with locust(tmp_path, "--scenario", str(file), "-H", server[0], **names) as running:
            running.until_measuring()
            parent.kill()
            parent.wait()
            left = running.end()
    finally:
        parent.kill()
        parent.wait()
    assert (left.code, left.run["verdict"]) == (6, "INCOMPLETE"), left.words
