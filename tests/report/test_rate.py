"""Load by rate in the report: worked numbers, every format, and the doubts about it."""

import random
from pathlib import Path
from typing import Any

import pytest

from llmload.report import columns, files, head, terminal
from llmload.report.building import Built
from llmload.report.plots import PLOTS
from tests.report.synthetic import by_rate, planned, second, step, unsent
from tests.report.test_doubts import none, only
from tests.report.worked import built_of

FREEZE = (5.0, 10.0)


def frozen(room: int | None = None) -> list[dict[str, Any]]:
    """J13: ten a second for 20 s; nothing is answered from 5 to 10 s; `room` in flight at most."""
    records = []
    for seq in range(200):
        at = seq / 10
        wait = FREEZE[1] - at if FREEZE[0] <= at < FREEZE[1] else 0.0
        if wait and room is not None and seq >= 50 + room:
            records.append(unsent(seq, at, rate=10.0))
        else:
            records.append(planned(seq, at, rate=10.0, ttft=100.0 + round(wait * 1000, 3)))
    return records


def run(folder: Path, records: list[dict[str, Any]], rate: float = 10.0, end: float = 20.0, **load: Any) -> Built:
    """One step by rate, watched."""
    steps = [step(0, None, 0.0, end, rate=rate)]
    watched = [second(at) for at in range(int(end) + 1)]
    return built_of(folder, records, steps, generator=watched, load=by_rate(rate, **load))


def whole(built: Built) -> dict[str, Any]:
    """The row of all classes."""
    row: dict[str, Any] = built.summary["rows"][-1]
    return row


def test_a_freeze_of_five_seconds_is_fifty_slow_requests(tmp_path: Path) -> None:
    """J13: 150 take 190 ms, 50 take 290, 390 … 5,190: the p95 lies at rank 189.05, 5 % of the way from 4,190 on."""
    row = whole(run(tmp_path, frozen()))
    assert (row["concurrency"], row["rate"], row["planned"], row["started"], row["not_sent"]) == (None, 10, 200, 200, 0)
    planned_ms = row["from_schedule"]["e2e_ms"]
    assert planned_ms["ok"]["p50"] == pytest.approx(190)
    assert planned_ms["ok"]["p95"] == pytest.approx(4195)
    assert planned_ms["ok"]["max"] == pytest.approx(5190)
    assert planned_ms["all"]["n"] == 200


def test_what_found_no_room_is_infinite_from_the_schedule_alone(tmp_path: Path) -> None:
    """With ten in flight at most, 40 of 200 are not sent: 160 attempts, all ok, and a p90 of the plan that is inf."""
    built = run(tmp_path, frozen(10))
    row = whole(built)
    assert (row["planned"], row["started"], row["not_sent"], row["ok"], row["failed"]) == (200, 160, 40, 160, 0)
    assert row["success_share"] == 1
    assert row["outcomes"] == {"ok": 160}
    assert row["e2e_ms"]["all"]["n"] == 160
    assert row["from_schedule"]["e2e_ms"]["ok"]["n"] == 160
    assert row["from_schedule"]["e2e_ms"]["all"] == {
        "n": 200, "p50": pytest.approx(190), "p90": "inf", "p95": "inf", "p99": "inf"
    }  # fmt: skip
    assert built.verdict.word == "OK"
    words = only(built, "were not sent in time")
    assert words.startswith("40 of 200 planned requests (20 %) were not sent in time at 10/s (64 in flight already): ")
    assert "8 of 10 requests/s were really offered" in words


def test_a_step_in_which_all_failed_has_a_schedule(tmp_path: Path) -> None:
    """No success: over all attempts and what was not sent the figures from the schedule are infinite, not missing."""
    records = [planned(0, 0.0, rate=10.0, outcome="overloaded", end=2.0), unsent(1, 0.1, rate=10.0)]
    block = whole(run(tmp_path, records))["from_schedule"]["ttft_ms"]
    assert block["ok"]["n"] == 0
    assert (block["all"]["n"], block["all"]["p50"]) == (2, "inf")


def test_what_was_not_sent_in_the_warm_up_was_no_request(tmp_path: Path) -> None:
    """Warm-up and drain count what was sent; no failed warm-up is told."""
    records = [planned(n, n / 10, rate=10.0) for n in range(200)]
    records += [unsent(200, -1.0, rate=10.0, phase="warmup"), unsent(201, 20.5, rate=10.0, phase="drain")]
    built = run(tmp_path, [*records, planned(202, -2.0, rate=10.0, phase="warmup")])
    assert (whole(built)["warmup"], whole(built)["drain"], whole(built)["not_sent"]) == (1, 0, 0)
    none(built, "warm-up failed")


