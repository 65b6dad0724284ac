"""Several steps of change: what each brings, what they promise together, and where nobody can tell."""

from pathlib import Path
from typing import Any

import pytest

from llmload.compare.figures import FIGURES
from llmload.compare.ratios import changes
from llmload.compare.ratios.cells import Deciding
from llmload.compare.ratios.changes import Changes, of_name
from llmload.compare.sides import Level, Pair, Side
from llmload.compare.words import X
from llmload.report import building
from tests.compare.folders import rounds

FOUR = Level(4, None)


def found(
    root: Path, gains: dict[str, float], count: int = 3, *, interleaved: bool = False, key: str = "e2e_p50", **more: Any
) -> Changes | None:
    """Changes of sides that are so many times as fast as the baseline, with a noise of 1 % between rounds."""
    how: dict[str, Any] = {"steps": (4,), "requests": 40, "noise": 0.01} | more

    def side(name: str, gain: float, seed: int) -> Side:
        paths = rounds(root / name, count, seed=seed, ttft_ms=100 / gain, itl_ms=10 / gain, **how)
        return Side(name, tuple(building.compute(path) for path in paths))

    baseline = side("baseline", 1.0, 1)
    pairs = [
        Pair("synthetic", baseline, side(name, gain, 100 * at), (FOUR,), (), ("short", "all"), interleaved)
        for at, (name, gain) in enumerate(gains.items(), 1)
    ]
    return changes.compute(pairs, Deciding(FIGURES[key], FOUR, "all"))


def sure(told: Changes | None) -> Changes:
    """It is there."""
    assert told is not None
    return told


@pytest.mark.parametrize(
    ("name", "expected"),
    [("+A", ("A",)), ("+A+B", ("A", "B")), ("new engine", ("new engine",)), ("a+b", ("a", "b")), ("+", ("+",))],
)
def test_names_tell_changes(name: str, expected: tuple[str, ...]) -> None:
    """Split at each +; a name without one is one change."""
    assert of_name(name) == expected


def test_one_candidate_is_no_steps_of_change(tmp_path: Path) -> None:
    """Nothing to add up; but one that changes two things at once has a warning to give."""
    assert found(tmp_path / "a", {"candidate": 1.5}) is None
    assert sure(found(tmp_path / "b", {"+A+B": 1.5})).warnings == (
        "+A+B changes two things at once; which of A and B brought what cannot be told: run one of them alone",
    )
    assert changes.compute([], Deciding(FIGURES["e2e_p95"], FOUR, "all")) is None


def test_each_change_alone_and_on_top_of_the_other(tmp_path: Path) -> None:
    """1.5 and 2.0 alone, 2.4 together: A on top of B is 1.2, B on top of A is 1.6, each inside its interval."""
    told = sure(found(tmp_path, {"+A": 1.5, "+B": 2.0, "+A+B": 2.4}))
    expected = {
        (("A",), ()): 1.5, (("B",), ()): 2.0, (("A", "B"), ()): 2.4, (("A",), ("B",)): 1.2, (("B",), ("A",)): 1.6,
    }  # fmt: skip
    assert {(item.changes, item.on_top_of) for item in told.contributions} == set(expected)
    for item in told.contributions:
        truth = expected[item.changes, item.on_top_of]
        assert item.gain == pytest.approx(truth, rel=0.05)
        assert item.low is not None
        assert item.high is not None
        assert item.low < item.gain < item.high
        assert item.words.endswith("faster")
    texts = [item.words.split(":")[0] for item in told.contributions]
    assert texts == ["A alone", "B alone", "A and B together", "A on top of B", "B on top of A"]
    assert not told.warnings


def test_together_is_told_as_a_share_of_what_was_promised(tmp_path: Path) -> None:
    """2.4 of 3.0: 1.4 of 2.0 above 1, 70 %, and less than promised by more than chance."""
    (sentence,) = sure(found(tmp_path, {"+A": 1.5, "+B": 2.0, "+A+B": 2.4}, noise=0.001)).combined
    text = sentence.replace(X, "x")
    assert text.startswith("A and B together 2.4x; alone they would promise 1.5x · 2.0x = 3.0x: 7")
    assert "% of the promised gain (of what lies above 1); less than promised, and not by chance (together" in sentence


@pytest.mark.parametrize("interleaved", [False, True])
def test_changes_that_act_independently_are_said_to_be_possibly_so(tmp_path: Path, interleaved: bool) -> None:
    """1.5 and 2.0 alone and 3.0 together."""
    (sentence,) = sure(found(tmp_path, {"+A": 1.5, "+B": 2.0, "+A+B": 3.0}, interleaved=interleaved)).combined
    assert "; that they act independently is not excluded (together / promised " in sentence


def test_a_rate_counts_the_other_way_round(tmp_path: Path) -> None:
    """Requests per second: the same gains."""
    told = sure(found(tmp_path, {"+A": 1.5, "+B": 2.0, "+A+B": 3.0}, key="requests"))
    assert [item.gain for item in told.contributions][:3] == [pytest.approx(n, rel=0.05) for n in (1.5, 2.0, 3.0)]
    assert "is not excluded" in told.combined[0]


def test_a_chain_of_steps_needs_no_warning_and_promises_nothing(tmp_path: Path) -> None:
    """+A, then +A+B: what B brings on top of A is known, what it would bring alone is not."""
    told = sure(found(tmp_path, {"+A": 1.5, "+A+B": 2.4}))
    assert [(item.changes, item.on_top_of) for item in told.contributions] == [
        (("A",), ()), (("A", "B"), ()), (("B",), ("A",)),
    ]  # fmt: skip
    assert (told.combined, told.warnings) == ((), ())


def test_two_changes_on_top_of_one_are_two_at_once(tmp_path: Path) -> None:
    """+A and +A+B+C: B and C came together."""
    told = sure(found(tmp_path, {"+A": 1.5, "+A+B+C": 2.4}))
    (warning,) = told.warnings
    assert warning.startswith("+A+B+C changes two things at once against A; which of B and C brought what cannot be")


def test_single_rounds_are_not_repeated(tmp_path: Path) -> None:
    """Intervals over requests, and no word."""
    told = sure(found(tmp_path, {"+A": 1.5, "+B": 2.0, "+A+B": 3.0}, count=1))
    assert all(item.words.endswith(", not repeated") for item in told.contributions)
    assert all(item.low is not None for item in told.contributions)
    assert told.combined[0].endswith("; not repeated, so that it may be chance")


def test_failures_leave_no_promise(tmp_path: Path) -> None:
    """A p95 among failures on every side: nothing can be told, and it says why."""
    told = sure(found(tmp_path, {"+A": 1.5, "+B": 2.0, "+A+B": 3.0}, key="e2e_p95", fail_share=0.3))
    assert all(item.gain is None for item in told.contributions)
    assert "A alone: cannot be told (" in told.contributions[0].words
    assert told.combined == (
        "A and B together: what they promise alone cannot be told, for want of finite figures",
    )  # fmt: skip
