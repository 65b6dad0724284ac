"""Run folders as they are found: merged, killed, cut, empty, doubled, of another format, none at all."""

import re
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llmload import report
from llmload.exits import Exit, Stop
from llmload.record.record import (
    CUT_BY_CALLER,
    CUT_BY_DRAIN,
    CUT_BY_FAULT,
    CUT_BY_LEAVING,
    CUT_BY_STEP_END,
    CUT_BY_USER,
    OUTCOMES,
)
from llmload.report import building, failures, files, records
from tests.report.synthetic import START, lines, record, second, step, write
from tests.report.worked import built_of, rows_of, table_of


def test_every_outcome_is_in_its_row_and_the_row_balances(tmp_path: Path) -> None:
    """J10: Three of every outcome; three records are lost: everything adds up, and the loss spoils the verdict."""
    started = [outcome for outcome in OUTCOMES if outcome != "not_sent"]
    records, seq = [], 0
    for outcome in started:
        for _ in range(3):
            more = {"error": CUT_BY_USER} if outcome == "cancelled" else {}
            records.append(record(seq, outcome=outcome, end=190.0, **more))
            seq += 1
    records += [record(seq + 3 + n, outcome="not_sent", sent_at=None) for n in range(3)]
    built = built_of(tmp_path, records)
    (*_, row) = built.summary["rows"]
    assert (row["planned"], row["started"], row["not_sent"]) == (69, 66, 3)
    assert (row["ok"], row["cancelled"], row["lost"]) == (3, 3, 3)
    assert row["failed"] == 3 * (len(started) - 2)
    assert {outcome: row["outcomes"][outcome] for outcome in started} == dict.fromkeys(started, 3)
    assert built.verdict.word == "DEGRADED"
    assert "worker w1: 3 records missing (seq 63-65)" in built.verdict.reasons


def test_a_hole_in_seq_is_lost_and_counts_as_never_finished(tmp_path: Path) -> None:
    """J10: Seq 2 of 0 … 4 is missing between two records of the same step: a lost attempt, infinite in `all`."""
    built = built_of(tmp_path, [record(seq) for seq in (0, 1, 3, 4)])
    short, whole = built.summary["rows"]
    assert (whole["started"], whole["lost"], whole["ok"]) == (5, 1, 4)
    assert whole["ttft_ms"]["all"] == {"n": 5, "p50": 100, "p90": "inf", "p95": "inf", "p99": None}
    assert (short["started"], short["lost"]) == (4, 0)
    assert built.exit_code == Exit.DEGRADED
    assert any("class of 1 is not known" in warning for warning in built.warnings)


def test_records_of_a_spool_are_merged_and_counted_once(tmp_path: Path) -> None:
    """J18: A killed run: the spool has one record more than the file, and one start without a record."""
    folder = write(tmp_path, [record(0), record(1), record(0)], [step(end=None)], verdict=None, ended_at=None)
    (folder / "spool").mkdir()
    start = {"start": 2, "step": 0, "phase": "measure", "workload": "short", "sent_at": START + 3}
    spool = [record(1), start, record(2, sent=3.0), start | {"start": 3, "sent_at": START + 4}]
    lines(folder / "spool" / "w1.jsonl", spool)
    built = building.compute(folder)
    short, whole = built.summary["rows"]
    assert (whole["started"], whole["ok"], whole["lost"]) == (4, 3, 1)
    assert (short["started"], short["ok"], short["lost"]) == (4, 3, 1)
    assert built.verdict.word == "INCOMPLETE"
    assert built.exit_code == Exit.INCOMPLETE


def test_a_window_without_an_end_is_cut_at_the_last_record(tmp_path: Path) -> None:
    """The last answer ended at 4.19 s of a window that began at 0."""
    built = built_of(tmp_path, [record(0), record(1, sent=4.0)], steps=[step(end=None)], run={"verdict": None})
    assert built.summary["rows"][-1]["window_s"] == pytest.approx(4.19)
    assert any("no end of its own" in warning for warning in built.warnings)


