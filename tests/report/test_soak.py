"""The report of a soak: buckets, drift of known size, a soak that was killed, restarts, memory."""

import math
import random
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from llmload.exits import Exit, Stop
from llmload.load import options
from llmload.load import soak as sizes
from llmload.report import building, csv_out, files
from llmload.report.building import Built
from llmload.report.soak import buckets, drift, growth, judge, table
from llmload.report.soak.memory import Memory
from llmload.report.steps import Step
from tests.report.synthetic import START, lines, record, scenario, second, step, write

HOURS = 5
EVERY_S = 4.0
GIB = 2**30


def requests(
    hours: float, slower: Callable[[float], float] = lambda _: 1.0, fails: Callable[[float], float] = lambda _: 0.0
) -> Iterator[dict[str, Any]]:
    """A request every four seconds: TTFT 100 ms and gaps of 20 ms, each some 20 % and 10 % wide, times `slower`."""
    draw = random.Random(1)
    for seq in range(round(hours * 3600 / EVERY_S)):
        sent = seq * EVERY_S
        if draw.random() < fails(sent / 3600):
            yield record(seq, sent=sent, outcome="overloaded", end=5.0, http_status=503, error="503")
            continue
        ttft = 100 * slower(sent / 3600) * draw.lognormvariate(0, 0.2)
        yield record(seq, sent=sent, ttft=round(ttft, 3), gaps=[round(20 * draw.lognormvariate(0, 0.1), 3)] * 4)


def made(folder: Path, hours: float = HOURS, *, killed: bool = False, held: bool = True, **how: Any) -> Path:
    """A run folder of such a soak, or of as long a window; killed, it has no end on record."""
    plan = scenario(name="soak")
    plan["load"] |= {"steps": [1], "window_s": 60.0, "hold_s": hours * 3600 if held else None}
    window = step(0, 1, 0.0, None if killed else hours * 3600)
    more = {"ended_at": None, "verdict": None} if killed else {"ended_at": START + hours * 3600}
    samples = [second(float(at)) for at in range(0, round(hours * 3600), 600)]
    return write(folder, requests(hours, **how), [window], samples, scenario=plan, **more)


