"""Are the answers still right: finds the answers of both sides, has them judged, and says what came of it.

From answers.jsonl of `llmload ab --check-answers`, else from runs that kept their texts (--save-text). What is wrong
with a pair is `llmload.answers`, what all of them come to is `quality`.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from llmload.answers import known, review, scoring, telling
from llmload.answers.judging import Answer, Asked, Judged, judge
from llmload.answers.known import Known
from llmload.answers.review import Reviewed
from llmload.compare.answering import quality, recorded
from llmload.compare.answering.quality import Answers, ClassQuality, Example, Lost
from llmload.compare.answering.recorded import Gathered
from llmload.compare.sides import Pair
from llmload.compare.words import count, percent
from llmload.exits import Exit, Stop
from llmload.record import answers as kept

__all__ = ["Answers", "ClassQuality", "Example", "Lost", "Wanted", "compare"]

TOO_HARD = 0.1
"""Where neither side has more right answers than this share, they tell nothing."""
SHOWN = 2000
"""Characters of an answer in an example."""
NAMED = 5
"""Facts without an answer that are named."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """How answers are to be judged, besides what is always looked at."""

    facts: tuple[Known, ...] = ()
    """What is expected of prompts, by their ids."""
    score: Callable[[bytes], bytes] | None = None
    """A team's own scorer: gets lines, gives lines (`llmload.answers.scoring`). Raises Stop."""
    sheet: int = 0
    """Pairs wanted for a blind review."""
    reviewed: Reviewed | None = None
    """What a filled sheet said."""


def compare(pair: Pair, ab_folder: Path | None, wanted: Wanted | None = None) -> Answers | None:
    """Judge the answers of a pair; None if there are none to judge.

    Raises Stop: UNJUDGED for a damaged answers.jsonl, and if more than the usual is wanted of answers that nobody kept;
    USAGE for a scorer that fails.
    """
    wanted = wanted or Wanted()
    found = None if ab_folder is None else asked(ab_folder / kept.ANSWERS, wanted.facts)
    found = found or recorded.find(pair, wanted.facts)
    if found is None:
        if wanted.facts or wanted.score is not None or wanted.sheet:
            raise Stop(
                f"scenario {pair.scenario}: there are no answers to judge; keep them with --save-text in every run, or "
                "ask for them with llmload ab --check-answers",
                Exit.UNJUDGED,
            )
        return None
    seed = _seed(pair)
    shown = recorded.with_prompts(found.pairs, pair) if wanted.score is not None or wanted.sheet else found.pairs
    judged = [judge(one, random=one.workload in found.random) for one in found.pairs]
    scores = _scores(shown, wanted.score, seed)
    classes = quality.classes(judged, limits(pair), scores)
    met, unmet = _facts(wanted.facts, found)
    return Answers(
        classes=classes,
        examples=tuple(_example(one) for one in telling.choose(judged)),
        loss=any(lost.shown for one in classes for lost in one.lost),
        words=(
            *_words(judged, classes),
            *met,
            *found.notes,
            *(() if wanted.reviewed is None else (wanted.reviewed.words,)),
        ),
        sheet=tuple(review.choose(shown, wanted.sheet, seed)) if wanted.sheet else (),
        seed=seed,
        reviewed=wanted.reviewed,
        warnings=unmet,
    )


def _facts(facts: Sequence[Known], found: Gathered) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """How many of the team's facts met an answer, and a warning of those that met none."""
    alone = [one.id for one in facts if one.id not in found.prompts]
    all_of = count(len(facts), "fact")
    met = (f"{len(facts) - len(alone):,} of {all_of} met an answer",) if facts else ()
    if not alone:
        return met, ()
    more = f" and {len(alone) - NAMED:,} more" if len(alone) > NAMED else ""
    example = f"; an id of a prompt here is {min(found.prompts)}" if len(alone) == len(facts) else ""
    return met, (
        f"{len(alone):,} of {all_of} met no answer and check nothing: {', '.join(alone[:NAMED])}{more}{example}",
    )


def limits(pair: Pair) -> dict[str, float]:
    """Points that each class may lose, by the baseline's scenario."""
    found = {}
    for item in pair.baseline.rounds[0].facts.scenario.get("classes") or ():
        points = item.get("quality_loss_points") if isinstance(item, dict) else None
        if type(points) in (int, float) and isinstance(item.get("name"), str):
            found[item["name"]] = float(points or 0)
    return found


