"""The side that conducts, with workers that say what the test says: silence, loss, return, ends that do not come."""

import os
import socket
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import gevent
import pytest
from locust.runners import STATE_RUNNING

from llmload.drive import conductor, desk, reporter, stepping
from llmload.drive.desk import Desk, Halt, how_gone
from llmload.drive.members import NOTHING_SAID, Member
from llmload.drive.order import Order
from llmload.drive.prepare import Prepared
from llmload.drive.run import Run
from llmload.drive.stepping import Stepping
from llmload.exits import Exit, Stop
from llmload.load.scenario import Load, Scenario, WorkloadClass
from llmload.load.sources import Sources
from tests.drive.masters import Master


class Bench:
    """A desk with a run of two workers, `a` being w0 and `b` w1, that have answered all that was said."""

    def __init__(self, folder: Path) -> None:
        scenario = Scenario("s", (WorkloadClass("short"),), load=Load(steps=(2,)))
        prepared = Prepared(scenario, cast("Any", None), cast("Any", None), folder, 0.0, save_text=False)
        self.master = Master("a", "b")
        self.complaints: list[str] = []
        voice: Any = SimpleNamespace(complain=self.complaints.append)
        self.desk = Desk(self.master, voice)
        self.run = self.desk.run = Run(prepared, Order("r", {}, {}, str(folder), {}), {})
        self.run.enlist(["a", "b"])
        for worker in ("w0", "w1"):
            self.say(worker)

    def say(self, worker: str, **status: Any) -> None:
        """A worker's status arrives."""
        data = {**NOTHING_SAID, "serial": self.run.serial, "run": "r", "worker": worker, "step": 0, **status}
        self.master.hears["llmload_status"](environment=None, msg=SimpleNamespace(data=data))

    def silence(self, worker: str, seconds: float) -> Member:
        """As if a worker had said nothing for so long."""
        member = self.run.member(worker)
        assert member is not None
        member.spoke_at = time.monotonic() - seconds
        return member


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A bench."""
    return Bench(tmp_path)


HERE = socket.gethostname()
RUNNING = SimpleNamespace(state=STATE_RUNNING)


@pytest.mark.parametrize(
    ("client", "silence_s", "host", "gone"),
    [
        (RUNNING, 2.9, HERE, None),
        (RUNNING, 59.0, HERE, None),  # its process is alive
        (RUNNING, 59.0, "elsewhere", None),  # nobody knows
        (RUNNING, 61.0, "elsewhere", "went missing in mid-run: not heard for 61 s"),
        (None, 0.1, HERE, "left in mid-run"),
    ],
)
def test_a_silent_worker_is_gone_only_after_a_minute(
    client: Any, silence_s: float, host: str, gone: str | None
) -> None:
    """Its load goes on: it has to be waited for, unless it is known to be no more."""
    member = Member("a", "w0", host=host, pid=os.getpid(), spoke_at=100.0)
    assert how_gone(member, client, 100.0 + silence_s) == gone


def test_no_time_passes_while_a_worker_is_silent(bench: Bench) -> None:
    """A limit of 0.05 s is not over during its silence; what has to be answered by all is not, and a note remains."""
    bench.silence("w1", 10.0)
    began = time.monotonic()

    def done() -> bool:
        if time.monotonic() - began < 0.3:
            return False
        bench.say("w1")
        return True

    assert not bench.desk.heard(bench.run)
    assert bench.desk.until(bench.run, done, 0.05)
    assert bench.desk.heard(bench.run)
    assert bench.run.notes == ["worker w1 was not heard for 10 s; the run waited for it"]
    assert not bench.desk.until(bench.run, lambda: False, 0.05)


def test_users_of_a_worker_that_is_lost_in_the_ramp_come_up_elsewhere(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the run would wait for them for a minute, and end."""
    started: list[tuple[int, float]] = []

    def start(users: int, rate: float) -> None:
        started.append((users, rate))
        if len(started) == 2:
            bench.say("w0", users=3)

    monkeypatch.setattr(bench.master, "start", start)
    monkeypatch.setattr(Master, "user_count", 1)
    step = Stepping(bench.desk, bench.run, 0, 3)
    bench.say("w0", users=2)
    step.start()
    gevent.spawn_later(0.1, bench.master.clients.pop, "b")
    step.bring_up()
    assert started == [(3, 3.0), (3, 3.0)]
    assert [member.worker for member in bench.run.present] == ["w0"]


def test_behind_a_ctrl_c_a_silent_worker_is_not_waited_for(bench: Bench) -> None:
    """`llmload run` kills a run that has not ended 30 s behind it: then nothing says how it ended."""
    cases = [(11.0, True, True), (9.0, True, False), (59.0, False, False)]
    for silence_s, hurry, over in cases:
        bench.silence("w1", silence_s)
        assert bench.desk.every(bench.run, lambda member: member.worker == "w0", hurry=hurry) is over


