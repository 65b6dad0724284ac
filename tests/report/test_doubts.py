"""The WARNINGS: each appears where its trouble is, names the numbers, and stays away from a clean run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from llmload.record.record import CUT_BY_DRAIN
from llmload.report import head
from llmload.report.building import Built
from tests.report.synthetic import START, by_rate, planned, record, second, step
from tests.report.worked import built_of

WATCHED = [second(at) for at in range(10)]


def clean(n: int = 600, **more: Any) -> list[dict[str, Any]]:
    """So many answers one after another, which fill a window of 0.2 s each."""
    return [record(seq, sent=0.19 * seq, **more) for seq in range(n)]


def only(built: Built, words: str) -> str:
    """The one warning with these words."""
    found = [warning for warning in built.warnings if words in warning]
    assert len(found) == 1, built.warnings
    return found[0]


def none(built: Built, words: str) -> None:
    """No warning with these words."""
    assert not [warning for warning in built.warnings if words in warning]


def run(folder: Path, records: Sequence[dict[str, Any]], end: float | None = None, **more: Any) -> Built:
    """A watched run of one step, one in flight, with a window of `end` seconds: 10, or as long as it was sent to."""
    last = max((row["sent_at"] or START) - START for row in records)
    more.setdefault("steps", [step(0, 1, 0, max(10.0, last + 0.19) if end is None else end)])
    return built_of(folder, records, generator=WATCHED, **more)


def test_a_clean_run_has_no_warning(tmp_path: Path) -> None:
    """600 equal answers back to back, in a watched window that they fill."""
    assert run(tmp_path, clean(), end=600 * 0.19).warnings == ()


def test_too_few_for_a_p99(tmp_path: Path) -> None:
    """J16: 20 requests have none; 150 have a doubtful one."""
    assert "as few as 20" in only(run(tmp_path / "a", clean(20)), "too few requests for a p99 at 1 in flight")
    assert "marked †" in only(run(tmp_path / "b", clean(150)), "the p99 at 1 in flight stands on fewer than 500")


def test_no_failure_in_few_is_not_no_failure(tmp_path: Path) -> None:
    """0 of 33: up to 9.1 %; above 300 requests it is under one percent, and nothing is said."""
    assert "up to 9.1 %" in only(run(tmp_path / "a", clean(33)), "0 of 33 failed")
    none(run(tmp_path / "b", clean(300)), "failed")


def test_failures_over_one_percent(tmp_path: Path) -> None:
    """12 of 240 is 5 %, with the outcomes named; 2 of 240 is under one."""
    bad = [record(228 + n, outcome="rate_limited" if n else "stream_truncated", end=2.0) for n in range(12)]
    words = only(run(tmp_path / "a", clean(228) + bad), "failed")
    assert "5 % of 240 attempts at 1 in flight failed (rate_limited 11, stream_truncated 1)" in words
    none(
        run(tmp_path / "b", clean(398) + [record(398 + n, outcome="stream_error", end=2.0) for n in range(2)]), "failed"
    )


def test_failures_of_one_duration(tmp_path: Path) -> None:
    """H06m: A tenth gets 504 after 1.000 s: a proxy's limit. Scattered ones and our own time-outs are none."""
    good = clean(90)
    same = [record(90 + n, outcome="gateway_error", end=1000.0 + n * 0.3) for n in range(10)]
    assert "10 attempts failed as gateway_error" in only(run(tmp_path / "a", good + same), "same time (1 s)")
    wide = [record(90 + n, outcome="gateway_error", end=500.0 + n * 100) for n in range(10)]
    none(run(tmp_path / "b", good + wide), "same time")
    own = [record(90 + n, outcome="ttft_timeout", end=1000.0) for n in range(10)]
    none(run(tmp_path / "c", good + own), "same time")


