"""When the GPUs are asked, what is kept of their answers, and what becomes of it when they no longer answer."""

import math
import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.sidecar.backend import Absent, Gone, Hopeless, Reading
from llmload.sidecar.kept import BOUNDS_S, Durations
from llmload.sidecar.sampler import Sampler, next_due
from tests.cli.commands import until
from tests.sidecar.scripted import Made, Scripted, gpu


@given(begun=st.floats(0, 1e6), every_s=st.floats(0.25, 60), late_s=st.floats(0, 1e4))
def test_looks_lie_on_a_grid(begun: float, every_s: float, late_s: float) -> None:
    """The next one is after now and no interval away; however late a look was, the grid stays where it is."""
    now = begun + late_s
    due = next_due(begun, every_s, now)
    assert now < due + 1e-9
    assert due <= now + every_s + 1e-9
    assert (due - begun) / every_s == pytest.approx(round((due - begun) / every_s), abs=1e-6)


def test_slow_values_are_read_seldom() -> None:
    """At the first look, then every 10 s, and anew after the driver was away."""
    source = Scripted([gpu()])
    sampler = Made(source)
    for second in range(12):
        sampler.look(100.0 + second)
    assert source.did == ["open", "slow", *["read"] * 9, "slow", "read"]
    source.fault = Gone("away")
    sampler.look(112.0)
    source.fault = None
    sampler.look(113.0)
    assert source.did[-4:] == ["read", "close", "open", "slow"]


def test_a_value_is_fresh_for_three_intervals_at_most() -> None:
    """At least 3 s; then there is none, and its age still grows."""
    sampler = Made(Scripted([gpu()]))
    assert (sampler.fresh(), sampler.age_s()) == (None, None)
    sampler.look(100.0)
    sampler.now = 103.0
    assert sampler.fresh() is sampler.kept.look is not None
    sampler.now = 103.001
    assert sampler.fresh() is None
    assert sampler.age_s() == pytest.approx(3.001)
    sampler.every_s = 2.0
    assert sampler.fresh() is not None
    sampler.every_s, sampler.now = 0.25, 103.0
    assert sampler.fresh() is not None


def test_a_driver_that_goes_away_takes_its_values_with_it() -> None:
    """Closed, told once, tried again at growing intervals; when it answers that is told."""
    source = Scripted([gpu()], errors={("init", "9"): 1})
    sampler = Made(source)
    sampler.look()
    source.fault = Gone("the driver was unloaded")
    waits = []
    for _ in range(7):
        sampler.look()
        waits.append(sampler._back_off_s)
        assert (sampler.kept.look, sampler.kept.fault) == (None, "the driver was unloaded")
    assert waits == [1, 2, 4, 8, 16, 30, 30]
    assert sampler.kept.last_at is not None
    assert sampler.said == ["the driver was unloaded"]
    source.fault = None
    sampler.look()
    assert sampler.said[1:] == ["the driver answers: 1 GPU"]
    assert sampler._back_off_s == 0
    assert sampler.kept.outcomes == {"ok": 2, "absent": 0, "gone": 7, "error": 0}
    assert (sampler.kept.calls, sampler.kept.errors) == (9, {("init", "9"): 1})


def test_a_driver_that_stays_away_is_told_of_each_minute() -> None:
    """Not at each try."""
    sampler = Made(Scripted([], opening=Absent("no driver")), wait=True)
    for second in range(0, 130, 10):
        sampler.look(100.0 + second)
    assert sampler.said == ["no driver; waiting for it"] * 3


def test_a_gpu_that_is_missing_is_told_as_lost() -> None:
    """Whether its backend says so or leaves it out; the others go on; when it is back that is told."""
    source = Scripted([gpu(0), gpu(1)])
    sampler = Made(source)
    sampler.look()
    for told in ([gpu(0)], [gpu(0), Reading("1", "U1", up=False)]):
        source.gpus = told
        sampler.look()
        assert sampler.kept.look is not None
        assert [(one.uuid, one.up, bool(one.values)) for one in sampler.kept.look.gpus] == [
            ("U0", True, True),
            ("U1", False, False),
        ]
    source.gpus = [gpu(0), gpu(1)]
    sampler.look()
    assert sampler.said == ["GPU 1 (U1) is lost: its values are gone, the others go on", "GPU 1 (U1) is back"]