def test_a_last_line_that_was_cut_is_ignored(tmp_path: Path) -> None:
    """A kill in the middle of a line loses that line only, without a word."""
    folder = write(tmp_path, [record(0), record(1)])
    with (folder / "requests.jsonl").open("ab") as file:
        file.write(orjson.dumps(record(2))[:100])
    built = building.compute(folder)
    assert built.summary["rows"][-1]["ok"] == 2
    assert built.verdict.word == "OK"


def test_a_broken_line_in_the_middle_is_said(tmp_path: Path) -> None:
    """Lines that are no records: counted, and the verdict is spoilt."""
    folder = write(tmp_path, [record(0)])
    with (folder / "requests.jsonl").open("ab") as file:
        file.write(b'{"half": \n[1]\n{"seq": 3}\n' + orjson.dumps(record(1)) + b"\n")
    built = building.compute(folder)
    assert built.summary["rows"][-1]["ok"] == 2
    assert "requests.jsonl: 3 lines are no records" in built.verdict.reasons
    assert built.verdict.word == "DEGRADED"


ODD: dict[str, Any] = {
    "seq": "x", "ttft_ms": "abc", "flags": 3, "worker": [], "step": 1.5, "workload": None, "outcome": {},
    "phase": "soon", "gaps_ms": [1.0, "x"], "events": -1, "coalesced": 2**60, "new_connection": "yes",
    "error": ["a"], "end_ms": True, "ttft_content_ms": 1e300, "output_tokens": -(2**60),
}  # fmt: skip


@pytest.mark.parametrize("field", ODD)
def test_a_record_with_a_value_of_the_wrong_kind_is_counted(tmp_path: Path, field: str) -> None:
    """One line that is no record, in the verdict; a good copy of it in the spool counts in its place."""
    folder = write(tmp_path, [record(0), record(1) | {field: ODD[field]}])
    built = building.compute(folder)
    assert built.summary["rows"][-1]["ok"] == 1
    assert "requests.jsonl: 1 lines are no records" in built.verdict.reasons
    (folder / "spool").mkdir()
    lines(folder / "spool" / "w1.jsonl", [record(0), record(1) | {field: ODD[field]}, record(1)])
    assert building.compute(folder).summary["rows"][-1]["ok"] == 2


def test_a_report_is_written_of_a_run_full_of_such_lines(tmp_path: Path) -> None:
    """All of them in one file: every file of the report is written, about the one attempt that is known."""
    folder = write(tmp_path, [record(0), *(record(n) | {field: odd} for n, (field, odd) in enumerate(ODD.items(), 1))])
    built = report.build(folder)
    assert built.summary["rows"][-1]["ok"] == 1
    assert f"requests.jsonl: {len(ODD)} lines are no records" in (folder / "report.html").read_text()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.lists(st.dictionaries(st.sampled_from(sorted(record(0))), VALUES, max_size=3), min_size=1, max_size=4)
)
def test_whatever_a_record_holds_it_is_read_or_counted(tmp_path: Path, changes: list[dict[str, Any]]) -> None:
    """Any JSON value in any field: each line becomes a row or is counted as none; nothing is fatal."""
    changes = [change | {"schema": 1, "seq": n if "seq" not in change else "x"} for n, change in enumerate(changes)]
    write(tmp_path, [record(n) | change for n, change in enumerate(changes)])
    table = records.read(tmp_path)
    assert len(table.frame) + table.unreadable == len(changes)


def test_flags_that_nobody_knows(tmp_path: Path) -> None:
    """Named twice they count once, and more different ones than fit into a column do no harm."""
    rows = [record(0, flags=["no_done", "no_done"]), record(1, flags=[f"new_{n}" for n in range(70)])]
    flags = built_of(tmp_path, rows).summary["rows"][-1]["flags"]
    assert (flags["no_done"], flags["new_0"], "no_finish_reason" in flags) == (1, 1, False)


