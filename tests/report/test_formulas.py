"""Every formula of the report with numbers worked by hand."""

from pathlib import Path

import numpy as np
import pytest

from llmload.report import inflight, measures, throughput
from llmload.report.generator import Health, Over, Samples, health, told
from tests.report.synthetic import record, step
from tests.report.worked import rows_of, table_of

NAN = float("nan")


def test_tpot_uses_the_first_token_of_any_kind_and_never_the_end() -> None:
    """J19: Two tokens, at 100 (reasoning) and 130 ms: 30 ms a token, however late the end mark comes."""
    got = measures.tpot_ms(np.array([100.0]), np.array([130.0]), np.array([2.0]), np.array([NAN]))
    assert got == [30]


def test_tpot_is_blank_for_one_token_and_without_a_count() -> None:
    """J19: A single token has no time per token, and an answer nobody counted has none either."""
    got = measures.tpot_ms(
        np.array([100.0, 100.0]), np.array([100.0, 200.0]), np.array([1.0, NAN]), np.array([NAN, NAN])
    )
    assert np.isnan(got).all()


def test_tpot_leaves_hidden_tokens_out() -> None:
    """Of 111 tokens 100 were never streamed: 11 tokens in 200 ms are 20 ms a token."""
    got = measures.tpot_ms(np.array([100.0]), np.array([300.0]), np.array([111.0]), np.array([100.0]))
    assert got == [20]


def test_streamed_tokens_fall_back_to_events() -> None:
    """Usage of 12 with 2 hidden is 10 streamed; without usage there is one per event."""
    got = measures.streamed_tokens(np.array([12.0, NAN]), np.array([2.0, NAN]), np.array([10, 7]))
    assert got.tolist() == [10, 7]


def test_e2e_of_an_answer_in_one_piece_is_its_end() -> None:
    """Not streamed: no token has a time, the end has. Streamed: the last token, and nothing else."""
    last, end = np.array([NAN, 90.0]), np.array([120.0, 500.0])
    assert measures.e2e_ms(last, end, streaming=False).tolist() == [120, 90]
    assert np.isnan(measures.e2e_ms(last, end, streaming=True)[0])
    assert measures.e2e_ms(last, end, streaming=True)[1] == 90


def test_in_flight_is_a_time_integral() -> None:
    """Over [0, 10] one request from -5 to 5 and one from 2 to 4: (5 + 2) / 10."""
    assert inflight.mean(np.array([-5.0, 2.0]), np.array([5.0, 4.0]), 0, 10) == pytest.approx(0.7)
    assert inflight.mean(np.array([0.0]), np.array([1.0]), 5, 5) is None


def stream(requests: list[tuple[float, float, list[float], float]]) -> throughput.Stream:
    """Requests as (start in s, first event in ms, gaps in ms, tokens)."""
    lengths = [len(gaps) for _, _, gaps, _ in requests]
    return throughput.Stream(
        start=np.array([start for start, *_ in requests]),
        end=np.array([start + (first + sum(gaps)) / 1000 for start, first, gaps, _ in requests]),
        first_ms=np.array([first for _, first, _, _ in requests]),
        gaps_ms=np.array([gap for _, _, gaps, _ in requests for gap in gaps]),
        offsets=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        tokens=np.array([tokens for *_, tokens in requests]),
    )


def even(seconds: float) -> tuple[float, float, list[float], float]:
    """100 tokens at an even pace over so many seconds, from 0 on."""
    return (0.0, 10 * seconds, [10 * seconds] * 99, 100.0)


@pytest.mark.parametrize(("window", "rate"), [(2.0, 451.5), (60.0, 1000 / 60)])
def test_throughput_is_what_was_streamed_inside_the_window(window: float, rate: float) -> None:
    """J08: Ten requests of 100 tokens, nine over 2 s, one over 60.

    Two seconds: 900 tokens and those of the long one at 0.6, 1.2 and 1.8 s. Sixty seconds: all 1,000.
    """
    requests = stream([even(2.0)] * 9 + [even(60.0)])
    *_, whole = throughput.per_group(requests, np.zeros(10, dtype=np.int64), 1, (0.0, window + 1e-9))
    assert whole.total / window == pytest.approx(rate)


def test_a_peak_cannot_fall_below_the_mean() -> None:
    """J09: An event of ten tokens every 300 ms: the first second has those at 0, 0.3, 0.6 and 0.9 s, 40 tokens."""
    requests = stream([(0.0, 0.0, [300.0] * 20, 210.0)])
    (_, whole) = throughput.per_group(requests, np.zeros(1, dtype=np.int64), 1, (0.0, 6.0))
    assert whole.total == 210
    assert whole.peak == 40
    assert whole.peak >= whole.total / 6


