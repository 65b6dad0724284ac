"""Cells: which figures they hold, that they agree with the rows, and every word they may get."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from llmload.compare.figures import FIGURES
from llmload.compare.ratios import attempts, cells, measured
from llmload.compare.ratios.cells import Cell, Deciding
from llmload.compare.ratios.ratios import middle
from llmload.compare.show import numbers
from llmload.compare.sides import Level, Pair, Side
from llmload.report import building
from llmload.report.building import Built
from llmload.report.percentiles import percentile
from tests.compare.folders import make, rounds
from tests.report.synthetic import record, step
from tests.report.worked import built_of

EIGHT = Level(8, None)
BOTH: dict[str, Any] = {
    "steps": (8,),
    "workloads": {"short": {"weight": 3, "slo": {"ttft_ms": 110.0}}, "long": {"tokens": 200}},
}


def pair_of(baseline: list[Path], candidate: list[Path], *, interleaved: bool = False) -> Pair:
    """Two sides of the same steps and classes."""
    sides = [Side(name, tuple(building.compute(path) for path in paths)) for name, paths in
             (("baseline", baseline), ("candidate", candidate))]  # fmt: skip
    rows = sides[0].rounds[0].summary["rows"]
    levels = dict.fromkeys(Level(row["concurrency"], row["rate"]) for row in rows)
    workloads = dict.fromkeys(row["workload"] for row in rows)
    return Pair("synthetic", sides[0], sides[1], tuple(levels), (), tuple(workloads), interleaved)


def computed(pair: Pair, key: str = "e2e_p95", workload: str = "all") -> dict[tuple[str, str], Cell]:
    """The cells of the highest level by class and figure, one of them deciding."""
    found = cells.compute(pair, Deciding(FIGURES[key], pair.levels[-1], workload))
    return {(cell.workload, cell.figure.key): cell for cell in found if cell.level == pair.levels[-1]}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """Three rounds a side of two classes with GPUs: a candidate that decodes 1.5 times as fast, noise 1 %."""
    root = tmp_path_factory.mktemp("mixed")
    how = BOTH | {"requests": 220, "noise": 0.01, "gpu": {"watts": 300.0, "memory_bytes": 40 << 30}}
    quick = how | {"itl_ms": 10 / 1.5, "gpu": {"watts": 300.0, "memory_bytes": 20 << 30}}
    return pair_of(rounds(root / "a", 3, seed=1, **how), rounds(root / "b", 3, seed=50, **quick))


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """The same, one round a side, of which the candidate fails in 3 of 100."""
    root = tmp_path_factory.mktemp("single")
    how = BOTH | {"requests": 220, "gpu": {"watts": 300.0}}
    quick = how | {"itl_ms": 10 / 1.5, "fail_share": 0.03}
    return pair_of(rounds(root / "a", 1, seed=1, **how), rounds(root / "b", 1, seed=50, **quick))


def test_every_figure_that_a_side_has_is_a_cell_in_order(mixed: Pair) -> None:
    """All figures of all classes; of GPUs in `all` alone; a p99 only where 100 attempts stand behind it."""
    found = cells.compute(mixed, Deciding(FIGURES["e2e_p95"], EIGHT, "all"))
    of_all = [cell.figure.key for cell in found if cell.workload == "all"]
    assert of_all == list(FIGURES)
    long = [cell.figure.key for cell in found if cell.workload == "long"]
    assert [key for key in FIGURES if key not in long] == ["ttft_p99", "tpot_p99", "e2e_p99", "memory", "joules"]
    assert [cell.workload for cell in found] == sorted(
        (cell.workload for cell in found), key=["short", "long", "all"].index
    )
    assert [cell.figure.key for cell in found if cell.deciding] == ["e2e_p95"]


def test_a_true_gain_lies_in_the_interval_over_rounds(mixed: Pair) -> None:
    """Decoding 1.5 times as fast: TPOT and decode speed say so, TTFT shows no difference, memory is halved."""
    found = computed(mixed, "tpot_p50")
    for key in ("tpot_p50", "decode", "itl_p50"):
        cell = found["all", key]
        assert cell.low is not None
        assert cell.high is not None
        assert cell.low <= 1.5 <= cell.high
        assert (cell.how, cell.rounds, cell.requests, cell.word) == ("rounds", (3, 3), (660, 660), "faster")
    assert found["all", "ttft_p50"].word == "no difference shown"
    assert "would not be told from the noise between rounds" in found["all", "ttft_p50"].why
    memory = found["all", "memory"]
    assert (memory.gain, memory.low, memory.high, memory.raw) == tuple(pytest.approx(n) for n in (2, 2, 2, 0.5))
    assert (memory.word, memory.shown_word) == ("faster", "better")


def test_the_deciding_cell_is_not_corrected_and_others_are(mixed: Pair) -> None:
    """The chance of a cell is smaller when it decides; the number of the others stands in the clause."""
    decides, others = computed(mixed, "e2e_p50")["all", "e2e_p50"], computed(mixed, "e2e_p95")["all", "e2e_p50"]
    assert decides.p is not None
    assert others.p is not None
    assert decides.p < others.p
    counted = sum(cell.p is not None for cell in computed(mixed).values()) - 1
    assert f"corrected for {counted} cells" in others.why
    assert "corrected" not in decides.why


def test_values_are_geometric_means_of_the_rounds(mixed: Pair) -> None:
    """And the rounds' own values stand beside them, as the rows have them."""
    cell = computed(mixed)["all", "e2e_p95"]
    rows = [mixed.baseline.row(at, EIGHT, "all") for at in range(3)]
    assert cell.values[0] == tuple(row["e2e_ms"]["all"]["p95"] for row in rows if row)
    assert cell.baseline == pytest.approx(math.prod(cell.values[0]) ** (1 / 3))
    assert cell.gain == pytest.approx((cell.baseline or 0) / (cell.candidate or 1))
    assert cell.raw == pytest.approx(1 / (cell.gain or 1))


