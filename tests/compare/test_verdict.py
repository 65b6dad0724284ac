"""Verdicts from cells made by hand: every word, what turns it, and the sentence that says so."""

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.compare.answering.answering import Answers
from llmload.compare.claims.claims import Claim
from llmload.compare.differing.differences import Difference
from llmload.compare.figures import FIGURES
from llmload.compare.kinds.kinds import Kind
from llmload.compare.ratios.cells import Cell
from llmload.compare.rule.rule import Rule
from llmload.compare.verdict import holding, overall, verdict
from llmload.compare.verdict.verdict import Verdict
from llmload.exits import Exit
from tests.compare import madecells
from tests.compare.madecells import cell, deciding, level, pair

X = "\N{MULTIPLICATION SIGN}"
LOSS = Answers(classes=(), examples=(), loss=True, words=("short lost 2.0 points, and may lose 0.5",))
MODEL = Difference("model", "m", "n", "undeclared", "the model differs: m against n.")


def claim(factor: float = 14.0, key: str = "e2e_p95", at: float | None = 32, workload: str | None = "all") -> Claim:
    """14x E2E p95 at 32 in flight, unless told otherwise."""
    return Claim(f"{factor:g}x {key}", FIGURES[key], factor, at, workload)


def judge(cells: list[Cell], said: Claim | None = None, **more: Any) -> Verdict:
    """The verdict of these cells."""
    facts: dict[str, Any] = {
        "pair": pair(), "deciding": deciding(), "differences": (), "answers": None, "rule": None, "kinds": (),
    }  # fmt: skip
    return verdict.judge(cells=cells, claim=said, **(facts | more))


def plain(found: Verdict) -> str:
    """The headline with an x where it has a sign."""
    return found.headline.replace(X, "x")


def decider(gain: float | None, low: float | None = None, high: float | None = None, **more: Any) -> Cell:
    """The cell that decides."""
    return cell("e2e_p95", gain, low, high, deciding=True, **more)


@pytest.mark.parametrize(
    ("made", "word", "headline"),
    [
        (
            decider(14.2, 13.5, 15.0),
            "supported",
            (
                "supported: E2E p95 at 32 in flight over all classes became 14.2x faster (13.5 to 15.0, 3 + 3 rounds); "
                "14x is claimed"
            ),
        ),
        (
            decider(2.0, 1.9, 2.1),
            "direction confirmed, size not",
            (
                "direction confirmed, size not: 2.0x (1.9 to 2.1), not 14x: E2E p95 at 32 in flight over all classes, "
                "3 + 3 rounds"
            ),
        ),
        (
            decider(1.02, 0.97, 1.07),
            "not supported",
            "not supported: E2E p95 at 32 in flight over all classes: 1.02x (0.97 to 1.07, 3 + 3 rounds), not 14x",
        ),
        (
            decider(0.5, 0.4, 0.625),
            "not supported",
            (
                "not supported: E2E p95 at 32 in flight over all classes became 2.0x slower (1.6 to 2.5, 3 + 3 "
                "rounds), not 14x"
            ),
        ),
        (
            decider(9.0, 5.0, 16.0),
            "cannot be judged",
            (
                "cannot be judged: E2E p95 at 32 in flight over all classes became 9.0x faster (5.0 to 16.0, 3 + 3 "
                "rounds): that may be the 14x that is claimed, and may be less than the "
                "13.3x that would do; more rounds, or longer ones, "
                "would tell"
            ),
        ),
        (
            decider(14.2, 13.9, 14.6, n=1),
            "cannot be judged",
            (
                "cannot be judged: not repeated: E2E p95 at 32 in flight over all classes became 14.2x faster (13.9 to "
                "14.6 over requests), 14x is claimed; one run a side; three a side are needed for a verdict"
            ),
        ),
        (
            decider(0.0, 0.0, 0.0, candidate=math.inf),
            "not supported",
            (
                "not supported: E2E p95 at 32 in flight over all classes is ∞ on the candidate alone: too "
                "many of its attempts failed; 14x is claimed"
            ),
        ),
        (
            decider(math.inf, baseline=math.inf),
            "cannot be judged",
            (
                "cannot be judged: E2E p95 at 32 in flight over all classes is ∞ on the baseline alone: too "
                "many of its attempts failed, so there is no interval to hold 14x against"
            ),
        ),
        (
            decider(math.inf, math.inf, math.inf, baseline=math.inf),
            "direction confirmed, size not",
            (
                "direction confirmed, size not: E2E p95 at 32 in flight over all classes is ∞ on the baseline "
                "alone: too many of its attempts failed; better, and of no size to hold 14x against"
            ),
        ),
        (
            decider(None, why="both are infinite"),
            "cannot be judged",
            "cannot be judged: E2E p95 at 32 in flight over all classes: both are infinite",
        ),
    ],
)
def test_what_a_claim_gets(made: Cell, word: str, headline: str) -> None:
    """14 times, held against one cell: the word, the whole sentence, the code."""
    found = judge([made], claim())
    assert (found.word, plain(found), found.code) == (word, headline, verdict.WORDS[word])