def test_tokens_are_parted_by_class_and_come_from_every_phase() -> None:
    """A request sent 1 s before the window gives it what it streams inside: 5 of its 10 tokens."""
    requests = stream([(-1.0, 200.0, [200.0] * 9, 10.0), (0.5, 100.0, [], 1.0)])
    one, two, whole = throughput.per_group(requests, np.array([0, 1]), 2, (0.0001, 10.0))
    assert (one.total, two.total, whole.total) == (5, 1, 6)


def test_a_window_under_a_second_has_no_peak() -> None:
    """The peak is a whole second."""
    (_, whole) = throughput.per_group(stream([even(1.0)]), np.zeros(1, dtype=np.int64), 1, (0.0, 0.5))
    assert whole.total == 50
    assert whole.peak is None


def samples(cpu: list[float], lag: list[float]) -> Samples:
    """One worker, one sample a second, each with ten ticks of the same lateness."""
    return Samples(
        at=np.arange(len(cpu), dtype=float),
        worker=np.array(["w1"] * len(cpu), dtype=object),
        cpu=np.array(cpu),
        lags_ms=np.repeat(np.array(lag), 10),
        offsets=np.arange(len(cpu) + 1, dtype=np.int64) * 10,
        rss_bytes=np.zeros(len(cpu)),
    )


@pytest.mark.parametrize(
    ("cpu", "bound"),
    [([0.95, 0.95, 0.5, 0.95, 0.95], False), ([0.5, 0.91, 0.92, 0.93, 0.5], True), ([0.9] * 5, False)],
)
def test_generator_bound_by_cpu_three_seconds_running(cpu: list[float], bound: bool) -> None:
    """I05: Over 90 % in three samples running; two, or just 90 %, are not enough."""
    assert health(samples(cpu, [0.1] * 5), 0, 10, 20.0).bound is bound


@pytest.mark.parametrize(
    ("lag", "gap", "bound"), [(6.0, 20.0, True), (6.0, 80.0, False), (9.0, 80.0, True), (4.9, 1.0, False)]
)
def test_generator_bound_by_loop_lag(lag: float, gap: float, bound: bool) -> None:
    """The limit is the larger of 5 ms and a tenth of the median gap: 5 ms at gaps of 20, 8 ms at gaps of 80."""
    assert health(samples([0.1] * 5, [lag] * 5), 0, 10, gap).bound is bound


def test_generator_outside_the_window_does_not_count() -> None:
    """Only samples inside the window; without any nobody knows."""
    assert health(samples([0.99] * 5, [50.0] * 5), 10, 20, 20.0).bound is None


def test_workers_needed_come_from_cpu() -> None:
    """One worker at 95 % would have needed two at 70 %; one that was late at 20 % was kept waiting by others."""
    assert health(samples([0.95] * 5, [0.1] * 5), 0, 10, 20.0).workers_needed == 2
    assert health(samples([0.2] * 5, [9.0] * 5), 0, 10, 20.0).workers_needed is None


def test_why_the_generator_was_the_limit_in_a_sentence() -> None:
    """One window in its own numbers; of several the worst, who it was, and the limits in force."""
    one = Health(True, 0.95, 9.14, 1, 2, (Over("w0", busy_s=4), Over("w0", late_ms=9.14, limit_ms=5.0)))
    two = Health(True, 0.97, 12.3, 2, 3, (Over("w1", busy_s=12), Over("w0", late_ms=12.3, limit_ms=7.5)))
    assert told([one]) == (
        "worker w0 used over 90 % of a core for 4 seconds running; "
        "the event loop of worker w0 was 9.1 ms late (p99; the limit is 5.0 ms)"
    )
    assert told([two, one]) == (
        "2 workers (w0, w1) used over 90 % of a core for up to 12 seconds running; "
        "the event loop of worker w0 was up to 12.3 ms late (p99; the limit is 5.0 to 7.5 ms)"
    )
    many = Health(True, 0.2, 6.0, 8, None, tuple(Over(f"w{n}", late_ms=6.0, limit_ms=5.0) for n in range(8)))
    assert told([many]) == (
        "the event loop of 8 workers (w0, w1, w2, w3, w4, w5, …) was 6.0 ms late (p99; the limit is 5.0 ms)"
    )


def test_pooled_gaps_and_requests_have_means_of_their_own(tmp_path: Path) -> None:
    """J05: 100 gaps of 10 ms and one of 1,000: pooled 2,000 / 101, by request (10 + 1,000) / 2, each by its name."""
    (row,) = rows_of(tmp_path, [record(0, gaps=[10.0] * 100), record(1, gaps=[1000.0])])
    assert row["itl_ms"]["ok"]["mean"] == pytest.approx(2000 / 101)
    assert row["tpot_ms"]["ok"]["mean"] == pytest.approx(505)