def test_garbled_starts_and_samples(tmp_path: Path) -> None:
    """Lines of a spool and of generator.jsonl with values of the wrong kind say what is left of them, or nothing."""
    folder = write(tmp_path, [record(0)])
    (folder / "spool").mkdir()
    odd = {"start": 1, "worker": [], "step": "x", "phase": 1, "workload": {}, "sent_at": "soon"}
    lines(folder / "spool" / "w1.jsonl", [odd, {"start": "x"}, {"start": -1}, {"start": None}])
    lines(folder / "generator.jsonl", [second(0), second(1) | {"cpu": "x"}, second(2) | {"loop_lag_ms": {"a": 1}}])
    built = building.compute(folder)
    (*_, row) = built.summary["rows"]
    assert (row["started"], row["lost"], row["ok"]) == (1, 0, 1)
    assert "worker w1: 1 record missing (seq 1)" in built.verdict.reasons
    assert len(built.facts.samples.at) == 1


def test_a_run_without_a_single_record(tmp_path: Path) -> None:
    """Nothing happened: rows of blanks, every file is written, the step had no success."""
    folder = write(tmp_path, [])
    built = report.build(folder)
    (*_, row) = built.summary["rows"]
    assert (row["started"], row["success_share"], row["output_tokens_per_s"]) == (0, None, 0)
    assert row["ttft_ms"]["ok"]["n"] == 0
    assert built.exit_code == Exit.FAILED
    assert {path.name for path in folder.iterdir()} >= {"report.md", "report.html", "table.csv", "summary.json"}
    assert "nan" not in (folder / "table.csv").read_text().lower()


def test_a_run_that_was_killed_before_its_first_step(tmp_path: Path) -> None:
    """run.json alone, without a file beside it: a report that says so."""
    folder = write(tmp_path, [], [], None, verdict=None, ended_at=None)
    (folder / "requests.jsonl").unlink()
    built = report.build(folder)
    assert built.summary["rows"] == []
    assert built.exit_code == Exit.INCOMPLETE
    assert "nothing was measured" in (folder / "report.html").read_text()


def test_a_step_in_which_everything_failed_is_a_row(tmp_path: Path) -> None:
    """Ten time-outs: a row with infinite percentiles over attempts and blanks over successes; exit code 1."""
    built = built_of(tmp_path, [record(n, outcome="ttft_timeout", end=1000.0) for n in range(10)])
    (*_, row) = built.summary["rows"]
    assert (row["ok"], row["failed"], row["success_share"]) == (0, 10, 0)
    assert row["e2e_ms"]["all"]["p50"] == "inf"
    assert row["e2e_ms"]["ok"]["p50"] is None
    assert built.failures == ("the step with 1 in flight ended without a single success: ttft_timeout 10",)
    assert built.exit_code == Exit.FAILED


def test_a_free_run_has_no_row_of_a_class_that_was_never_sent(tmp_path: Path) -> None:
    """The user's code calls its class `sky`: no row of the scenario's `short`; with steps a class is never left out."""
    rows = [record(n, workload="sky", concurrency=None) for n in range(3)]
    free = {"steps": [step(0, None)], "load": {"steps": []}}
    assert [row["workload"] for row in table_of(tmp_path / "a", rows, **free)] == ["sky", "all"]
    both = [*rows, record(3, phase="warmup", concurrency=None)]
    assert [row["workload"] for row in table_of(tmp_path / "b", both, **free)] == ["short", "sky", "all"]
    assert [row["workload"] for row in table_of(tmp_path / "c", [], **free)] == ["short", "all"]
    two = {"classes": [{"name": "short"}, {"name": "sky"}]}
    assert [row["workload"] for row in table_of(tmp_path / "e", rows, **free, **two)] == ["sky", "all"]
    assert [row["workload"] for row in table_of(tmp_path / "d", rows)] == ["short", "sky", "all"]


