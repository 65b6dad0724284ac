"""The statistical proof: what is equal is seldom called faster, and a true 10 % is found.

On whole run folders once (50 comparisons of 3 + 3 rounds, all seeds fixed), on numbers alone often. The noise of a run
is a factor on its speed, and its standard deviation is named with each proof. `python -m tests.bench compare` prints
tables.
"""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from llmload.compare.figures import FIGURES
from llmload.compare.ratios import cells
from llmload.compare.ratios.cells import Deciding
from llmload.compare.sides import Level, Pair, Side
from llmload.report import facts, rows
from llmload.report.building import Built
from tests.compare import trials
from tests.compare.folders import rounds

FOLDERS = 50
NOISE = 0.01
HOW: dict[str, Any] = {
    "steps": (8,), "requests": 120, "tokens": 16, "pace_spread": 0.02, "ttft_spread": 0.05, "noise": NOISE,
}  # fmt: skip


def run(path: Path) -> Built:
    """A run's rows, as the report computes them; without its doubts and tables, which nobody asks for here."""
    known = facts.read(path)
    table = [row for item in rows.build(known) for row in item.rows]
    return cast("Built", SimpleNamespace(facts=known, summary={"rows": table}))


def side(root: Path, seed: int, gain: float = 1.0) -> Side:
    """Three rounds."""
    how = HOW | {"ttft_ms": 100 / gain, "itl_ms": 10 / gain}
    return Side("side", tuple(map(run, rounds(root, 3, seed=seed, **how))))


@pytest.fixture(scope="module")
def baselines(tmp_path_factory: pytest.TempPathFactory) -> list[Side]:
    """Three rounds of the baseline of each comparison."""
    root = tmp_path_factory.mktemp("baselines")
    return [side(root / str(at), 1000 * at) for at in range(FOLDERS)]


def words(baselines: list[Side], candidates: list[Side], *, interleaved: bool) -> Counter[str]:
    """The words of the deciding cells of all comparisons."""
    level = Level(8, None)
    deciding = Deciding(FIGURES["e2e_p95"], level, "all")
    told: Counter[str] = Counter()
    for one, two in zip(baselines, candidates, strict=True):
        found = cells.compute(Pair("proof", one, two, (level,), (), ("all",), interleaved), deciding)
        told[next(cell.word for cell in found if cell.deciding)] += 1
    return told


def test_the_noise_of_the_proof_is_what_it_says(baselines: list[Side]) -> None:
    """1 % from run to run and what 120 requests add to that: the p95 of rounds varies by 1.9 %."""
    logs = np.log([[built.summary["rows"][-1]["e2e_ms"]["all"]["p95"] for built in one.rounds] for one in baselines])
    assert 0.017 < np.sqrt(np.mean(np.var(logs, axis=1, ddof=1))) < 0.022


def test_what_is_equal_is_called_faster_or_slower_at_most_6_times_in_50(tmp_path: Path, baselines: list[Side]) -> None:
    """A/A of 3 + 3 runs: with rounds apart and with rounds paired."""
    candidates = [side(tmp_path / str(at), 1000 * at + 500) for at in range(FOLDERS)]
    for interleaved in (False, True):
        told = words(baselines, candidates, interleaved=interleaved)
        assert told["faster"] + told["slower"] <= 6
        assert told["faster"] + told["slower"] + told["no difference shown"] == FOLDERS


def test_a_true_10_percent_is_found_in_40_of_50(tmp_path: Path, baselines: list[Side]) -> None:
    """A candidate that is 1.1 times as fast: faster in at least 40, slower in none."""
    candidates = [side(tmp_path / str(at), 1000 * at + 700, gain=1.1) for at in range(FOLDERS)]
    for interleaved in (False, True):
        told = words(baselines, candidates, interleaved=interleaved)
        assert told["faster"] >= 40
        assert told["slower"] == 0


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("count", [3, 5])
def test_false_alarms_keep_to_5_in_100(count: int, paired: bool) -> None:
    """500 comparisons of what is equal: 1 to 8 of 100 (three standard errors of 5 are 2.9)."""
    assert 0.01 <= trials.words(500, 1.0, count, 0.05, paired=paired) <= 0.08


def test_a_noise_of_2_percent_leaves_a_true_10_percent_to_be_found() -> None:
    """In 8 of 10 comparisons of 3 + 3 rounds and more; a noise of 10 % hides it from three rounds."""
    assert trials.words(300, 1.1, 3, 0.02, paired=False) > 0.9
    assert trials.words(300, 1.1, 3, 0.02, paired=True) > 0.75
    assert trials.words(300, 1.1, 3, 0.10, paired=False) < 0.2


def test_a_drift_that_neighbours_share_is_what_pairing_is_for() -> None:
    """5 % of drift and 1 % of noise: a true 10 % is found by pairs, and drowns without."""
    assert trials.words(200, 1.1, 3, 0.01, drift=0.05, paired=True) > 0.95
    assert trials.words(200, 1.1, 3, 0.01, drift=0.05, paired=False) < 0.6


def test_one_run_a_side_cries_wolf_where_runs_differ() -> None:
    """At a noise of 10 % intervals over requests exclude 1 in 4 to 6 of 10 A/A pairs: hence "not repeated"."""
    assert trials.alarms(60, 0.10) > 0.3
    assert trials.alarms(60, 0.0) < 0.1


@pytest.mark.parametrize(
    ("key", "how"),
    [
        ("e2e_p95", {"prompts": True}),
        ("e2e_p95", {"prompts": False, "fail": 0.02}),
        ("decode", {"prompts": True}),
        ("itl_p95", {"prompts": False, "gaps": 30, "n": 100}),
        ("success", {"prompts": False, "fail": 0.02}),
    ],
)
def test_intervals_over_requests_hold_the_truth_where_runs_do_not_differ(key: str, how: dict[str, Any]) -> None:
    """95 % of them by name; 90 to 99.5 of 100 here (100 comparisons)."""
    assert 0.90 <= trials.coverage(100, key, **how) <= 0.995
