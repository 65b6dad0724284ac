"""What the live display reads out of a run folder, and how it says it."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from llmload.load.scenario import Load, Scenario, WorkloadClass
from llmload.record import runfolder
from llmload.record.record import CUT_BY_DRAIN, CUT_BY_USER
from llmload.watch import show
from llmload.watch.follow import Follower, Step, Tail, View, remaining, window_left
from llmload.watch.spread import MOST, Spread

SCENARIO = Scenario(
    "t",
    (WorkloadClass("short", 3.0), WorkloadClass("long", 1.0)),
    load=Load(steps=(1, 4), warmup_requests=1, warmup_s=2.0, window_s=10.0, window_requests=5, window_cap_s=60.0),
)


def append(path: Path, *rows: dict[str, Any]) -> None:
    """Add lines to a .jsonl file."""
    with path.open("ab") as file:
        for row in rows:
            file.write(orjson.dumps(row) + b"\n")


def record(outcome: str = "ok", ttft: float | None = 50.0, phase: str = "measure", step: int = 0) -> dict[str, Any]:
    """What the display needs of a record: 20 tokens in 10 events, one second long."""
    return {
        "step": step, "phase": phase, "workload": "short", "outcome": outcome, "ttft_ms": ttft,
        "end_ms": 1000.0, "events": 10, "output_tokens": 20,
    }  # fmt: skip


def test_a_tail_gives_whole_lines_once(tmp_path: Path) -> None:
    """A line is read when its end is written, once; nonsense is passed over."""
    path = tmp_path / "x.jsonl"
    tail = Tail(path)
    assert tail.new() == []
    path.write_bytes(b'{"a": 1}\n{"b"')
    assert tail.new() == [{"a": 1}]
    with path.open("ab") as file:
        file.write(b': 2}\nnonsense\n[3]\n{"c": 3}\n')
    assert tail.new() == [{"b": 2}, {"c": 3}]
    assert tail.new() == []


def test_a_view_of_a_running_window(tmp_path: Path) -> None:
    """Measured requests are counted by outcome, cancelled ones are no failures, warm-up is apart."""
    step = {"step": 0, "started_at": 100.0, "window_started_at": 104.0, "window_ended_at": None, "ended_at": None}
    runfolder.write_json(tmp_path / runfolder.RUN, {"started_at": 98.0, "ended_at": None, "steps": [step]})
    append(
        tmp_path / runfolder.REQUESTS,
        record(phase="warmup"),
        record(ttft=40.0),
        record(ttft=60.0),
        record("rate_limited", None),
        record("cancelled", None),
    )
    rows = [
        {"at": 105.0 + second, "worker": worker, "streams": 2, "events": 15} for second in range(6) for worker in "ab"
    ]
    append(tmp_path / runfolder.GENERATOR, *rows)
    view = Follower(tmp_path, SCENARIO).look(now=110.5)
    first = view.steps[0]
    assert (view.current, view.in_flight, view.elapsed_s, view.verdict) == (0, 4, 12.5, None)
    assert (first.phase, first.phase_s, first.window_s) == ("window", 6.5, 6.5)
    assert (first.warmup, first.ok, first.failed, dict(first.outcomes)) == (1, 2, 1, {"rate_limited": 1})
    assert first.ttft_p50_ms == 50.0
    # between 105.5 and 109.5 lie the seconds 106 to 109 of two workers: 4·2·15 events, 2 tokens each, in 4 s
    assert first.tokens_per_s == 4 * 2 * 15 * 2 / 4
    assert view.steps[1].phase == "to come"


def test_a_step_that_is_repeated_is_one_more(tmp_path: Path) -> None:
    """The scenario does not know of it; its requests count from the first one on."""
    steps = [{"step": index, "started_at": 1.0, "window_started_at": 2.0, "ended_at": 4.0} for index in range(2)]
    again = {"step": 2, "concurrency": 4, "started_at": 5.0, "window_started_at": 6.0, "observed": False}
    runfolder.write_json(tmp_path / runfolder.RUN, {"steps": [*steps, again]})
    append(tmp_path / runfolder.REQUESTS, {**record(ttft=40.0), "step": 2})
    view = Follower(tmp_path, SCENARIO).look(now=8.0)
    assert (view.current, len(view.steps)) == (2, 3)
    assert (view.steps[2].concurrency, view.steps[2].ok) == (4, 1)


@pytest.mark.parametrize(
    ("times", "phase"),
    [
        ({"started_at": 1.0}, "warm-up"),
        ({"started_at": 1.0, "window_started_at": 2.0}, "window"),
        ({"started_at": 1.0, "window_started_at": 2.0, "window_ended_at": 3.0}, "drain"),
        ({"started_at": 1.0, "window_started_at": 2.0, "window_ended_at": 3.0, "ended_at": 4.0}, "done"),
        ({"started_at": 1.0, "window_started_at": None, "window_ended_at": None, "ended_at": 4.0}, "done"),
    ],
)
def test_phases(tmp_path: Path, times: dict[str, float | None], phase: str) -> None:
    """The phase of a step is that of its last moment in run.json."""
    runfolder.write_json(tmp_path / runfolder.RUN, {"steps": [{"step": 0, **times}]})
    view = Follower(tmp_path, SCENARIO).look(now=5.0)
    assert view.steps[0].phase == phase
    assert view.current == (None if phase == "done" else 0)


def test_an_empty_folder_is_a_run_that_starts(tmp_path: Path) -> None:
    """Before anything is written there is a view, and it says so."""
    view = Follower(tmp_path, SCENARIO).look(now=5.0)
    assert (view.current, view.in_flight, view.elapsed_s, view.remaining_s) == (None, None, None, None)
    assert show.line(view, SCENARIO) == "starting"


def test_a_window_lasts_until_the_rarest_class_has_its_requests() -> None:
    """2 of 5 after 4 s at an even pace take 6 s more; the cap bounds a class that had none."""
    step = Step(0, 1, phase="window", window_s=4.0)
    step.by_class.update(short=9, long=2)
    assert window_left(5, step, 5.0, 60.0, ("short", "long")) == 6.0
    assert window_left(5, step, 5.0, 8.0, ("short", "long")) == 4.0
    assert window_left(0, step, 5.0, 60.0, ("short", "long")) == 1.0
    assert window_left(5, Step(0, 1, window_s=0.0), 5.0, 60.0, ("short", "long")) == 60.0


def test_time_left_of_all_steps() -> None:
    """Worked by hand: 8 requests of 1 s in 8 s at one in flight, then four in flight."""
    steps = [Step(0, 1, phase="window", warmup_s=3.0, window_s=8.0, ok=8, e2e_ms_sum=8000.0), Step(1, 4)]
    steps[0].by_class.update(short=6, long=2)
    # now: 3 of 5 long ones are missing at 1 in 4 s: 12 s, and 1 s of drain. Then 3 s of warm-up as before, 10 s of
    # window (5 long ones need 5/(1/4 · 1 · 4) = 5 s only) and 1 s of drain.
    assert remaining(SCENARIO, steps, 0) == 12 + 1 + 3 + 10 + 1
    steps[0].phase, steps[0].drain_s = "done", 2.5
    steps[1] = Step(1, 4, phase="warm-up", phase_s=1.0)
    assert remaining(SCENARIO, steps, 1) == 2 + 10 + 2.5
    # before anything was measured windows are taken at their shortest: 1 s of warm-up, 10 s; 2 s of warm-up, 10 s
    assert remaining(SCENARIO, [Step(0, 1, phase="warm-up", phase_s=1.0), Step(1, 4)], 0) == 1 + 10 + 2 + 10


def rendered(view: View, scenario: Scenario = SCENARIO) -> str:
    """The picture as plain text, 90 columns wide."""
    file = io.StringIO()
    Console(width=90, file=file).print(show.picture(view, scenario))
    return file.getvalue()


def test_picture_and_line_say_the_same() -> None:
    """Steps, counts, failures by outcome and the time left are in both."""
    done = Step(0, 1, "done", ended_by="cap", ok=33, ttft_ms=Spread([58.0]), tokens_per_s=47.31)
    live = Step(1, 4, "window", window_s=4.2, ok=1200, ttft_ms=Spread([140.0, 145.0]), tokens_per_s=1240.4)
    live.outcomes.update(rate_limited=2, stall_timeout=1)
    view = View([done, live, Step(2, 8)], 1, 4, 75.0, 163.0, False, None)
    text = rendered(view)
    for words in ("1 min 15 s gone", "about 2 min 43 s left", "4/4", "1200", "142 ms", "1,240", "47.3",
                  "window 4 s of 10 s", "ended by its cap", "failed: 2 rate_limited, 1 stall_timeout"):  # fmt: skip
        assert words in text
    assert show.line(view, SCENARIO) == (
        "step 2 of 3 · 4 of 4 in flight · window 4 s of 10 s · 1200 ok · 3 failed (2 rate_limited, 1 stall_timeout)"
        " · TTFT p50 142 ms · 1,240 tokens/s · about 2 min 43 s left"
    )


def test_a_window_says_what_it_waits_for() -> None:
    """Its seconds first, then the class that has fewest; and a bound is not told as an estimate."""
    live = Step(0, 1, "window", window_s=12.0, ok=9)
    live.by_class.update(short=7, long=2)
    view = View([live], 0, 1, 15.0, 20.0, True, None)
    assert "window 12 s, 2 of 5 long" in show.line(view, SCENARIO)
    live.by_class["long"] = 5
    assert show.phase(live, SCENARIO) == "window 12 s"
    assert [show.phase(Step(0, 1, "warm-up", warmup=count), SCENARIO) for count in (1, 2)] == [
        "warm-up, 1 request",
        "warm-up, 2 requests",
    ]
    assert "at least 20 s left" in rendered(view)


RATE = Scenario(
    "r",
    (WorkloadClass("short", 3.0), WorkloadClass("long", 1.0)),
    load=Load("rate", steps=(), rates=(5.0, 20.0), warmup_requests=0, warmup_s=2.0, window_s=10.0, window_requests=5),
)


def test_a_view_of_a_load_by_rate(tmp_path: Path) -> None:
    """Since its start 10 s ago 43 ended and 7 are in flight: 5/s; of 40 s of window 200 were measured: 5/s as well."""
    over = {"step": 0, "started_at": 40.0, "window_started_at": 44.0, "window_ended_at": 84.0, "ended_at": 86.0}
    now = {"step": 1, "started_at": 100.0, "window_started_at": 104.0, "window_ended_at": None, "ended_at": None}
    runfolder.write_json(tmp_path / runfolder.RUN, {"started_at": 40.0, "ended_at": None, "steps": [over, now]})
    append(
        tmp_path / runfolder.REQUESTS,
        *[record()] * 200,
        *[record(phase="drain")] * 9,
        *[record(phase="warmup", step=1)] * 20,
        *[record(step=1)] * 21,
        *[record("rate_limited", None, step=1)] * 2,
        *[record("not_sent", None, step=1)] * 3,
    )
    append(tmp_path / runfolder.GENERATOR, {"at": 109.0, "worker": "a", "streams": 4, "events": 15},
           {"at": 109.0, "worker": "b", "streams": 3, "events": 15})  # fmt: skip
    view = Follower(tmp_path, RATE).look(now=110.0)
    assert [step.label for step in view.steps] == ["5/s", "20/s"]
    assert [step.reached_per_s for step in view.steps] == [5.0, 5.0]
    assert (view.steps[1].ok, view.steps[1].failed, view.steps[1].not_sent) == (21, 2, 3)
    # a window of 10 s, of which 6 are over, and a drain of 2 s as before
    assert (view.remaining_s, view.at_least) == (4.0 + 2.0, False)
    assert show.line(view, RATE) == (
        "step 2 of 2 · 5 of 20 requests/s · 7 in flight · window 6 s of 10 s · 21 ok · 2 failed (2 rate_limited)"
        " · 3 not sent · TTFT p50 50 ms · 15 tokens/s · about 6 s left"
    )
    text = rendered(view, RATE)
    for words in ("requests/s", "5/5", "5/20", "about 6 s left", "failed: 2 rate_limited", "not sent: 3 at 20/s"):
        assert words in text


def test_time_left_by_rate() -> None:
    """5 of the rarest class, one in four, take 4 s at 5/s and 1 s at 20/s: windows are as long as they are set."""
    steps = [Step(0, None, "warm-up", phase_s=0.5, rate=5.0), Step(1, None, rate=20.0)]
    assert remaining(RATE, steps, 0) == 1.5 + 10 + 2 + 10
    slow = Scenario("s", RATE.classes, load=Load("rate", rates=(1.0,), warmup_s=0.0, window_s=10.0, window_requests=5))
    assert remaining(slow, [Step(0, None, "warm-up", phase_s=0.0, rate=1.0)], 0) == 20


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (0.0, "0"), (7.25, "7.25"), (99.96, "100"), (12345.6, "12,346")]
)
def test_amounts(value: float | None, text: str) -> None:
    """Three digits, and nothing measured is no zero."""
    assert show.amount(value) == text


def test_a_step_that_failed_whole_gets_no_tick(tmp_path: Path) -> None:
    """What the drain limit cut failed, what the user's stop cut did not; without any success the mark is a cross."""
    times = {"started_at": 1.0, "window_started_at": 2.0, "window_ended_at": 3.0, "ended_at": 4.0}
    steps = [{"step": index, **times} for index in (0, 1)]
    runfolder.write_json(tmp_path / runfolder.RUN, {"started_at": 1.0, "steps": steps})
    drained = {**record("cancelled", None), "error": CUT_BY_DRAIN}
    append(
        tmp_path / runfolder.REQUESTS,
        *(drained, drained, {**record("cancelled", None), "error": CUT_BY_USER}),
        record(step=1),
    )
    view = Follower(tmp_path, SCENARIO).look(now=5.0)
    assert [step.failed for step in view.steps] == [2, 0]
    text = rendered(view)
    assert (text.count("✗"), text.count("✓")) == (1, 1)
    assert f"failed: 2 {CUT_BY_DRAIN}" in text


