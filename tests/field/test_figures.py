"""Situations that the reporter has to get right, each as a run folder made up for it, with the answer worked by hand.

What is in one formula alone stands in tests/report; here a whole run is read and its tables and words are looked at.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from llmload.record.record import OUTCOMES
from llmload.report import files, head
from llmload.report.building import Built
from tests.report.synthetic import record, scenario, second, step
from tests.report.worked import built_of, rows_of, table_of

WATCHED = [second(at) for at in range(10)]


def said(built: Built, words: str) -> list[str]:
    """Warnings with these words."""
    return [warning for warning in built.warnings if words in warning]


def classes(*names: str) -> list[dict[str, Any]]:
    """Classes of a scenario as run.json holds them."""
    return [{"name": name, "weight": 1.0, "slo": None, "extra_body": {}} for name in names]


def cells(line: str) -> list[str]:
    """The cells of a line of a Markdown table."""
    return [cell.strip() for cell in line.strip("| ").split("|")]


def shown(text: str, title: str, row: int = 0) -> dict[str, str]:
    """One row of a table of report.md, by heading."""
    lines = text.partition(f"## {title}")[2].splitlines()
    table = [line for line in lines if line.startswith("|")]
    return dict(zip(cells(table[0]), cells(table[2 + row]), strict=True))


def test_a_size_class_that_is_too_long(tmp_path: Path) -> None:
    """F08m: a class that is too long fails by itself, is named, and leaves the other's figures clean."""
    short = [record(n, sent=n * 0.5) for n in range(10)]
    long = [
        record(
            10 + n, sent=n * 0.5, workload="long", outcome="http_error", end=3.0, http_status=400,
            error="400: maximum context length is 512 tokens",
        )
        for n in range(10)
    ]  # fmt: skip
    built = built_of(tmp_path, short + long, classes=classes("short", "long"))
    clean, failing, whole = built.summary["rows"]
    assert (clean["ok"], clean["failed"], clean["ttft_ms"]["all"]["p90"]) == (10, 0, 100)
    assert (failing["ok"], failing["failed"], failing["outcomes"]) == (0, 10, {"http_error": 10})
    assert failing["ttft_ms"]["all"]["p50"] == "inf"
    assert failing["ttft_ms"]["ok"]["p50"] is None
    assert whole["success_share"] == 0.5
    assert said(built, "class long had no success at 1 in flight: all 10 attempts failed (http_error 10")
    assert not said(built, "class short had no success")
    assert "maximum context length is 512 tokens" in files.FORMATS["markdown"](built)


def test_another_model_answers(tmp_path: Path) -> None:
    """F14: half of the streams carry another name: both are named, with how many."""
    rows = [record(n, served_model="other" if n % 2 else "m") for n in range(10)]
    text = files.FORMATS["markdown"](built_of(tmp_path, rows))
    assert "2 models answered: m (5), other (5)" in text


def test_asked_and_counted_prompt_lengths(tmp_path: Path) -> None:
    """B16m: 20 requests of 100 tokens, 132 by the server's count: both numbers, one warning."""
    rows = [record(n, sent=n * 0.2, requested_input_tokens=100, input_tokens=132) for n in range(20)]
    built = built_of(tmp_path, rows)
    text = files.FORMATS["markdown"](built)
    assert len(said(built, "100 asked for, 132 counted")) == 1
    lengths = [cells(line) for line in text.partition("## Lengths in tokens")[2].splitlines() if "prompt" in line]
    assert [[row[1], row[2], row[5]] for row in lengths[:2]] == [
        ["prompt, asked for", "20", "100"],
        ["prompt, counted", "20", "132"],
    ]


def test_a_choice_of_limits_is_on_record(tmp_path: Path) -> None:
    """G13: the limits in force stand in the report."""
    limits = {"connect_s": 10.0, "ttft_s": 320.0, "stall_s": 60.0, "total_s": 600.0}
    text = files.FORMATS["markdown"](built_of(tmp_path, [record(0)], limits=limits))
    assert "| limits of a request | connect 10 s, first token 320 s, between tokens 60 s, in all 600 s |" in text


@pytest.mark.parametrize(("kind", "words"), [("keep-alive", "kept alive"), ("fresh", "a new one for each request")])
def test_the_report_says_how_connections_were_used(tmp_path: Path, kind: str, words: str) -> None:
    """G11: that much is known; how many machines stood behind the address is not, and nothing is claimed."""
    built = built_of(tmp_path, [record(0)], connections=kind)
    assert dict(head.settings(built.facts))["connections"] == words
    assert not re.search(r"replica|backend|load balanc", files.FORMATS["markdown"](built))