def test_what_was_lost_on_the_way_is_said_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only to whom has not answered, and can be heard; a word of the end until it is followed."""
    monkeypatch.setattr(desk, "AGAIN_S", 0.0)
    bench.desk.phase(bench.run, "measure")
    bench.say("w0")
    bench.master.sent.clear()
    bench.say("w1", serial=0)
    bench.desk.look(bench.run)
    again = ("llmload_phase", {"run": "r", "serial": 1, "phase": "measure"}, "b")
    assert bench.master.sent == [again]
    assert bench.run.notes == ["worker w1 was told 'measure' again: it had not answered"]
    bench.silence("w1", 4.0)
    bench.desk.look(bench.run)
    assert bench.master.sent == [again]
    bench.say("w1")
    bench.desk.look(bench.run)
    assert bench.master.sent == [again]
    for member in bench.run.present:
        bench.desk.end(bench.run, member)
    bench.run.present[0].drained = (0, 0)
    bench.desk.look(bench.run)
    assert [(kind, node) for kind, _, node in bench.master.sent[1:]] == [
        ("llmload_end", "a"),
        ("llmload_end", "b"),
        ("llmload_end", "b"),
    ]


def test_a_worker_that_was_given_up_is_told_to_end_when_it_speaks(bench: Bench) -> None:
    """It would go on with its load, in a step that is over: it ends, hands over, and leaves with an exit code."""
    member = bench.silence("w1", 61.0)
    bench.desk.look(bench.run)
    assert [one.worker for one in bench.run.present] == ["w0"]
    assert list(bench.master.clients) == ["a"]  # Locust gives it no users of the next step
    bench.say("w1")
    assert bench.master.sent == [("llmload_end", {"run": "r", "patience_s": 60.0, "code": 5}, "b")]
    data = {"run": "r", "worker": "w1", "started": 7, "finished": 7, "clock_drift_s": 0.0}
    bench.master.hears["llmload_drained"](environment=None, msg=SimpleNamespace(data=data))
    assert (member.started, bench.master.sent[-1]) == (7, ("quit", None, "b"))
    bench.say("w1")
    assert len(bench.master.sent) == 2


def test_a_step_whose_cut_requests_do_not_end_ends_the_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would run on into the next step, under its load."""
    monkeypatch.setattr(stepping, "CUT_S", 0.1)
    step = Stepping(bench.desk, bench.run, 0, 2)

    def phase(*_: Any, **__: Any) -> None:
        for worker, in_flight in (("w0", 0), ("w1", 3)):
            bench.say(worker, in_flight=in_flight)

    monkeypatch.setattr(bench.desk, "phase", phase)
    with pytest.raises(Stop, match="step 0: 3 requests had not ended 0 s after they were cut") as stop:
        step.close()
    assert stop.value.code == Exit.INCOMPLETE


@pytest.mark.parametrize(("error", "why"), [(Halt(), "stopped"), (Stop("no"), "fault"), (ValueError(), "fault")])
def test_a_step_says_whether_the_user_or_a_fault_ended_it(
    bench: Bench, error: BaseException, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a user can stop a run; everything else is a fault and not told as the user's doing."""

    def broken(*_: Any) -> None:
        raise error

    monkeypatch.setattr(Stepping, "start", lambda _: None)
    step = Stepping(bench.desk, bench.run, 0, 2)
    with pytest.raises(type(error)):
        step.perform(broken)  # while workers are called
    assert step.row["ended_by"] == why
    step = Stepping(bench.desk, bench.run, 1, 2)
    monkeypatch.setattr(step, "bring_up", broken)
    with pytest.raises(type(error)):
        step.perform(lambda: None)
    assert step.row["ended_by"] == why
    assert step.row["ended_at"] >= step.row["started_at"]


def test_the_greenlet_of_a_run_without_workers_is_killed_by_locust(bench: Bench) -> None:
    """Which is a fault; with workers there it is the page's Stop."""
    assert bench.desk.whose_stop(gevent.GreenletExit()) == "stopped"
    bench.master.clients.clear()
    assert bench.desk.whose_stop(gevent.GreenletExit()) == "fault"


@pytest.mark.parametrize(
    ("ended_by", "plan", "incomplete"),
    [
        ("window", ((2, 3), None), True),  # the drain used the budget up: nothing is left for the second step
        ("window", ((2,), None), False),  # the last window was complete: the run has come to its end
        ("window", ((2,), 2), True),  # it was to be repeated without sampling
        ("budget", ((2,), None), True),  # its window was cut
    ],
)
def test_a_cap_spoils_a_run_only_if_something_was_not_run(
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    ended_by: str,
    plan: tuple[tuple[int, ...], int | None],
    incomplete: bool,
) -> None:
    """What was not run is a step that follows, or a part of a window."""
    done = []
    step = SimpleNamespace(perform=lambda _: done.append(1), step=SimpleNamespace(spent=True, ended_by=ended_by))
    monkeypatch.setattr(conductor, "Stepping", lambda *_: step)
    environment: Any = SimpleNamespace(
        runner=SimpleNamespace(register_message=lambda *_: None, client_id="a", user_count=0, start=lambda *_: None),
        parsed_options=SimpleNamespace(),
    )
    bench.run.scenario = replace(bench.run.scenario, load=Load(steps=plan[0]))
    bench.run.prepared = replace(bench.run.prepared, sources=Sources(repeated=plan[1]))
    conductor.Conductor(environment)._all_steps(bench.run)
    assert (len(done), bool(bench.run.incomplete)) == (1, incomplete)


def test_what_the_report_finds_is_an_exit_code(tmp_path: Path) -> None:
    """A folder that cannot be judged is 4; it counts beside what the run says of itself."""
    assert reporter.reported(tmp_path) == Exit.UNJUDGED