def test_what_failed_stands_beside_the_verdict(tmp_path: Path) -> None:
    """Nothing is wrong with the run (OK), and the exit code is 1: said wherever the verdict is, and only then."""
    built = built_of(tmp_path / "bad", [record(0, outcome="ttft_timeout", end=1000.0)])
    assert (built.verdict.word, built.exit_code) == ("OK", Exit.FAILED)
    words = "gates and steps: FAILED (exit code 1)"
    assert f" verdict: OK\n {words}\n" in files.FORMATS["table"](built)
    assert f"Verdict: **OK**; **{words}**\n" in files.FORMATS["markdown"](built)
    assert f'<span class="badge no">{words}</span>' in files.FORMATS["html"](built)
    good = built_of(tmp_path / "good", [record(0)])
    assert not [kind for kind in ("table", "markdown", "html") if "FAILED" in files.FORMATS[kind](good)]


def test_a_step_that_failed_in_its_warm_up_is_told(tmp_path: Path) -> None:
    """Its window never opened: outcome and the server's words stand in the sentence, and What failed has them."""
    rows = [record(n, phase="warmup", outcome="http_error", end=5.0, error="500 boom") for n in range(3)]
    rows += [record(3, phase="warmup", outcome="cancelled", error=CUT_BY_STEP_END, end=5.0)]
    built = built_of(tmp_path, rows, steps=[step(0, 4, None, None, ended_by="failures")])
    assert built.failures == (
        "the step with 4 in flight ended without a single success: http_error 3 (warm-up); said most often: 500 boom",
    )
    assert built.exit_code == Exit.FAILED
    assert [(item.when, item.outcome, item.n) for item in failures.find(built.facts)] == [("warm-up", "http_error", 3)]
    more = [record(n, outcome="connect_error", end=5.0, error="refused") for n in range(4, 8)]
    built_later = built_of(tmp_path / "later", [*rows, *more], steps=[step(0, 4)])
    assert built_later.failures[0].endswith("http_error 3 (warm-up), connect_error 4; said most often: refused")
    for kind in ("table", "markdown", "html"):
        assert re.search(r"warm-up.*http.{0,2}error.*500 boom", files.FORMATS[kind](built).replace("\n", " ")), kind


def test_failures_of_each_phase_stand_apart(tmp_path: Path) -> None:
    """In the order of the phases; what was cut counts where it was measured only."""
    rows = [record(n, outcome="http_error", end=5.0, phase=phase) for n, phase in enumerate(("drain", "measure"))]
    rows += [record(2 + n, outcome="overloaded", end=5.0, phase="warmup") for n in range(2)]
    rows += [record(4 + n, outcome="cancelled", end=5.0, phase=p) for n, p in enumerate(("measure", "drain", "warmup"))]
    found = failures.find(built_of(tmp_path, rows).facts)
    assert [(item.when, item.outcome, item.n) for item in found] == [
        ("warm-up", "overloaded", 2), ("window", "cancelled", 1), ("window", "http_error", 1),
        ("drain", "http_error", 1),
    ]  # fmt: skip


def test_requests_sent_as_measured_behind_the_window_are_not_its_figures(tmp_path: Path) -> None:
    """A worker that did not hear of the end at 10 s: 2 of its 4 count as drain, it is named, the run is degraded.

    One second is what hearing of it may take, and 0.5 s how wrong its clock may be: 11.4 s is in time, 11.6 s late.
    """
    workers = {"w1": {"clock_offset_ms": 0.0, "clock_error_ms": 500.0}}
    rows = [record(n, sent=sent) for n, sent in enumerate((1.0, 11.4, 11.6, 70.0))]
    built = built_of(tmp_path, rows, run={"workers": workers})
    (*_, row) = built.summary["rows"]
    assert (row["started"], row["ok"], row["drain"], row["requests_per_s"]) == (2, 2, 2, 0.2)
    assert row["ttft_ms"]["all"]["n"] == 2
    assert built.verdict.word == "DEGRADED"
    (reason,) = built.verdict.reasons
    assert reason == (
        "worker w1: 2 requests of the step with 1 in flight sent as measured up to 60.0 s after its window had closed; "
        "they are not in its figures"
    )