@pytest.mark.parametrize(
    ("values", "expected"),
    [([2.0, 8.0], 4.0), ([2.0, math.inf], math.inf), ([2.0, None], None), ([0.0, 2.0], 0.0), ([], None)],
)
def test_the_middle_of_rounds(values: list[float | None], expected: float | None) -> None:
    """Infinite if one is, blank if one is missing, never a number made of what is there."""
    assert middle(values) == expected


def test_one_round_a_side_is_not_repeated_and_has_intervals_over_requests(single: Pair) -> None:
    """Drawn by prompt, as both sides asked the same; success shares by themselves; of GPUs there is no interval."""
    found = computed(single)
    for (_, key), cell in found.items():
        assert (cell.word, cell.p) == ("not repeated", None)
        assert cell.why.startswith("1 round a side; 3 are needed")
        if key in ("memory", "joules"):
            assert (cell.low, cell.high, cell.how) == (None, None, None)
        else:
            assert cell.how == ("requests" if key == "success" else "requests, paired by prompt")
            assert cell.low is not None
            assert cell.gain is not None
            assert cell.low <= cell.gain <= (cell.high or 0)
    decode = found["all", "decode"]
    assert (decode.low or 9) <= 1.5 <= (decode.high or 0)
    assert (found["all", "success"].high or 9) < 1
    assert found["all", "success"].shown_word == "not repeated"


def test_a_percentile_among_failures_has_an_interval_that_reaches_0(single: Pair) -> None:
    """3 % of failures: the p99 over all attempts is infinite, the p95 finite, and with other requests perhaps not."""
    found = computed(single)
    p99 = found["all", "e2e_p99"]
    assert (p99.candidate, p99.gain, p99.low, p99.raw) == (math.inf, 0.0, 0.0, math.inf)
    assert "the candidate's p99 falls on failures" in p99.why


