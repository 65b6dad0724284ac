"""Where one step ends and the next begins, over three workers: users, marks, shares, and no stream that is disturbed.

Held against the server's own times, never against a number of milliseconds that a busy machine could miss.
"""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from locust import argument_parser

from llmload.drive import plugin  # noqa: F401  (what it does, it does when it is imported)
from tests.drive import locusts
from tests.drive.locusts import Left, locust, scenario
from tests.simulate import child

STEPS = [1, 8, 2]
MARKS_MS = 250
"""Marks of one step at least agree within this on one machine, whatever else it does."""

Whole = tuple[Left, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """A run with fewer requests in flight than workers at first, and more later; and what the server saw of it."""
    folder = tmp_path_factory.mktemp("whole")
    file = scenario(folder, steps=STEPS, window_s=1.0)
    truth = folder / "truth.jsonl"
    with (
        child.running("--ttft-ms", "250", "--itl-ms", "10", "--truth", str(truth)) as server,
        locust(folder, "--scenario", str(file), "-H", server.url, "--processes", "3") as running,
    ):
        left = running.end()
        lines = [json.loads(line) for line in truth.read_bytes().splitlines()]
        begun = left.run["steps"][0]["started_at"]
        yield left, [line for line in lines if line["received_at"] >= begun]


def of_step(left: Left, step: int) -> list[dict[str, Any]]:
    """A step's records in the order in which they were sent."""
    return sorted((row for row in left.records if row["step"] == step), key=lambda row: row["sent_at"])


def test_a_step_begins_when_all_its_users_are_there(whole: Whole) -> None:
    """Its first N requests are those of N users: all of them are sent before the first one ends."""
    left, _ = whole
    assert left.run["verdict"] == "OK", left.words
    for index, n in enumerate(STEPS):
        rows = of_step(left, index)
        assert rows[n - 1]["sent_at"] < min(row["sent_at"] + row["end_ms"] / 1000 for row in rows)


def test_nobody_is_in_flight_while_users_come_up(whole: Whole) -> None:
    """So no gap in any stream is Locust's message about them: all of a step has ended when the next one begins."""
    left, truth = whole
    steps = left.run["steps"]
    for now, then in pairwise(steps):
        assert max(row["sent_at"] + row["end_ms"] / 1000 for row in of_step(left, now["step"])) <= then["started_at"]
        assert not [line for line in truth if line["received_at"] < then["started_at"] < line["end_at"]]


def test_what_stalls_a_worker_at_every_message_about_users_is_taken_away() -> None:
    """Locust builds a whole parser for each of its options, 50 to 200 ms in all, unless somebody remembers the answer.

    That matters for locustfiles of one's own, in which users come up while others stream.
    """
    assert argument_parser.default_args_dict() is argument_parser.default_args_dict()


def test_all_begin_a_window_at_the_same_moment(whole: Whole) -> None:
    """On one clock: how far apart master and workers were is in run.json, and what was sent agrees with it."""
    left, _ = whole
    marks = [step["marks_apart_ms"] for step in left.run["steps"]]
    assert min(marks) >= 0
    assert min(marks) < MARKS_MS
    for step in left.run["steps"]:
        late = [row["sent_at"] for row in of_step(left, step["step"]) if row["phase"] == "warmup"]
        apart_s = (step["marks_apart_ms"] + max(w["clock_error_ms"] for w in left.run["workers"].values())) / 1000
        assert max(late) <= step["window_started_at"] + 2 * apart_s + 0.001


def test_exactly_n_over_all_workers(whole: Whole) -> None:
    """J14: 8 over three are 3, 3 and 2; one in flight is one; never more by the server's own times."""
    left, truth = whole
    for step in left.run["steps"]:
        n = step["concurrency"]
        assert locusts.in_flight(truth, step["started_at"], step["ended_at"])[0] == n
        peaks = []
        for worker in left.run["workers"]:
            rows = [row for row in of_step(left, step["step"]) if row["worker"] == worker]
            spans = [{"received_at": row["sent_at"], "end_at": row["sent_at"] + row["end_ms"] / 1000} for row in rows]
            peaks.append(locusts.in_flight(spans, step["started_at"], step["ended_at"])[0])
        assert sorted(peaks, reverse=True) == {1: [1, 0, 0], 8: [3, 3, 2], 2: [1, 1, 0]}[n]


def test_workers_never_send_the_same_prompt(whole: Whole) -> None:
    """J17: as many different prompts as requests, over all workers."""
    _, truth = whole
    heads = [line["head"] for line in truth]
    assert len(set(heads)) == len(heads) > 20


def test_every_worker_is_on_the_masters_clock(whole: Whole) -> None:
    """On one machine no clock is off by more than the measuring itself may be wrong."""
    left, _ = whole
    for facts in left.run["workers"].values():
        assert abs(facts["clock_offset_ms"]) <= facts["clock_error_ms"] + 0.1
    assert not [reason for reason in left.run["reasons"] if "clock" in reason]
