"""Locustfiles of a user's own with LLMUser: events, records, and Locust's own request event, once per attempt."""

import json
import socket
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.drive.locusts import locust
from tests.simulate import child

ENDING = """
import gevent

def enough(environment):
    while environment.stats.total.num_requests < {n}:
        gevent.sleep(0.02)
    environment.runner.quit()

@events.init.add_listener
def watch(environment, **_):
    if not isinstance(environment.runner, locust.runners.WorkerRunner):
        gevent.spawn(enough, environment)
"""
"""Ends the run after so many requests. `-t` counts from Locust's start: on a busy machine nothing has begun by then."""

FILE = """
import gc, json, os, sys
import locust
import locust.runners
from locust import events, task
from llmload import LLMUser

def tell(event, **facts):
    with open(f"told-{os.getpid()}.jsonl", "a") as file:
        file.write(json.dumps({"event": event, **facts}) + "\\n")

@locust.events.first_token.add_listener  # at import already
def first(user, workload, ttft_ms, **_):
    tell("first_token", user=type(user).__name__, workload=workload, ms=ttft_ms)

@events.init.add_listener
def listen(environment, **_):
    environment.events.token_gaps.add_listener(
        lambda user, workload, gaps_ms, **_: tell("token_gaps", workload=workload, n=len(gaps_ms)))
    environment.events.llm_request.add_listener(
        lambda record, text, **_: tell("llm_request", id=f"{record.worker}/{record.seq}", outcome=record.outcome,
                                       chars=len(text), ttft_ms=record.ttft_ms, e2e_ms=record.last_token_ms))
    environment.events.request.add_listener(
        lambda request_type, name, response_time, exception, **_: tell(
            "request", type=request_type, name=name, ms=response_time, exception=exception and str(exception)))

class Reader(LLMUser):
    @task
    def ask(self):
        tell("collecting", on=gc.isenabled())
        answer = self.client.chat([{"role": "user", "content": "Why is the sky blue?"}], max_tokens=6, workload="sky")
        if answer.record.outcome == "ok":
            tell("answer", chars=len(answer.text), events=answer.record.events)
"""


def told(folder: Path) -> list[dict[str, Any]]:
    """What the listeners heard, in all processes."""
    return [json.loads(line) for path in sorted(folder.glob("told-*")) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("ends", [("-t", "8s"), ("--processes", "2")])
def test_events_records_and_request_agree(tmp_path: Path, ends: tuple[str, str]) -> None:
    """Each attempt: one record, one llm_request, one request; first token and gaps where there were some.

    In one process, ended by its time; in two, by the locustfile.
    """
    (tmp_path / "own.py").write_text(FILE + ("" if "-t" in ends else ENDING.format(n=30)))
    with (
        child.running("--ttft-ms", "40", "--itl-ms", "10", "--failures", "429=0.2,cut=0.2", "--seed", "5") as server,
        locust(tmp_path, "-u", "3", "-r", "3", "-H", server.url, *ends, file=tmp_path / "own.py") as it,
    ):
        left = it.end()
    assert left.run["verdict"] == "OK", left.words
    assert left.code == 0
    heard = told(tmp_path)
    by_event = Counter(row["event"] for row in heard)
    records = left.records
    assert len(records) >= 10
    assert by_event["llm_request"] == by_event["request"] == len(records)
    ids = Counter(row["id"] for row in heard if row["event"] == "llm_request")
    assert ids == {f"{row['worker']}/{row['seq']}": 1 for row in records}
    assert by_event["first_token"] == sum(row["ttft_ms"] is not None for row in records)
    assert by_event["token_gaps"] == sum(bool(row["gaps_ms"]) for row in records)
    assert {row["on"] for row in heard if row["event"] == "collecting"} == {False}  # its pauses would be in the stamps
    outcomes = Counter(row["outcome"] for row in records)
    assert {"ok", "rate_limited", "stream_truncated"} <= set(outcomes)
    requests = [row for row in heard if row["event"] == "request"]
    assert Counter(row["exception"] or "ok" for row in requests) == outcomes
    assert {(row["type"], row["name"]) for row in requests} == {("LLM", "sky")}
    assert {(row["user"], row["workload"]) for row in heard if row["event"] == "first_token"} == {("Reader", "sky")}
    assert all(row["chars"] > 0 and row["events"] == 6 for row in heard if row["event"] == "answer")
    e2e = sorted(row["last_token_ms"] for row in records if row["outcome"] == "ok")
    assert sorted(row["ms"] for row in requests if row["exception"] is None) == e2e
    accounting = left.run["accounting"]
    assert sum(line["received"] for line in accounting.values()) == len(records)
    assert all(line["lost"] == 0 for line in accounting.values())
    assert left.run["steps"][0]["concurrency"] == 3


def test_a_model_that_is_not_served_is_a_sentence(tmp_path: Path) -> None:
    """The endpoint is looked at before any user comes up; nothing is sent and the exit code says why."""
    (tmp_path / "own.py").write_text(
        FILE.replace("class Reader(LLMUser):", "class Reader(LLMUser):\n    model = 'nope'")
    )
    with (
        child.running() as server,
        locust(tmp_path, "-u", "1", "-H", server.url, file=tmp_path / "own.py") as it,
    ):
        left = it.end()
    assert left.code == 3, left.words
    assert "nope" in left.complaint()
    assert not told(tmp_path)


IMPATIENT = """
import gevent, locust.runners
from locust import events, task
from llmload import LLMUser

class Impatient(LLMUser):
    @task
    def ask(self):
        with gevent.Timeout(0.2, False):
            self.client.chat([{"role": "user", "content": "Why is the sky blue?"}], max_tokens=100)
"""


def test_what_the_locustfile_cuts_itself_says_so_and_a_run_without_success_fails(tmp_path: Path) -> None:
    """Nobody stopped these requests but their own user; nothing came to its end, so the exit code is 1."""
    (tmp_path / "own.py").write_text(IMPATIENT + ENDING.format(n=6))
    with (
        child.running("--ttft-ms", "40", "--itl-ms", "20") as server,
        locust(tmp_path, "-u", "2", "-r", "2", "-H", server.url, file=tmp_path / "own.py") as it,
    ):
        left = it.end()
    assert (left.code, left.run["verdict"]) == (1, "OK"), left.words
    cut = left.count("outcome", "error")
    assert cut.pop(("cancelled", "stopped by the user"), 0) <= 2  # the end of the run cuts the last ones
    assert set(cut) == {("cancelled", "cut by the locustfile's own code")}


def test_a_run_that_is_over_before_it_began_says_so(tmp_path: Path) -> None:
    """An endpoint that accepts and never answers, one second of time: nothing was recorded, and that is no success."""
    (tmp_path / "own.py").write_text(FILE)
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with locust(tmp_path, "-u", "1", "-t", "1s", "-H", url, file=tmp_path / "own.py") as it:
            left = it.end()
    assert left.code == 6, left.words
    assert left.complaint() == "stopped before the load began; nothing was recorded"
    assert not left.folder.exists() or not list(left.folder.iterdir())