def test_two_rounds_a_side_are_pooled_over_requests(tmp_path: Path) -> None:
    """And are not repeated enough either."""
    how: dict[str, Any] = {"steps": (4,), "requests": 60}
    pair = pair_of(rounds(tmp_path / "a", 2, seed=1, **how), rounds(tmp_path / "b", 2, seed=9, **how))
    cell = computed(pair)["all", "e2e_p50"]
    assert (cell.word, cell.how, cell.rounds) == ("not repeated", "requests, paired by prompt", (2, 2))
    assert cell.why == "2 rounds a side; 3 are needed"
    assert (cell.low or 9) < (cell.gain or 0) < (cell.high or 0)
    one_to_three = pair_of(rounds(tmp_path / "c", 1, seed=20, **how), rounds(tmp_path / "d", 3, seed=30, **how))
    assert computed(one_to_three)["all", "e2e_p50"].why == "1 and 3 rounds; 3 are needed"


def test_interleaved_rounds_are_paired(tmp_path: Path) -> None:
    """A drift that both sides share falls out of the ratio: told apart paired, drowned in it otherwise."""
    how: dict[str, Any] = {"steps": (4,), "requests": 60}
    slow = (1.0, 1.5, 2.2)
    ways = [
        [make(tmp_path / f"{side}{n}", seed=seed + n, ttft_ms=100 * drift * by, itl_ms=10 * drift * by, **how)
         for n, drift in enumerate(slow)]
        for side, seed, by in (("a", 1, 1.0), ("b", 11, 0.8))
    ]  # fmt: skip
    apart, beside = (computed(pair_of(*ways, interleaved=way))["all", "e2e_p95"] for way in (False, True))
    assert (apart.word, beside.word) == ("no difference shown", "faster")
    assert (beside.low or 9) <= 1.25 <= (beside.high or 0)


def never(tmp_path: Path, failing: Callable[[int], float], count: int = 3) -> Cell:
    """The deciding cell where the candidate fails so much in each round."""
    how: dict[str, Any] = {"steps": (4,), "requests": 60}
    fast = [make(tmp_path / f"b{n}", seed=70 + n, fail_share=failing(n), **how) for n in range(count)]
    return computed(pair_of(rounds(tmp_path / "a", count, seed=1, **how), fast))["all", "e2e_p95"]


def test_who_fails_in_every_round_is_slower_without_an_interval(tmp_path: Path) -> None:
    """30 % fail at once: the p95 over all attempts is infinite in each round, the baseline's in none."""
    cell = never(tmp_path, lambda _: 0.3)
    assert (cell.candidate, cell.gain, cell.low, cell.high, cell.word) == (math.inf, 0.0, 0.0, 0.0, "slower")
    assert cell.why == "the candidate's p95 falls on failures in 3 of 3 rounds"


def test_who_fails_in_some_rounds_cannot_be_judged(tmp_path: Path) -> None:
    """Infinite in one round of three: there is no logarithm of that, and leaving the round out would flatter."""
    cell = never(tmp_path, lambda n: 0.3 if n == 1 else 0.0)
    assert (cell.gain, cell.raw, numbers.gain(cell)) == (None, None, "?◆")  # no 0.00 times of something
    assert (cell.candidate, cell.low, cell.high, cell.p, cell.word) == (math.inf, None, None, None, "cannot be judged")
    assert cell.why == "the candidate's p95 falls on failures in 1 of 3 rounds"


def test_both_failing_cannot_be_judged(tmp_path: Path) -> None:
    """Infinite on both sides has no ratio."""
    how: dict[str, Any] = {"steps": (4,), "requests": 60, "fail_share": 0.3}
    pair = pair_of(rounds(tmp_path / "a", 3, seed=1, **how), rounds(tmp_path / "b", 3, seed=9, **how))
    cell = computed(pair)["all", "e2e_p95"]
    assert (cell.gain, cell.word) == (None, "cannot be judged")