@pytest.mark.parametrize(
    ("made", "word", "headline"),
    [
        (
            decider(2.0, 1.9, 2.1),
            "faster",
            "faster: E2E p95 at 32 in flight over all classes became 2.0x faster (1.9 to 2.1, 3 + 3 rounds)",
        ),
        (
            decider(0.9, 0.85, 0.95),
            "slower",
            "slower: E2E p95 at 32 in flight over all classes became 11 % slower (1.05 to 1.18, 3 + 3 rounds)",
        ),
        (
            decider(1.02, 0.97, 1.07),
            "no difference shown",
            "no difference shown: E2E p95 at 32 in flight over all classes: 1.02x (0.97 to 1.07, 3 + 3 rounds)",
        ),
        (
            decider(2.0, 1.9, 2.1, n=2),
            "not repeated",
            (
                "not repeated: E2E p95 at 32 in flight over all classes became 2.0x faster (1.9 to 2.1 over requests); "
                "two runs a side; three a side are needed for a verdict"
            ),
        ),
        (
            decider(2.0, 1.9, 2.1, n=2, rounds=(3, 1)),
            "not repeated",
            (
                "not repeated: E2E p95 at 32 in flight over all classes became 2.0x faster (1.9 to 2.1 over requests); "
                "3 and 1 runs; three a side are needed for a verdict"
            ),
        ),
    ],
)
def test_what_is_said_without_a_claim(made: Cell, word: str, headline: str) -> None:
    """Nothing was asked that could fail: code 0, and words that say what was found."""
    found = judge([made])
    assert (found.word, plain(found), found.code) == (word, headline, Exit.OK)


def test_without_a_figure_nothing_is_judged() -> None:
    """No cell, or both sides infinite: code 4, with or without a claim."""
    for cells in ([], [decider(None)]):
        for said in (None, claim()):
            found = judge(cells, said)
            assert (found.word, found.code) == ("cannot be judged", Exit.UNJUDGED)


def test_an_undeclared_difference_leaves_nothing_to_judge() -> None:
    """One is the sentence itself, of several each is a reason. It stands above all else, a lack of rounds too."""
    for said in (None, claim()):
        for n in (1, 3):
            found = judge([decider(14.2, n=n)], said, differences=(MODEL,))
            assert (found.word, found.code) == ("not comparable", Exit.UNJUDGED)
            assert found.headline == f"not comparable: {MODEL.words}"
            assert MODEL.words not in found.reasons
    two = (MODEL, Difference("driver", "1", "2", "undeclared", "the driver differs: 1 against 2"))
    found = judge([decider(14.2)], differences=two)
    assert found.headline == "not comparable: model and driver differ, which nobody declared"
    assert found.reasons[:2] == tuple(item.words for item in two)


