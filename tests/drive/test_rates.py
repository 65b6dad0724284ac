"""Whole runs by rate with real Locust processes, held against the schedule and against the server's own times."""

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pytest

from llmload.load.arrivals import schedule
from llmload.load.scenario import Load
from llmload.report import building
from tests.drive import locusts
from tests.drive.locusts import Left, locust, scenario
from tests.simulate import child

GAMMA: dict[str, Any] = {"rates": [40, 80], "arrivals": "gamma", "burstiness": 0.5}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A simulator for most tests of this file: its URL, and its truth file."""
    truth = tmp_path_factory.mktemp("truth") / "truth.jsonl"
    with child.running("--ttft-ms", "60", "--itl-ms", "5", "--truth", str(truth)) as running:
        yield running.url, truth


def truth_of(path: Path, run: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The server's lines on a run's requests, by the name that each had."""
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    begin, end = run["steps"][0]["started_at"], run["ended_at"]
    return {str(line["client_request"]): line for line in lines if begin <= line["received_at"] <= end}


def of_step(left: Left, step: int) -> list[dict[str, Any]]:
    """A step's records in the order of the schedule."""
    return sorted((row for row in left.records if row["step"] == step), key=lambda row: row["scheduled_at"])


def row_of(left: Left, step: int) -> dict[str, Any]:
    """The report's row of a whole step."""
    rows = building.compute(left.folder).summary["rows"]
    return next(row for row in rows if row["step"] == step and row["workload"] == "all")


def of_both(rows: list[dict[str, Any]]) -> int:
    """How many of these, from the first on, two workers took in turn: then one of them had heard of the end."""
    return 2 * min(Counter(row["worker"] for row in rows).values())


def apart_s(left: Left) -> float:
    """How far the workers' clocks may be apart: each has measured by itself how far its own is from the master's."""
    return 0.01 + 2 * max(float(facts["clock_error_ms"]) for facts in left.run["workers"].values()) / 1000


def accounted(left: Left) -> None:
    """Started = finished = received per worker, and no seq is left out."""
    seqs: dict[str, list[int]] = {}
    for row in left.records:
        seqs.setdefault(row["worker"], []).append(row["seq"])
    for worker, line in left.run["accounting"].items():
        n = len(seqs.get(worker, ()))
        assert seqs.get(worker, []) == list(range(n))
        assert line == {"started": n, "finished": n, "received": n, "lost": 0}


