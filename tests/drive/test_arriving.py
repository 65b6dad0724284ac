"""One process's part of a load by rate, with a client that obeys the test: who is sent, who is not."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import gevent
import pytest

from llmload.drive import arriving
from llmload.drive.arriving import Arriving
from llmload.record import clock, spool
from tests.drive.test_session import Bench, User

RATE = 200.0


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A session whose schedule is constant; its step is begun by `begin`."""
    made = Bench(tmp_path)
    made.session._schedule = lambda _, rate: (number / rate for number in range(10**6))
    yield made
    made.session.close()


def begin(bench: Bench, room: int = 100, starts_in_s: float = 0.0, **more: Any) -> Any:
    """The gate opens for a step by rate; returns the greenlet of the user that sends."""
    bench.begin(**{"concurrency": None, "rate": RATE, "room": room, "starts_at": clock.now() + starts_in_s, **more})
    step = bench.session.arriving
    assert step is not None
    return gevent.spawn(step.follow, User(), bench.session)


def end(bench: Bench, user: Any) -> list[dict[str, Any]]:
    """The step ends; the records of all its attempts, by seq."""
    bench.hear("closed", why="step")
    user.join(5)
    while bench.session.status()["in_flight"]:
        gevent.sleep(0.01)
    return sorted(bench.records(), key=lambda row: row["seq"])


def until(done: Callable[[], bool]) -> None:
    """Wait for something, five seconds at most: this machine may be busy."""
    with gevent.Timeout(5):
        while not done():
            gevent.sleep(0.01)


def test_arrivals_wait_for_no_answer(bench: Bench) -> None:
    """Nothing ever ends, and all that is due is sent: each at its time, its schedule in its record."""
    user = begin(bench, starts_in_s=0.05)
    until(lambda: len(bench.client.open) > 20)
    rows = end(bench, user)
    first = rows[0]["scheduled_at"]
    assert [row["scheduled_at"] for row in rows] == pytest.approx([first + n / RATE for n in range(len(rows))])
    assert {(row["rate"], row["concurrency"], row["outcome"]) for row in rows} == {(RATE, None, "cancelled")}
    assert [row["seq"] for row in rows] == list(range(len(rows)))


def test_what_finds_no_room_is_not_sent(bench: Bench) -> None:
    """Two places, nobody leaves: two are sent, the rest is recorded at once without any time, and counts as planned."""
    heard: list[str] = []
    bench.events.request.add_listener(lambda **facts: heard.append(repr(facts["exception"])))
    user = begin(bench, room=2)
    bench.hear("measure")
    until(lambda: len(bench.client.open) == 2 and bench.session.status()["not_sent"] > 3)
    status = bench.session.status()
    assert (status["in_flight"], status["started"] - status["finished"]) == (2, 2)
    assert sum(status["sent"].values()) == status["started"] == status["not_sent"] + 2
    assert (status["failed"], status["asked_tokens"]) == (0, 14)
    rows = end(bench, user)
    assert sorted(row["outcome"] for row in rows)[:3] == ["cancelled", "cancelled", "not_sent"]
    left = next(row for row in rows if row["outcome"] == "not_sent")
    assert left["error"] == "2 in flight already, all that this worker may have"
    assert {left[name] for name in ("sent_at", "ttft_ms", "end_ms", "connect_ms", "last_token_ms")} == {None}
    assert left["scheduled_at"] is not None
    assert heard.count("not_sent") == sum(row["outcome"] == "not_sent" for row in rows)
    assert len(heard) == len(rows)
    assert set(spool.read(bench.path).records) == {row["seq"] for row in rows}


def test_a_user_that_is_stopped_is_followed_by_another(bench: Bench) -> None:
    """Where Locust deals its users anew it may stop the one that sends: no arrival is passed over, and none stands."""
    starts_at = clock.now() + 0.2
    first = begin(bench, starts_at=starts_at)
    gevent.sleep(0.05)  # it waits for the first arrival
    step = bench.session.arriving
    assert step is not None

    def stand_by() -> None:
        while not step.over.is_set():
            step.follow(User(), bench.session)

    second = gevent.spawn(stand_by)
    gevent.sleep(0)
    first.kill()
    until(lambda: len(bench.client.open) > 10)
    rows = end(bench, second)
    begun = rows[0]["scheduled_at"]
    assert [row["scheduled_at"] for row in rows] == pytest.approx([begun + n / RATE for n in range(len(rows))])
    assert begun == starts_at


def test_a_place_that_is_left_is_taken_again(bench: Bench) -> None:
    """The one that ends makes room for one, not for all that found none before."""
    user = begin(bench, room=1)
    until(lambda: bool(bench.client.open))
    bench.client.finish()
    until(lambda: bool(bench.client.open))
    rows = end(bench, user)
    assert sum(row["outcome"] != "not_sent" for row in rows) == 2