def test_declared_differences_are_reasons_only() -> None:
    """What is under test, what was accepted, and what is unknown stand beside the word."""
    kinds = (
        Difference("engine", "a", "b", "variable under test", "the engine differs: a against b"),
        Difference("driver", "1", "2", "accepted", "the driver differs: 1 against 2."),
        Difference("hardware", "unknown", "H100", "note", "the hardware of the baseline is unknown"),
    )
    found = judge([decider(14.2)], claim(), differences=kinds, health=("step 32 of a is generator-bound",))
    assert found.word == "supported"
    assert set(found.reasons) >= {
        "accepted by name: the driver differs: 1 against 2.",
        "under test: the engine differs: a against b",
        "the hardware of the baseline is unknown",
        "step 32 of a is generator-bound",
    }


def test_answers_that_got_worse_turn_supported_alone() -> None:
    """A loss of quality is a failed claim; nothing else changes its word for it, and the reason says how much."""
    found = judge([decider(14.2)], claim(), answers=LOSS)
    assert (found.word, found.code) == ("supported, with a loss of quality", Exit.FAILED)
    assert found.headline.startswith("supported, with a loss of quality: E2E p95 at 32")
    assert LOSS.words[0] in found.reasons
    assert judge([decider(2.0)], claim(), answers=LOSS).word == "direction confirmed, size not"
    faster = judge([decider(2.0)], answers=LOSS)
    assert (faster.word, LOSS.words[0] in faster.reasons) == ("faster", True)


def test_a_claim_that_names_no_level_holds_partly() -> None:
    """14 times at 32 in flight alone: the sentence says where it holds and where not."""
    cells = [cell("e2e_p95", 1.5, at=1), cell("e2e_p95", 3.0, at=8), decider(14.2)]
    found = judge(cells, claim(at=None))
    assert (found.word, found.code) == ("partly", Exit.FAILED)
    assert plain(found) == (
        "partly: 14x E2E p95 holds at 32 in flight (14.2x, 13.9 to 14.5); not at 1 in flight (1.5x, 1.47 to 1.53) and "
        "at 8 in flight (3.0x, 2.9 to 3.1)"
    )
    assert judge(cells, claim(at=32)).word == "supported"


def test_where_it_holds_by_the_tolerance_alone_is_said_of_a_part_too() -> None:
    """A level at which the interval begins below the factor; not where all of them begin above it."""
    cells = [cell("e2e_p95", 1.5, at=1), decider(14.0)]
    assert "14x is taken as held from 13.3x on (5 % of tolerance)" in map(_x, judge(cells, claim(at=None)).reasons)
    above = [cell("e2e_p95", 1.5, at=1), decider(15.0)]
    assert not any("tolerance" in reason for reason in judge(above, claim(at=None)).reasons)


def test_the_other_way_round_it_is_partly_too() -> None:
    """Where it decides it does not hold, and elsewhere it does."""
    cells = [cell("e2e_p95", 14.0, at=1), decider(2.0)]
    assert judge(cells, claim(at=None)).word == "partly"


def test_a_claim_that_names_no_class_holds_partly() -> None:
    """Over all it holds, not for long; a class that was named is the only one asked."""
    alone = [cell("e2e_p95", 2.0, workload="short"), decider(14.2)]
    assert judge(alone, claim(workload=None)).word == "supported"  # one class is all there is
    cells = [cell("e2e_p95", 14.0, workload="short"), cell("e2e_p95", 5.0, workload="long"), decider(14.2)]
    found = judge(cells, claim(workload=None))
    assert found.word == "partly"
    assert "holds over all classes (14.2x, 13.9 to 14.5) and for short" in plain(found)
    assert plain(found).endswith("not for long (5.0x, 4.9 to 5.1)")
    assert judge(cells, claim()).word == "supported"


def test_a_miss_by_less_than_the_tolerance_elsewhere_spoils_nothing() -> None:
    """Of many cells one misses by chance."""
    cells = [cell("e2e_p95", 13.7, 13.5, 13.9, at=1), decider(14.2)]
    assert judge(cells, claim(at=None)).word == "supported"
    assert judge([cell("e2e_p95", 2.0, at=1, n=1), decider(14.2)], claim(at=None)).word == "supported"