@pytest.fixture(scope="module")
def whole(server: tuple[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Left:
    """Two workers, two rates in bursts."""
    folder = tmp_path_factory.mktemp("whole")
    file = scenario(folder, window_s=1.5, **GAMMA)
    with locust(folder, "--scenario", str(file), "-H", server[0], "--processes", "2") as running:
        return running.end()


def test_a_run_by_rate_is_ok_and_balances(whole: Left) -> None:
    """Phases, accounting and the report's rows as in the closed loop, at the rate instead of a number in flight."""
    run = whole.run
    assert (whole.code, run["verdict"], run["reasons"]) == (0, "OK", []), whole.words
    accounted(whole)
    assert [(step["concurrency"], step["rate"], step["ended_by"]) for step in run["steps"]] == [
        (None, 40.0, "window"),
        (None, 80.0, "window"),
    ]
    for step in (0, 1):
        rows = of_step(whole, step)
        assert {(row["concurrency"], row["rate"]) for row in rows} == {(None, GAMMA["rates"][step])}
        assert [phase for phase, _ in pairwise([*(row["phase"] for row in rows), ""])].count("measure") >= 20
        ended = {row["workload"] for row in rows if row["phase"] == "warmup" and row["outcome"] == "ok"}
        assert ended == {"short", "medium"}
        report = row_of(whole, step)
        measured = [row for row in rows if row["phase"] == "measure"]
        assert (report["planned"], report["not_sent"], report["ok"]) == (len(measured), 0, len(measured))


def test_workers_share_one_schedule(whole: Left) -> None:
    """Two workers, one plan: the moments are those of the seed, taken in turn, none left out and none twice."""
    for step, rate in enumerate(GAMMA["rates"]):
        rows = of_step(whole, step)
        both = of_both(rows)
        rows, further = rows[:both], rows[both:]
        plan = list(islice(schedule(Load("rate", arrivals="gamma", burstiness=0.5), 1, step, rate), both))
        begin = rows[0]["scheduled_at"] - plan[0]
        assert [row["scheduled_at"] - begin for row in rows] == pytest.approx(plan, abs=apart_s(whole))
        mine = {worker: [row["scheduled_at"] for row in rows if row["worker"] == worker] for worker in ("w0", "w1")}
        for rank, worker in enumerate(sorted(mine, key=lambda one: mine[one][0])):
            gaps = [later - earlier for earlier, later in pairwise(mine[worker])]
            wanted = [later - earlier for earlier, later in pairwise(plan[rank::2])]
            assert gaps == pytest.approx(wanted, abs=1e-5)
        closed = whole.run["steps"][step]["window_ended_at"] - apart_s(whole)
        assert all(row["scheduled_at"] > closed for row in further)


def test_the_server_sees_what_was_planned(whole: Left, server: tuple[str, Path]) -> None:
    """What was sent arrived there, none before its time, none twice, and nothing else; no two prompts are the same."""
    truth = truth_of(server[1], whole.run)
    names = {f"{row['run']}-{row['worker']}-{row['seq']}": row for row in whole.records}
    assert set(truth) <= set(names)
    for name, row in names.items():
        assert name in truth or row["outcome"] in {"cancelled", "not_sent"}  # cut before the server had read it
        if name in truth:
            assert row["scheduled_at"] <= row["sent_at"] <= truth[name]["received_at"] + 0.01
    assert len({line["head"] for line in truth.values()}) == len(truth) >= 0.8 * len(names)


def test_late_dispatch_in_open_loop(tmp_path: Path) -> None:
    """I06: 100 a second, at most ten in flight, half a second each: twenty a second are sent, eighty are not_sent."""
    truth = tmp_path / "truth.jsonl"
    load = {"rates": [100], "arrivals": "constant", "max_in_flight": 10, "window_s": 1.5}
    file = scenario(tmp_path, **load)
    answers = ("--set", "class.short.max_tokens=1", "--set", "class.medium.max_tokens=1")
    with (
        child.running("--ttft-ms", "500", "--itl-ms", "1", "--truth", str(truth)) as running,
        locust(tmp_path, "--scenario", str(file), "-H", running.url, "--processes", "2", *answers) as run,
    ):
        left = run.end()
    assert (left.code, left.run["verdict"]) == (0, "OK"), left.words
    accounted(left)
    rows = of_step(left, 0)
    moments = [row["scheduled_at"] - rows[0]["scheduled_at"] for row in rows[: of_both(rows)]]
    assert moments == pytest.approx([n / 100 for n in range(len(moments))], abs=apart_s(left))
    left_out = [row for row in rows if row["outcome"] == "not_sent"]
    empty = {name: value for name, value in left_out[0].items() if name.endswith("_ms") and name != "gaps_ms"}
    assert set(empty.values()) == {None}
    assert {(row["sent_at"], row["http_status"], row["events"]) for row in left_out} == {(None, None, 0)}
    report = row_of(left, 0)
    assert report["planned"] == report["started"] + report["not_sent"]
    # workers hear of the window's beginning and end when the machine lets them
    assert report["planned"] == pytest.approx(100 * report["window_s"], rel=0.5)
    assert 10 <= report["started"] <= 20 * report["window_s"] + 20
    at_server = list(truth_of(truth, left.run).values())
    step = left.run["steps"][0]
    assert len(at_server) == pytest.approx(
        len(rows) - len(left_out), abs=10
    )  # the last may be cut before they are read
    peak, _ = locusts.in_flight(at_server, step["started_at"], step["ended_at"])
    assert peak == 10
    named = [line.split() for line in left.words.splitlines() if line.startswith("LLM ")]
    assert sum(int(words[2]) for words in named[:2]) == len(rows)


@pytest.mark.parametrize(("freeze_s", "room", "not_sent"), [(3.0, 512, False), (1.5, 10, True)])
def test_a_server_that_freezes_is_slow_for_all_that_were_due(
    tmp_path: Path, freeze_s: float, room: int, not_sent: bool
) -> None:
    """J13: Ten a second, frozen for 3 s: about 30 are slow from the schedule, falling from 3 s to 0, not just one.

    Those for which there is no room in flight are not_sent.
    """
    load = {"rates": [10], "arrivals": "constant", "max_in_flight": room, "window_s": freeze_s + 1.5}
    file = scenario(tmp_path, **load)
    with (
        child.running("--ttft-ms", "20", "--itl-ms", "1") as server,
        locust(tmp_path, "--scenario", str(file), "-H", server.url) as running,
    ):
        running.until_measuring()
        time.sleep(0.5)
        server.process.send_signal(signal.SIGSTOP)
        frozen_at = time.time()
        time.sleep(freeze_s)
        thawed_at = time.time()
        server.process.send_signal(signal.SIGCONT)
        left = running.end()
    assert (left.code, left.run["verdict"]) == (0, "OK"), left.words
    rows = of_step(left, 0)
    due = [row for row in rows if frozen_at <= row["scheduled_at"] <= thawed_at]
    assert len(due) == pytest.approx(10 * (min(thawed_at, rows[-1]["scheduled_at"] + 0.1) - frozen_at), abs=1)
    slow = [row for row in due if row["outcome"] == "ok"]
    assert [row["outcome"] for row in due[len(slow) :]] == ["not_sent"] * (len(due) - len(slow))
    assert len(due) - len(slow) == pytest.approx(len(due) - room if not_sent else 0, abs=2)
    waited = [row["sent_at"] - row["scheduled_at"] + row["last_token_ms"] / 1000 for row in slow]
    assert waited[0] > freeze_s - 0.2
    assert all(wait >= thawed_at - row["scheduled_at"] - 0.01 for wait, row in zip(waited, slow, strict=True))
    if not not_sent:
        assert waited[0] - waited[-1] > (slow[-1]["scheduled_at"] - slow[0]["scheduled_at"]) / 2
    report = row_of(left, 0)
    assert report["not_sent"] == sum(row["outcome"] == "not_sent" for row in rows if row["phase"] == "measure")
    assert report["planned"] == report["started"] + report["not_sent"]
    from_schedule = report["from_schedule"]["e2e_ms"]
    assert from_schedule["ok"]["max"] > 1000 * (freeze_s - 0.2)
    assert from_schedule["all"]["p95"] == "inf" if not_sent else from_schedule["all"]["p50"] > 300


def test_ctrl_c_in_a_step_by_rate(server: tuple[str, Path], tmp_path: Path) -> None:
    """What is in flight is cut and counted; what was due is sent, cut, or recorded as not sent."""
    file = scenario(tmp_path, rates=[100], window_s=300.0, max_in_flight=8)
    with locust(tmp_path, "--scenario", str(file), "-H", server[0], "--processes", "2") as running:
        running.until_measuring()
        time.sleep(0.5)
        os.killpg(running.process.pid, signal.SIGINT)
        left = running.end()
    run = left.run
    assert (left.code, run["verdict"], run["reasons"]) == (6, "INCOMPLETE", ["stopped by the user"]), left.words
    assert run["steps"][0]["ended_by"] == "stopped"
    accounted(left)
    outcomes = Counter(row["outcome"] for row in left.records)
    assert set(outcomes) == {"ok", "cancelled", "not_sent"}
    assert 1 <= outcomes["cancelled"] <= 8
    assert {row["error"] for row in left.records if row["outcome"] == "cancelled"} == {"stopped by the user"}
    report = row_of(left, 0)
    assert report["planned"] == report["not_sent"] + report["ok"] + report["cancelled"]


def test_a_server_that_dies_ends_a_step_by_rate(tmp_path: Path) -> None:
    """So many failures in a row end it, and the arrivals with it; the run goes on to the next step and is a failure."""
    file = scenario(tmp_path, rates=[50, 20], max_failures_in_a_row=10, window_s=10.0)
    with (
        child.running("--ttft-ms", "5", "--itl-ms", "1") as failing,
        locust(tmp_path, "--scenario", str(file), "-H", failing.url) as running,
    ):
        running.until_measuring()
        failing.process.kill()
        left = running.end()
    assert (left.code, left.run["verdict"]) == (1, "OK"), left.words
    assert [step["ended_by"] for step in left.run["steps"]] == ["failures", "failures"]
    accounted(left)
    failed = Counter(row["step"] for row in left.records if row["outcome"] not in {"ok", "cancelled"})
    assert 10 <= failed[0] <= 250  # their windows would have 500 and 200
    assert 10 <= failed[1] <= 100


def test_a_cap_of_requests_is_reached_and_never_passed(server: tuple[str, Path], tmp_path: Path) -> None:
    """Fifteen in all, dealt to two workers; what was not sent for want of room cost nothing of it."""
    file = scenario(tmp_path, rates=[100, 100], window_s=5.0, max_requests=15, max_in_flight=2)
    with locust(tmp_path, "--scenario", str(file), "-H", server[0], "--processes", "2") as running:
        left = running.end()
    run = left.run
    assert (left.code, run["verdict"]) == (6, "INCOMPLETE"), left.words
    assert (len(run["steps"]), run["steps"][0]["ended_by"]) == (1, "budget")
    sent = Counter(row["outcome"] == "not_sent" for row in left.records)
    assert 8 <= sent[False] <= 15  # the first worker that has used up its part ends the step, as in the closed loop
    assert sent[True] > 0


def test_the_others_go_on_without_a_dead_worker(server: tuple[str, Path], tmp_path: Path) -> None:
    """The survivor keeps its part of the schedule; the next step is whole again with one."""
    file = scenario(tmp_path, rates=[40, 20], arrivals="constant", window_s=2.0)
    with locust(tmp_path, "--scenario", str(file), "-H", server[0], "--processes", "2") as running:
        running.until_measuring()
        time.sleep(0.3)
        dead = running.workers()[1]
        os.kill(dead, signal.SIGKILL)
        left = running.end()
    run = left.run
    assert (left.code, run["verdict"]) == (5, "DEGRADED"), left.words
    assert [step["ended_by"] for step in run["steps"]] == ["window", "window"]
    (living,) = (worker for worker, facts in run["workers"].items() if facts["pid"] != dead)
    mine = [row["scheduled_at"] for row in of_step(left, 0) if row["worker"] == living]
    assert [later - earlier for earlier, later in pairwise(mine)] == pytest.approx([2 / 40] * (len(mine) - 1), abs=1e-5)
    alone = [row["scheduled_at"] for row in of_step(left, 1)]
    assert {row["worker"] for row in of_step(left, 1)} == {living}
    assert [later - earlier for earlier, later in pairwise(alone)] == pytest.approx(
        [1 / 20] * (len(alone) - 1), abs=1e-5
    )
