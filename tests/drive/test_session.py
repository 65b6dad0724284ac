"""The side that sends, with a client that obeys the test: tags, warm-up, allowances, cuts, words to the master."""

import gc
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import gevent
import pytest
from gevent.event import Event
from locust.event import Events

from llmload.drive import hooks, mixuser
from llmload.drive.order import Order, from_json
from llmload.drive.session import Session, Tools
from llmload.exits import Stop
from llmload.load.call import Call
from llmload.record import spool
from llmload.record.record import RequestRecord, Tags


@dataclass
class Told:
    """A client's counts."""

    events: int = 0
    stamp_lag_ms: float | None = None


class Client:
    """Sends nothing: an attempt ends when the test says so, or when it is cancelled."""

    def __init__(self) -> None:
        self.open: list[tuple[Tags, Event, list[str]]] = []

    @property
    def in_flight(self) -> int:
        """Attempts that have not ended."""
        return len(self.open)

    def send(
        self,
        call: Call,
        opening: Callable[[float], Tags],
        finished: Callable[[RequestRecord, str], None],
        *,
        on_first_token: Callable[[float], None] | None = None,
        save_text: bool = False,
    ) -> RequestRecord:
        """Wait for the end, as the real one does, also of the greenlet."""
        entry: tuple[Tags, Event, list[str]] = (opening(1000.0), Event(), [])
        self.open.append(entry)
        if on_first_token is not None:
            on_first_token(12.5)
        tags, ended, outcome = entry
        try:
            ended.wait()
        except BaseException:
            outcome.append("cancelled")
            raise
        finally:
            self.open.remove(entry)
            record = RequestRecord(
                run=tags.run, worker=tags.worker, seq=tags.seq, step=tags.step, concurrency=tags.concurrency,
                phase=tags.phase, workload=tags.workload, prompt=tags.prompt, sent_at=1000.0, outcome=outcome[0],
                rate=tags.rate, scheduled_at=tags.scheduled_at,
                ttft_ms=12.5, gaps_ms=[10.0, 11.0], last_token_ms=33.5, end_ms=40.0, events=3,
            )  # fmt: skip
            finished(record, "three small words")
        return record

    def finish(self, outcome: str = "ok", seq: int | None = None) -> None:
        """End the oldest attempt, or the one with this seq."""
        entry = next(entry for entry in self.open if seq is None or entry[0].seq == seq)
        entry[2].append(outcome)
        entry[1].set()
        gevent.sleep(0)

    def cancel(self) -> int:
        """End all."""
        for _, ended, outcome in self.open:
            outcome.append("cancelled")
            ended.set()
        return len(self.open)

    def meter(self) -> Told:
        """Nothing."""
        return Told()

    def close(self) -> None:
        """Nothing."""


class Plan:
    """Calls whose prompt ids are their place."""

    def warmup(self, step: int, user: int, k: int) -> Call:
        """`w` step.user.k; classes in turn."""
        return Call(("a", "b")[(user + k) % 2], f"w{step}.{user}.{k}", (), "", 7)

    def warming(self, step: int, index: int) -> Call:
        """`w` step.index."""
        return Call(("a", "b")[index % 2], f"w{step}.{index}", (), "", 7)

    def measured(self, step: int, index: int) -> Call:
        """`m` step.index."""
        return Call(("a", "b")[index % 2], f"m{step}.{index}", (), "", 7)


class User:
    """All that a session needs of one."""

    def context(self) -> dict[str, Any]:
        """Locust's context of a request event."""
        return {}