def test_a_process_that_was_held_up_sends_all_the_same(bench: Bench) -> None:
    """The loop stood still for 0.1 s: what was due meanwhile is sent after it, none is left out, and the slip shows."""
    user = begin(bench, starts_in_s=0.02)
    gevent.sleep(0.01)
    until = clock.now() + 0.1
    while clock.now() < until:
        pass
    gevent.sleep(0.05)
    held = clock.now()
    rows = end(bench, user)
    due = [row["scheduled_at"] for row in rows if row["scheduled_at"] < held - 0.02]
    assert due == pytest.approx([due[0] + n / RATE for n in range(len(due))])
    assert {row["outcome"] for row in rows} == {"cancelled"}


def test_a_process_that_is_behind_takes_no_turns(bench: Bench) -> None:
    """A turn of the loop for each request would hold up a loop that has few turns for good."""
    bench.session.turnstile.enter = lambda: gevent.sleep(10)  # type: ignore[method-assign]
    user = begin(bench, starts_in_s=-1.0, room=1000)
    until(lambda: bench.session.status()["started"] >= 190)
    user.kill()


def test_two_processes_deal_the_schedule(bench: Bench) -> None:
    """The second of two takes the second, the fourth …, and the calls of those numbers, anew in the window."""
    user = begin(bench, rank=1, stride=2)
    until(lambda: len(bench.client.open) > 3)
    bench.hear("measure")
    until(lambda: len(bench.client.open) > 8)
    rows = end(bench, user)
    gaps = {round((b["scheduled_at"] - a["scheduled_at"]) * RATE) for a, b in pairwise(rows)}
    assert gaps == {2}
    for phase, letter in (("warmup", "w"), ("measure", "m")):
        prompts = [row["prompt"] for row in rows if row["phase"] == phase]
        assert prompts == [f"{letter}0.{1 + 2 * n}" for n in range(len(prompts))]
        assert len(prompts) >= 2


def test_the_schedule_goes_by_the_masters_clock(bench: Bench) -> None:
    """A worker whose clock is 100 s ahead begins at its own time of that moment."""
    bench.session._apart = Ahead()  # type: ignore[assignment]
    user = begin(bench, starts_in_s=-100.0)
    until(lambda: bool(bench.client.open))
    rows = end(bench, user)
    assert rows[0]["scheduled_at"] == pytest.approx(clock.now(), abs=5)


class Ahead:
    """What a session asks of a clock that is measured."""

    offset_s, offset_ms, error_ms = 100.0, 100_000.0, 0.1


def test_a_budget_ends_the_arrivals(bench: Bench) -> None:
    """The third one finds nothing left; what was not sent for want of room cost nothing."""
    user = begin(bench, room=1, requests=2)
    until(lambda: bench.session.status()["not_sent"] > 5)
    for _ in range(2):
        until(lambda: bool(bench.client.open))
        assert not bench.session.status()["out_of_budget"]
        bench.client.finish()
    user.join(5)
    assert bench.session.status()["out_of_budget"]
    assert user.dead
    rows = end(bench, user)
    assert [row["outcome"] for row in rows if row["outcome"] != "not_sent"] == ["ok", "ok"]


def test_what_was_on_its_way_at_the_end_is_not_lost(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Due before the end of the step, cut before it came to the wire: not sent, and said to be."""
    monkeypatch.setattr(arriving, "BEHIND_S", 10.0)
    user = begin(bench)
    bench.session.turnstile.enter = lambda: gevent.sleep(0.5)  # type: ignore[method-assign]
    until(lambda: bench.session.status()["in_flight"] > 3)
    waiting = bench.session.status()["in_flight"]
    rows = end(bench, user)
    assert [(row["outcome"], row["error"]) for row in rows] == [
        ("not_sent", "the step ended before it could be sent")
    ] * (len(rows))
    assert len(rows) >= waiting


def test_one_user_follows_the_schedule(bench: Bench) -> None:
    """Locust may bring up two in one worker: the second waits, nothing is sent twice; a killed one is replaced."""
    first = begin(bench)
    step = bench.session.arriving
    assert isinstance(step, Arriving)
    second = gevent.spawn(step.follow, User(), bench.session)
    until(lambda: len(bench.client.open) > 5)
    first.kill()
    third = gevent.spawn(step.follow, User(), bench.session)
    until(lambda: len(bench.client.open) > 15)
    rows = end(bench, third)
    second.join(1)
    numbers = [round((row["scheduled_at"] - rows[0]["scheduled_at"]) * RATE) for row in rows]
    assert numbers == sorted(set(numbers))
    assert second.dead


def test_a_call_that_cannot_be_made_ends_the_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong with one is wrong with all."""
    monkeypatch.setattr(bench.session._plan, "warming", lambda *_: 1 / 0)
    user = begin(bench)
    user.join(1)
    assert user.dead
    assert bench.session.failure == "worker w0: a request could not be made: ZeroDivisionError: division by zero"