def test_a_window_that_was_cut_has_no_late_requests(tmp_path: Path) -> None:
    """A killed run ends its window at what came last."""
    built = built_of(tmp_path, [record(0), record(1, sent=50.0)], steps=[step(end=None)], run={"verdict": None})
    assert built.summary["rows"][-1]["started"] == 2


def test_a_fault_is_not_the_users_stop(tmp_path: Path) -> None:
    """A full disk in mid-window: INCOMPLETE, told as such; what it cut says nothing about the server."""
    cut = record(1, outcome="cancelled", error=CUT_BY_FAULT, end=900.0)
    built = built_of(tmp_path, [record(0), cut], steps=[step(ended_by="fault")])
    assert built.verdict.word == "INCOMPLETE"
    assert "the step with 1 in flight ended before its end, because the run could not go on" in built.verdict.reasons
    assert not [words for words in (*built.warnings, *built.verdict.reasons) if "stopped" in words]
    assert (built.summary["rows"][-1]["failed"], built.summary["rows"][-1]["cancelled"]) == (0, 1)


def test_a_cut_by_the_users_own_code_or_a_leaving_worker_counts(tmp_path: Path) -> None:
    """Whoever stopped the step: only what the stop or the fault cut is left out."""
    rows = [record(n, outcome="cancelled", error=by, end=900.0) for n, by in enumerate((CUT_BY_CALLER, CUT_BY_LEAVING))]
    (row,) = rows_of(tmp_path, [record(2), *rows], steps=[step(ended_by="stopped")])
    assert (row["failed"], row["cancelled"]) == (2, 0)


def test_who_cut_an_attempt_decides(tmp_path: Path) -> None:
    """J07: The drain limit's cut is a failure without end; the user's stop is left out of shares and percentiles."""
    cut = {"outcome": "cancelled", "ttft": 100.0, "ttft_kept": True, "end": 900.0}
    (row,) = rows_of(tmp_path / "drain", [record(0), record(1, error=CUT_BY_DRAIN, **cut)])
    assert (row["failed"], row["cancelled"], row["success_share"]) == (1, 0, 0.5)
    assert row["e2e_ms"]["all"]["n"] == 2
    assert row["e2e_ms"]["all"]["p90"] == "inf"
    stopped = [step(ended_by="stopped")]
    (row,) = rows_of(tmp_path / "user", [record(0), record(1, error=CUT_BY_USER, **cut)], steps=stopped)
    assert (row["failed"], row["cancelled"], row["success_share"]) == (0, 1, 1)
    assert row["e2e_ms"]["all"]["n"] == 1
    (row,) = rows_of(tmp_path / "unsaid", [record(0), record(1, **cut)], steps=stopped)
    assert row["cancelled"] == 1


def test_a_stopped_run_is_incomplete(tmp_path: Path) -> None:
    """Two whole steps stay, the third was stopped."""
    steps = [step(0, 1), step(1, 4, 20, 30), step(2, 8, 40, 45, ended_by="stopped")]
    records = [record(n, step=n, concurrency=c, sent=s) for n, (c, s) in enumerate([(1, 1.0), (4, 21.0), (8, 41.0)])]
    built = built_of(tmp_path, records, steps=steps, run={"verdict": "INCOMPLETE", "reasons": ["stopped by the user"]})
    assert [row["ok"] for row in built.summary["rows"] if row["workload"] == "all"] == [1, 1, 1]
    assert built.exit_code == Exit.INCOMPLETE
    assert "stopped by the user" in built.verdict.reasons


def test_notes_stand_behind_the_reasons(tmp_path: Path) -> None:
    """What spoiled nothing is no reason for a verdict: it comes last, behind what the report itself finds."""
    run = {"verdict": "DEGRADED", "reasons": ["a worker died", "a look failed"], "notes": ["a look failed"]}
    built = built_of(tmp_path, [record(0)], steps=[step(ended_by="fault")], run=run)
    assert [*built.verdict.reasons] == [
        "a worker died",
        "the step with 1 in flight ended before its end, because the run could not go on",
        "a look failed",
    ]