SOAK = Scenario(
    "s",
    (WorkloadClass("short"),),
    load=Load(steps=(1, 4, 1), warmup_requests=1, warmup_s=2.0, window_s=10.0, window_requests=0, hold_s=14400.0),
)


def test_a_soak_is_shown_hour_by_hour(tmp_path: Path) -> None:
    """The latest hour's p95 and failures against the first's; a request belongs to the hour in which it was sent."""
    over = {"step": 0, "started_at": 0.0, "window_started_at": 2.0, "window_ended_at": 12.0, "ended_at": 13.0}
    held = {"step": 1, "started_at": 90.0, "window_started_at": 100.0, "window_ended_at": None, "ended_at": None}
    runfolder.write_json(tmp_path / runfolder.RUN, {"started_at": 0.0, "ended_at": None, "steps": [over, held]})
    append(
        tmp_path / runfolder.REQUESTS,
        *[{**record(ttft=100.0, step=1), "sent_at": 100.0 + second} for second in range(50)],
        *[{**record(ttft=130.0, step=1), "sent_at": 7300.0 + second} for second in range(57)],
        *[{**record("overloaded", None, step=1), "sent_at": 7300.0 + second} for second in range(3)],
        {**record(ttft=500.0, step=1), "sent_at": 10900.0},
    )
    view = Follower(tmp_path, SOAK).look(now=10902.0)
    step = view.steps[1]
    assert (step.part_s, sorted(step.parts), step.latest) == (3600.0, [0, 2, 3], 2)
    assert show.through(step, SOAK) == (
        "hour 3 of 4: TTFT p95 130 ms, 100 ms in the first (+30 %); failed 5.0 %, 0.0 % in the first"
    )
    line = show.line(view, SOAK)
    assert "window 3 h of 4 h" in line
    assert show.through(step, SOAK) in line
    # 3,598 s of the hold and a request's second of drain; then 2 s of warm-up, 10 s and one
    assert view.remaining_s == pytest.approx(3598 + 1 + 10 + 10 + 1, abs=1)
    assert show.through(view.steps[0], SOAK) == ""
    assert "hour 3 of 4" in rendered(view, SOAK)


