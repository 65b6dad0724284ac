"""One pair of answers, looked at from all sides; which pairs tell most; a team's scorer; a blind review."""

import csv
import io

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.answers import review, scoring, telling
from llmload.answers.judging import Answer, Asked, judge
from llmload.exits import Stop

LOOP = "and so it goes on, " * 6


def asked(baseline: str, candidate: str, id_: str = "q", **more: object) -> Asked:
    """A pair of answers that came."""
    return Asked(id_, "short", "What?", Answer(baseline), Answer(candidate), **more)  # type: ignore[arg-type]


def test_identical_answers() -> None:
    """Nothing more is to be said of them."""
    found = judge(asked("The sum is 85.", "The sum is 85.\n", expected={"number": 85}, again=Answer("The sum is 86.")))
    assert (found.identical, found.similarity, found.differing, found.right) == (True, None, None, (True, True))
    assert found.itself is False
    assert found.found == ("both are right",)


def test_answers_that_differ() -> None:
    """Everything in words, what tells most first."""
    found = judge(asked("It costs 327,846,000.", "It costs 327,486,000.", expected={"number": 327846000}))
    assert (found.identical, found.right) == (False, (True, False))
    assert found.found == (
        "only the baseline is right",
        "numbers differ: 327,846,000 against 327,486,000 (digits changed places)",
        "similarity 0.67",
    )


def test_faults_of_one_side() -> None:
    """Cut, empty, looping: each in the side that has it."""
    pair = Asked("q", "short", None, Answer(" "), Answer(LOOP, "length"))
    found = judge(pair)
    assert found.faults == (frozenset({"empty"}), frozenset({"cut", "loop"}))
    assert found.sound == (False, False)
    assert found.why[:2] == ("the baseline is empty", "the candidate is cut at its limit of tokens")
    assert judge(asked("A lake.", "A brook.")).sound == (True, True)


def test_an_attempt_that_failed_is_no_answer_and_not_right() -> None:
    """A candidate cannot win by failing."""
    found = judge(Asked("q", "short", None, Answer("85"), Answer("85", None, "overloaded"), {"number": 85}))
    assert (found.identical, found.similarity, found.right) == (None, None, (True, False))
    assert found.sound == (True, False)
    assert "the candidate gave no answer (overloaded)" in found.found


def test_answers_that_are_drawn_are_not_held_against_each_other() -> None:
    """Only what is wrong with each by itself counts."""
    found = judge(asked("One 1.", LOOP), random=True)
    assert (found.identical, found.similarity, found.differing) == (None, None, None)
    assert found.faults[1] == {"loop"}


def test_the_most_telling_come_first() -> None:
    """In the order of the docstring; identical ones never."""
    pairs = [
        asked("same", "same", "identical"),
        asked("a b c d", "a b c x", "alike"),
        asked("a b c d", "w x y z", "unlike"),
        asked("cost 12 now", "cost 15 now", "numbers"),
        asked("cost 12 now", "cost 21 now", "swapped"),
        asked("cost a lot", LOOP, "unsound"),
        asked("85", "86", "lost", expected={"number": 85}),
        asked("86", "85", "won", expected={"number": 85}),
    ]
    found = telling.choose([judge(one) for one in pairs])
    assert [one.asked.id for one in found] == [
        "lost", "won", "swapped", "unsound", "numbers", "unlike", "alike",
    ]  # fmt: skip
    assert len(telling.choose([judge(one) for one in pairs], 3)) == 3


PAIRS = [asked(f"baseline {n}", f"candidate {n}", f"q{n}") for n in range(40)]


def test_a_scorer_does_not_know_the_sides() -> None:
    """Two lines a prompt, a and b; both sides are a at times, and the scores find their way back."""
    rows = [orjson.loads(line) for line in scoring.lines(PAIRS, 1).splitlines()]
    assert [row["side"] for row in rows[:4]] == ["a", "b", "a", "b"]
    assert set(rows[0]) == {"id", "prompt", "answer", "side"}
    first = [row["answer"].split()[0] for row in rows if row["side"] == "a"]
    assert 10 < first.count("candidate") < 30
    told = b"".join(b'{"score": 1}\n' if row["answer"].startswith("candidate") else b"0.25\n" for row in rows)
    assert scoring.scores(told, PAIRS, 1) == [(0.25, 1.0)] * 40


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (b"1\n", "expected 2 lines, one for each answer, got 1"),
        (b"1\n2\n", "line 2: expected a number from 0 to 1"),
        (b"1\nnan\n", "line 2: expected"),
        (b'{"note": 1}\n1\n', "line 1: expected"),
        (b"true\n1\n", "line 1: expected"),
        (b"1\n\xff\n", "line 2: expected"),
    ],
)
def test_what_a_scorer_may_not_say(told: bytes, words: str) -> None:
    """A sentence each."""
    with pytest.raises(Stop) as caught:
        scoring.scores(told, PAIRS[:1], 1)
    assert words in caught.value.message