@pytest.fixture(scope="module")
def drifting(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Five hours in which first tokens take 5 % longer each hour, the last with a tenth of the requests failing."""
    folder = made(
        tmp_path_factory.mktemp("soak"),
        slower=lambda hour: 1 + 0.05 * int(hour),
        fails=lambda hour: 0.1 if hour >= 4 else 0.0,
    )
    built = building.compute(folder)
    files.write(built)
    return built


def soak_of(built: Built) -> dict[str, Any]:
    """The soak as summary.json has it on disk, or would have."""
    found: dict[str, Any] = orjson.loads(orjson.dumps(built.summary))["soak"]
    return found


def test_a_request_belongs_to_the_bucket_in_which_it_was_sent(drifting: Built) -> None:
    """900 in each hour, whatever became of them, and all buckets together are the row of the step."""
    rows = soak_of(drifting)["buckets"]
    assert [row["started"] for row in rows] == [900] * HOURS
    assert [row["begin_s"] for row in rows] == [0, 3600, 7200, 10800, 14400]
    whole = drifting.summary["rows"][-1]
    for key in ("started", "ok", "failed", "cancelled", "lost"):
        assert sum(row[key] for row in rows) == whole[key]
    assert sum(row["output_tokens_per_s"] * row["window_s"] for row in rows) == pytest.approx(
        whole["output_tokens_per_s"] * whole["window_s"]
    )


def test_the_percentiles_of_a_bucket_are_exact(drifting: Built) -> None:
    """Those of the records that were sent in it, by the rule of every other table."""
    facts = drifting.facts
    third = facts.ok & (facts.numbers("start_s") >= START + 7200) & (facts.numbers("start_s") < START + 10800)
    ttft = facts.numbers("ttft_ms")[third]
    row = soak_of(drifting)["buckets"][2]["ttft_ms"]["ok"]
    assert (row["n"], row["p50"], row["p99"]) == (900, *np.percentile(ttft, [50, 99]).tolist())


def test_a_drift_of_known_size_is_found(drifting: Built) -> None:
    """5 % an hour are 20 % in the fifth: inside the interval, told with its size and since when; ITL is let alone."""
    found = soak_of(drifting)
    assert found["verdict"] == "drifts"
    for percent in ("p50", "p95"):
        change = found["buckets"][4]["change"]["ttft_ms"][percent]
        assert change["low"] < 0.20 < change["high"]
        assert change["low"] > 0
    assert not any("ITL" in reason for reason in found["reasons"])
    (median,) = [reason for reason in found["reasons"] if "the p50 of TTFT" in reason]
    assert median.startswith("the p50 of TTFT rose by ")
    assert median.endswith(("so since 1 h", "so since 2 h"))  # the 5 % of the second hour may be taken for less
    assert found["buckets"][0]["change"]["ttft_ms"]["p50"] is None


def test_failures_are_a_drift_too(drifting: Built) -> None:
    """Some 10 % of the last hour's attempts failed and none before."""
    found = soak_of(drifting)
    failed = found["buckets"][4]["failed"]
    assert found["reasons"][-1] == (
        f"{failed / 900 * 100:.1f} % of the attempts failed in the last whole hour, 0.0 % in the first; so since 4 h"
    )


def test_every_format_has_the_hours(drifting: Built) -> None:
    """The same cells in the terminal, Markdown, HTML with its pictures, and soak.csv."""
    folder = drifting.folder
    csv = (folder / "soak.csv").read_text().splitlines()
    assert len(csv) == 1 + HOURS
    assert {"ttft_ms.ok.p95", "change.itl_ms.p50.low", "outcomes"} <= set(csv[0].split(","))
    markdown = (folder / "report.md").read_text()
    assert "Soak: **drifts**" in markdown
    assert "| 4 h | 900 |" in markdown
    page = (folder / "report.html").read_text()
    for words in ("Soak: drifts", "Time to first token through the soak", "Failures through the soak"):
        assert words in page
    assert "<tr><th>from</th><th>started</th>" in page[page.index("<h2>The soak") :]
    terminal = files.FORMATS["table"](drifting)
    assert " soak: drifts\n" in terminal
    assert "soak" in orjson.loads((folder / "summary.json").read_bytes())


def test_a_steady_soak_says_so_and_what_it_would_have_seen(tmp_path: Path) -> None:
    """Three hours of the same."""
    found = soak_of(building.compute(made(tmp_path, 3)))
    assert (found["verdict"], len(found["reasons"])) == ("steady", 1)
    assert found["reasons"][0].startswith("no percentile of TTFT or ITL changed by 5 % or more")


def test_an_hour_that_stood_out_is_no_drift(tmp_path: Path) -> None:
    """30 % slower in the second of four hours, and the old speed behind it."""
    found = soak_of(building.compute(made(tmp_path, 4, slower=lambda hour: 1.3 if int(hour) == 1 else 1.0)))
    assert found["verdict"] == "steady"
    assert any(reason.startswith("the p50 of TTFT was ") and "from 1 h" in reason for reason in found["reasons"])


def test_a_soak_that_was_killed_gives_all_its_hours(tmp_path: Path) -> None:
    """No end on record, and every file cut in the middle of a line: the hours are there, the last one as a part."""
    folder = made(tmp_path, 2.25, killed=True)
    samples = [
        {"at": START + at, "source": "page", "gpus": [{"uuid": "G", "gpu": "0", "up": True, "values": {
            "energy_joules": 400.0 * at, "memory_used_bytes": 40 * GIB, "memory_total_bytes": 80 * GIB}}]}
        for at in range(-10, 8100, 10)
    ]  # fmt: skip
    lines(folder / "gpu.jsonl", samples)
    lines(folder / "server.jsonl", [{"at": START + at, "source": "s", "engine": "vllm",
                                     "values": {"running": 1}} for at in range(0, 8100, 10)])  # fmt: skip
    for name in ("requests.jsonl", "gpu.jsonl", "server.jsonl", "generator.jsonl"):
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[:-30])
    built = building.compute(folder)
    found = soak_of(built)
    assert built.verdict.word == "INCOMPLETE"
    assert [(row["started"], row["whole"]) for row in found["buckets"]] == [(900, True), (900, True), (224, False)]
    assert [row["gpu"]["energy_joules"] for row in found["buckets"]] == [400.0 * span for span in (3600, 3600, 880)]
    whole = built.summary["rows"][-1]["gpu"]  # until the last sample, at 8,080 s, with the tokens until then
    assert (whole["energy_joules"], whole["power_mean_watts"]) == (400.0 * 8080, 400.0)
    assert whole["joules_per_output_token"] == pytest.approx(400.0 / whole["tokens_per_s_per_gpu"])
    assert found["buckets"][0]["server"]["running_mean"] == 1.0
    assert found["notes"] == ["the last hour is not whole (14 min 52 s of 1 h): it is shown and not compared"]
    assert found["verdict"] == "steady"