def test_stamps_that_are_not_the_kernels(tmp_path: Path) -> None:
    """Half of the answers have no stamp lag."""
    rows = [record(n, stamp_lag_ms=None if n % 2 else 0.01) for n in range(20)]
    only(run(tmp_path, rows), "50 % of the answers have no time stamps of the kernel")


def test_short_answers(tmp_path: Path) -> None:
    """Seven of ten reach the length asked for, and three are flagged."""
    rows = clean(7) + [record(7 + n, gaps=[10.0], requested_output_tokens=10, flags=["short_output"]) for n in range(3)]
    words = only(run(tmp_path, rows), "shorter than asked for")
    assert "3 of 10 answers" in words
    assert "70 % to 70 % reached" in words


def test_answers_that_get_shorter_under_load(tmp_path: Path) -> None:
    """B18m: All reach their length at 1 in flight, 60 % at 8: a gateway that cuts."""
    steps = [step(0, 1, 0, 10), step(1, 8, 20, 30)]
    busy = [
        record(100 + n, step=1, concurrency=8, sent=20 + n * 0.05, gaps=[10.0] * (9 if n % 5 < 3 else 3))
        for n in range(100)
    ]
    words = only(run(tmp_path, clean(100) + busy, steps=steps), "answers get shorter under load")
    assert "100 % reached the length asked for at 1 in flight, 60 % at 8" in words
    assert "70 % shorter" not in words


def test_estimated_tokens(tmp_path: Path) -> None:
    """One per event is an estimate; two kinds of counts are said too."""
    rows = [record(n, output_tokens_source="events" if n < 4 else "server") for n in range(10)]
    built = run(tmp_path, rows)
    only(built, "output tokens of 4 of 10 answers are estimated")
    only(built, "counted in different ways (events, server)")


def test_bursts(tmp_path: Path) -> None:
    """K06: Buffered answers, coalesced events, and tokens per event that grow with the load."""
    only(run(tmp_path / "a", [record(n, flags=["buffered"]) for n in range(5)]), "5 of 5 answers came in one burst")
    only(run(tmp_path / "b", [record(n, coalesced=3) for n in range(5)]), "up to 30 % of the events")
    steps = [step(0, 1, 0, 10), step(1, 8, 20, 30)]
    rows = [record(0), record(1, step=1, concurrency=8, sent=21, output_tokens=50)]
    only(run(tmp_path / "c", rows, steps=steps), "tokens per event go from 1.00 to 5.00 (at 8 in flight)")
    only(run(tmp_path / "d", [record(0, output_tokens=20)]), "an event carries 2.00 tokens on average")


def test_prompts(tmp_path: Path) -> None:
    """B16m: Prompts that were cut, and lengths asked for and counted, once for all twenty."""
    cut = [record(n, flags=["prompt_truncated"]) for n in range(3)]
    only(run(tmp_path / "a", cut), "the server cut the prompts of 3 requests (class short)")
    off = [record(n, requested_input_tokens=100, input_tokens=132) for n in range(20)]
    only(run(tmp_path / "b", off), "short: 100 asked for, 132 counted")
    near = [record(n, requested_input_tokens=100, input_tokens=104) for n in range(20)]
    none(run(tmp_path / "c", near), "asked for, ")