def test_where_else_it_holds_or_not_is_a_reason() -> None:
    """Beside a word that is the same everywhere."""
    cells = [cell("e2e_p95", 15.0, at=1), decider(14.2)]
    assert _x(judge(cells, claim(at=None)).reasons[0]) == "the claim also holds at 1 in flight (15.0x, 14.7 to 15.3)"
    cells = [cell("e2e_p95", 3.0, at=1), decider(2.0)]
    found = judge(cells, claim(at=None))
    assert found.word == "direction confirmed, size not"
    assert _x(found.reasons[0]) == "the claim does not hold elsewhere: not at 1 in flight (3.0x, 2.9 to 3.1)"
    assert judge(cells, claim(at=None), differences=(MODEL,)).reasons == ()


def test_what_is_not_decided_holds_neither_also_nor_elsewhere() -> None:
    """Where the deciding cell is unsure, what others show is said to be apart from it."""
    unsure = decider(9.0, 5.0, 16.0)
    for gain, words in ((15.0, "holds at 1 in flight (15.0x, 14.7 to 15.3)"),
                        (3.0, "does not hold at 1 in flight (3.0x, 2.9 to 3.1)")):  # fmt: skip
        found = judge([cell("e2e_p95", gain, at=1), unsure], claim(at=None))
        assert (found.word, [_x(reason) for reason in found.reasons]) == (
            "cannot be judged", [f"apart from what decides, the claim {words}"]
        )  # fmt: skip
    near = judge([cell("e2e_p95", 15.0, at=1), decider(13.5, 13.2, 13.8)], claim(at=None))
    assert near.word == "direction confirmed, size not"
    assert _x(near.reasons[0]) == "apart from what decides, the claim holds at 1 in flight (15.0x, 14.7 to 15.3)"


def test_what_the_tolerance_alone_supports_is_said() -> None:
    """13.4 to 13.9 is 14 times within 5 %, and not within 1 %."""
    found = judge([decider(13.6, 13.4, 13.9)], claim())
    assert found.word == "supported"
    assert any("13.4x: 14x is taken as held from 13.3x on (5 % of tolerance)" in _x(r) for r in found.reasons)
    assert judge([decider(13.6, 13.4, 13.9)], claim(), tolerance=0.01).word == "direction confirmed, size not"


def test_a_claim_of_a_gain_is_not_held_by_none() -> None:
    """3 % faster less 5 % of tolerance would be 2 % slower: a gain must be shown; `1x` claims none."""
    assert judge([decider(1.0, 0.985, 1.02)], claim(1.03)).word == "not supported"
    assert judge([decider(1.0, 1.0, 1.0)], claim(1.03)).word == "not supported"
    assert judge([decider(1.02, 0.99, 1.05)], claim(1.03)).word == "cannot be judged"
    assert judge([decider(1.02, 1.005, 1.04)], claim(1.03)).word == "supported"
    assert judge([decider(1.2, 0.9, 1.6)], claim(1.5), tolerance=0.5).word == "cannot be judged"
    assert judge([decider(1.0, 0.96, 1.04)], claim(1.0)).word == "supported"


def _x(text: str) -> str:
    return text.replace(X, "x")


def test_where_events_carry_several_tokens_tpot_decides() -> None:
    """A claim on gaps is held against the time per token, and says so."""
    gaps = cell("itl_p95", 3.0, word="no word", why="tokens per event differ: 1.0 against 4.0", deciding=True)
    tpot = cell("tpot_p95", 1.1, 1.05, 1.15)
    found = judge([gaps, tpot], claim(3.0, "itl_p95"), deciding=deciding("itl_p95"))
    assert found.word == "direction confirmed, size not"
    assert found.reasons[0] == (
        "ITL p95 has no word here (tokens per event differ: 1.0 against 4.0): TPOT p95 decides instead"
    )
    assert judge([gaps], claim(3.0, "itl_p95"), deciding=deciding("itl_p95")).word == "cannot be judged"


def test_a_figure_without_a_word_judges_no_claim() -> None:
    """Tokens per second of two tokenizers, say."""
    made = cell("tokens", 3.0, word="no word", why="the tokenizers differ", deciding=True)
    found = judge([made], claim(3.0, "tokens"), deciding=deciding("tokens"))
    assert (found.word, "the tokenizers differ" in found.headline) == ("cannot be judged", True)


