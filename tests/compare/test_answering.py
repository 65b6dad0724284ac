"""Answers of both sides from answers.jsonl and from records: what they come to, and when it is a loss."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from llmload.answers.judging import Answer, Asked, judge
from llmload.answers.known import Known
from llmload.compare import comparing, sides
from llmload.compare.answering import quality, recorded
from llmload.compare.answering.answering import Wanted, compare
from llmload.compare.sides import Level, Pair, Side
from llmload.exits import Exit, Stop
from llmload.record import answers as kept
from llmload.record.answers import Row
from llmload.report import building
from tests.report.synthetic import record, scenario, step, write


def run(folder: Path, texts: dict[str, list[str | None]], **more: Any) -> Path:
    """A run with one in flight, in which each prompt got these texts, one after the other; None failed."""
    rows: list[dict[str, Any]] = []
    for prompt, said in texts.items():
        for text in said:
            facts = {"prompt": prompt, "sent": 0.01 * len(rows), "text": text, "finish_reason": "stop"}
            outcome = "ok" if text is not None else "overloaded"
            rows.append(record(len(rows), outcome=outcome, end=200.0, **facts))
    return write(folder, rows, [step(0, 1)], scenario=scenario(**more))


def pair_of(baseline: list[Path], candidate: list[Path]) -> Pair:
    """A pair of rounds."""
    both = [Side(name, tuple(building.compute(path) for path in paths))
             for name, paths in (("baseline", baseline), ("candidate", candidate))]  # fmt: skip
    return Pair("synthetic", both[0], both[1], (Level(1, None),), (), ("short", "all"), interleaved=False)


TEXTS: dict[str, list[str | None]] = {"short-1": ["It is 5.", "It is 6."], "short-2": ["A lake.", "A brook."]}


@pytest.fixture
def plain(tmp_path: Path) -> Pair:
    """Two runs without a text."""
    return pair_of([run(tmp_path / "a", {"p": [None]})], [run(tmp_path / "b", {"p": [None]})])


def rows(side: kept.Side, right: int, of: int, workload: str = "sums") -> list[Row]:
    """Answers to so many sums, the first so many of them right."""
    return [
        Row(
            side,
            f"q{n}",
            workload,
            f"{n} + 1?",
            f"{n + 1 if n < right else n + 7}.",
            "stop",
            "ok",
            3,
            {"number": n + 1},
        )
        for n in range(of)
    ]


def test_without_answers_there_is_nothing_to_say(plain: Pair, tmp_path: Path) -> None:
    """None, not a page of blanks."""
    assert compare(plain, None) is None
    assert compare(plain, tmp_path) is None
    with pytest.raises(Stop, match="there are no answers to judge; keep them with --save-text") as caught:
        compare(plain, tmp_path, Wanted(sheet=1))
    assert caught.value.code is Exit.UNJUDGED


def test_a_loss_that_is_shown(plain: Pair, tmp_path: Path) -> None:
    """40 right against 30 of 40: ten alone that only the baseline got right, p = 2/1024."""
    kept.write(tmp_path / "answers.jsonl", [*rows("baseline", 40, 40), *rows("candidate", 30, 40)])
    found = compare(plain, tmp_path)
    assert found is not None
    (sums,) = found.classes
    assert (sums.n, sums.checked, sums.correct, sums.loss_points, sums.limit_points) == (40, 40, (1.0, 0.75), 25, 0.5)
    assert sums.identical == 0.75
    assert sums.itself is None
    assert sums.troubles == (("numbers differ", 10, 10),)
    assert sums.lost[0].loss.p == pytest.approx(2 / 1024)
    assert sums.lost[0].shown
    assert found.loss
    low, high = sums.loss_interval or (0, 0)
    assert found.words[0] == (
        f"sums: right answers 100 % against 75 %, a loss of 25.0 [{low:.1f}, {high:.1f}] points where 0.5 are "
        "allowed (40 prompts)"
    )
    assert "30 of 40 answers are identical (75 %)" in found.words
    assert found.examples[0].found[0] == "only the baseline is right"


def test_a_loss_beyond_the_limit_that_is_not_shown(plain: Pair, tmp_path: Path) -> None:
    """40 against 37: beyond half a point, but three coins may fall so (p = 0.25)."""
    kept.write(tmp_path / "answers.jsonl", [*rows("baseline", 40, 40), *rows("candidate", 37, 40)])
    found = compare(plain, tmp_path)
    assert found is not None
    assert not found.loss
    assert found.words[0].endswith("not shown beyond chance; more prompts are needed to tell")


def test_the_limit_is_the_scenarios(tmp_path: Path) -> None:
    """Of a class by its name; of others, the most lenient."""
    classes = [{"name": "short", "weight": 1.0, "slo": None, "extra_body": {}, "quality_loss_points": 30.0}]
    runs = [run(tmp_path / name, {"p": [None]}, classes=classes) for name in "ab"]
    kept.write(tmp_path / "answers.jsonl", [*rows("baseline", 40, 40), *rows("candidate", 30, 40)])
    found = compare(pair_of(runs[:1], runs[1:]), tmp_path)
    assert found is not None
    assert found.classes[0].limit_points == 30
    assert not found.loss


def test_all_questions_together_decide_and_the_classes_are_corrected() -> None:
    """Six lost of either class: 12 of 12 over all is sure, a class alone (p = 1/32) is not when it is one of two."""
    asked = [
        Asked(f"{name}{n}", name, None, Answer("1"), Answer("1" if n >= 6 else "2"), {"number": 1})
        for name in ("sums", "code")
        for n in range(30)
    ]
    found = quality.classes([judge(one) for one in asked], {}, {})
    assert [(one.workload, one.n) for one in found] == [("sums", 30), ("code", 30), ("all", 60)]
    assert [one.lost[0].shown for one in found] == [False, False, True]
    assert [one.lost[0].loss.points for one in found] == [20, 20, 20]


def test_unsound_answers_count_where_no_right_one_is_known() -> None:
    """A loop in 10 of 20 is a loss; failing is one too; what is known to be wrong is not counted twice."""
    loop = "and so on and on, " * 8
    asked = [Asked(f"q{n}", "short", None, Answer("A lake."), Answer("A lake." if n % 2 else loop)) for n in range(20)]
    (found,) = quality.classes([judge(one) for one in asked], {}, {})
    (lost,) = found.lost
    assert (lost.what, lost.shares, lost.shown) == ("sound answers", (1.0, 0.5), True)
    assert found.troubles == (("loop", 0, 10),)
    assert (found.correct, found.loss_points) == ((None, None), None)
    failed = [Asked(f"q{n}", "short", None, Answer("A"), Answer("", None, "overloaded")) for n in range(20)]
    (found,) = quality.classes([judge(one) for one in failed], {}, {})
    assert found.lost[0].shown
    assert found.identical is None
    assert found.troubles == (("no answer", 0, 20),)


def test_the_baseline_against_itself(plain: Pair, tmp_path: Path) -> None:
    """What it does not repeat, nobody else can be blamed for."""
    again = rows("baseline again", 3, 4)
    kept.write(tmp_path / "answers.jsonl", [*rows("baseline", 4, 4), *rows("candidate", 4, 4), *again])
    found = compare(plain, tmp_path)
    assert found is not None
    assert (found.classes[0].identical, found.classes[0].itself) == (1.0, 0.75)
    assert found.words[0] == (
        "4 of 4 answers are identical (100 %); the baseline, asked twice, gave the same answer in 75 %"
    )


def test_prompts_that_differ_are_no_pair(plain: Pair, tmp_path: Path) -> None:
    """They are told."""
    other = Row("candidate", "q0", "sums", "another", "1.", "stop", "ok", 1, {"number": 1})
    lines = [*rows("baseline", 3, 3), other, *rows("candidate", 3, 3)[1:2]]
    kept.write(tmp_path / "answers.jsonl", lines)
    found = compare(plain, tmp_path)
    assert found is not None
    assert found.classes[0].n == 1
    assert "2 prompts were put to one side alone, or differ between the sides: they are left out" in found.words


def test_attempts_that_were_cut_say_nothing(plain: Pair, tmp_path: Path) -> None:
    """Ctrl-C is nobody's loss."""
    cut = [Row("candidate", f"q{n}", "sums", f"{n} + 1?", "", None, "cancelled", None) for n in range(2, 30)]
    kept.write(tmp_path / "answers.jsonl", [*rows("baseline", 30, 30), *rows("candidate", 2, 2), *cut])
    found = compare(plain, tmp_path)
    assert found is not None
    assert (found.classes[0].n, found.classes[0].correct) == (2, (1.0, 1.0))
    first, second = (run(tmp_path / name, TEXTS) for name in "ab")
    lines = (second / "requests.jsonl").read_bytes().splitlines()
    lines[0] = lines[0].replace(b'"outcome":"ok"', b'"outcome":"cancelled"')
    (second / "requests.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    found = compare(pair_of([first], [second]), None)
    assert found is not None
    assert (found.classes[0].n, found.classes[0].identical) == (3, 1.0)


def test_a_reviewer_sees_the_prompts_of_runs(tmp_path: Path) -> None:
    """Records do not hold them: they are made again, without their unique heads, for a sheet and only for it."""
    classes = [
        {"name": "short", "weight": 1.0, "slo": None, "extra_body": {}, "source": "builtin:short", "prompts": 3,
         "max_tokens": 8, "input_tokens": 60},
    ]  # fmt: skip
    texts: dict[str, list[str | None]] = {"short-001": ["A lake."], "elsewhere": ["A lake."]}
    other: dict[str, list[str | None]] = {"short-001": ["A brook."], "elsewhere": ["A brook."]}
    pair = pair_of([run(tmp_path / "a", texts, classes=classes)], [run(tmp_path / "b", other, classes=classes)])
    found = compare(pair, None, Wanted(sheet=9))
    assert found is not None
    prompts = {one.id: one.prompt for one in found.sheet}
    assert prompts["elsewhere@1/0.0"] is None
    assert len(prompts["short-001@1/0.0"] or "") > 100
    assert not (prompts["short-001@1/0.0"] or "").startswith("Case ")
    assert [one.prompt for one in found.examples] == [None, None]


def test_a_damaged_file_is_a_sentence(plain: Pair, tmp_path: Path) -> None:
    """With its line, and code 4."""
    path = tmp_path / "answers.jsonl"
    for expected, words in (({"regex": "("}, "q0: regex: no regular expression"), ({"x": 1}, "q0: nothing is expected"),
                            ({"x": 1, "number": 1}, "q0: unknown expectation 'x'")):  # fmt: skip
        path.unlink(missing_ok=True)
        kept.write(path, [replace(row, expected=expected) for side in kept.SIDES for row in rows(side, 1, 1)])
        with pytest.raises(Stop) as caught:
            compare(plain, tmp_path)
        assert f"answers.jsonl: {words}" in caught.value.message
        assert caught.value.code is Exit.UNJUDGED
    for line, words in (("{", "no JSON"), ("[]", "expected a JSON object"), ('{"side": "me"}', "id: expected str")):
        path.write_text(f"{line}\n")
        with pytest.raises(Stop) as caught:
            compare(plain, tmp_path)
        assert f"answers.jsonl: line 1: {words}" in caught.value.message
        assert caught.value.code is Exit.UNJUDGED


def test_texts_of_records_are_paired_by_prompt_and_turn(tmp_path: Path) -> None:
    """The j-th time that a prompt came, however the attempts lie in the file; warm-up is left out."""
    first = run(tmp_path / "a", TEXTS)
    second = run(tmp_path / "b", {"short-2": ["A lake.", "A BROOK."], "short-1": ["It is 5.", "It is 9."]})
    lines = (second / "requests.jsonl").read_bytes().splitlines(keepends=True)
    warm = orjson.dumps(record(9, phase="warmup", prompt="short-1", sent=-5.0, text="warm")) + b"\n"
    (second / "requests.jsonl").write_bytes(warm + b"".join(reversed(lines)))
    facts = (Known("short-1", None, "facts", 9, {"number": 5}),)
    found = compare(pair_of([first], [second]), None, Wanted(facts=facts))
    assert found is not None
    (short,) = found.classes
    assert (short.n, short.identical, short.checked, short.correct) == (4, 0.5, 2, (0.5, 0.5))
    assert [(one.prompt_id, one.prompt, one.baseline, one.candidate) for one in found.examples] == [
        ("short-1@1/0.1", None, "It is 6.", "It is 9."),
        ("short-2@1/0.1", None, "A brook.", "A BROOK."),
    ]
    assert not any("unique heads" in words for words in found.words)
    assert "these are answers under load" in found.words[-1]


def test_facts_that_meet_no_answer_are_told(plain: Pair, tmp_path: Path) -> None:
    """How many met one is said; of those that did not the first are named, and, if none did, what ids look like."""
    pair = pair_of([run(tmp_path / "a", TEXTS)], [run(tmp_path / "b", TEXTS)])
    right = Known("short-1", None, "facts", 9, {"number": 5})
    typing = [Known(f"shrot-{n}", None, "facts", 9, {"number": 5}) for n in range(7)]
    found = [compare(pair, None, Wanted(facts=facts)) for facts in ((right,), (right, *typing), tuple(typing), ())]
    told = [(one.words, one.warnings) for one in found if one is not None]
    assert ["1 of 1 fact met an answer" in told[0][0], told[0][1]] == [True, ()]
    assert "1 of 8 facts met an answer" in told[1][0]
    named = "shrot-0, shrot-1, shrot-2, shrot-3, shrot-4 and 2 more"
    assert told[1][1] == (f"7 of 8 facts met no answer and check nothing: {named}",)
    assert "0 of 7 facts met an answer" in told[2][0]
    assert told[2][1] == (f"7 of 7 facts met no answer and check nothing: {named}; an id of a prompt here is short-1",)
    assert not any("facts met" in words for words in (*told[3][0], *told[3][1]))
    kept.write(tmp_path / "answers.jsonl", [*rows("baseline", 2, 2), *rows("candidate", 2, 2)])
    facts = tuple(Known(name, None, "facts", 9, {"number": 1}) for name in ("q1", "q2"))
    asked = compare(plain, tmp_path, Wanted(facts=facts))
    assert asked is not None
    assert asked.warnings == ("1 of 2 facts met no answer and check nothing: q2",)
    runs = sides.read([str(tmp_path / "a"), str(tmp_path / "b")])
    (compared,) = comparing.compute(runs, comparing.Wanted(answers=Wanted(facts=tuple(typing)))).compared
    assert compared.warnings[-1] == told[2][1][0]


def test_failures_keep_their_turn(tmp_path: Path) -> None:
    """The second answer is held against the second, though the first one failed."""
    second = run(tmp_path / "b", {"short-1": [None, "It is 6."], "short-2": ["A lake.", "A brook."]})
    found = compare(pair_of([run(tmp_path / "a", TEXTS)], [second]), None)
    assert found is not None
    (short,) = found.classes
    assert (short.n, short.identical) == (4, 1.0)
    assert short.troubles == (("no answer", 0, 1),)
    assert "the candidate gave no answer to 1 of 4 prompts (1 overloaded), which counts as a wrong one" in found.words


def test_other_lengths_asked_for_are_no_pair(tmp_path: Path) -> None:
    """A scenario that draws them by another seed asks other things."""
    second = run(tmp_path / "b", TEXTS)
    rows_ = [orjson.loads(line) for line in (second / "requests.jsonl").read_bytes().splitlines()]
    rows_[0]["requested_output_tokens"] = 99
    (second / "requests.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows_))
    found = compare(pair_of([run(tmp_path / "a", TEXTS)], [second]), None)
    assert found is not None
    assert found.classes[0].n == 3


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"seed": 2}, "other unique heads"),
        ({"round": 1}, "other unique heads"),
        ({"temperature": None}, "drawn at random"),
        ({"temperature": 0.7}, "drawn at random"),
        (
            {"classes": [{"name": "short", "weight": 1.0, "slo": None, "extra_body": {}, "temperature": 0.5}]},
            "drawn at random",
        ),
    ],
)
def test_what_makes_answers_differ_by_itself_is_told(tmp_path: Path, more: dict[str, Any], words: str) -> None:
    """Other heads, and a temperature that is not 0: then nothing is held against each other."""
    found = compare(pair_of([run(tmp_path / "a", TEXTS)], [run(tmp_path / "b", TEXTS, **more)]), None)
    assert found is not None
    assert any(words in sentence for sentence in found.words)
    assert (found.classes[0].identical is None) == (words == "drawn at random")