def test_one_class_blocks_another(tmp_path: Path) -> None:
    """First tokens of short ones come after 400 ms while a long one is in flight, after 100 ms otherwise."""
    long = [record(n, workload="long", sent=10.0 * n, ttft=4000.0, gaps=[], input_tokens=3000) for n in range(3)]
    beside = [record(3 + n, sent=10.0 * (n // 5) + n % 5 * 0.5, ttft=400.0, gaps=[]) for n in range(15)]
    alone = [record(18 + n, sent=10.0 * (n // 5) + 5 + n % 5 * 0.5, ttft=100.0, gaps=[]) for n in range(15)]
    words = only(run(tmp_path, long + beside + alone, end=30.0), "long requests block short ones")
    assert "after 400 ms (p50, n = 15) with a long one in flight, 100 ms (n = 15) without" in words


def test_unsteady_by_class(tmp_path: Path) -> None:
    """One first token of 1,000 ms among nineteen of 100: 6.9 times the mean. A mix of classes alone is no trouble."""
    words = only(run(tmp_path / "a", [*clean(19), record(19, ttft=1000.0)]), "unsteady TTFT")
    assert "short at 1: 1,000 ms against a mean of 145 ms" in words
    mix = [record(n, workload="long" if n == 19 else "short", ttft=1000.0 if n == 19 else 100.0) for n in range(20)]
    none(run(tmp_path / "b", mix), "unsteady")


def test_throughput_that_falls(tmp_path: Path) -> None:
    """100 tokens/s at 1 and 50 at 8 in flight."""
    steps = [step(0, 1, 0, 10), step(1, 8, 20, 30)]
    rows = [record(n, sent=n * 0.09) for n in range(100)]
    rows += [record(100 + n, step=1, concurrency=8, sent=20 + n * 0.1) for n in range(50)]
    only(run(tmp_path, rows, steps=steps), "throughput falls from 100 to 50 tokens/s between 1 and 8 in flight")


def test_fewer_in_flight_than_asked_for(tmp_path: Path) -> None:
    """50 answers of 0.19 s in 10 s are 0.95 in flight, not 1."""
    assert "0.95 of 1" in only(run(tmp_path, clean(50)), "fewer requests in flight than asked for")


def test_littles_law(tmp_path: Path) -> None:
    """Requests that began long before the window fill it, and none of what it sent explains them."""
    before = [record(n, sent=-1.0, phase="warmup", ttft=10_900.0, gaps=[]) for n in range(4)]
    measured = [record(4 + n, sent=n * 0.1) for n in range(60)]
    words = only(run(tmp_path, before + measured, steps=[step(0, 5, 0, 10)]), "Little's law is not met")
    assert "6 requests/s times 0.19 s in flight makes 1.14, and 5.1 were in flight" in words


def test_limits_of_this_machine(tmp_path: Path) -> None:
    """One measured attempt without a file descriptor degrades the run, and the limit is named; in a warm-up none."""
    said = "no file descriptor left (ulimit -n) for a connection to 127.0.0.1 port 8000"
    bad = {"outcome": "local_resource", "end": 0.1, "error": said}
    built = run(tmp_path / "a", [*clean(9), record(9, **bad)])
    words = only(built, "this machine ran out of something of its own")
    assert "of the measured attempts 1 of 10 at 1 in flight failed as local_resource (no file descriptor left" in words
    assert "Raise the limit of open files (`ulimit -n`), and repeat" in words
    assert built.verdict.word == "DEGRADED"
    (reason,) = built.verdict.reasons
    assert reason.startswith("the step with 1 in flight: 1 of 10 measured attempts failed for want of something on thi")
    port = run(tmp_path / "b", [*clean(9), record(9, **bad | {"error": "no local port left"})])
    assert "Raise the range of local ports (`net.ipv4.ip_local_port_range`), and" in only(port, "ran out of something")
    warm = run(tmp_path / "c", [*clean(9), record(9, phase="warmup", **bad)])
    assert warm.verdict.word == "OK"
    none(warm, "ran out of something")


def test_a_late_generator_that_was_idle_is_not_short_of_workers(tmp_path: Path) -> None:
    """At 2.5 % of a core another worker helps nobody; at 60 % it may."""
    idle = built_of(tmp_path / "a", clean(9), generator=[second(at, cpu=0.025, lag=9.0) for at in range(10)])
    words = only(idle, "the load generator was the limit")
    assert "this machine was busy with something else (the workers used 2.5 % of a core at most)" in words
    assert "sufficed" not in words
    busy = built_of(tmp_path / "b", clean(9), generator=[second(at, cpu=0.6, lag=9.0) for at in range(10)])
    assert "2 workers would have sufficed: repeat with --processes 2" in only(busy, "the load generator was the limit")


def test_steps_of_one_reason_are_one_warning(tmp_path: Path) -> None:
    """Late at 1, 2 and 4 in flight, at 2 with a core half used: two lines for what helps, one for the verdict."""
    levels = ((0, 1, 0.025, 9.0), (1, 2, 0.6, 7.0), (2, 4, 0.04, 12.0))
    built = built_of(
        tmp_path,
        [record(n, sent=10 * n + 1, step=n, concurrency=level) for n, level, *_ in levels],
        generator=[second(10 * n + at, cpu=cpu, lag=lag) for n, _, cpu, lag in levels for at in range(1, 9)],
        steps=[step(n, level, 10 * n, 10 * n + 9) for n, level, *_ in levels],
    )
    few, waiting = (words for words in built.warnings if "the load generator was the limit" in words)
    assert few == (
        "the load generator was the limit at 2 in flight (marked ‡): the event loop of worker w1 was 7.0 ms late (p99; "
        "the limit is 5.0 ms). These figures say nothing about the server: 2 workers would have sufficed: repeat with "
        "--processes 2, or on a machine that does nothing else"
    )
    assert waiting == (
        "the load generator was the limit at 1 and 4 in flight (marked ‡): the event loop of worker w1 was up to "
        "12.0 ms late (p99; the limit is 5.0 ms). These figures say nothing about the server: this machine was busy "
        "with something else (the workers used 4 % of a core at most): repeat on one that does nothing else"
    )
    (reason,) = built.verdict.reasons
    assert reason == (
        "3 steps are generator-bound (at 1, 2 and 4 in flight): the event loop of worker w1 was up to 12.0 ms late "
        "(p99; the limit is 5.0 ms); 2 workers would have sufficed"
    )


def test_two_models(tmp_path: Path) -> None:
    """F14: Half of the streams carry another name."""
    rows = [record(n, served_model="other" if n % 2 else "m") for n in range(10)]
    only(run(tmp_path, rows), "2 models answered: m (5), other (5)")


def test_gaps_of_forty_milliseconds(tmp_path: Path) -> None:
    """G14: Gaps of 0 and 40 ms in turn are small writes held back; a steady 40 ms is a speed."""
    only(run(tmp_path / "a", [record(n, gaps=[0.1, 40.2] * 5) for n in range(5)]), "50 % of the gaps lie at 40 ms")
    none(run(tmp_path / "b", [record(n, gaps=[40.0] * 10) for n in range(5)]), "40 ms")


def test_caches(tmp_path: Path) -> None:
    """H05, K01: Repeated prompts by option, with first tokens in two groups; hits although every prompt is new."""
    rows = [record(n, ttft=20.0 if n >= 8 else 1000.0) for n in range(20)]
    words = only(run(tmp_path / "a", rows, cache_busting=False), "cache_busting is off")
    assert "short at 1 in flight: 12 about 20 ms, 8 about 1,000 ms" in words
    only(
        run(tmp_path / "b", [record(n, cached_tokens=100) for n in range(5)]), "50 % of the prompt tokens came from its"
    )
    none(run(tmp_path / "c", [record(n, cached_tokens=0) for n in range(5)]), "cache")
    template = {"preflight": {"overhead_tokens": 100}}  # a chat template of 100 tokens is the same for every prompt
    none(run(tmp_path / "d", [record(n, cached_tokens=100) for n in range(5)], run=template), "came from its cache")


def test_dead_work(tmp_path: Path) -> None:
    """K05: Measured requests that the drain limit cut burden the next step; what a step cuts by plan is a setting."""
    steps = [step(0, 1, 0, 10, abandoned=3), step(1, 8, 20, 30)]
    cut = [record(n, outcome="cancelled", error=CUT_BY_DRAIN, end=9000.0) for n in range(2)]
    built = run(tmp_path, [*cut, *(record(2 + n) for n in range(10))], steps=steps)
    only(built, "2 measured requests at 1 in flight had not ended within the drain limit")
    words = dict(head.settings(built.facts))["between steps"]
    assert words == "a pause of 0 s where requests were cut; cut: 3 at the end of 1 in flight"


def test_cold_connections(tmp_path: Path) -> None:
    """A tenth had to connect inside the window; with fresh connections by choice nothing is said."""
    rows = [record(n, new_connection=n == 0) for n in range(10)]
    only(run(tmp_path / "a", rows), "1 of 10 measured requests had to open a connection")
    none(run(tmp_path / "b", rows, connections="fresh"), "open a connection")


@pytest.mark.parametrize(
    ("drift", "who"),
    [
        ({"clock_drift_s": -5.0}, "the master by -5.0 s"),
        ({"workers": {"w1": {"clock_drift_s": 1.5}}}, "worker w1 by +1.5 s"),
    ],
)
def test_a_clock_that_was_set(tmp_path: Path, drift: dict[str, Any], who: str) -> None:
    """Over a second is said, with whose clock and by how much; half a second is not."""
    assert who in only(run(tmp_path / "a", clean(3), run=drift), "the clock was set during the run")
    none(run(tmp_path / "b", clean(3), run={"clock_drift_s": 0.5}), "the clock was set")


def test_clocks_that_are_apart_or_known_badly(tmp_path: Path) -> None:
    """J12: over 50 ms is said with the number, and so is an offset that is known to no better; every one is printed."""
    apart = {"w1": {"clock_offset_ms": 5000.0, "clock_error_ms": 0.2}, "w2": {"clock_offset_ms": -49.0}}
    built = run(tmp_path / "a", clean(3), run={"workers": apart})
    assert "worker w1 by +5,000 ms. Durations are not touched" in only(built, "clocks are apart")
    assert dict(head.settings(built.facts))["clocks of the workers"] == (
        "against the master's: w1 +5,000.0 ms ± 0.2, w2 -49.0 ms; windows are cut by these"
    )
    vague = {"w1": {"clock_offset_ms": 1.0, "clock_error_ms": 80.0}}
    assert "worker w1's to ± 80 ms" in only(run(tmp_path / "b", clean(3), run={"workers": vague}), "compared well")
    near = {"w1": {"clock_offset_ms": -50.0, "clock_error_ms": 50.0}, "w2": {"clock_offset_ms": None}}
    none(run(tmp_path / "c", clean(3), run={"workers": near}), "clocks")


def four_workers(die_at: float) -> list[dict[str, Any]]:
    """A line of each of four workers each second; the last one's end."""
    names = ("w1", "w2", "w3", "w4")
    return [second(at, name) for at in range(41) for name in names if name != "w4" or at <= die_at]


def test_a_worker_that_fell_out(tmp_path: Path) -> None:
    """J11: of eight in flight, two each, the last two are gone after 10 of 40 s: 6 + 2 · 10 / 40 are 6.5 of 8."""
    rows = [record(n, sent=0.0, ttft=40_000.0, gaps=[], concurrency=8, worker=f"w{n // 2 + 1}") for n in range(6)]
    rows += [
        record(n, sent=0.0, outcome="no_response", end=10_000.0, concurrency=8, worker="w4") for n in range(2)
    ]  # fmt: skip
    for n, row in enumerate(rows):
        row["seq"] = n % 2
    built = built_of(tmp_path / "a", rows, [step(0, 8, 0, 40)], generator=four_workers(10.0))
    words = only(built, "fell out")
    assert words.startswith(
        "worker w4 fell out inside the window at 8 in flight: 3 of 4 workers were left, and the load"
    )
    assert "offered is 6.5 of 8 in flight on average" in words
    none(built, "fewer requests in flight")
    none(built_of(tmp_path / "b", rows, [step(0, 8, 0, 40)], generator=four_workers(38.0)), "fell out")


def test_a_worker_that_fell_out_of_an_open_loop(tmp_path: Path) -> None:
    """Of four arrivals a second one is missing from the tenth second on: 130 in 40 s."""
    rows = [planned(n, n / 4, rate=4.0, worker=f"w{n % 4 + 1}") for n in range(160) if n % 4 < 3 or n < 40]
    for n, row in enumerate(rows):
        row["seq"] = sum(other["worker"] == row["worker"] for other in rows[:n])
    built = built_of(tmp_path, rows, [step(0, None, 0, 40, rate=4.0)], generator=four_workers(10.0), load=by_rate(4.0))
    assert "offered is 3.25 of 4 requests/s on average" in only(built, "fell out")


def test_more_in_flight_than_a_closed_loop_can_have(tmp_path: Path) -> None:
    """A window that a clock, set back, made 3 s: six requests that fill it are six of two in flight."""
    rows = [record(n, sent=0.0, ttft=8000.0, gaps=[]) for n in range(2)]
    rows += [record(2 + n, sent=-5.0 + n % 2, ttft=8000.0, gaps=[], phase="warmup") for n in range(4)]
    words = only(run(tmp_path / "a", rows, steps=[step(0, 2, 0, 3)]), "more requests in flight than asked for")
    assert "6 of 2" in words
    rounded = [record(n, sent=10.0 * (n // 2), ttft=10_000.5, gaps=[]) for n in range(4)]
    none(run(tmp_path / "b", rounded, steps=[step(0, 2, 0, 20)]), "more requests in flight")
    none(
        run(tmp_path / "c", rows, steps=[step(0, 2, 0, 3)], load={"steps": []}), "in flight than"
    )  # users came and went


def test_a_warm_up_that_failed(tmp_path: Path) -> None:
    """Five of six failed before the window of the first step and all before that of the second, which never opened."""
    bad = {"outcome": "http_error", "end": 5.0, "error": "500 boom", "phase": "warmup"}
    rows = [record(n, sent=-1.0, **bad) for n in range(5)] + [record(5, sent=-1.0, phase="warmup")]
    rows += [record(6 + n, sent=20.0, step=1, concurrency=4, **bad) for n in range(3)]
    rows += [record(9 + n, sent=0.19 * n) for n in range(10)]
    steps = [step(0, 1, 0, 10), step(1, 4, None, None, ended_by="failures")]
    words = only(run(tmp_path / "a", rows, steps=steps), "requests of the warm-up failed")
    assert "(5 of 6 at 1 in flight, 3 of 3 at 4 in flight; its window never opened)" in words
    none(run(tmp_path / "b", [record(0, phase="warmup"), record(1)]), "warm-up failed")


def test_late_requests(tmp_path: Path) -> None:
    """Sent as measured 5 s after the window: said with the number and what it means."""
    built = run(tmp_path, [record(0), record(1, sent=15.0)], end=10.0)
    assert "1 requests at 1 in flight" in only(built, "sent as measured when their window was over")


@pytest.mark.parametrize(
    ("ended_by", "words"),
    [
        ("cap", "cap on its length"),
        ("failures", "too many failures"),
        ("budget", "cap on requests"),
        ("stopped", "user"),
        ("fault", "the run could not go on"),
    ],
)
def test_windows_that_ended_otherwise(tmp_path: Path, ended_by: str, words: str) -> None:
    """Fewer requests than planned stand behind the figures."""
    assert words in only(run(tmp_path, clean(3), steps=[step(ended_by=ended_by)]), "the window at 1 in flight")


def test_unlike_lengths(tmp_path: Path) -> None:
    """K04: Answers of 10 tokens at 1 and of 15 at 8 in flight make E2E latencies that cannot be compared."""
    steps = [step(0, 1, 0, 10), step(1, 8, 20, 30)]
    rows = clean(20) + [record(20 + n, step=1, concurrency=8, sent=21, gaps=[10.0] * 14) for n in range(20)]
    only(run(tmp_path, rows, steps=steps), "short have unlike lengths: 10 tokens on average at 1, 15 at 8")