def test_quick_failures_do_not_touch_the_mean(tmp_path: Path) -> None:
    """J02: 90 times 503 after 5 ms and ten successes of 2,000 ms: mean 2,000 over n = 10."""
    failed = [record(n, outcome="overloaded", end=5.0) for n in range(90)]
    good = [record(90 + n, ttft=2000.0, gaps=[]) for n in range(10)]
    (row,) = rows_of(tmp_path, failed + good)
    assert row["e2e_ms"]["ok"] | {"n": 10, "mean": 2000, "sd": 0} == row["e2e_ms"]["ok"]
    assert (row["ok"], row["failed"], row["outcomes"]) == (10, 90, {"overloaded": 90, "ok": 10})
    assert row["e2e_ms"]["all"] == {"n": 100, "p50": "inf", "p90": "inf", "p95": "inf", "p99": "inf"}


def test_what_was_not_measured_is_not_zero(tmp_path: Path) -> None:
    """J03: Five successes of 200 ms and five failures without a first token: median 200 over n = 5."""
    rows = [record(n, ttft=200.0) for n in range(5)]
    rows += [record(5 + n, outcome="ttft_timeout", end=1000.0) for n in range(5)]
    (row,) = rows_of(tmp_path, rows)
    assert row["ttft_ms"]["ok"] | {"n": 5, "p50": 200} == row["ttft_ms"]["ok"]


def test_means_rates_and_shares(tmp_path: Path) -> None:
    """Two successes in a window of 10 s, worked by hand.

    A: 10 tokens at 100, 110 … 190 ms. B: 5 tokens at 200, 250 … 400 ms of 8 asked for. TPOT 10 and 50 ms, so users
    get 100 and 20 tokens/s; E2E 0.19 and 0.4 s.
    """
    a = record(0, input_tokens=100)
    b = record(
        1, sent=1.0, ttft=200.0, gaps=[50.0] * 4, input_tokens=300, requested_output_tokens=8, flags=["short_output"]
    )
    c = record(2, sent=2.0, outcome="rate_limited", end=3.0)
    (row,) = rows_of(tmp_path, [a, b, c])
    assert (row["planned"], row["started"], row["ok"], row["failed"], row["lost"]) == (3, 3, 2, 1, 0)
    assert row["success_share"] == pytest.approx(2 / 3)
    assert row["requests_per_s"] == pytest.approx(0.2)
    assert row["output_tokens_per_s"] == pytest.approx(1.5)
    assert row["output_tokens_per_s_peak"] == 10
    assert row["output_tokens_per_s_per_user"] == pytest.approx((100 + 20) / 2)
    assert row["output_tokens_per_s_request"] == pytest.approx((10 / 0.19 + 5 / 0.4) / 2)
    assert row["input_tokens_per_s"] == pytest.approx(40)
    assert (row["input_tokens_mean"], row["output_tokens_mean"]) == (200, 7.5)
    assert row["requested_output_tokens_mean"] == 9
    assert row["reached_length_share"] == 0.5
    assert row["tokens_per_event_mean"] == 1
    assert row["prefill_share"] == pytest.approx((100 / 190 + 200 / 400) / 2)
    assert row["in_flight_mean"] == pytest.approx((0.19 + 0.4 + 0.003) / 10)
    assert row["token_source"] == "server"
    assert row["flags"] == {"short_output": 1}
    assert row["goodput_per_s"] is None
    assert row["slow_requests"] is None


def test_stalls_and_coalesced_events(tmp_path: Path) -> None:
    """Gaps of 10, 201, 200 and 10 ms, 300 ms: of five gaps two are over 200; one of two requests stalled twice."""
    rows = [record(0, gaps=[10.0, 201.0, 300.0], coalesced=1), record(1, gaps=[200.0, 10.0])]
    (row,) = rows_of(tmp_path, rows)
    assert row["stalls_per_1000_gaps"] == 400
    assert row["stalled_request_share"] == 0.5
    assert row["coalesced_share"] == pytest.approx(1 / 7)


def test_an_event_of_several_tokens_counts_them(tmp_path: Path) -> None:
    """Usage of 20 over ten events: two tokens an event, and 20 tokens in the window."""
    (row,) = rows_of(tmp_path, [record(0, output_tokens=20)])
    assert row["tokens_per_event_mean"] == 2
    assert row["output_tokens_per_s"] == 2
    assert row["tpot_ms"]["ok"]["mean"] == pytest.approx(90 / 19)


def test_goodput_needs_every_bound_at_once(tmp_path: Path) -> None:
    """TTFT under 150 ms and TPOT under 20 ms: of four attempts one meets both; the failure stays below the line."""
    slo = {"ttft_ms": 150.0, "tpot_ms": 20.0, "e2e_ms": None, "itl_max_ms": None}
    rows = [
        record(0),
        record(1, ttft=160.0),
        record(2, gaps=[30.0] * 9),
        record(3, outcome="stream_error", end=1.0),
    ]
    (row,) = rows_of(tmp_path, rows, slo=slo)
    assert row["goodput_per_s"] == pytest.approx(0.1)
    assert row["goodput_share"] == pytest.approx(0.25)