def test_failures_that_came_and_went_are_told(tmp_path: Path) -> None:
    """A fifth of the second hour's attempts failed, and nearly none in the others."""
    found = soak_of(building.compute(made(tmp_path, 3, fails=lambda hour: 0.2 if 1 <= hour < 2 else 0.0)))
    share = found["buckets"][1]["failed"] / 900
    assert found["verdict"] == "steady"
    assert found["reasons"][0] == (
        f"{share * 100:.1f} % of the attempts failed in the hour from 1 h, 0.0 % in the first; "
        "not in the last whole hour"
    )


def telemetry(folder: Path, hours: int, used: Callable[[float], float], restart_s: float) -> None:
    """A GPU of 80 GiB and an engine that begins anew once."""
    at = [float(second) for second in range(0, hours * 3600, 20)]
    lines(
        folder / "gpu.jsonl",
        [{"at": START + t, "source": "page", "gpus": [{"uuid": "G", "gpu": "0", "up": True, "values": {
            "memory_used_bytes": used(t / 3600), "memory_total_bytes": 80 * GIB}}]} for t in at],
    )  # fmt: skip
    began = [{"start_time_seconds": START - 60 if t < restart_s else START + restart_s - 30} for t in at]
    counted = [{"output_tokens": 100 * (t if t < restart_s else t - restart_s)} for t in at]
    lines(
        folder / "server.jsonl",
        [{"at": START + t, "source": "s", "engine": "vllm", "values": a | b}
         for t, a, b in zip(at, began, counted, strict=True)],
    )  # fmt: skip


GROWN = (
    "memory grew through the soak: the memory of GPU 0 by 2 GiB an hour (95 %: 2 to 2; full in about 7 h at this pace)"
)


def test_restarts_and_memory_are_told(tmp_path: Path) -> None:
    """One restart, seen in two ways, is one; 2 GiB an hour from 60 GiB on leave under 20 % and some seven hours."""
    folder = made(tmp_path, 3)
    telemetry(folder, 3, lambda hour: (60 + 2 * hour) * GIB, 5400.0)
    built = building.compute(folder)
    found = soak_of(built)
    assert found["restarts_s"] == [5400.0]
    assert [row["restarts"] for row in found["buckets"]] == [0, 1, 0]
    (memory,) = found["memory"]
    assert memory["bytes_per_hour"] == pytest.approx(2 * GIB, rel=1e-3)
    assert memory["headroom_share"] == pytest.approx(14 / 80, abs=1e-3)
    assert found["notes"][0].startswith("the engine began anew 1 time (seen again after 1 h 30 min)")
    assert any(w.startswith(GROWN) for w in built.warnings)
    assert any(
        "under 20 % was left at the fullest moment: of the memory of GPU 0 18 % (66.0 of 80.0 GiB used); " in word
        for word in built.warnings
    )


@pytest.mark.parametrize(("per_hour", "low", "grows"), [(1.0, 0.1, True), (1.0, -0.1, False), (0.39, 0.1, False)])
def test_memory_that_grows_does_so_for_certain_and_by_a_hundredth(per_hour: float, low: float, grows: bool) -> None:
    """Of 80 GiB in two hours: the slope is over 0 with its whole interval, and 0.8 GiB come together."""
    slope = growth.Slope(per_hour * GIB, low * GIB, 2.0 * GIB)
    assert Memory("a GPU's", slope, 60.0 * GIB, 62.0 * GIB, 80.0 * GIB, 2.0).grows is grows


