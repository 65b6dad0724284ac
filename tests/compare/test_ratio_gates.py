"""Gates on ratios: what they say, when they hold, and how a slip of the pen is met."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.compare.figures import FIGURES
from llmload.compare.ratios.cells import Cell
from llmload.compare.sides import Level
from llmload.compare.verdict import ratio_gates
from llmload.exits import Exit, Stop

LOW, HIGH = Level(1, None), Level(32, None)


def cell(key: str, level: Level, raw: float | None, workload: str = "all", **more: Any) -> Cell:
    """A cell with an interval of 0.8 to 1.25 of the gain."""
    gain = None if raw is None else (1 / raw if FIGURES[key].lower else raw)
    facts: dict[str, Any] = {
        "level": level, "workload": workload, "figure": FIGURES[key], "baseline": 1.0, "candidate": raw, "gain": gain,
        "low": 0.8, "high": 1.25, "raw": raw, "how": "rounds", "rounds": (3, 3), "requests": (9, 9), "p": 0.5,
        "word": "no difference shown",
    }  # fmt: skip
    return Cell(**(facts | more))


CELLS = (
    cell("e2e_p95", LOW, 0.9),
    cell("e2e_p95", HIGH, 1.04),
    cell("success", LOW, 1.0, low=None, high=None),
    cell("success", HIGH, 0.985),
    cell("ttft_p95", LOW, 0.9),
    cell("ttft_p95", HIGH, None, low=None, high=None, why="both never finish"),
    cell("e2e_p95", LOW, 0.5, "short"),
    cell("e2e_p99", HIGH, math.inf, low=0.0, high=0.0),
    cell("memory", HIGH, 0.5, low=1.9, high=2.1),
)


@pytest.mark.parametrize(
    ("gate", "holds", "words"),
    [
        ("p95_e2e<=1.05", True, "0.9 to 1.04 at 2 levels"),
        ("e2e_p95<=1.05", True, "0.9 to 1.04 at 2 levels"),
        ("p95_e2e<=1", False, "1.04 [0.8, 1.25] at 32"),
        ("p95_e2e<=1@1", True, "0.9 [0.8, 1.25] at 1"),
        ("E2E p95 <= 1 @ 1", True, "0.9 [0.8, 1.25] at 1"),
        ("success>=0.99", False, "0.985 [0.8, 1.25] at 32"),
        ("success>=0.99@1", True, "1 at 1"),
        ("short/p95_e2e<0.6@1", True, "0.5 [0.8, 1.25] at 1"),
        ("short/p95_e2e<0.6", False, "cannot be told at 32"),
        ("ttft_p95<=1", False, "cannot be told at 32 (both never finish)"),
        ("e2e_p99<=1@32", False, "∞ [∞, ∞] at 32"),
        ("memory<=0.6@32", True, "0.5 [0.4762, 0.5263] at 32"),
        ("goodput>=1", False, "cannot be told at 1"),
        ("p95_e2e<=1@64", False, "not both sides have a level of 64; both have: 1, 32"),
        ("long/p95_e2e<=1", False, "no class 'long' on both sides; both have: all, short"),
    ],
)
def test_gates(gate: str, holds: bool, words: str) -> None:
    """Held on candidate / baseline at every level that both have, or at one; the words say what and where."""
    judged = ratio_gates.judge(ratio_gates.parse(gate), CELLS)
    assert (judged.text, judged.holds, judged.words) == (gate, holds, words)


def test_a_rate_is_a_level_too() -> None:
    """Of open loops."""
    cells = [cell("e2e_p95", Level(None, 2.5), 1.2)]
    assert ratio_gates.judge(ratio_gates.parse("p95_e2e<=1@2.5"), cells).words == "1.2 [0.8, 1.25] at 2.5/s"


def test_nothing_holds_without_ratios() -> None:
    """Sides of which nothing could be computed."""
    judged = ratio_gates.judge(ratio_gates.parse("success>=0"), ())
    assert (judged.holds, judged.words) == (False, "no class 'all' on both sides; there is no ratio at all")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not understood; expected for example 'p95_e2e<=1.05'"),
        ("p95_e2e", "not understood"),
        ("p95_e2e=<1", "not understood"),
        ("a/b/p95_e2e<=1", "not understood"),
        ("p59_e2e<=1", "no figure 'p59_e2e'; expected one of: ttft_p50, .*"),
        ("ttft_ms.p95.x<=1", "no figure"),
        ("p95_e2e<=fast", "'fast' is no ratio"),
        ("p95_e2e<=105%", "'105%' is no ratio"),
        ("p95_e2e<=nan", "'nan' is no ratio"),
        ("p95_e2e<=inf", "'inf' is no ratio"),
        ("p95_e2e>=-1", "'-1' is no ratio"),
        ("p95_e2e<=1@many", "'many' is no concurrency and no rate"),
        ("p95_e2e<=1@0", "'0' is no concurrency and no rate"),
    ],
)
def test_slips_are_found_before_anything_is_read(text: str, words: str) -> None:
    """One sentence with the gate and what is wrong with it; exit code 2."""
    with pytest.raises(Stop, match=words) as stop:
        ratio_gates.parse(text)
    assert stop.value.code == Exit.USAGE
    assert stop.value.message.startswith(f"--gate {text!r}: ")


@given(st.text(max_size=30) | st.from_regex(r"[a-z0-9_/]{1,9}(<=|>|==)[0-9.@einf]{1,6}", fullmatch=True))
def test_any_text_is_a_gate_or_a_sentence(text: str) -> None:
    """Nothing that a person types ends in a traceback."""
    found = tried(text)
    if isinstance(found, Stop):
        assert found.code == Exit.USAGE
    else:
        assert ratio_gates.judge(found, CELLS).text == found.text


def tried(text: str) -> ratio_gates.Gate | Stop:
    """A gate, or the sentence about what is none."""
    try:
        return ratio_gates.parse(text)
    except Stop as stop:
        return stop
