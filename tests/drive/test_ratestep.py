"""The side that conducts a step by rate, with workers that say what the test says."""

from dataclasses import replace
from pathlib import Path

import pytest

from llmload.drive.ratestep import RateStepping
from llmload.exits import Stop
from llmload.load.scenario import Load
from llmload.record import clock
from tests.drive.test_stepping import Bench


def stepping(folder: Path, **load: int) -> tuple[Bench, RateStepping]:
    """A step of five a second over two workers."""
    bench = Bench(folder)
    bench.run.scenario = replace(bench.run.scenario, load=Load("rate", (), (5.0,), **load))  # type: ignore[arg-type]
    return bench, RateStepping(bench.desk, bench.run, 0, 5.0)


def test_each_worker_gets_its_part_of_everything(tmp_path: Path) -> None:
    """One beginning for all, arrivals in turn, and limits whose parts sum to the whole; what was not sent cost none."""
    bench, step = stepping(tmp_path, max_in_flight=7, max_requests=20, max_tokens_total=101)
    bench.say("w0", started=9, not_sent=4)
    before = clock.now()
    step.open_gate()
    first, second = (data for _, data, _ in bench.master.sent)
    assert first["starts_at"] == second["starts_at"] > before + 0.1
    names = ("step", "phase", "concurrency", "rate", "stride")
    assert {name: first[name] for name in names} == {name: second[name] for name in names} == {
        "step": 0, "phase": "warmup", "concurrency": None, "rate": 5.0, "stride": 2,
    }  # fmt: skip
    parts = [(data["rank"], data["room"], data["requests"], data["tokens"]) for data in (first, second)]
    assert parts == [(0, 3, 7, 50), (1, 4, 8, 51)]
    assert (step.row["concurrency"], step.row["rate"]) == (None, 5.0)


def test_a_step_begins_when_every_worker_has_somebody_who_sends(tmp_path: Path) -> None:
    """Two users of one worker are not enough: the other's arrivals would be nobody's."""
    bench, step = stepping(tmp_path)
    assert step.users() == 2
    bench.say("w0", users=2)
    bench.say("w1", users=0)
    assert step.step.advance(0.0, step.seen()) == "ramp"
    bench.say("w1", users=1)
    assert step.step.advance(0.0, step.seen()) == "warmup"


def test_a_limit_that_cannot_be_dealt_is_refused(tmp_path: Path) -> None:
    """One in flight over two workers: nobody would know whose it is. Nobody is asked for anything before."""
    with pytest.raises(Stop, match=r"^\[load\] max_in_flight: expected at least 2, one for each worker, got 1"):
        stepping(tmp_path, max_in_flight=1)