def test_warmup_and_drain_are_counted_and_left_out(tmp_path: Path) -> None:
    """J15: Their times are in no percentile; their tokens stream into the window, and they are in flight there."""
    rows = [
        record(0, sent=-0.1, phase="warmup", ttft=3000.0, gaps=[]),
        record(1, sent=1.0),
        record(2, sent=9.95, phase="drain", ttft=40.0, gaps=[]),
    ]
    (row,) = rows_of(tmp_path, rows)
    assert (row["warmup"], row["started"], row["drain"]) == (1, 1, 1)
    assert row["ttft_ms"]["ok"]["max"] == 100
    assert row["output_tokens_per_s"] == pytest.approx(1.2)
    assert row["in_flight_mean"] == pytest.approx((2.9 + 0.19 + 0.04) / 10)


def test_a_worker_whose_clock_is_ahead(tmp_path: Path) -> None:
    """Five seconds ahead: its requests lie in the window after the correction, durations are untouched, it is said."""
    workers = {"w1": {"clock_offset_ms": 5000.0, "clock_error_ms": 1.0}}
    built = built_of(tmp_path, [record(0, sent=6.0), record(1, sent=14.0)], run={"workers": workers})
    (*_, row) = built.summary["rows"]
    assert row["output_tokens_per_s"] == pytest.approx(2.0)
    assert row["in_flight_mean"] == pytest.approx(0.038)
    assert row["e2e_ms"]["ok"]["p50"] == 190
    assert any("worker w1 by +5,000 ms" in warning for warning in built.warnings)


def test_lost_by_the_workers_own_account(tmp_path: Path) -> None:
    """The worker started five and two records came: three are lost, in the step of the last one that came."""
    accounting = {"w1": {"started": 5, "finished": 5, "received": 2, "lost": 3}}
    built = built_of(tmp_path, [record(0), record(1)], run={"accounting": accounting})
    assert built.summary["rows"][-1]["lost"] == 3
    assert "worker w1: 3 records missing (seq 2-4)" in built.verdict.reasons


def test_a_garbled_seq_or_account_takes_no_memory(tmp_path: Path) -> None:
    """Quadrillions of missing attempts are counted and told as ranges, with the start that a spool knows between."""
    most = 2**53 - 1
    accounting = {"w2": {"started": 100_000_000}}
    folder = write(tmp_path, [record(0), record(most)], accounting=accounting)
    (folder / "spool").mkdir()
    lines(folder / "spool" / "w1.jsonl", [{"start": 7, "step": 0, "phase": "warmup", "workload": "short"}])
    built = report.build(folder)
    lost = most - 1 + 100_000_000
    assert len(built.facts.lost) == 4
    assert f"worker w1: {most - 1} records missing (seq 1-{most - 1})" in built.verdict.reasons
    assert "worker w2: 100000000 records missing (seq 0-99999999)" in built.verdict.reasons
    assert any(f"{lost} attempts were started and left no record" in warning for warning in built.warnings)
    row = built.summary["rows"][-1]
    assert (row["ok"], row["lost"], row["warmup"], row["ttft_ms"]["all"]["p50"]) == (2, most - 2, 1, "inf")


def test_more_records_than_starts_do_not_pass(tmp_path: Path) -> None:
    """J10: Rows that do not balance are said loudly."""
    accounting = {"w1": {"started": 1, "finished": 1, "received": 1, "lost": 0}}
    built = built_of(tmp_path, [record(0), record(1)], run={"accounting": accounting})
    assert "worker w1: 1 more attempts are here than it says it started" in built.verdict.reasons
    assert built.verdict.word == "DEGRADED"


def test_a_generator_that_was_the_limit(tmp_path: Path) -> None:
    """I05: Three seconds over 90 %: the step is marked, the run degraded, and how many workers it takes is said."""
    built = built_of(tmp_path, [record(0)], generator=[second(at, cpu=0.97) for at in range(5)])
    (*_, row) = built.summary["rows"]
    assert row["generator"] == {
        "bound": True, "cpu_max": 0.97, "loop_lag_p99_ms": 0.3, "stamp_lag_p99_ms": 0.02, "workers": 1
    }  # fmt: skip
    assert built.exit_code == Exit.DEGRADED
    for kind, render in files.FORMATS.items():
        told = "would have sufficed" in render(built)
        assert told is (kind != "csv"), kind
    assert built.tables[0].marks["‡"].endswith("no figure of the server; 2 workers would have sufficed at 1")


