"""Which kind of faster: every rule from cells made by hand, and servers that are faster in one way alone."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from llmload.compare import sides
from llmload.compare.figures import FIGURES
from llmload.compare.kinds import kinds
from llmload.compare.kinds.kinds import Kind
from llmload.compare.kinds.looking import Look, sign
from llmload.compare.ratios import cells
from llmload.compare.ratios.cells import Cell, Deciding
from tests.compare.folders import make
from tests.compare.madecells import cell, level, pair

X = "\N{MULTIPLICATION SIGN}"
SAME = {"ttft_p50": 1.0, "decode": 1.0, "e2e_p50": 1.0, "tokens": 1.0, "requests": 1.0}


def grid(low: dict[str, float | None], high: dict[str, float | None] | None = None, n: int = 3) -> list[Cell]:
    """Cells at 1 and 32 in flight with these gains and 1 for the others; None is not there."""
    places = [(1, SAME | low)] + ([] if high is None else [(32, SAME | high)])
    return [cell(key, gain, at=at, n=n) for at, gains in places for key, gain in gains.items() if gain is not None]


def tell(made: Sequence[Cell], levels: Sequence[int] = (1, 32)) -> list[Kind]:
    """Of runs that hold nothing but these cells."""
    return list(kinds.tell(pair(levels=levels), made))


def keys(found: Iterable[Kind]) -> list[str]:
    """Their keys."""
    return [kind.key for kind in found]


@pytest.mark.parametrize(
    ("low", "key", "words"),
    [
        ({"ttft_p50": 2.0, "decode": 1.5}, kinds.BOTH, "in its first token and in decoding: TTFT p50 2.0x faster"),
        ({"ttft_p50": 2.0}, kinds.PREFILL_ONLY, "in its first token alone (prefill), not in decoding"),
        ({"decode": 1.5}, kinds.DECODE_ONLY, "in decoding alone, not in its first token: TTFT p50 1.00x"),
        ({"ttft_p50": 2.0, "decode": None}, kinds.FIRST_TOKEN, "of its decoding nothing is known"),
        ({"ttft_p50": None, "decode": 2.0}, kinds.DECODING, "of its first token nothing is known"),
        ({"ttft_p50": 2.0, "decode": 0.5}, kinds.FIRST_TOKEN, "and slower in decoding: TTFT p50 2.0x faster"),
        ({"ttft_p50": 0.5, "decode": 2.0}, kinds.DECODING, "and slower in its first token: TTFT p50 2.0x slower"),
        ({"e2e_p50": 1.5}, kinds.WHOLE, "Whole answers came sooner at 1 in flight"),
        ({}, kinds.NOTHING, "Nothing became faster: E2E p50 1.00x (0.98 to 1.02) at 1 in flight"),
        ({"decode": 0.5}, kinds.NOTHING, "some became slower: decode speed per user 2.0x slower (1.96 to 2.04) at 1"),
    ],
)
def test_a_single_request(low: dict[str, float | None], key: str, words: str) -> None:
    """By first token and decoding at the lowest level."""
    found = tell(grid(low), (1,))
    assert keys(found) == [key]
    assert words in found[0].words.replace(X, "x")


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ({}, {"tokens": 2.0, "e2e_p50": 2.0, "ttft_p50": 4.0}, [kinds.THROUGHPUT]),
        ({}, {"tokens": None, "requests": 2.0}, [kinds.THROUGHPUT]),
        ({}, {"ttft_p50": 4.0, "e2e_p50": 2.0}, [kinds.UNDER_LOAD]),
        ({"e2e_p50": 0.7}, {"tokens": 2.0, "e2e_p50": 2.0}, [kinds.HIGH_LOAD]),
        (
            {"decode": 1.5, "e2e_p50": 1.4},
            {"tokens": 0.7, "e2e_p50": 0.7},
            [kinds.DECODE_ONLY, kinds.LOW_LOAD],
        ),
        ({"decode": 1.5, "e2e_p50": 1.4}, {"tokens": 1.4, "e2e_p50": 1.4}, [kinds.DECODE_ONLY]),
        ({"decode": 1.5, "e2e_p50": 1.4}, {"tokens": 14.0, "e2e_p50": 14.0}, [kinds.DECODE_ONLY, kinds.GROWS]),
        ({"decode": 5.0, "e2e_p50": 4.5}, {"tokens": 1.4, "e2e_p50": 1.4}, [kinds.DECODE_ONLY, kinds.FADES]),
        ({}, {"e2e_p50": 0.5}, [kinds.NOTHING]),
    ],
)
def test_under_load(low: dict[str, float | None], high: dict[str, float | None], expected: list[str]) -> None:
    """What the highest level gained against what one request has of it."""
    assert keys(tell(grid(low, high))) == expected


def test_throughput_says_who_gained() -> None:
    """Not the user by himself, the requests in flight."""
    (found,) = tell(grid({}, {"tokens": 2.0, "e2e_p50": 2.0}))
    assert found.words.replace(X, "x") == (
        "Only throughput rose: at 32 in flight output tokens per s 2.0x faster (1.96 to 2.04), but one request by "
        "itself is no faster (at 1 in flight E2E p50 1.00x (0.98 to 1.02)); more is served at once; what a user has "
        "of it there: E2E p50 2.0x faster (1.96 to 2.04)"
    )


def test_what_is_not_sure_is_said_so() -> None:
    """Of one run a side, and of a cell that keeps no word among so many."""
    once = tell(grid({"decode": 1.5}, n=1), (1,))
    assert once[0].words.startswith("It looks as if a single request became faster in decoding alone")
    corrected = cell("decode", 1.5, at=1, word="no difference shown")
    assert tell([corrected, cell("ttft_p50", 1.0, at=1)], (1,))[0].words.startswith("It looks as if a single")
    assert tell(grid({"decode": 1.5}), (1,))[0].words.startswith("A single request")


def test_what_runs_differ_by_themselves_is_no_kind_of_faster() -> None:
    """8 % in one run a side, however narrow its interval over requests is; repeated it is one, and 1 % never is."""
    (once,) = tell(grid({"decode": 1.08}, n=1), (1,))
    assert once.key == kinds.NOTHING
    assert "by more than the 10 % by which runs may differ" in once.words
    assert keys(tell(grid({"decode": 1.08}), (1,))) == [kinds.DECODE_ONLY]
    assert keys(tell([cell("decode", 1.01, 1.005, 1.015, at=1)], (1,))) == [kinds.NOTHING]


def test_without_a_single_cell() -> None:
    """Nothing that these runs could show."""
    assert tell([], (1,)) == [Kind(kinds.NOTHING, "Nothing became faster that these runs could show")]


def test_a_lowest_level_that_is_no_single_request() -> None:
    """It is called what it is."""
    (found,) = tell([cell("decode", 1.5, at=8), cell("ttft_p50", 1.0, at=8)], (8,))
    assert found.words.startswith("A request at the lowest load (8 in flight) became faster in decoding alone")


def test_signs() -> None:
    """Of infinite gains, of no interval, of no word."""
    assert sign(None) is None
    assert sign(cell("e2e_p50", 0.0)) == -1
    assert sign(cell("e2e_p50", math.inf)) == 1
    look = Look(pair(), [cell("itl_p50", 3.0, word="no word")])
    assert look.cell("itl_p50", level(32)) is None


def played(tmp_path: Path, apart: dict[str, Any], n: int = 1, classes: Sequence[str] = (), **common: Any) -> list[Kind]:
    """Kinds of two played servers, `n` rounds a side; `apart` is what the candidate has of its own."""
    how: dict[str, Any] = {
        "steps": (1, 8, 32), "requests": 60, "noise": 0.01, "workloads": {"short": {"tokens": 40}}, **common,
    }  # fmt: skip
    for side, seed in (("baseline", 1), ("candidate", 100)):
        for at in range(n):
            more = apart if side == "candidate" else {}
            place = tmp_path / side / str(at)
            make(place, seed=seed + at, started=600.0 * (2 * at + (seed > 1)), **(how | more))
    both = sides.read([str(tmp_path / "baseline"), str(tmp_path / "candidate")]).pairs[0]
    both = replace(both, workloads=(*classes, "all"))  # cells of classes take their time
    deciding = Deciding(FIGURES["e2e_p95"], both.levels[-1], "all")
    return list(kinds.tell(both, cells.compute(both, deciding)))


def words(found: Sequence[Kind], key: str) -> str:
    """The sentence of a kind."""
    return next(kind.words for kind in found if kind.key == key).replace(X, "x")


def test_decoding_alone(tmp_path: Path) -> None:
    """1.5 times in decoding, three rounds a side."""
    found = played(tmp_path, {"itl_ms": 10 / 1.5}, n=3)
    assert keys(found) == [kinds.DECODE_ONLY]
    assert words(found, kinds.DECODE_ONLY).startswith("A single request became faster in decoding alone")
    assert "decode speed per user 1.5x faster" in words(found, kinds.DECODE_ONLY)


def test_more_slots_alone(tmp_path: Path) -> None:
    """8 at once against all: throughput, and more that is served as fast as a single one."""
    found = played(tmp_path, {"slots": None}, slots=8)
    assert keys(found) == [kinds.THROUGHPUT, kinds.CAPACITY]
    assert words(found, kinds.CAPACITY).endswith("serves up to 32 in flight, the baseline up to 8 in flight")


def test_capacity_within_the_promise(tmp_path: Path) -> None:
    """The same with an SLO on first tokens, of which the share is measured."""
    promise = {"workloads": {"short": {"tokens": 40, "slo": {"ttft_ms": 400.0}}}}
    found = played(tmp_path, {"slots": None}, slots=8, **promise)
    assert words(found, kinds.CAPACITY) == (
        "It looks as if more is served at once: within the SLO for at least 99 % of the attempts the candidate serves "
        "up to 32 in flight, the baseline up to 8 in flight"
    )


def test_capacity_alone(tmp_path: Path) -> None:
    """First tokens as fast as before at the median, and steadier: the promise is kept, nothing else gained."""
    promise = {"workloads": {"short": {"tokens": 40, "slo": {"ttft_ms": 250.0}}}}
    found = played(tmp_path, {"ttft_spread": 0.15}, ttft_spread=0.6, **promise)
    assert keys(found) == [kinds.CAPACITY_ONLY]
    assert words(found, kinds.CAPACITY_ONLY).startswith("It looks as if only capacity rose: within the SLO")
    assert words(found, kinds.CAPACITY_ONLY).endswith("serves up to 32 in flight, the baseline at no level")


def test_failing_at_once(tmp_path: Path) -> None:
    """30 % fail within 4 ms: nothing is faster, and the failures are said."""
    found = played(tmp_path, {"fail_share": 0.3})
    assert keys(found) == [kinds.NOTHING, kinds.FAILING_FAST]
    assert words(found, kinds.FAILING_FAST).startswith(
        "Failing fast is no speed: half of the candidate's failures at 8 in flight came within 4 ms, where a success "
    )
    assert found[1].doubt


def test_failing_makes_successes_look_fast(tmp_path: Path) -> None:
    """With slots that failures leave free: successes alone look fast, over all attempts nothing does."""
    found = played(tmp_path, {"fail_share": 0.5}, slots=4)
    assert "over successes alone E2E p95 looks" in words(found, kinds.FAILING_FAST)
    assert words(found, kinds.FAILING_FAST).endswith("over all attempts: E2E p95 ∞ on the candidate alone")


def test_slow_failures_are_not_called_fast(tmp_path: Path) -> None:
    """Failures that come after as long as a success."""
    assert keys(played(tmp_path, {"fail_share": 0.3, "fail_ms": 600.0})) == [kinds.NOTHING]


def test_shorter_answers(tmp_path: Path) -> None:
    """60 % of the length: whole answers come sooner, tokens do not."""
    found = played(tmp_path, {"answer": 0.6})
    assert keys(found) == [kinds.SHORTER_ANSWERS]
    assert "shorter answers pose as speed: at 32 in flight they have 24 tokens on average" in words(
        found, kinds.SHORTER_ANSWERS
    )
    both = played(tmp_path / "both", {"answer": 0.6, "itl_ms": 5})
    assert keys(both) == [kinds.DECODE_ONLY, kinds.SHORTER_ANSWERS]
    assert "answers became shorter, which is part of the gain" in words(both, kinds.SHORTER_ANSWERS)


def test_more_short_requests_are_no_shorter_answers(tmp_path: Path) -> None:
    """The faster side got further in its order of requests: as long in each class, shorter on average over all."""
    mix = {"short": {"tokens": 16, "weight": 1.0}, "long": {"tokens": 160, "weight": 1.0}}
    more = {"short": {"tokens": 16, "weight": 4.0}, "long": {"tokens": 160, "weight": 1.0}}
    found = played(tmp_path, {"workloads": more, "itl_ms": 5}, classes=tuple(mix), workloads=mix, steps=(1,))
    assert kinds.DECODE_ONLY in keys(found)
    assert kinds.SHORTER_ANSWERS not in keys(found)


def test_a_median_that_jumps_between_classes_fades_nowhere() -> None:
    """Over all classes 4.5 times against 1.4; class by class alike. Where a class shows it too, it is said."""
    made = grid({"decode": 5.0, "e2e_p50": 4.5}, {"tokens": 1.4, "e2e_p50": 1.4})
    for low, expected in ((1.4, [kinds.DECODE_ONLY]), (3.0, [kinds.DECODE_ONLY, kinds.FADES])):
        classes = [cell("e2e_p50", gain, at=at, workload="short") for at, gain in ((1, low), (32, 1.4))]
        assert keys(tell([*made, *classes])) == expected


def test_another_tokenizer_is_no_shorter_answer(tmp_path: Path) -> None:
    """Fewer tokens with as many characters, and twice as fast."""
    found = played(tmp_path, {"answer": 0.6, "chars_per_token": 7.0, "itl_ms": 5})
    assert kinds.SHORTER_ANSWERS not in keys(found)


def test_smaller_tokens_pose_as_speed(tmp_path: Path) -> None:
    """Twice the tokens a second, each with half the characters: no character more a second."""
    found = played(tmp_path, {"itl_ms": 5, "chars_per_token": 2.1})
    assert kinds.SMALLER_TOKENS in keys(found)
    said = words(found, kinds.SMALLER_TOKENS)
    assert "smaller tokens pose as speed: at 32 in flight output tokens per s" in said
    assert "a token of the candidate has 2.1 characters, one of the baseline 4.2" in said
    assert kinds.SMALLER_TOKENS not in keys(played(tmp_path / "same", {"itl_ms": 5}))


LONG = {"steps": (1, 8), "requests": 30, "workloads": {"long": {"tokens": 400, "prompt_spread": 0.1}}}


def test_a_cliff(tmp_path: Path) -> None:
    """After 200 tokens three times as slow, and faster before: short outputs only."""
    cliff = {"workloads": {"long": {"tokens": 400, "prompt_spread": 0.1, "cliff": (200, 3.0)}}}
    found = played(tmp_path, cliff | {"itl_ms": 6}, **LONG)
    assert keys(found) == [kinds.SHORT_OUTPUTS]
    assert "a cliff after 200 tokens at 1 in flight (and at 8)" in words(found, kinds.SHORT_OUTPUTS)
    assert "against the baseline it is 1.7x before the cliff and 0.5" in words(found, kinds.SHORT_OUTPUTS)
    alone = played(tmp_path / "alone", cliff, **LONG)
    assert keys(alone) == [kinds.NOTHING, kinds.CLIFF]
    assert "long answers slow down: a cliff after 200 tokens" in words(alone, kinds.CLIFF)


def test_a_cliff_on_both_sides_is_no_difference(tmp_path: Path) -> None:
    """The baseline falls off as well."""
    workloads = {"long": {"tokens": 400, "prompt_spread": 0.1, "cliff": (200, 3.0)}}
    assert keys(played(tmp_path, {}, **(LONG | {"workloads": workloads}))) == [kinds.NOTHING]


def test_equal_servers(tmp_path: Path) -> None:
    """Three rounds a side of the same."""
    found = played(tmp_path, {}, n=3)
    assert keys(found) == [kinds.NOTHING]
    assert found[0].words.startswith("Nothing became faster: E2E p50")


def test_every_kind_has_its_place() -> None:
    """Each key once, and each is said by one of the tests above."""
    assert len(set(kinds.KEYS)) == len(kinds.KEYS)
    text = Path(__file__).read_text()
    names = {name for name in vars(kinds) if name.isupper() and getattr(kinds, name) in kinds.KEYS}
    assert not {name for name in names if f"kinds.{name}" not in text}