def test_memory_that_stays_is_no_growth(tmp_path: Path) -> None:
    """A cache that fills in the first minutes and stays has no slope."""
    folder = made(tmp_path, 3)
    telemetry(folder, 3, lambda hour: (40 + min(10 * hour, 2)) * GIB, 1e9)
    built = building.compute(folder)
    assert not soak_of(built)["memory"][0]["grows"]
    assert not any("grew" in word for word in built.warnings)
    assert soak_of(built)["notes"] == []


def long(window_s: float) -> Step:
    """A step whose window is so long."""
    return Step(0, 1, None, START, START + window_s, "window", 0, cut=False)


@pytest.mark.parametrize(
    ("window_s", "wanted_s", "expected"),
    [
        (5 * 3600, None, (3600, 5, 5, 1)),
        (5 * 3600 + 0.4, None, (3600, 5, 5, 1)),
        (5 * 3600 - 0.4, None, (3600, 5, 5, 1)),
        (60.2, 10, (10, 6, 6, 1)),
        (63, 10, (10, 7, 6, 1)),
        (2.5 * 3600, None, (3600, 3, 2, 1)),
        (1800, None, (600, 3, 3, 1)),
        (3 * 3600, 600, (600, 18, 18, 6)),
        (4 * 3600, 5400, (5400, 3, 2, 1)),
        (90, 60, (60, 2, 1, 1)),
        (20, 60, (60, 1, 0, 1)),
    ],
)
def test_where_a_window_is_cut(window_s: float, wanted_s: float | None, expected: tuple[float, ...]) -> None:
    """Hours from two hours on, ten minutes below; what is as good as whole is whole; a short one only on demand."""
    cut = buckets.find([long(5.0), long(window_s)], wanted_s)
    assert cut is not None
    assert (cut.size_s, cut.count, cut.full, cut.reference) == expected
    assert (cut.edges[0], cut.edges[-1]) == (START, START + window_s)


def test_short_windows_are_no_soak_and_too_many_buckets_are_refused() -> None:
    """Half an hour is the least that is cut without being asked for."""
    assert buckets.find([long(1700.0)], None) is None
    assert buckets.find([], 60.0) is None
    firsts = [cut.first for size in (None, 600.0) if (cut := buckets.find([long(9000.0 if size else 5400.0)], size))]
    assert firsts == ["first 10 min", "first full hour"]
    with pytest.raises(Stop, match="--bucket: 1 s would cut the window of 5 h into 18,000 parts") as caught:
        buckets.find([long(5 * 3600)], 1.0)
    assert caught.value.code is Exit.USAGE


def test_a_soak_without_a_second_hour_says_how_long_to_hold(tmp_path: Path) -> None:
    """With buckets of an hour an hour and a half has nothing to compare."""
    found = soak_of(building.compute(made(tmp_path, 1.5), bucket_s=3600.0))
    assert found["verdict"] == "too short to say"
    assert found["reasons"][0].endswith("hold the load for 2 h or more")


def test_soak_csv_goes_with_the_soak(tmp_path: Path) -> None:
    """A short window has buckets where they are asked for, and no file of them is left from before where not."""
    folder = made(tmp_path, 0.1, held=False)
    files.write(building.compute(folder, bucket_s=60.0))
    assert (folder / "soak.csv").read_text().count("\n") == 1 + 6
    files.write(building.compute(folder))
    assert not (folder / "soak.csv").exists()
    assert "soak" not in orjson.loads((folder / "summary.json").read_bytes())


@pytest.mark.parametrize(("text", "words"), [("soon", "expected a duration over 0"), ("500ms", "expected 1s or more")])
def test_a_bucket_that_is_none_is_refused(text: str, words: str) -> None:
    """One sentence that names the option."""
    with pytest.raises(Stop, match=f"--bucket: {words}") as caught:
        options.bucket_s(Namespace(bucket=text))
    assert caught.value.code is Exit.USAGE
    assert options.bucket_s(Namespace(bucket="10m")) == 600