def asked(path: Path, facts: Sequence[Known] = ()) -> Gathered | None:
    """The pairs of answers.jsonl, by class and id; None if the file is not there or holds no pair."""
    sides: dict[str, dict[tuple[str, str], kept.Row]] = {side: {} for side in kept.SIDES}
    for row in kept.read(path):
        if row.outcome != recorded.CUT:
            sides[row.side].setdefault((row.workload, row.id), row)
    baseline, candidate, again = (sides[side] for side in kept.SIDES)
    expected = {one.id: one.expected for one in facts}
    for row in baseline.values():
        if row.expected is not None:
            _check(row, path)
    pairs = tuple(
        Asked(
            id=row.id,
            workload=row.workload,
            prompt=row.prompt,
            baseline=_answer(row),
            candidate=_answer(candidate[key]),
            expected=expected.get(row.id, row.expected),
            again=_answer(again[key]) if key in again else None,
        )
        for key, row in baseline.items()
        if key in candidate and candidate[key].prompt == row.prompt
    )
    alone = len(baseline.keys() | candidate.keys()) - len(pairs)
    note = (
        f"{alone} prompts were put to one side alone, or differ between the sides: they are left out" if alone else ""
    )
    return Gathered(pairs, (note,) if note else (), frozenset(one.id for one in pairs)) if pairs else None


def _check(row: kept.Row, path: Path) -> None:
    """Raises Stop(UNJUDGED) for expectations that are none: somebody has written into the file."""
    try:
        known.check(row.expected or {}, f"{path}: {row.id}")
    except Stop as stop:
        raise Stop(stop.message, Exit.UNJUDGED) from None


def _seed(pair: Pair) -> int:
    seed = pair.baseline.rounds[0].facts.scenario.get("seed")
    return seed if type(seed) is int else 1


def _answer(row: kept.Row) -> Answer:
    return Answer(row.answer, row.finish_reason, row.outcome)


def _scores(
    pairs: Sequence[Asked], score: Callable[[bytes], bytes] | None, seed: int
) -> dict[str, list[tuple[float, float]]]:
    """Scores by class; an answer that never came has 0."""
    if score is None:
        return {}
    told = scoring.scores(score(scoring.lines(pairs, seed)), pairs, seed)
    found: dict[str, list[tuple[float, float]]] = {}
    for one, (first, second) in zip(pairs, told, strict=True):
        both = (first if one.baseline.came else 0.0, second if one.candidate.came else 0.0)
        found.setdefault(one.workload, []).append(both)
    return found


def _example(one: Judged) -> Example:
    asked = one.asked
    texts = [answer.text if answer.came else f"({answer.outcome})" for answer in (asked.baseline, asked.candidate)]
    first, second = (text if len(text) <= SHOWN else f"{text[:SHOWN]} …" for text in texts)
    prompt = None if asked.prompt is None else asked.prompt[:SHOWN]
    return Example(asked.id, prompt, first, second, one.found, asked.workload)


def _percent(each: Sequence[bool]) -> str:
    """How many are so: `75 %`; all and none are said only of all and none."""
    share = sum(each) / len(each)
    return percent(share if share in (0, 1) else min(max(share, 0.01), 0.99))


def _words(judged: Sequence[Judged], classes: Sequence[ClassQuality]) -> list[str]:
    """What matters, the losses first."""
    lost = [(one.workload, item) for one in classes for item in one.lost if item.beyond]
    words = [item.words(name) for name, item in sorted(lost, key=lambda each: not each[1].shown)]
    same = [one.identical for one in judged if one.identical is not None]
    if same:
        text = f"{sum(same):,} of {len(same):,} answers are identical ({_percent(same)})"
        if again := [one.itself for one in judged if one.itself is not None]:
            text += f"; the baseline, asked twice, gave the same answer in {_percent(again)}"
        words.append(text)
    for side, name in enumerate(("baseline", "candidate")):
        failed = [one.asked for one in judged if "no answer" in one.faults[side]]
        if failed:
            why = Counter((one.candidate if side else one.baseline).outcome for one in failed).most_common(3)
            words.append(
                f"the {name} gave no answer to {len(failed):,} of {len(judged):,} prompts "
                f"({', '.join(f'{count:,} {outcome}' for outcome, count in why)}), which counts as a wrong one"
            )
    told = [one for one in classes if one.workload != quality.ALL]
    hard = [one for one in told if one.checked and max(share or 0 for share in one.correct) < TOO_HARD]
    words += [f"{one.workload}: too hard for both sides to tell them apart: hardly an answer is right" for one in hard]
    if not any(item.what != "sound answers" for one in classes for item in one.lost):
        words.append("no right answer is known to any of these prompts: only what is plainly unsound counts as a loss")
    return words
