"""The golden test: what a run recorded is what the server truly did, request by request.

A whole run goes against `llmload simulate`, which writes down when it really sent every token and which failures it
injected. Both sides read the same clock of one machine, so the difference is the error of the stamps and nothing else.
"""

import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from tests.cli import commands
from tests.simulate import child

pytestmark = pytest.mark.timeout(600)  # whole runs: a machine may be slow, only a hang is a fault

SCENARIO = """
name = "truth"

[limits]
ttft_s = 2
stall_s = 0.6
total_s = 20

[load]
steps = [1, 6]
warmup_requests = 3
warmup_s = 0.2
window_s = 4
window_requests = 10
window_cap_s = 20
max_failures_in_a_row = 0
settle_s = 0.1

[[class]]
name = "short"
input_tokens = 80
max_tokens = 12

[[class]]
name = "medium"
input_tokens = 200
max_tokens = 30
"""

FAILURES = (
    "429=0.03,500=0.02,502=0.02,503=0.02,cut=0.04,reset=0.03,stall=0.01,error-event=0.03,garbage=0.02,abort=0.02,"
    "filter=0.02,json=0.02,empty=0.02,no-done=0.05,close=0.02"
)

EARLY_MS = 0.05
"""All but a hundredth are no earlier than roundings make them."""

CLOCKS_MS = 0.5
"""No byte arrives before it was sent. But the records' clock never steps while the server reads the wall clock, which
the machine's time keeping sets by fractions of a millisecond in the course of a run."""


Sides = tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]
"""Records and truth, each by the request's name."""


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Sides:
    """Both sides of one run."""
    folder = tmp_path_factory.mktemp("truth")
    (folder / "truth.toml").write_text(SCENARIO)
    truth = folder / "truth.jsonl"
    timing = ("--ttft-ms", "60", "--itl-ms", "15", "--distribution", "lognormal", "--prefill-tokens-per-s", "4000")
    with child.running(*timing, "--failures", FAILURES, "--seed", "7", "--truth", str(truth)) as server:
        run = folder / "run"
        ended = commands.llmload("run", "truth.toml", "--host", server.url, "--run-folder", str(run), cwd=folder)
        assert ended.code in {0, 5}, ended.all  # 5: this machine may be too busy to keep up, which bends no time
    records = {f"{row['run']}-{row['worker']}-{row['seq']}": row for row in read(run / "requests.jsonl")}
    told = {row["client_request"]: row for row in read(truth) if not str(row["client_request"]).startswith("preflight")}
    return records, told


def read(path: Path) -> list[dict[str, Any]]:
    """All lines of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_request_has_one_record_and_every_record_one_request(sides: Sides) -> None:
    """Warm-up, window and drain: the server saw exactly what is recorded, and nothing was sent twice."""
    records, told = sides
    assert len(records) > 100
    sent = {name for name, row in records.items() if "before it was sent" not in (row["error"] or "")}
    assert sent == set(told)


def test_outcomes_equal_the_injected_failures(sides: Sides) -> None:
    """One by one; only what a step's end cut is the client's own doing."""
    records, told = sides
    seen = set()
    for name, row in records.items():
        if row["outcome"] != "cancelled":
            assert row["outcome"] == (told[name]["expected"] or row["outcome"]), (row, told[name])
            seen.add(told[name]["outcome"])
    assert len(seen) >= 12, f"too few kinds of failures were met to tell: {sorted(seen)}"


def test_first_tokens_and_gaps_equal_the_truth(sides: Sides) -> None:
    """Token for token: as many as were sent, none before it was sent, half of them within 0.25 ms."""
    records, told = sides
    errors: list[float] = []
    for name, row in records.items():
        if row["ttft_ms"] is None or row["outcome"] in {"cancelled", "stream_error", "protocol_error"}:
            continue
        at = row["sent_at"] * 1000 + row["ttft_ms"]
        arrived = [at]
        for gap in row["gaps_ms"]:
            arrived.append(arrived[-1] + gap)
        sent = [moment * 1000 for moment in told[name]["event_at"]]
        if row["outcome"] == "stream_truncated" and len(arrived) < len(sent):
            continue  # a reset throws away what the kernel still held
        assert len(arrived) == len(sent), name
        errors += [a - s for a, s in zip(arrived, sent, strict=True)]
    assert len(errors) > 1000
    errors.sort()
    assert errors[0] > -CLOCKS_MS
    assert errors[len(errors) // 100] > -EARLY_MS
    assert statistics.median(errors) < 0.25


def test_wall_clock_and_monotonic_clock_agree(sides: Sides) -> None:
    """The server has the whole request after the client began to send it and before the first token was due."""
    records, told = sides
    for name, row in records.items():
        if row["ttft_ms"] is not None:
            assert row["sent_at"] <= told[name]["received_at"] <= row["sent_at"] + row["ttft_ms"] / 1000 + 0.001