class Bench:
    """A session on the bench, and the messages that it sent."""

    def __init__(self, folder: Path, *, free: bool = False) -> None:
        self.client = Client()
        self.events: Any = Events()
        hooks.put_on(self.events)
        self.messages: list[tuple[str, dict[str, Any]]] = []
        order = Order(run="r", scenario={}, sending={}, folder=str(folder), workers={"node": "w0"}, free=free)
        self.path = folder / "w0.jsonl"
        tools = Tools(self.client, Plan(), spool.Spool(self.path), self.events, self.tell)
        self.session = Session(order, "w0", tools)
        self.serial = 0

    def tell(self, kind: str, data: dict[str, Any]) -> None:
        """Take a message as the master would; records are acknowledged."""
        self.messages.append((kind, data))
        if kind == "llmload_records":
            self.session.acknowledged({"batches": [data["batch"]]})

    def hear(self, phase: str, **more: Any) -> None:
        """A PHASE message."""
        self.serial += 1
        self.session.hear({"run": "r", "serial": self.serial, "phase": phase, **more})

    def begin(self, step: int = 0, **more: Any) -> None:
        """The gate opens for a step of two users."""
        place = {"concurrency": 2, "first_user": 0, "rank": 0, "stride": 1}
        self.hear("warmup", **{"step": step, **place, "requests": None, "tokens": None, **more})

    def attempt(self, seat: Any) -> Any:
        """A user's next request, in a greenlet of its own; None if there is none."""
        call = self.session.call(seat)
        if call is None:
            return None
        task = gevent.spawn(self.session.attempt, User(), call, seat)
        gevent.sleep(0)
        return task

    def records(self) -> list[dict[str, Any]]:
        """What was shipped."""
        import orjson

        assert self.session._shipper.flush(5)
        rows = [row for kind, data in self.messages if kind == "llmload_records" for row in data["rows"]]
        return [orjson.loads(line) for _, line in rows]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A bench that is cleared afterwards."""
    made = Bench(tmp_path)
    yield made
    made.session.close()


def test_nothing_is_sent_at_a_closed_gate(bench: Bench) -> None:
    """Before the first step and after the end of one there is no call."""
    seat = bench.session.sit()
    assert bench.session.call(seat) is None
    bench.begin()
    assert bench.session.call(seat) is not None
    bench.hear("finish")
    assert bench.session.call(seat) is None


def test_calls_are_dealt_by_place(bench: Bench) -> None:
    """Third of three processes that send, users 5 and 6: warm-up by user, measured 2, 5, 8; a new step begins anew."""
    one, two = bench.session.sit(), bench.session.sit()
    prompts = []
    for step in (0, 1):
        bench.begin(step, first_user=5, rank=2, stride=3)
        prompts += [bench.session.call(seat) for seat in (one, two, one)]
        bench.hear("measure")
        prompts += [bench.session.call(seat) for seat in (one, two)]
        bench.hear("drain")
        prompts.append(bench.session.call(two))
    assert [call.prompt for call in prompts if call] == [
        "w0.5.0", "w0.6.0", "w0.5.1", "m0.2", "m0.5", "m0.8", "w1.5.0", "w1.6.0", "w1.5.1", "m1.2", "m1.5", "m1.8",
    ]  # fmt: skip


def test_phase_is_that_of_the_moment_of_sending(bench: Bench) -> None:
    """Tags are taken when the first byte goes; what is sent after the window is drain, also while nothing new is."""
    seat = bench.session.sit()
    bench.begin(3)
    first = bench.attempt(seat)
    bench.hear("measure")
    second = bench.attempt(seat)
    call = bench.session.call(seat)
    assert call is not None
    bench.hear("drain")
    third = gevent.spawn(bench.session.attempt, User(), call, seat)
    gevent.sleep(0)
    for _ in range(3):
        bench.client.finish()
    gevent.joinall([first, second, third])
    assert [(row["seq"], row["step"], row["concurrency"], row["phase"]) for row in bench.records()] == [
        (0, 3, 2, "warmup"), (1, 3, 2, "measure"), (2, 3, 2, "drain"),
    ]  # fmt: skip
    assert third.get().text == "three small words"


def test_status_tells_what_the_plan_asks_for(bench: Bench) -> None:
    """Users, the least warm one, classes, what was sent in the window, what of it is in flight, ok and failed."""
    one, two = bench.session.sit(), bench.session.sit()
    bench.begin()
    for seat in (one, two, one):
        bench.attempt(seat)
        bench.client.finish()
    status = bench.session.status()
    assert (status["users"], status["warm"], status["classes_warm"]) == (2, 1, {"a": 1, "b": 2})
    bench.hear("measure")
    bench.attempt(one)
    bench.attempt(two)
    bench.client.finish("rate_limited")
    status = bench.session.status()
    told = {
        key: status[key] for key in ("in_flight", "sent", "measured_in_flight", "ok", "failed", "measured_ok", "serial")
    }
    assert told == {
        "in_flight": 1, "sent": {"a": 1, "b": 1}, "measured_in_flight": 1, "ok": 3, "failed": 1, "measured_ok": 0,
        "serial": 2,
    }  # fmt: skip
    assert (status["started"], status["finished"], status["asked_tokens"]) == (5, 4, 35)


@pytest.mark.parametrize(
    ("why", "warmup", "measure", "drain"),
    [
        ("step", "cut at the end of the step", "cut by the drain limit", "cut at the end of the step"),
        ("user", *["stopped by the user"] * 3),
        ("fault", *["cut because the run could not go on"] * 3),
    ],
)
def test_records_tell_who_cut_them(bench: Bench, why: str, warmup: str, measure: str, drain: str) -> None:
    """Only those that the user's stop cut are left out of percentiles over all attempts: they must be told apart."""
    seats = [bench.session.sit() for _ in range(3)]
    bench.begin()
    bench.attempt(seats[0])
    bench.hear("measure")
    bench.attempt(seats[1])
    bench.hear("drain")
    bench.attempt(seats[2])
    bench.hear("closed", why=why)
    gevent.sleep(0.05)
    rows = bench.records()
    assert {row["phase"]: row["error"] for row in rows} == {"warmup": warmup, "measure": measure, "drain": drain}
    assert {row["outcome"] for row in rows} == {"cancelled"}
    status = bench.session.status()
    assert (status["in_flight"], status["cut"], status["failed"]) == (0, 3, 0)


