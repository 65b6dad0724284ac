"""The tally of a run: numbers worked by hand, and the reporter's own where both tell the same."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from llmload.live.batch import FIGURES
from llmload.live.groups import MOST
from llmload.live.tally import Tally
from llmload.load.scenario import Load
from llmload.report import building
from tests.live.played import about, play, worker
from tests.report.synthetic import START, believable, record, second, step


def line(*args: Any, **more: Any) -> bytes:
    """A line of requests.jsonl."""
    return orjson.dumps(record(*args, **more))


def begun(*names: str, row: dict[str, Any] | None = None, **more: Any) -> Tally:
    """A tally of a run whose first step's window is open."""
    tally = Tally()
    tally.begin(about(*names, **more))
    tally.look([row or step(end=None)], [worker()])
    return tally


def test_before_there_is_a_run() -> None:
    """Everything has its place, and nothing a number."""
    told = Tally().snapshot(START)
    assert (told["state"], told["run"], told["step"], told["step_so_far"]) == ("idle", None, None, None)
    assert (told["rows"], told["marks"], told["workers"], told["history"]["t"]) == ([], [], [], [])
    assert orjson.loads(orjson.dumps(told)) == told


def test_worked_by_hand() -> None:
    """Two successes, a failure, a warm-up and one that was not sent, after two seconds of an open window."""
    tally = begun("short", "long")
    tally.record(line(0, sent=0.1, ttft=100.0, gaps=(10.0, 250.0)))  # 3 tokens, TPOT 130, E2E 360
    tally.record(line(1, sent=0.2, ttft=300.0, gaps=(10.0,), workload="long"))  # 2 tokens, TPOT 10, E2E 310
    tally.record(line(2, sent=0.3, outcome="rate_limited", end=5.0))
    tally.record(line(3, sent=-0.05, ttft=40.0, gaps=(20.0,), phase="warmup"))  # at -10 ms and at +10 ms
    tally.record(line(4, outcome="not_sent", sent_at=None))
    tally.sample(orjson.dumps(second(1.0, cpu=0.3, lag=0.3)))  # 50 events
    tally.tick(START + 2)
    told = tally.snapshot(START + 2)
    assert (told["state"], told["classes"], told["users"], told["in_flight"]) == ("running", ["short", "long"], 1, 1)
    assert told["step"] == {
        "index": 0, "concurrency": 1, "rate": None, "phase": "measure", "phase_since": START, "window_s": 2.0,
    }  # fmt: skip
    assert told["totals"] == {
        "started": 4, "ok": 3, "failed": 1, "cancelled": 0, "not_sent": 1, "lost": 0,
        "outcomes": {"ok": 3, "rate_limited": 1, "not_sent": 1},
    }  # fmt: skip
    so_far = told["step_so_far"]
    assert so_far["all"]["sketched"] is so_far["long"]["sketched"] is False
    assert so_far["all"]["ttft_ms"] == {"n": 2, "p50": 200.0, "p95": 290.0, "p99": None}
    assert so_far["all"]["itl_ms"] == {"n": 3, "p50": 10.0, "p95": pytest.approx(226.0), "p99": None}
    assert so_far["long"]["tpot_ms"] == {"n": 1, "p50": 10.0, "p95": 10.0, "p99": None}
    assert so_far["short"]["e2e_ms"]["p50"] == 360.0
    assert so_far["all"]["outcomes"] == {"ok": 2, "rate_limited": 1, "not_sent": 1}
    assert so_far["all"]["requests_per_s"] == 1.0
    assert so_far["all"]["output_tokens_per_s"] == 3.0  # five of the measured ones, one of the warm-up's
    assert so_far["all"]["stalls_per_1000_gaps"] == pytest.approx(1000 / 3)
    last = told["last10s"]
    assert last["all"]["ttft_ms"]["n"] == 3
    assert last["all"]["requests_per_s"] == 1.5
    assert last["all"]["output_tokens_per_s"] == 25.0  # 50 events that were told of in two seconds
    assert last["long"]["output_tokens_per_s"] == 1.0
    history, classes = told["history"], told["history"]["classes"]
    assert (history["t"], history["step"], history["cpu_max"]) == ([START + 2], [0], [0.3])
    assert (history["loop_lag_p99_ms"], classes["all"]["ttft_p50"]) == ([0.3], [100.0])
    assert (classes["all"]["failed_per_s"], classes["short"]["requests_per_s"]) == ([0.5], [1.0])
    assert tally.snapshot(START + 2, since=START + 2)["history"]["t"] == []
    assert told["marks"] == [{"t": START - 1, "step": 0, "concurrency": 1, "rate": None, "left_after_s": None}]
    assert told["workers"][0]["events_per_s"] == 50