def test_a_gain_at_a_level_where_more_failed_is_said() -> None:
    """A success share that fell by over a point."""
    fallen = cell("success", 0.7, baseline=1.0, candidate=0.7, workload="short")
    short = cell("e2e_p95", 2.0, deciding=True, workload="short")
    found = judge([short, fallen], deciding=deciding(workload="short"))
    assert found.reasons == (
        (
            "at 32 in flight more failed in class short: 70 % of the candidate's attempts succeeded, 100 % of the "
            "baseline's"
        ),
    )
    small = cell("success", 0.995, baseline=1.0, candidate=0.995, workload="short")
    assert not judge([short, small], deciding=deciding(workload="short")).reasons
    every = replace(fallen, workload="all")  # of all classes the health of the runs says so already
    assert not judge([decider(2.0), every]).reasons


def test_the_rule_and_the_kinds_stand_beside_and_turn_nothing() -> None:
    """A rule that refuses leaves a claim supported; what poses as speed is said."""
    rule = Rule(level(32), (), (), (1.0, 1.0), "not acceptable", ("stability is 0.5",))
    shorter = Kind("shorter answers", "answers became shorter", doubt=True)
    found = judge([decider(14.2)], claim(), rule=rule, kinds=(shorter, Kind("decoding", "decoding became faster")))
    assert found.word == "supported"
    assert "answers became shorter" in found.reasons
    assert "decoding became faster" not in found.reasons
    assert found.reasons[-1] == (
        "the rule of three ratios, which turns no verdict, says: not acceptable (stability is 0.5)"
    )


def test_memory_becomes_better_not_faster() -> None:
    """Words of what is no time; the word for programs stays."""
    made = cell("memory", 2.0, 1.9, 2.1, deciding=True)
    found = judge([made], deciding=deciding("memory"), pair=pair(workloads=("short", "all")))
    assert found.word == "faster"
    assert plain(found) == "better: GPU memory at 32 in flight became 2.0x better (1.9 to 2.1, 3 + 3 rounds)"


@given(
    st.floats(0.1, 30),
    st.floats(1, 1.5),
    st.floats(1, 3),
    st.floats(1.01, 20),
)
def test_a_better_interval_never_makes_a_claim_worse(gain: float, width: float, better: float, factor: float) -> None:
    """Both ends of an interval moved up: from failing to direction to unsure to holding, never back."""
    order = ["fails", "direction", "unsure", "holds"]
    before = holding.standing(decider(gain, gain / width, gain * width), factor, 0.05)
    gain *= better
    after = holding.standing(decider(gain, gain / width, gain * width), factor, 0.05)
    assert order.index(after) >= order.index(before)


def test_several_scenarios_are_said_side_by_side() -> None:
    """Each with its ratio; the code is the worst."""
    two = judge([decider(2.0)])
    less = judge([decider(1.2)])
    items = [
        madecells.compared(two, [decider(2.0)], pair=pair(scenario="short-only")),
        madecells.compared(less, [decider(1.2)]),
    ]
    code, words = overall.of(items)
    assert (code, _x(words)) == (Exit.OK, "E2E p95: 2.0x on short-only, 1.2x on mixed")
    bad = madecells.compared(judge([decider(2.0)], differences=(MODEL,)), [decider(2.0)], pair=pair(scenario="long"))
    same = madecells.compared(judge([decider(1.01)]), [decider(1.01)], pair=pair(scenario="chat"))
    once = madecells.compared(judge([decider(3.0, n=1)]), [decider(3.0, n=1)], pair=pair(scenario="once"))
    none = madecells.compared(judge([]), [], pair=pair(scenario="none"))
    code, words = overall.of([*items, bad, same, once, none])
    assert code == Exit.UNJUDGED
    assert _x(words) == (
        "E2E p95: 2.0x on short-only, 1.2x on mixed, not comparable on long, no difference shown on chat (1.01x), "
        "3.0x on once (not repeated), cannot be judged on none"
    )
    assert overall.of(items[:1]) == (Exit.OK, "")
    assert overall.of([]) == (Exit.OK, "")