def late_by_blocks() -> list[dict[str, Any]]:
    """I06: a hundred a second, ten at a time, each takes one second: block b of ten leaves 0.9·b s late."""
    return [planned(n, n / 100, rate=100.0, late=0.9 * (n // 10), ttft=910.0) for n in range(100)]


def test_late_dispatch_is_in_the_latency_from_the_schedule(tmp_path: Path) -> None:
    """I06: 1,000 ms from sent, always; from the plan 1,000 + 900·b, between 4,600 and 5,500 in the middle."""
    built = run(tmp_path, late_by_blocks(), rate=100.0, end=10.0)
    row = whole(built)
    assert row["e2e_ms"]["ok"]["max"] == pytest.approx(1000)
    assert row["from_schedule"]["e2e_ms"]["ok"]["p50"] == pytest.approx(5050, abs=0.01)
    assert row["from_schedule"]["e2e_ms"]["ok"]["p99"] == pytest.approx(9100, abs=0.01)
    assert "(p99 8,100 ms at 100/s; at most 8,100 ms)" in only(built, "requests were sent later than planned")
    assert "sent - planned in ms, median and most: 4050.00 and 8100.0 at 100/s" in files.FORMATS["table"](built)


def test_a_slip_is_told_where_it_matters(tmp_path: Path) -> None:
    """Over 10 ms and a tenth of the median TTFT: 9 ms of 50, or 40 ms of 500, are passed over; 60 of 500 are not."""
    for name, late, ttft, told in (("a", 0.009, 50.0, False), ("b", 0.04, 500.0, False), ("c", 0.06, 500.0, True)):
        built = run(tmp_path / name, [planned(n, n / 10, rate=10.0, late=late, ttft=ttft) for n in range(200)])
        assert any("sent later than planned" in warning for warning in built.warnings) is told


def test_requests_that_pile_up(tmp_path: Path) -> None:
    """Ten arrive and eight are served a second: 2 more in flight each second, 1 + 6 at first, 1 + 114 at last."""
    records = [planned(n, n / 10, rate=10.0, ttft=round(((n + 1) / 8 - n / 10) * 1000, 3), gaps=[]) for n in range(600)]
    built = run(tmp_path, records, end=60.0)
    words = only(built, "requests pile up at 10/s")
    assert "7 in flight when the window began, 115 when it ended" in words
    none(built, "Little's law")


def test_a_steady_open_loop_has_no_doubt_of_its_own(tmp_path: Path) -> None:
    """Poisson arrivals at 20/s, exponential answers of half a second: in flight goes up and down by chance alone."""
    draw, at, records = random.Random(4), -10.0, []
    while (at := at + draw.expovariate(20)) < 62:
        phase = "warmup" if at < 0 else "measure" if at < 60 else "drain"
        ttft = round(draw.expovariate(2) * 1000, 3)
        records.append(planned(len(records), at, rate=20.0, late=0.0002, ttft=ttft, gaps=[], phase=phase))
    built = run(tmp_path, records, rate=20.0, end=60.0, arrivals="poisson")
    for words in ("pile up", "not sent", "later than planned", "fewer requests", "Little"):
        none(built, words)
    assert built.verdict.word == "OK"


def test_throughput_that_falls_and_answers_that_get_shorter_at_a_higher_rate(tmp_path: Path) -> None:
    """10 tokens at 10/s, then 4 at 20/s; 9 and 7 tokens come behind their windows."""
    steps = [step(0, None, 0, 10, rate=10.0), step(1, None, 20, 30, rate=20.0)]
    records = [planned(n, n / 10, rate=10.0) for n in range(100)]
    records += [planned(100 + n, 20 + n / 20, rate=20.0, step=1, gaps=[10.0] * 3) for n in range(200)]
    built = built_of(tmp_path, records, steps, load=by_rate(10.0, 20.0))
    assert "from 99.1 to 79.3 tokens/s between 10/s and 20 requests/s" in only(built, "throughput falls")
    assert "100 % reached the length asked for at 10/s, 0 % at 20/s" in only(built, "answers get shorter")


def test_fewer_arrivals_than_the_rate(tmp_path: Path) -> None:
    """80 of 100 are less than constant arrivals can be, and than Poisson ones are but by a chance in thousands."""
    records = [planned(n, n / 8, rate=10.0) for n in range(80)]
    assert "8 of 10 requests/s" in only(run(tmp_path / "a", records, end=10.0), "fewer requests arrived than the rate")
    none(run(tmp_path / "b", records, end=10.0, arrivals="poisson"), "fewer requests arrived")


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A run at 2, 5 and 10 requests a second, at the last of which not all were sent."""
    records: list[dict[str, Any]] = []
    steps = []
    for index, rate in enumerate((2.0, 5.0, 10.0)):
        begin = 100.0 * index
        steps.append(step(index, None, begin, begin + 60, rate=rate))
        for n in range(int(rate * 60)):
            make = unsent if rate == 10 and n % 10 == 9 else planned
            facts: dict[str, Any] = {"step": index, "workload": ("short", "long")[n % 2]}
            if make is planned:
                facts |= {"late": 0.0003, "ttft": 80.0 + 10 * rate + n % 7}
            records.append(make(len(records), begin + n / rate, rate=rate, **facts))
    classes = [{"name": "short", "weight": 1.0}, {"name": "long", "weight": 1.0}]
    load = by_rate(2.0, 5.0, 10.0, arrivals="poisson", window_s=60.0)
    return built_of(tmp_path_factory.mktemp("rate"), records, steps, load=load, classes=classes)


def test_the_head_says_which_model_it_was(three: Built) -> None:
    """Open loop, arrivals, rates, limit; the others by their words."""
    assert head.load(three.facts) == (
        "open loop, Poisson arrivals, 2, 5, 10 requests/s, at most 512 in flight, window of 60 s"
    )
    assert head.arrivals({"arrivals": "gamma", "burstiness": 0.5}) == "arrivals in gamma gaps of burstiness 0.5"
    assert head.arrivals({"arrivals": "constant"}) == "constant arrivals"
    assert dict(head.settings(three.facts))["warm-up"] == "every class served and 5 s at least"


def test_tables_by_rate(three: Built) -> None:
    """The first column is the rate, a table holds latency from the plan beside that from sent, and the rate reached."""
    felt, tried, schedule, _ = three.tables
    assert {table.asked for table in three.tables} == {("rate", "asked")}
    assert [line.step for line in felt.lines] == ["2/s"] * 3 + ["5/s"] * 3 + ["10/s"] * 3
    last = dict(zip([column.key for column in schedule.columns], schedule.lines[-1].cells, strict=True))
    assert (last["planned"], last["not_sent"], last["reached_per_s"]) == ("600", "60", "9.00")
    assert (last["ttft_ms.ok.p50"], last["from_schedule.ttft_ms.ok.p50"]) == ("183", "183")
    last = dict(zip([column.key for column in tried.columns], tried.lines[-1].cells, strict=True))
    assert (last["started"], last["ttft_ms.all.p95"], last["from_schedule.ttft_ms.all.p95"]) == ("540", "186", "inf")


def test_nothing_unsent_needs_no_columns(tmp_path: Path) -> None:
    """Planned and not sent are shown where there are any; a closed loop has no schedule at all."""
    _, _, schedule, _ = run(tmp_path, frozen()).tables
    assert not {column.key for column in schedule.columns} & set(columns.IF_NOT_SENT)


@pytest.mark.parametrize("width", [80, 120])
def test_a_report_by_rate_fits_into_a_terminal(three: Built, width: int) -> None:
    """No line is wider."""
    assert max(map(len, terminal.text(three, width).splitlines())) <= width


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("table", ("open loop, Poisson arrivals", "From the schedule")),
        ("markdown", ("| rate asked | class |", "## From the schedule")),
        ("html", ("<th>rate asked</th>", "Latency from the schedule", "requests per second asked for")),
        ("csv", ("from_schedule.e2e_ms.all.p95",)),
        ("json", ('"from_schedule"',)),
    ],
)
def test_every_format_says_so(three: Built, kind: str, words: tuple[str, ...]) -> None:
    """The model and the figures from the schedule are in each; nobody is told of requests in flight in their place."""
    text = files.FORMATS[kind](three)
    assert [word for word in words if word not in text] == []
    assert "in flight |" not in text


def test_pictures_have_the_rate_below(three: Built) -> None:
    """The x axis is the rate, doubling with equal distance."""
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert PLOTS["Latency from the schedule"][0](axes, three) is not None
    assert axes.get_xlabel() == "requests per second asked for"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "5", "10"]