def test_rounds_are_held_against_their_like_and_the_number_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rounds, two pairs of each at most."""
    monkeypatch.setattr(recorded, "MOST", 4)
    rounds = [[run(tmp_path / f"{name}{n}", TEXTS, round=n) for n in (0, 1)] for name in "ab"]
    found = compare(pair_of(*rounds), None)
    assert found is not None
    assert (found.classes[0].n, found.classes[0].identical) == (4, 1.0)
    assert "short: 4 further pairs were left out, 4 at most are judged" in found.words


def test_a_scorer_and_a_review(plain: Pair, tmp_path: Path) -> None:
    """A scorer that likes only the baseline's answers shows a loss; pairs that differ go onto the sheet."""
    kept.write(tmp_path / "answers.jsonl", [*rows("baseline", 12, 12), *rows("candidate", 0, 12)])

    def score(lines: bytes) -> bytes:
        right = [orjson.loads(line) for line in lines.splitlines()]
        return b"\n".join(b"1" if row["answer"] == f"{int(row['id'][1:]) + 1}." else b"0.5" for row in right)

    found = compare(plain, tmp_path, Wanted(score=score, sheet=5))
    assert found is not None
    lost = found.classes[0].lost[-1]
    assert (lost.what, lost.shares, lost.loss.points) == ("score", (1.0, 0.5), 50)
    assert found.loss
    assert len(found.sheet) == 5