def test_what_a_display_keeps_does_not_grow_with_the_hours(tmp_path: Path) -> None:
    """Of the seconds the last minute, of the hours the first and the latest, of first tokens a number, then counts."""
    held = {"step": 1, "started_at": 0.0, "window_started_at": 0.0, "window_ended_at": None, "ended_at": None}
    follower = Follower(tmp_path, SOAK)
    follower.run = {"steps": [{"step": 0}, held]}
    for at in range(20_000):
        follower.count({**record(ttft=100.0 + at % 100, step=1), "sent_at": float(at)})
        follower.tick(float(at), 10)
    follower.look(now=20_000.0)
    step = follower.steps[1]
    assert len(follower.ticks) <= 61
    assert sorted(step.parts) == [0, 4, 5]
    assert len(step.ttft_ms) == 20_000
    assert step.ttft_p50_ms == pytest.approx(149.5, rel=0.01)
    held["window_ended_at"] = 19_999.0
    step.events, step.tokens = 1, 1
    assert follower.pace(step, 0.0, 19_999.0, 20_001.0) == pytest.approx(10.0, rel=0.001)


@settings(max_examples=30)
@given(st.lists(st.floats(0.01, 60_000), min_size=1, max_size=60), st.sampled_from([50, 95, 99]))
def test_a_spread_is_near_the_exact_percentile(values: list[float], percent: int) -> None:
    """Exact with few values; with many each stands for the middle of a bucket 1 % wide."""
    exact = float(np.percentile(values, percent))
    assert Spread(values).percentile(percent) == pytest.approx(exact)
    many = Spread()
    for value in values * (MOST // len(values) + 1):
        many.add(value)
    low = float(np.percentile(values * (MOST // len(values) + 1), percent, method="lower"))
    assert many.percentile(percent) == pytest.approx(low, rel=0.006)