def filled(sheet: str, better: list[str], delimiter: str = ",") -> str:
    """A sheet as a reviewer sends it back."""
    rows = list(csv.DictReader(io.StringIO(sheet)))
    out = io.StringIO()
    writer = csv.DictWriter(out, review.COLUMNS, delimiter=delimiter)
    writer.writeheader()
    for row, word in zip(rows, better, strict=True):
        writer.writerow({**row, "better": word})
    return out.getvalue()


def test_a_blind_review_there_and_back() -> None:
    """Pairs in random order, sides shuffled; who prefers the candidate always is counted so."""
    chosen = review.choose([*PAIRS, asked("same", "same", "same")], 30, 1)
    assert len(chosen) == 30
    assert [one.id for one in chosen] != sorted((one.id for one in chosen), key=lambda id_: int(id_[1:]))
    sheet, key = review.sheet(chosen, 1), review.key(chosen, 1)
    rows = list(csv.DictReader(io.StringIO(sheet)))
    better = ["A" if row["A"].startswith("candidate") else "b" for row in rows]
    assert 5 < better.count("A") < 25
    for delimiter in ",;":
        found = review.read(filled(sheet, [*better[:26], "=", "tie", "", ""], delimiter), key, "review.csv")
        assert (found.candidate, found.baseline, found.ties, found.left) == (26, 0, 2, 2)
    assert found.words == (
        "people found the candidate better in 26, the baseline in 0, no difference in 2; 2 were left open: 100 % of "
        "those decided [87 %, 100 %], sign test p = 3e-08: they prefer the candidate"
    )
    assert "candidate" not in review.page(chosen, 1).replace("candidate 1", "").partition("<h2>")[0]


@pytest.mark.parametrize(
    ("sheet", "key", "words"),
    [
        ("", "number,id,A,B\n1,q,baseline,candidate\n", "missing: number, better"),
        ("number,better\n1,A\n", "", "its key: expected rows"),
        ("number,better\n2,A\n", "number,id,A,B\n1,q,baseline,candidate\n", "pair '2' is not in the key"),
        ("number,better\n1,A\n1,B\n", "number,id,A,B\n1,q,baseline,candidate\n", "pair '1' is there twice"),
        ("number,better\n1,C\n", "number,id,A,B\n1,q,baseline,candidate\n", "pair 1: expected A, B, = or nothing"),
        ("number,better\n1,A\n", "number,id,A,B\n1,q,me,you\n", "its key: pair 1: expected baseline or candidate"),
    ],
)
def test_a_sheet_that_is_none(sheet: str, key: str, words: str) -> None:
    """A sentence each."""
    with pytest.raises(Stop) as caught:
        review.read(sheet, key, "review.csv")
    assert words in caught.value.message


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", " =1", "\n=1", "\x00=1", "\x1b=1"])
def test_no_cell_is_a_formula(text: str) -> None:
    """Those that would be begin with an apostrophe."""
    assert review.guarded(text).startswith("'")


@given(st.lists(st.tuples(st.text(max_size=40), st.text(max_size=40)), max_size=5))
def test_any_answers_make_a_sheet(texts: list[tuple[str, str]]) -> None:
    """It is CSV of as many rows, in which no cell begins like a formula, and one page that holds no foreign markup."""
    pairs = [asked(a, f"<b>{b}", f"-{n}") for n, (a, b) in enumerate(texts)]
    rows = list(csv.reader(io.StringIO(review.sheet(pairs, 1), newline="")))
    assert len(rows) == len(pairs) + 1
    assert all(not cell.startswith(("=", "+", "-", "@", "\t", "\n")) for row in rows for cell in row)
    assert "<b>" not in review.page(pairs, 1).partition("{{")[0].replace("<b>better</b>", "")
    assert all(row[1].startswith("'-") for row in list(csv.reader(io.StringIO(review.key(pairs, 1))))[1:])