def test_a_killed_user_leaves_a_record(bench: Bench) -> None:
    """Also the kill of a greenlet is an end, with its request event."""
    heard: list[Any] = []
    bench.events.request.add_listener(lambda **facts: heard.append(facts["exception"]))
    seat = bench.session.sit()
    bench.begin()
    task = bench.attempt(seat)
    task.kill()
    (row,) = bench.records()
    assert (row["outcome"], row["phase"]) == ("cancelled", "warmup")
    assert [repr(exception) for exception in heard] == ["cancelled"]
    assert bench.session.status()["finished"] == 1


@pytest.mark.parametrize(("chars", "size"), [(37, 37), (None, 0)])
def test_locust_is_told_how_long_the_answer_is(chars: int | None, size: int) -> None:
    """In characters of its text, which is next to the bytes that Locust calls them; never in tokens."""
    events: Any = Events()
    hooks.put_on(events)
    heard: list[int] = []
    events.request.add_listener(lambda response_length, **_: heard.append(response_length))
    record = RequestRecord("r", "w0", 0, 0, 1, "measure", "short", "p", 1.0, "ok", output_tokens=9, output_chars=chars)
    hooks.after(events, User(), record, "")
    assert heard == [size]


@pytest.mark.parametrize("cut", [None, "step"])
def test_a_user_that_gives_up_by_itself_says_so(bench: Bench, cut: str | None) -> None:
    """A gevent.Timeout of the locustfile's own ended it, whatever the step's end would have said."""
    seat = bench.session.sit()
    bench.begin()
    task = bench.attempt(seat)
    if cut:
        bench.session._cut = {"warmup": "cut at the end of the step"}
    task.kill(gevent.Timeout())
    (row,) = bench.records()
    assert (row["outcome"], row["error"]) == ("cancelled", "cut by the locustfile's own code")


def test_a_user_that_locust_takes_away_is_stopped_by_the_user(bench: Bench) -> None:
    """No phase has cut it: somebody turned the load down."""
    seat = bench.session.sit()
    bench.begin()
    bench.attempt(seat).kill()
    assert [row["error"] for row in bench.records()] == ["stopped by the user"]


def test_a_worker_that_was_given_up_says_so_in_what_it_cuts(bench: Bench) -> None:
    """The end came before any step's end: the worker was away for too long."""
    bench.begin()
    bench.attempt(bench.session.sit())
    bench.session.end(5.0, lambda: None)
    assert [row["error"] for row in bench.records()] == ["cut because its worker had to leave"]