def test_few_requests_make_no_verdict(tmp_path: Path) -> None:
    """15 requests in a minute are too few to compare: that is told of a hold of six minutes without being asked."""
    found = soak_of(building.compute(made(tmp_path, 0.1)))
    assert found["verdict"] == "too short to say"
    assert found["reasons"][0].startswith("the first 1 min or the last whole bucket has fewer than 100 successes")
    assert sizes.bucket_s(360.0) == 60.0


def test_the_same_records_give_the_same_interval() -> None:
    """The draws have a seed; equal values have no spread; a wide sample has the spread that theory gives."""
    draw = np.random.default_rng(7)
    values = np.exp(draw.normal(math.log(100), 0.3, 4000))
    blocks = np.repeat(np.arange(drift.BLOCKS), 100)
    found = drift.deviations(values, blocks, (50, 95), 3)
    assert found == drift.deviations(values, blocks, (50, 95), 3)
    # of a median of n normal values: sd · sqrt(pi / 2n)
    assert found[0] == pytest.approx(0.3 * math.sqrt(math.pi / 8000), rel=0.35)
    assert drift.deviations(np.full(50, 7.0), np.zeros(50, dtype=np.int64), (50,), 1) == [0.0]


def test_blocks_that_differ_make_an_interval_wide() -> None:
    """Every other block is twice as slow: requests drawn one by one would hide that, blocks do not."""
    blocks = np.repeat(np.arange(drift.BLOCKS), 250)
    draw = np.random.default_rng(5)
    apart = np.exp(draw.normal(0, 0.1, len(blocks))) * np.where(blocks % 2, 200.0, 100.0)
    mixed = draw.permutation(apart)
    assert drift.deviations(apart, blocks, (95,), 1)[0] > 3 * drift.deviations(mixed, blocks, (95,), 1)[0]


def test_an_interval_by_hand() -> None:
    """From 100 to 110 ms with a deviation of 0.01: ln 1.1 ± t · 0.01; t of one comparison and 39 degrees is 2.0227."""
    assert drift.student(1) == pytest.approx(2.0227, abs=2e-4)
    change = drift.change(110.0, 100.0, 0.01, 1)
    assert change.change == pytest.approx(0.1)
    assert math.log(1 + change.low) == pytest.approx(math.log(1.1) - 0.020227, abs=1e-5)
    assert change.real
    assert not drift.change(100.5, 100.0, 0.01, 1).real
    assert drift.student(24) > drift.student(1)


def test_shares_by_hand() -> None:
    """Newcombe's own example (method 10): 56/70 less 48/80 is 0.2, from 0.0524 to 0.3339."""
    found = drift.shares(56, 70, 48, 80, 1)
    assert (round(found.change, 4), round(found.low, 4), round(found.high, 4)) == (0.2, 0.0524, 0.3339)


def test_a_slope_by_hand() -> None:
    """3 a second with one value far off: all other pairs have it; the line of least squares would not."""
    seconds = np.arange(10.0)
    values = 3.0 * seconds
    values[4] = 1000.0
    found = growth.slope(seconds, values)
    assert found is not None
    assert found.per_hour == pytest.approx(3 * 3600)
    assert growth.slope(seconds[:5], values[:5]) is None


def test_an_interval_of_slopes_by_hand() -> None:
    """The squares of 0 to 7 h: 28 slopes, i + j each; C = 15.84, so the 6th and the 23rd of them, 4 and 10."""
    hours = np.arange(8.0)
    assert growth.slope(hours * 3600, hours**2) == growth.Slope(7.0, 4.0, 10.0)


def test_of_many_values_the_highest_of_each_part_counts() -> None:
    """480 of them are put together in pairs; a pair stands at its middle."""
    seconds, values = growth.thinned(np.arange(480.0), np.tile([1.0, 5.0], 240))
    assert values.tolist() == [5.0] * 240
    assert seconds[:2].tolist() == pytest.approx([479 / 480, 3 * 479 / 480])