def test_without_generator_samples_nobody_knows(tmp_path: Path) -> None:
    """A missing file is no proof of health."""
    built = built_of(tmp_path, [record(0)], generator=None)
    assert built.summary["rows"][-1]["generator"]["bound"] is None
    assert any("nobody watched the load generator" in warning for warning in built.warnings)


def test_records_of_a_step_that_run_json_does_not_know(tmp_path: Path) -> None:
    """They get a row, and the run does not balance."""
    built = built_of(tmp_path, [record(0), record(1, step=3, concurrency=8, sent=1.0)])
    assert [row["step"] for row in built.summary["rows"]] == [0, 0, 3, 3]
    assert built.summary["rows"][-1]["concurrency"] == 8
    assert built.verdict.word == "DEGRADED"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no run folder"),
        ("{", "cannot be read"),
        ("[]", "expected a JSON object"),
        ('{"schema": 2}', "update llmload"),
    ],
)
def test_no_run_folder_is_one_sentence(tmp_path: Path, content: str | None, words: str) -> None:
    """What is no run, or one of a newer llmload, is a sentence and exit code 4."""
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(Stop, match=words) as stop:
        building.compute(tmp_path)
    assert stop.value.code == Exit.UNJUDGED
    assert str(tmp_path) in stop.value.message


@pytest.mark.parametrize("name", ["requests.jsonl", "generator.jsonl", "gpu.jsonl", "spool/w1.jsonl"])
def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path, name: str) -> None:
    """A folder of that name, or a disk that fails: what the run told is not known, which is not nothing."""
    write(tmp_path, [record(0)])
    (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / name).mkdir(parents=True)
    with pytest.raises(Stop, match=f"{name}: cannot be read: Is a directory") as stop:
        building.compute(tmp_path)
    assert stop.value.code == Exit.UNJUDGED


def test_records_of_a_newer_format_are_refused(tmp_path: Path) -> None:
    """Half-understood records make wrong tables."""
    write(tmp_path, [record(0) | {"schema": 2}])
    with pytest.raises(Stop, match="format 2") as stop:
        building.compute(tmp_path)
    assert stop.value.code == Exit.UNJUDGED


def test_records_with_unknown_and_missing_fields(tmp_path: Path) -> None:
    """A field more, and one that an older record does not have, do no harm."""
    old = record(0) | {"colour": "green"}
    del old["cached_tokens"]
    built = built_of(tmp_path, [old, record(1, flags=["new_flag"])])
    assert built.summary["rows"][-1]["ok"] == 2
    assert built.summary["rows"][-1]["flags"] == {"new_flag": 1}


def test_frames(tmp_path: Path) -> None:
    """Records and table as data frames, gaps as arrays, flags as lists, infinite percentiles as infinity."""
    write(tmp_path, [record(0, flags=["no_done"]), record(1, outcome="stream_error", end=1.0)])
    frames = report.frames(tmp_path)
    assert frames.records["gaps_ms"][0].tolist() == [10.0] * 9
    assert frames.records["flags"].tolist() == [["no_done"], []]
    assert frames.records["tpot_ms"][0] == 10
    assert frames.table["workload"].tolist() == ["short", "all"]
    assert frames.table["ttft_ms.all.p90"].tolist() == [float("inf")] * 2
    assert frames.table["ttft_ms.ok.p50"].tolist() == [100, 100]


def test_frames_of_nothing(tmp_path: Path) -> None:
    """A run without a record gives empty frames."""
    write(tmp_path, [], [])
    frames = report.frames(tmp_path)
    assert len(frames.records) == 0
    assert len(frames.table) == 0