def test_retries_behind_a_gateway_are_not_guessed(tmp_path: Path) -> None:
    """H07: 2,200 ms now and then stand as they were measured, and nobody speaks of retries."""
    rows = [record(n, sent=n * 0.3, ttft=2200.0 if n % 10 == 9 else 200.0) for n in range(30)]
    built = built_of(tmp_path, rows, generator=WATCHED)
    ttft = built.summary["rows"][-1]["ttft_ms"]["ok"]
    assert (ttft["n"], ttft["min"], ttft["p50"], ttft["max"]) == (30, 200, 200, 2200)
    assert ttft["mean"] == pytest.approx(400)
    assert built.summary["rows"][-1]["outcomes"] == {"ok": 30}
    assert not re.search(r"retr(y|ies)|gateway", " ".join(built.warnings))


def test_cached_answers(tmp_path: Path) -> None:
    """H05: equal prompts are a setting that the report names, and two groups of first tokens are told."""
    rows = [record(n, sent=n * 0.4, ttft=2.0 if n >= 8 else 300.0) for n in range(20)]
    built = built_of(tmp_path, rows, cache_busting=False)
    assert dict(head.settings(built.facts))["cache busting"] == "off: prompts may repeat"
    assert said(built, "12 about 2 ms, 8 about 300 ms")


def test_shared_prefixes_are_in_the_report(tmp_path: Path) -> None:
    """K01: known beginnings of 20 ms are the median where a share of the prompts has them by option, and it is said."""
    shared = [
        {**classes("short")[0], "shared_prefix_share": 0.8, "shared_prefix_tokens": 64, "source": "builtin:short"}
    ]
    rows = [record(n, sent=n * 0.4, ttft=1000.0 if n % 5 == 0 else 20.0) for n in range(20)]
    built = built_of(tmp_path, rows, classes=shared)
    assert built.summary["rows"][-1]["ttft_ms"]["ok"]["p50"] == 20
    assert dict(head.settings(built.facts))["class short"].endswith("80 % with a shared prefix of 64 tokens")


def test_time_outs_in_percentiles(tmp_path: Path) -> None:
    """J01: 250 time-outs, six first tokens at 0.3 s: p95 0.3 s of n = 6, infinite over all, 97.7 % failed beside it."""
    bad = [record(n, sent=0.01 * n, outcome="ttft_timeout", end=30_000.0) for n in range(250)]
    good = [record(250 + n, sent=n, ttft=300.0) for n in range(6)]
    built = built_of(tmp_path, bad + good)
    row = built.summary["rows"][-1]
    assert (row["ttft_ms"]["ok"]["p95"], row["ttft_ms"]["ok"]["n"]) == (300, 6)
    assert (row["ttft_ms"]["all"]["p95"], row["ttft_ms"]["all"]["n"]) == ("inf", 256)
    assert row["success_share"] == pytest.approx(6 / 256)
    text = files.FORMATS["markdown"](built)
    felt = shown(text, "What users felt")
    assert (felt["requests ok"], felt["requests fail"], felt["TTFT ms p95"]) == ("6", "250", "300\\*")
    tried = shown(text, "All attempts")
    assert (tried["attempts ok %"], tried["TTFT ms p95"]) == ("2.3", "inf")  # 97.7 % failed
    assert said(built, "98 % of 256 attempts at 1 in flight failed (ttft_timeout 250)")


def test_percentiles_of_merged_workers(tmp_path: Path) -> None:
    """J04: 100 of 100 ms; 90 of 100 and 10 of 2,000: one p95 of all 200 at rank 189.05, which is 195 ms."""
    one = [record(n, sent=n * 0.05, ttft=100.0) for n in range(100)]
    two = [record(n, worker="w2", sent=n * 0.05, ttft=2000.0 if n < 10 else 100.0) for n in range(100)]
    (row,) = rows_of(tmp_path, two + one)
    assert row["ttft_ms"]["ok"]["n"] == 200
    assert row["ttft_ms"]["ok"]["p95"] == pytest.approx(195)


def test_rounding(tmp_path: Path) -> None:
    """J06: 1,449 and 1,451 ms: a median of 1,450 and two ends that differ, in the table and in numbers."""
    (row,) = rows_of(tmp_path, [record(0, ttft=1449.0), record(1, ttft=1451.0)])
    assert [row["ttft_ms"]["ok"][name] for name in ("min", "p50", "max")] == [1449, 1450, 1451]


def test_the_window_is_printed_beside_its_throughput(tmp_path: Path) -> None:
    """J08: ten of 100 tokens, nine over 2 s, one over 60: 451.5 a second in two seconds, 16.7 in sixty."""

    def even(seq: int, seconds: float) -> dict[str, Any]:
        pace = 10 * seconds
        return record(seq, ttft=pace, gaps=[pace] * 99, output_tokens=100, requested_output_tokens=100)

    rows = [*(even(n, 2.0) for n in range(9)), even(9, 60.0)]
    for seconds, rate in ((2.0, "452"), (60.0, "16.7")):
        built = built_of(tmp_path / rate, rows, [step(0, 10, 0.0, seconds + 1e-7)])  # the last token is inside
        table = files.FORMATS["markdown"](built)
        assert shown(table, "What users felt")["tokens/s all"] == rate
        assert shown(table, "The load, and what it brought")["window s"] == f"{seconds:.1f}"