def test_a_gpu_that_never_was_there_is_not_missed() -> None:
    """Lost from the beginning it has no UUID of its own; back with one, it is one GPU and not two."""
    source = Scripted([gpu(0), Reading("1", "lost-1", up=False)])
    sampler = Made(source)
    for told in (source.gpus, [gpu(0), gpu(1)]):
        source.gpus = told
        sampler.look()
        assert sampler.kept.look is not None
        assert sampler.kept.look.gpus == tuple(told)


def test_nothing_odd_reaches_the_page() -> None:
    """No NaN, no infinity, no text that cannot be written."""
    odd = Reading(
        "0", "U0", info={"name": "a\ud800b"}, values={"power_watts": math.nan, "energy_joules": math.inf, "x": 1}
    )
    sampler = Made(Scripted([odd]))
    sampler.look()
    assert sampler.kept.look is not None
    (told,) = sampler.kept.look.gpus
    assert (told.values, told.info) == ({"x": 1.0}, {"name": "a?b"})


def test_a_bound_belongs_to_its_bucket() -> None:
    """As `le` says; what is above all bounds is in the last one."""
    durations = Durations().with_one(0.001).with_one(0.0011).with_one(60.0)
    assert durations.counts == (0, 1, 1, *[0] * (len(BOUNDS_S) - 3), 1)
    assert durations.sum_s == pytest.approx(60.0021)


def test_what_nobody_foresaw_is_a_failed_look() -> None:
    """Whatever a library raises: counted, told, tried again."""
    sampler = Made(Scripted([], fault=ZeroDivisionError("no GPUs to share")))
    sampler.look()
    assert sampler.kept.outcomes["error"] == 1
    assert sampler.said == ["unexpected ZeroDivisionError: no GPUs to share; it is tried again"]


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (Scripted([], opening=Absent("no driver")), "no driver"),
        (Scripted([], fault=Hopeless("999 for ever")), "999 for ever"),
    ],
)
def test_what_cannot_heal_ends_the_sampler(source: Scripted, sentence: str) -> None:
    """A driver that is absent at the beginning, and whatever is hopeless; the driver is let go."""
    sampler = Sampler(source, every_s=1.0, say=print)
    sampler.start()
    assert sampler.ended.wait(10)
    assert sampler.failure == sentence
    assert source.did[-1] == "close"


def test_paused_it_asks_nothing() -> None:
    """From when the pause is asked for until it is over, by itself or by wish; what it says goes to its file too."""
    source, pauses, said = Scripted([gpu()]), list[bool](), list[str]()

    class Sink:
        look: Callable[..., None] = lambda *_: None
        failed: Callable[..., None] = lambda *_: None

        def paused(self, *, begins: bool) -> None:
            pauses.append(begins)

    sampler = Sampler(source, every_s=0.01, say=said.append, sink=Sink())
    sampler.start()
    until(lambda: source.calls > 3)
    sampler.pause(30.0)
    until(lambda: pauses == [True])
    calls = source.calls
    assert not threading.Event().wait(0.1)
    assert source.calls == calls
    assert sampler.fresh() is None
    assert 0 < sampler.paused_s() <= 30
    sampler.resume()
    until(lambda: source.calls > calls)
    assert pauses == [True, False]
    sampler.pause(0.1)
    until(lambda: sampler.paused_s() == 0)
    calls = source.calls
    until(lambda: source.calls > calls)
    sampler.pause(30.0)
    sampler.stop()
    assert sampler.ended.wait(10)
    assert (source.did[-1], sampler.failure) == ("close", None)
    assert said[:2] == ["paused: nothing is sampled", "sampling again"]