def test_a_record_that_cannot_be_kept_holds_nobody_for_ever(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes wrong behind an attempt, it is in flight no more, and the end of the step comes to an end."""

    def broken(_: Any) -> None:
        raise RuntimeError("no room")

    monkeypatch.setattr(bench.session._spool, "finish", broken)
    bench.begin()
    task = bench.attempt(bench.session.sit())
    task.link_exception(lambda _: None)
    bench.hear("closed", why="step")
    gevent.sleep(0.05)
    assert isinstance(task.exception, RuntimeError)
    status = bench.session.status()
    assert (status["in_flight"], status["started"], status["finished"]) == (0, 1, 1)


def test_a_record_that_json_cannot_hold_leaves_a_bare_one(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be written is told as a protocol error: no attempt goes without a record, none stays in flight."""
    as_dict = RequestRecord.as_dict
    beyond = {"input_tokens": 2**70}
    monkeypatch.setattr(RequestRecord, "as_dict", lambda row: as_dict(row) | (beyond if row.outcome == "ok" else {}))
    seat = bench.session.sit()
    bench.begin()
    task = bench.attempt(seat)
    bench.client.finish()
    task.join()
    (row,) = bench.records()
    assert (row["seq"], row["prompt"], row["outcome"], row["ttft_ms"]) == (0, "w0.0.0", "protocol_error", None)
    assert row["error"].startswith("the record could not be written (TypeError: ")
    assert bench.session.status()["in_flight"] == 0
    assert spool.read(bench.path).records.keys() == {0}


def test_no_collection_in_a_run_without_steps(tmp_path: Path) -> None:
    """Such a run measures from its first moment: collections wait until it is over."""
    bench = Bench(tmp_path, free=True)
    assert not gc.isenabled()
    bench.session.close()
    assert gc.isenabled()


@pytest.mark.parametrize(("requests", "tokens", "sent"), [(3, None, 3), (None, 20, 2), (None, 21, 3), (0, None, 0)])
def test_an_allowance_is_never_passed(bench: Bench, requests: int | None, tokens: int | None, sent: int) -> None:
    """Each asks for 7 tokens; then the gate is closed here, and the master is told."""
    seat = bench.session.sit()
    bench.begin(requests=requests, tokens=tokens)
    assert sum(bench.attempt(seat) is not None for _ in range(5)) == sent
    assert bench.session.status()["out_of_budget"]
    bench.hear("measure")
    assert not bench.session.gate.is_set()
    bench.client.cancel()


def test_events_fire_once_per_attempt(bench: Bench) -> None:
    """first_token at its arrival, the others once after the stream, and the request event with E2E and outcome."""
    heard: Counter[str] = Counter()
    last: dict[str, Any] = {}

    def listen(event: str, /, **facts: Any) -> None:
        heard[event] += 1
        last[event] = facts

    for name in ("first_token", "token_gaps", "llm_request", "request"):
        getattr(bench.events, name).add_listener(partial(listen, name))
    seat = bench.session.sit()
    bench.begin()
    bench.attempt(seat)
    gevent.sleep(0)
    assert heard == {"first_token": 1}
    assert last["first_token"]["ttft_ms"] == 12.5
    bench.client.finish()
    assert heard == {"first_token": 1, "token_gaps": 1, "llm_request": 1, "request": 1}
    assert last["token_gaps"]["gaps_ms"] == [10.0, 11.0]
    assert (last["llm_request"]["text"], last["llm_request"]["record"].outcome) == ("three small words", "ok")
    facts = last["request"]
    assert (facts["request_type"], facts["name"], facts["response_time"], facts["exception"]) == (
        "LLM",
        "a",
        33.5,
        None,
    )


def test_a_call_that_cannot_be_made_ends_the_run(bench: Bench) -> None:
    """One sentence for the master, and no further try."""
    bench.session.sit()
    bench.begin()
    bench.session.broken(ValueError("bad body"))
    failure = bench.session.status()["failure"]
    assert failure == "worker w0: a request could not be made: ValueError: bad body"
    assert not bench.session.gate.is_set()


def test_a_disk_that_is_full_is_told_with_its_machine(bench: Bench) -> None:
    """Spools have the same name on every machine."""
    assert bench.session.status()["failure"] is None
    bench.session._spool.failure = "w0.jsonl: cannot be written: No space left on device"
    assert bench.session.status()["failure"] == (
        f"worker w0 on {socket.gethostname()}: w0.jsonl: cannot be written: No space left on device"
    )


def test_the_end_hands_over_everything(bench: Bench) -> None:
    """What is in flight is cut, everything is shipped and acknowledged, then `drained` comes, as the last word."""
    seat = bench.session.sit()
    bench.begin()
    bench.attempt(seat)
    bench.attempt(seat)
    bench.client.finish()
    bench.session.end(5.0, lambda: None)
    assert [row["outcome"] for row in bench.records()] == ["ok", "cancelled"]
    kind, data = bench.messages[-1]
    assert (kind, data["started"], data["finished"]) == ("llmload_drained", 2, 2)
    left = spool.read(bench.path)
    assert (left.started, set(left.records)) == ({0, 1}, {0, 1})


def test_what_comes_again_changes_nothing(bench: Bench) -> None:
    """A phase that was told twice begins once, and a last word that was lost is the same again."""
    seat = bench.session.sit()
    bench.begin()
    bench.attempt(seat)
    bench.client.finish()
    bench.session.hear({"serial": bench.session.status()["serial"], "phase": "warmup"})  # has nothing to begin with
    assert bench.session.status()["ok"] == 1
    bench.session.drained()
    assert "llmload_drained" not in [kind for kind, _ in bench.messages]
    bench.session.end(5.0, lambda: None)
    bench.session.drained()
    assert bench.messages[-1] == bench.messages[-2]
    assert bench.messages[-1][0] == "llmload_drained"


def test_order_travels_whole_and_refuses_another_version() -> None:
    """JSON and back; a worker of another version says so."""
    order = Order("r", {"name": "x"}, {"model": "m"}, "/runs/r", {"node": "w0"}, {"short-1": 12}, save_text=True)
    assert from_json(order.to_json()) == order
    other = from_json(Order("r", {}, {}, "/", {}, version="9.9.9").to_json())
    with pytest.raises(Stop, match=r"the master 9\.9\.9; install the same version on both"):
        other.check()


@pytest.mark.parametrize(("failures", "seconds"), [(0, 0), (1, 0.1), (2, 0.2), (3, 0.4), (4, 0.8), (5, 1.0), (99, 1.0)])
def test_pause_after_quick_failures(failures: int, seconds: float) -> None:
    """0.1 s, doubled, up to one second."""
    assert mixuser.pause(failures) == seconds