def test_nothing_gets_lost_by_step_and_class(tmp_path: Path) -> None:
    """J10: every outcome three times in each of two steps and two classes: each row balances, `seq` has no hole."""
    kinds = [outcome for outcome in OUTCOMES if outcome != "not_sent"]
    rows = [
        record(
            0, step=at, concurrency=1 + at, workload=workload, outcome=outcome, sent=at * 20.0 + 1, end=190.0,
            error="stopped by the user" if outcome == "cancelled" else None,
        )
        for at in (0, 1) for workload in ("short", "long") for outcome in kinds for _ in range(3)
    ]  # fmt: skip
    for seq, row in enumerate(rows):
        row["seq"] = seq
    accounting = {"w1": {"started": len(rows), "finished": len(rows), "received": len(rows), "lost": 0}}
    steps = [step(0, 1, 0, 10), step(1, 2, 20, 30)]
    built = built_of(
        tmp_path / "whole", rows, steps, {"accounting": accounting}, WATCHED, classes=classes("short", "long")
    )
    table = built.summary["rows"]
    assert [(row["step"], row["workload"]) for row in table] == [
        (at, name) for at in (0, 1) for name in ("short", "long", "all")
    ]
    for row in table:
        times = 2 if row["workload"] == "all" else 1
        assert row["started"] == 3 * len(kinds) * times
        assert row["started"] == row["ok"] + row["failed"] + row["cancelled"] + row["lost"]
        assert (row["ok"], row["cancelled"], row["lost"]) == (3 * times, 3 * times, 0)
    assert len(built.verdict.reasons) == 2
    assert all("(local_resource)" in reason for reason in built.verdict.reasons)  # one a step; nothing else degrades it
    short_of_one = [row for row in rows if row["seq"] != 5]
    built = built_of(
        tmp_path / "hole", short_of_one, steps, {"accounting": accounting}, classes=classes("short", "long")
    )
    assert built.verdict.word == "DEGRADED"
    assert "worker w1: 1 record missing (seq 5)" in built.verdict.reasons


def test_warm_up_is_left_out_and_counted(tmp_path: Path) -> None:
    """J15, K02: three cold requests of 3 s at each new concurrency are in no figure, and how many they were is said."""
    rows = []
    for at, (level, begin) in enumerate(((1, 0.0), (4, 20.0))):
        cold: list[dict[str, Any]] = [
            {"sent": begin - 4 + n, "ttft": 3200.0, "phase": "warmup", "new_connection": n == 0} for n in range(3)
        ]
        warm: list[dict[str, Any]] = [{"sent": begin + n, "ttft": 200.0, "phase": "measure"} for n in range(8)]
        rows += [record(0, step=at, concurrency=level, **more) for more in (*cold, *warm)]
    for seq, row in enumerate(rows):
        row["seq"] = seq
    built = built_of(tmp_path, rows, [step(0, 1, 0, 10), step(1, 4, 20, 30)])
    for row in built.summary["rows"]:
        assert (row["warmup"], row["started"], row["ttft_ms"]["ok"]["max"]) == (3, 8, 200)
    assert shown(files.FORMATS["markdown"](built), "The load, and what it brought")["requests warm-up"] == "3"


@pytest.mark.parametrize(("n", "p95", "p99"), [(20, "100\\*", ""), (150, "100", "100†"), (600, "100", "100")])
def test_too_few_for_a_p99(tmp_path: Path, n: int, p95: str, p99: str) -> None:
    """J16: 20 requests have a marked p95 and no p99; 150 have a marked p99; 600 need no mark."""
    text = files.FORMATS["markdown"](built_of(tmp_path, [record(seq, sent=seq * 0.01) for seq in range(n)]))
    row = shown(text, "What users felt")
    assert row["TTFT ms p95"] == p95
    assert row.get("TTFT ms p99", "") == p99


def test_batches_that_come_again_and_late(tmp_path: Path) -> None:
    """J18: worker and seq make a record count once; the same seq of another worker is another one."""
    one, two = [record(n, sent=n) for n in range(4)], [record(n, worker="w2", sent=n) for n in range(4)]
    built = built_of(tmp_path, [*one, *two, *one[:3], *two[2:], one[0]])
    assert built.summary["rows"][-1]["started"] == 8
    assert built.verdict.word == "OK"