def test_a_class_may_be_called_anything() -> None:
    """A class is named by whoever writes the scenario: none hides a column, a figure or an outcome."""
    names = ("t", "step", "in_flight", "classes", "outcomes", "sketched", "failures", "rate_limited")
    tally = begun(*names)
    tally.record(line(0, workload="t", ttft=70.0))
    tally.record(line(1, workload="sketched", outcome="rate_limited", end=5.0))
    tally.tick(START + 1)
    told = tally.snapshot(START + 1)
    history = told["history"]
    assert (history["t"], history["step"], history["in_flight"]) == ([START + 1], [0], [1])
    assert list(history["classes"]) == ["all", *names]
    assert history["classes"]["t"]["ttft_p50"] == [70.0]
    assert history["outcomes"] == {"rate_limited": [1.0]}
    assert told["step_so_far"]["sketched"]["outcomes"] == {"rate_limited": 1}


def test_a_level_that_was_left_too_early_is_marked() -> None:
    """By hand: how long its window was open, 0 if it never was; and how long is long enough."""
    tally = begun(load=Load(kind="hand", steps=(), window_s=60))
    rows = [
        step(held=True),
        step(1, 4, 20.0, 23.5, held=False),
        step(2, 8, None, 25.0, held=False),
        step(3, 2, 30.0, None),
    ]
    tally.look(rows, [worker()])
    told = tally.snapshot(START + 40)
    assert told["held_s"] == 10.0
    assert [(mark["concurrency"], mark["left_after_s"]) for mark in told["marks"]] == [
        (1, None), (4, 3.5), (8, 0.0), (2, None),
    ]  # fmt: skip


def test_the_last_ten_seconds_end() -> None:
    """What came eleven seconds ago is no longer in them; in the step so far it still is."""
    tally = begun()
    tally.record(line(0))
    for now in range(1, 13):
        tally.tick(START + now)
        told = tally.snapshot(START + now)
        assert told["last10s"]["all"]["e2e_ms"]["n"] == (1 if now <= 10 else 0), now
    assert told["last10s"]["all"]["requests_per_s"] == 0.0
    assert told["step_so_far"]["all"]["e2e_ms"]["n"] == 1


def test_a_finished_step_is_that_of_the_reporter(tmp_path: Path) -> None:
    """Percentiles, counts, rates, stalls and tokens, of each class and of all, of three steps with failures."""
    folder = believable(tmp_path / "run", (1, 8, 32), window_s=12.0)
    rows = {(row["step"], row["workload"]): row for row in building.compute(folder).summary["rows"]}
    tally, seen = Tally(), []

    def told(row: dict[str, Any], now: float) -> None:
        so_far = tally.snapshot(now)["step_so_far"]
        for name in ("all", "short", "medium", "long"):
            mine, theirs = so_far[name], rows[row["step"], name]
            for figure in FIGURES:
                truth = {key: theirs[figure]["ok"][key] for key in ("n", "p50", "p95", "p99")}
                assert mine[figure] == pytest.approx(truth, nan_ok=False), (row["step"], name, figure)
            assert mine["outcomes"] == theirs["outcomes"]
            assert mine["requests_per_s"] == pytest.approx(theirs["requests_per_s"])
            assert mine["stalls_per_1000_gaps"] == pytest.approx(theirs["stalls_per_1000_gaps"])
            assert mine["output_tokens_per_s"] == pytest.approx(theirs["output_tokens_per_s"], rel=1e-6)
        seen.append(row["step"])

    play(folder, tally, told)
    assert seen == [0, 1, 2]


def test_a_workers_clock_is_set_right() -> None:
    """Its second of lead is taken off before its tokens are looked for in the window; a late one counts nowhere."""
    tally = begun(row=step(end=1.0, ended_at=None))
    tally.look(tally.steps, [worker(clock_offset_ms=1000.0, clock_error_ms=10.0)])
    tally.record(line(0, sent=1.5))  # at 0.5 by the master's clock
    tally.record(line(1, sent=3.5))  # at 2.5: over a second behind the end of its window
    so_far = tally.snapshot(START + 9)["step_so_far"]["all"]
    assert (so_far["outcomes"], so_far["output_tokens_per_s"]) == ({"ok": 1}, 10.0)