def test_a_few_failures_in_each_round_alike_are_no_certain_loss(tmp_path: Path) -> None:
    """One failure of 60 in every round against none: alike in each round by chance, and not told from chance."""
    how: dict[str, Any] = {"steps": (4,), "requests": 60}
    good = rounds(tmp_path / "a", 3, seed=1, **how)
    poor = rounds(tmp_path / "b", 3, seed=9, **how)
    for path in poor:
        rows = [orjson.loads(line) for line in (path / "requests.jsonl").read_bytes().splitlines()]
        row = next(row for row in rows if row["phase"] == "measure")
        row |= {"outcome": "rate_limited", "ttft_ms": None, "gaps_ms": [], "events": 0, "last_token_ms": None}
        (path / "requests.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    cell = computed(pair_of(good, poor), "success")["all", "success"]
    assert cell.gain == pytest.approx(59 / 60)
    assert (cell.word, cell.shown_word) == ("no difference shown", "no difference shown")


def test_no_word_on_gaps_where_tokens_per_event_differ(tmp_path: Path) -> None:
    """One token an event against four: a gap is another thing; TPOT decides, and ITL does not count among the many."""
    how: dict[str, Any] = {"steps": (4,), "requests": 60}
    burst = how | {"tokens_per_event": 4.0}
    found = computed(pair_of(rounds(tmp_path / "a", 3, seed=1, **how), rounds(tmp_path / "b", 3, seed=9, **burst)))
    for key in ("itl_p50", "itl_p95", "itl_p99"):
        cell = found["all", key]
        assert (cell.word, cell.p) == ("no word", None)
        assert cell.why.startswith("tokens per event differ (1.0 against 3.9")
        assert cell.why.endswith("): TPOT decides")
        assert cell.gain == pytest.approx(1 / 4, rel=0.1)
    assert found["all", "tpot_p50"].word == "no difference shown"
    again = pair_of(rounds(tmp_path / "c", 3, seed=1, **how), rounds(tmp_path / "d", 3, seed=9, **how))
    assert computed(again)["all", "itl_p50"].word == "no difference shown"


def test_characters_tell_tokenizers_apart(tmp_path: Path) -> None:
    """Half as many tokens of twice the length: tokens per second halve, characters per second stay."""
    how: dict[str, Any] = {"steps": (4,), "requests": 60}
    other = how | {"tokens": 32, "itl_ms": 20.0, "chars_per_token": 8.4}
    found = computed(pair_of(rounds(tmp_path / "a", 3, seed=1, **how), rounds(tmp_path / "b", 3, seed=9, **other)))
    assert found["all", "tokens"].gain == pytest.approx(0.5, rel=0.05)
    assert found["all", "chars"].gain == pytest.approx(1.0, rel=0.05)


def test_characters_per_second_by_hand(tmp_path: Path) -> None:
    """Two answers of ten events and 40 characters in a window of 10 s, one of them half outside of it: 6 a second."""
    more = {"output_chars": 40}
    rows = [record(0, sent=1, **more), record(1, sent=9.855, **more)]  # events at 9.955, 9.965 … 10.045
    built = built_of(tmp_path, rows, [step(0, 1, 0.0, 10.0)])
    assert measured.chars_per_s(built, Level(1, None))["all"] == pytest.approx((40 + 20) / 10)
    rows[0]["output_chars"] = None
    built = built_of(tmp_path / "two", rows, [step(0, 1, 0.0, 10.0)])
    assert measured.chars_per_s(built, Level(1, None)) == {"short": None, "all": None}


def test_without_characters_there_is_no_such_cell(tmp_path: Path) -> None:
    """Neither side tells them."""
    pair = pair_of(
        [make(tmp_path / "a", seed=1, steps=(4,), requests=30)], [make(tmp_path / "b", seed=2, steps=(4,), requests=30)]
    )
    for side in (pair.baseline, pair.candidate):
        side.rounds[0].facts.records["output_chars"] = np.nan
    assert ("all", "chars") not in computed(pair)


def test_the_attempts_that_are_drawn_are_those_of_the_rows(single: Pair) -> None:
    """Number, successes, percentiles and good ones of every class, as summary.json has them."""
    for side in (single.baseline, single.candidate):
        found = attempts.read(side.rounds[0], EIGHT)
        for workload in single.workloads:
            row = side.row(0, EIGHT, workload)
            assert row is not None
            mine = (found.workload == workload) | (workload == "all")
            assert (int(mine.sum()), int(found.ok[mine].sum())) == (row["started"], row["ok"])
            assert found.good[mine].sum() / row["window_s"] == pytest.approx(row["goodput_per_s"])
            ordered = np.sort(found.times["e2e_ms"][mine])
            finite = ordered[np.isfinite(ordered)]
            assert percentile(finite, 95, len(ordered) - len(finite)) == pytest.approx(row["e2e_ms"]["all"]["p95"])
            assert len(found.gaps_ms[mine[found.owner]]) == row["itl_ms"]["ok"]["n"]


def stopped(folder: Path) -> Built:
    """Four ok, one failed, two cut by the user's stop, two lost."""
    rows = [record(seq, sent=seq) for seq in range(4)] + [record(4, sent=4, outcome="overloaded", end=5.0)]
    rows += [record(seq, sent=5, outcome="cancelled", end=1.0, error=None) for seq in (5, 6)]
    steps = [step(0, 1, 0.0, 10.0, ended_by="stopped")]
    run = {"accounting": {"w1": {"started": 9, "finished": 7, "received": 7, "lost": 2}}}
    return built_of(folder, rows, steps, run)


def test_what_the_user_cut_is_left_out_and_what_was_lost_failed(tmp_path: Path) -> None:
    """As in the rows: 4 ok and 3 that are infinite."""
    built = stopped(tmp_path)
    row = built.summary["rows"][-1]
    assert (row["ok"], row["cancelled"], row["lost"]) == (4, 2, 2)
    found = attempts.read(built, Level(1, None))
    assert (len(found.ok), int(found.ok.sum())) == (7, 4)
    assert np.isinf(found.times["e2e_ms"]).sum() == 3


def test_one_side_without_a_figure_cannot_be_judged(tmp_path: Path) -> None:
    """GPU memory was sampled on one side only: the cell is there and says so."""
    how: dict[str, Any] = {"steps": (4,), "requests": 60}
    pair = pair_of(rounds(tmp_path / "a", 3, seed=1, gpu={}, **how), rounds(tmp_path / "b", 3, seed=9, **how))
    cell = computed(pair)["all", "memory"]
    assert (cell.gain, cell.low, cell.word) == (None, None, "cannot be judged")
    assert cell.why == "the candidate has no GPU memory in 3 of 3 rounds"


def test_rates_compare_as_levels_do(tmp_path: Path) -> None:
    """An open loop: what a plan sends is the same on both sides, so that requests per second are too."""
    how: dict[str, Any] = {"rates": (10.0,), "requests": 60}
    pair = pair_of(rounds(tmp_path / "a", 1, seed=1, **how), rounds(tmp_path / "b", 1, seed=9, **how))
    cell = computed(pair)["all", "requests"]
    assert (cell.level.label, cell.gain) == ("10/s", pytest.approx(1.0, rel=0.02))
    assert (cell.low, cell.high) == (pytest.approx(1.0), pytest.approx(1.0))


def test_an_interval_of_a_rate_lies_around_the_rate_as_measured(single: Pair) -> None:
    """What is drawn is scaled by what was counted in the window: for each class and rate the gain lies inside."""
    for (_, key), cell in computed(single).items():
        if key in ("tokens", "chars", "requests", "goodput"):
            assert cell.low is not None
            assert cell.low < (cell.gain or 0) < (cell.high or 0)


def test_without_a_single_success_there_is_a_gain_of_0_and_no_trouble(tmp_path: Path) -> None:
    """Everything failed on one side: infinite, or none per second; of a share the interval ends above 0."""
    rows = [record(seq, sent=seq * 0.2, outcome="overloaded", end=5.0) for seq in range(30)]
    sides = [
        Side(name, (built_of(tmp_path / name, some),))
        for name, some in (("one", [record(seq, sent=seq * 0.2) for seq in range(30)]), ("two", rows))
    ]
    pair = Pair("synthetic", sides[0], sides[1], (Level(1, None),), (), ("short", "all"), interleaved=False)
    found = computed(pair)
    assert [found["all", key].gain for key in ("e2e_p95", "requests", "tokens", "success")] == [0.0] * 4
    success = found["all", "success"]
    assert success.low == 0.0
    assert 0 < (success.high or 0) < 0.2
    assert found["all", "tpot_p50"].word == "not repeated"
    assert found["all", "itl_p50"].word == "cannot be judged"