def test_one_formula(tmp_path: Path) -> None:
    """J19: reasoning at 100 ms, a second token at 130, the end mark at 900: 30 ms a token; blank for a single one."""
    two = record(0, ttft=100.0, gaps=[30.0], ttft_content_ms=130.0, end=900.0)
    one = record(1, ttft=100.0, gaps=[], end=900.0)
    (row,) = rows_of(tmp_path, [two, one])
    assert row["tpot_ms"]["ok"] | {"n": 1, "min": 30, "mean": 30, "max": 30} == row["tpot_ms"]["ok"]
    assert row["e2e_ms"]["ok"]["max"] == 130


def test_lengths_that_vary(tmp_path: Path) -> None:
    """K04: answers of 10 to 200 tokens: their distribution is in the report, and no figure takes them as equal."""
    rows = [
        record(n, sent=n * 0.5, gaps=[10.0] * (9 + 10 * n), requested_output_tokens=200) for n in range(20)
    ]  # 10, 20 … 200 tokens, each 10 ms after the one before
    built = built_of(tmp_path, rows, scenario=scenario())
    text = files.FORMATS["markdown"](built)
    (got,) = (cells(line) for line in text.splitlines() if "| answer, counted" in line)
    assert got[2:8] == ["20", "10", "105", "105", "190", "200"]  # n, min, p50, mean, p95, max
    row = built.summary["rows"][-1]
    assert row["tpot_ms"]["ok"]["sd"] == pytest.approx(0, abs=1e-9)
    assert row["output_tokens_mean"] == 105
    assert row["requested_output_tokens_mean"] == 200
    assert row["reached_length_share"] == pytest.approx(0.05)


def test_dead_work(tmp_path: Path) -> None:
    """K05: how many requests were abandoned at a step's end stands in the report, and so does the pause behind it."""
    plan = {**scenario()["load"], "settle_s": 3.0}
    built = built_of(
        tmp_path, [record(0), record(1, sent=21, step=1)], [step(0, abandoned=4), step(1, 1, 20, 30)], load=plan
    )
    words = dict(head.settings(built.facts))["between steps"]
    assert words == "a pause of 3 s where requests were cut; cut: 4 at the end of 1 in flight"


def test_flushes_that_grow_with_the_load(tmp_path: Path) -> None:
    """K06: one token an event, then five: gaps go from 10 to 50 ms, and tokens per event beside them say why."""
    low = [record(n, sent=n * 0.5) for n in range(20)]
    high = [
        record(20 + n, step=1, concurrency=8, sent=20 + n * 0.1, gaps=[50.0] * 9, output_tokens=50) for n in range(20)
    ]
    built = built_of(tmp_path, low + high, [step(0, 1, 0, 10), step(1, 8, 20, 30)])
    text = files.FORMATS["markdown"](built)
    for at, (gap, tokens) in enumerate((("10.0", "1.00"), ("50.0", "5.00"))):
        assert shown(text, "What users felt", at)["ITL ms p50"] == gap
        assert shown(text, "The load, and what it brought", at)["tokens (mean) event"] == tokens
    assert said(built, "tokens per event go from 1.00 to 5.00 (at 8 in flight)")


def test_short_answers_are_counted_as_they_came(tmp_path: Path) -> None:
    """B18m: 7 of 128 tokens, 3 of 3: 905 tokens, and the report shows that 70 % reached the length asked for."""
    full = [record(n, sent=n * 0.1, gaps=[1.0] * 127, requested_output_tokens=128) for n in range(7)]
    short = [
        record(7 + n, sent=1.0, gaps=[1.0] * 2, requested_output_tokens=128, finish_reason="stop") for n in range(3)
    ]
    built = built_of(tmp_path, full + short)
    row = built.summary["rows"][-1]
    assert row["output_tokens_per_s"] == pytest.approx(90.5)
    assert row["reached_length_share"] == pytest.approx(0.7)
    text = files.FORMATS["markdown"](built)
    assert shown(text, "What users felt")["full %"] == "70.0"


def test_who_used_how_much_of_a_processor(tmp_path: Path) -> None:
    """I05: each worker's share of a core is in the report, and the step in which one was full is marked."""
    generator = [second(at, name, cpu=cpu) for at in range(5) for name, cpu in (("w1", 0.97), ("w2", 0.31))]
    built = built_of(tmp_path, [record(0), record(0, worker="w2")], generator=generator)
    assert dict(head.settings(built.facts))["CPU of the workers"] == "of a core at most: w1 97 %, w2 31 %"
    text = files.FORMATS["markdown"](built)
    assert shown(text, "What users felt")["in flight"] == "1‡"
    assert said(built, "worker w1 used over 90 % of a core for 5 seconds running")
    assert table_of(tmp_path / "again", [record(0)])[-1]["generator"]["bound"] is None