def test_a_missing_figure_misses_its_bound_but_for_the_tpot_of_one_token(tmp_path: Path) -> None:
    """One token has no TPOT and no gap, and is good; an answer without tokens has no TTFT, and is not."""
    slo = {"ttft_ms": 150.0, "tpot_ms": 20.0, "e2e_ms": None, "itl_max_ms": 15.0}
    rows = [record(0, gaps=[]), record(1, ttft=None, gaps=[], end=50.0), record(2, gaps=[10.0, 16.0])]
    (row,) = rows_of(tmp_path, rows, slo=slo)
    assert row["goodput_share"] == pytest.approx(1 / 3)


def test_slow_requests(tmp_path: Path) -> None:
    """Ok, but over 0.2 s."""
    (row,) = rows_of(tmp_path, [record(0), record(1, ttft=111.0)], slow_s=0.2)
    assert row["slow_requests"] == 1


def test_share_of_answers_that_reached_their_length(tmp_path: Path) -> None:
    """B18m: Seven of 128 tokens and three of 3: 905 tokens, 70 % reached the length asked for."""
    full = [record(n, sent=n * 0.1, gaps=[1.0] * 127, requested_output_tokens=128) for n in range(7)]
    short = [record(7 + n, sent=1.0, gaps=[1.0, 1.0], requested_output_tokens=128) for n in range(3)]
    (row,) = rows_of(tmp_path, full + short)
    assert row["output_tokens_per_s"] == pytest.approx(90.5)
    assert row["reached_length_share"] == pytest.approx(0.7)


def test_from_schedule(tmp_path: Path) -> None:
    """Planned 2 s before it was sent: TTFT 2,100 ms from the plan; what was not sent never finished."""
    rows = [
        record(0, sent=2.0, scheduled_at=record(0)["sent_at"], concurrency=None, rate=1.0),
        record(1, outcome="not_sent", sent_at=None, concurrency=None, rate=1.0),
    ]
    (row,) = rows_of(tmp_path, rows, steps=[step(concurrency=None, rate=1.0)])
    assert (row["planned"], row["started"], row["not_sent"]) == (2, 1, 1)
    assert row["from_schedule"]["ttft_ms"]["ok"]["p50"] == pytest.approx(2100)
    assert row["from_schedule"]["ttft_ms"]["all"]["p90"] == "inf"
    assert row["ttft_ms"]["ok"]["p50"] == 100
    assert row["ttft_ms"]["all"]["n"] == 1


def test_not_streamed_has_whole_answers_only(tmp_path: Path) -> None:
    """E2E is the end; first tokens, gaps and times per token are blank; tokens arrive with the answer."""
    rows = [record(0, ttft=None, gaps=[], end=400.0, output_tokens=8, output_tokens_source="server")]
    (row,) = rows_of(tmp_path, rows, stream=False)
    assert row["e2e_ms"]["ok"]["p50"] == 400
    assert row["ttft_ms"] == row["tpot_ms"] == row["itl_ms"] == {"ok": None, "all": None}
    assert row["output_tokens_per_s"] == pytest.approx(0.8)


def test_who_counted_tokens(tmp_path: Path) -> None:
    """Counts of two kinds are called mixed."""
    assert rows_of(tmp_path, [record(0)])[0]["token_source"] == "server"
    mixed = [record(0), record(1, output_tokens_source="events")]
    assert rows_of(tmp_path, mixed)[0]["token_source"] == "mixed"


def test_reasoning_only_answers_have_no_content_times(tmp_path: Path) -> None:
    """No success has content: not measured, and one failure beside them makes no percentile."""
    rows = [record(0, ttft_content_ms=None), record(1, outcome="stream_error", end=1.0)]
    (row,) = rows_of(tmp_path, rows)
    assert row["ttft_content_ms"] == {"ok": None, "all": None}
    assert row["ttft_ms"]["all"]["n"] == 2


def test_classes_and_all_in_order(tmp_path: Path) -> None:
    """A row for each class in the scenario's order, also for one without a request, and one for all."""
    rows = [record(0, workload="long"), record(1, workload="short"), record(2, workload="short")]
    classes = [{"name": name, "slo": None} for name in ("short", "medium", "long")]
    table = table_of(tmp_path, rows, classes=classes)
    assert [(row["workload"], row["ok"]) for row in table] == [("short", 2), ("medium", 0), ("long", 1), ("all", 3)]
    assert table[1]["ttft_ms"]["ok"]["n"] == 0
    assert table[1]["success_share"] is None