def test_values_of_a_step_that_is_over_are_let_go() -> None:
    """A long run holds the values of one step, and of ten seconds."""
    tally = begun()
    for seq in range(300):
        tally.record(line(seq))
    assert tally.snapshot(START)["step_so_far"]["all"]["itl_ms"]["n"] == 2700
    for now in range(1, 13):
        tally.tick(START + now)
    tally.look([*tally.steps, step(1, 4, 20.0, None)], [worker()])
    told = tally.snapshot(START + 13)
    assert told["step_so_far"]["all"]["itl_ms"]["n"] == told["last10s"]["all"]["itl_ms"]["n"] == 0
    assert told["totals"]["ok"] == 300


def test_records_that_came_before_their_step_was_looked_at() -> None:
    """A step may have begun since the last look; what waited for it is not lost to it."""
    tally = begun()
    tally.record(line(0, step=1, sent=20.5))
    tally.look([*tally.steps, step(1, 4, 20.0, None)], [worker()])
    assert tally.snapshot(START + 21)["step_so_far"]["all"]["e2e_ms"]["n"] == 1


def test_phases() -> None:
    """They follow from what the step's row has so far."""
    row = step(begin=None, end=None, started_at=START)
    tally = begun(row=row)
    for key, phase in (("started_at", "warmup"), ("window_started_at", "measure"), ("window_ended_at", "drain"),
                       ("ended_at", "done")):  # fmt: skip
        row[key] = START + 1
        now = tally.snapshot(START + 3)["step"]
        assert (now["phase"], now["phase_since"]) == (phase, START + 1)
    assert now["window_s"] == 0.0


def test_from_one_run_to_the_next() -> None:
    """What was asked for, refused, begun, ended with its verdict; the next run forgets all of it."""
    tally = Tally()
    tally.starting()
    assert tally.snapshot(START)["state"] == "starting"
    tally.refused("no endpoint")
    assert (tally.snapshot(START)["state"], tally.snapshot(START)["reasons"]) == ("idle", ["no endpoint"])
    tally.begin(about())
    tally.look([step()], [worker(users=4, in_flight=2)])
    tally.record(line(0))
    tally.rows = [{"step": 0}]
    tally.end("DEGRADED", ["3 records missing"], 3, START + 9)
    told = tally.snapshot(START + 10)
    assert (told["state"], told["verdict"], told["reasons"]) == ("ended", "DEGRADED", ["3 records missing"])
    assert (told["totals"]["ok"], told["totals"]["lost"], told["ended_at"]) == (1, 3, START + 9)
    assert (told["users"], told["in_flight"], len(told["workers"])) == (0, 0, 1)
    tally.judged("INCOMPLETE", ["3 records missing", "the generator was late"])
    told = tally.snapshot(START + 10)
    assert (told["verdict"], told["reasons"]) == ("INCOMPLETE", ["3 records missing", "the generator was late"])
    tally.starting()
    tally.judged("OK", [])  # a report that comes late is not about the run that begins
    tally.begin(about())
    tally.judged("OK", [])
    told = tally.snapshot(START + 11)
    assert (told["state"], told["verdict"], told["rows"], told["totals"]["ok"]) == ("running", None, [], 0)


def test_a_locustfile_names_its_own_classes() -> None:
    """Those that were sent, and not those of the scenario; far too many share one name."""
    tally = begun(load=Load(steps=()))
    assert tally.snapshot(START)["classes"] == []
    for seq in range(MOST + 9):
        tally.record(line(seq, workload=f"class-{seq}"))
    names = tally.snapshot(START)["classes"]
    assert (len(names), names[-1]) == (MOST + 1, "other")
    assert tally.snapshot(START)["step_so_far"]["other"]["e2e_ms"]["n"] == 9


def test_without_a_stream_only_the_whole_answer_is_timed() -> None:
    """The end counts as E2E; there is no first token and no pace."""
    tally = begun(stream=False)
    tally.record(line(0, ttft=None, gaps=(), end=500.0, output_tokens=20))
    so_far = tally.snapshot(START + 10)["step_so_far"]["all"]
    assert (so_far["ttft_ms"]["n"], so_far["tpot_ms"]["n"], so_far["e2e_ms"]["p50"]) == (0, 0, 500.0)
    assert so_far["output_tokens_per_s"] == 2.0


def test_lines_that_are_no_records_are_passed_over() -> None:
    """A garbled line takes nothing else with it."""
    tally = begun()
    for text in (b"{", b"[1]", b"", line(0)):
        tally.record(text)
    tally.sample(b"{")
    assert tally.snapshot(START)["totals"]["outcomes"] == {"ok": 1}