def test_a_terminal_shows_every_kth_of_many_buckets(tmp_path: Path) -> None:
    """90 minutes in buckets of two: every second line and the last; soak.csv has all."""
    built = building.compute(made(tmp_path, 1.5), bucket_s=120.0)
    assert built.soak is not None
    short = table.table(built.soak, table.SHORT)
    assert len(short.lines) == 23
    assert "every 2. of 45" in short.title
    assert len(csv_out.soak(built.soak).splitlines()) == 46
    assert built.soak.verdict.word == judge.SHORT


def line(*changes: float | None) -> judge.Line:
    """A figure that was so much higher in the buckets behind the first hour, each time for certain."""
    found = tuple(None if share is None else drift.Change(share, share - 0.01, share + 0.01) for share in changes)
    values = tuple(None if share is None else 100 * (1 + share) for share in changes)
    return judge.Line("the p50 of TTFT", True, judge.MATTERS, found, values, 100.0)


@pytest.mark.parametrize(
    ("changes", "ended_by", "word", "reason"),
    [
        ((0.3, 0.02, 0.1, 0.2), "window", "drifts", "rose by 20 % (+19 % to +21 %), from 100.0 to 120.0 ms in"),
        ((0.3, 0.02, 0.1, 0.2), "window", "drifts", "in the last whole hour; so since 3 h"),
        ((-0.1,), "window", "drifts", "fell by 10 % (-11 % to -9 %), from 100.0 to 90.0 ms in the last whole"),
        ((0.3, 0.1, 0.0), "window", "steady", "30 % higher in the hour from 1 h, and 1 more; not in the last whole"),
        ((0.04, 0.03), "window", "steady", "a change of over 4 % would have been seen"),
        ((0.3, None), "window", "too short to say", "the last whole hour has too few requests to be compared"),
        ((0.0,), "failures", "drifts", "too many failures in a row ended the soak before its time"),
    ],
)  # fmt: skip
def test_the_verdict_by_hand(changes: tuple[float | None, ...], ended_by: str, word: str, reason: str) -> None:
    """What holds to the end is a drift, told from where it began; what came and went is told and is none."""
    held = Step(0, 1, None, START, START + 3600 * (1 + len(changes)), ended_by, 0, cut=False)
    cut = buckets.find([held], None) or buckets.find([held], 3600.0)
    assert cut is not None
    none = judge.Line("failures", False, 0.01, (None,) * len(changes), (0.0,) * len(changes), 0.0)
    found = judge.judge(cut, [line(*changes)], none)
    assert found.word == word
    assert any(reason in sentence for sentence in found.reasons), found.reasons


@pytest.mark.parametrize(("high", "word"), [(0.24, "steady"), (0.26, "too short to say")])
def test_who_is_called_steady_was_seen_closely(high: float, word: str) -> None:
    """A change of 25 % must be ruled out."""
    cut = buckets.find([Step(0, 1, None, START, START + 7200, "window", 0, cut=False)], None)
    assert cut is not None
    told = judge.Line("the p50 of TTFT", True, judge.MATTERS, (drift.Change(0.02, -0.2, high),), (102.0,), 100.0)
    failures = judge.Line("failures", False, 0.01, (None,), (0.0,), 0.0)
    found = judge.judge(cut, [told], failures)
    assert found.word == word
    assert ("a change of 25 % cannot be ruled out: the p50 of TTFT (-20 % to +26 %)" in found.reasons[0]) is (
        high > 0.25
    )


def test_intervals_are_wrong_as_seldom_as_they_say() -> None:
    """Sixty soaks in which nothing drifts and requests of a minute share their fate: one in twenty may say it does."""
    draw = np.random.default_rng(1)
    minutes, percents = np.repeat(np.arange(60), 15), (50, 95, 99)
    blocks = np.arange(900) * drift.BLOCKS // 900
    wrong = 0
    for _ in range(60):
        hours = [np.exp(4.6 + draw.normal(0, 0.2, 900) + draw.normal(0, 0.1, 60)[minutes]) for _ in range(3)]
        values = [np.percentile(hour, percents) for hour in hours]
        apart = [drift.deviations(hour, blocks, percents, seed) for seed, hour in enumerate(hours)]
        wrong += any(
            drift.change(values[later][k], values[0][k], math.hypot(apart[later][k], apart[0][k]), 6).real
            for later in (1, 2)
            for k in range(3)
        )
    assert wrong <= 6
