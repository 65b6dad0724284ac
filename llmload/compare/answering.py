"""Are the answers still right: finds the answers of both sides, has them judged, and says what came of it.

From answers.jsonl of `llmload ab --check-answers`, else from runs that kept their texts (--save-text). What is wrong
with a pair is `llmload.answers`, what all of them come to is `quality`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from llmload.answers import review, scoring, telling
from llmload.answers.judging import Answer, Asked, Judged, judge
from llmload.answers.known import Known
from llmload.answers.review import Reviewed
from llmload.compare import quality
from llmload.compare.quality import Answers, ClassQuality, Example, Lost
from llmload.compare.sides import Pair
from llmload.exits import Stop
from llmload.load import reading
from llmload.load.mix import Mix
from llmload.record import answers as kept
from llmload.report.building import Built

__all__ = ["Answers", "ClassQuality", "Example", "Lost", "Wanted", "compare"]

MOST = 2000
"""Pairs of a class that are judged, of those in records."""
CUT = "cancelled"
"""An attempt that was cut from this side says nothing of the answer that would have come."""
TOO_HARD = 0.1
"""Where neither side has more right answers than this share, they tell nothing."""
LOOKED_AT = 20_000
"""Requests of the mix among which the texts of prompts are looked for."""
SHOWN = 2000
"""Characters of an answer in an example."""


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


@dataclass(frozen=True, slots=True)
class Gathered:
    """The answers that were found."""

    pairs: tuple[Asked, ...]
    notes: tuple[str, ...]
    """What to know about them."""
    random: frozenset[str] = frozenset()
    """Classes whose answers are drawn, not decided."""


def compare(pair: Pair, ab_folder: Path | None, wanted: Wanted | None = None) -> Answers | None:
    """Judge the answers of a pair; None if there are none to judge.

    Raises Stop: UNJUDGED for a damaged answers.jsonl, USAGE for a scorer that fails.
    """
    wanted = wanted or Wanted()
    found = (None if ab_folder is None else asked(ab_folder / kept.ANSWERS, wanted.facts)) or recorded(
        pair, wanted.facts
    )
    if found is None:
        return None
    seed = _seed(pair)
    shown = with_prompts(found.pairs, pair) if wanted.score is not None or wanted.sheet else found.pairs
    judged = [judge(one, random=one.workload in found.random) for one in found.pairs]
    scores = _scores(shown, wanted.score, seed)
    classes = quality.classes(judged, limits(pair), scores)
    return Answers(
        classes=classes,
        examples=tuple(_example(one) for one in telling.choose(judged)),
        loss=any(lost.shown for one in classes for lost in one.lost),
        words=(*_words(judged, classes), *found.notes, *(() if wanted.reviewed is None else (wanted.reviewed.words,))),
        sheet=tuple(review.choose(shown, wanted.sheet, seed)) if wanted.sheet else (),
        seed=seed,
        reviewed=wanted.reviewed,
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
        if row.outcome != CUT:
            sides[row.side].setdefault((row.workload, row.id), row)
    baseline, candidate, again = (sides[side] for side in kept.SIDES)
    expected = {one.id: one.expected for one in facts}
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
    return Gathered(pairs, (note,) if note else ()) if pairs else None


def recorded(pair: Pair, facts: Sequence[Known] = ()) -> Gathered | None:
    """The pairs of runs that kept their texts; None if a side kept none.

    The k-th rounds of both are held against each other. The j-th attempt of a prompt in a step is the same request on
    both sides, its unique head included, if seed, round and the step's place agree (`load.mix`); only measured attempts
    that asked for the same number of output tokens are taken. At most 2,000 pairs a class, spread evenly over all.
    """
    rounds = list(zip(pair.baseline.rounds, pair.candidate.rounds, strict=False))
    if not all(kept.keeps_texts(built.folder) for both in rounds for built in both):
        return None
    found = _Found({one.id: one.expected for one in facts}, max(1, MOST // len(rounds)))
    for at, (first, second) in enumerate(rounds):
        found.add(first, second, at)
    if not found.pairs:
        return None
    names = dict.fromkeys(one.workload for one in found.pairs)
    drawn = frozenset(name for name in names if not _decided(pair, name))
    return Gathered(tuple(found.pairs), tuple(_notes(found, drawn)), drawn)


def _notes(found: "_Found", drawn: frozenset[str]) -> Iterator[str]:
    """What to know about answers that come from runs."""
    for name, count in found.left_out.items():
        yield f"{name}: {count:,} further pairs were left out, {MOST:,} at most are judged"
    if drawn:
        yield (
            f"answers of {', '.join(sorted(drawn))} are drawn at random (the temperature is not 0): that they differ "
            "says nothing, and is not counted"
        )
    if found.other_heads:
        yield (
            "the same prompts had other unique heads on the two sides (seed, round or steps differ): answers may "
            "differ for that alone"
        )
    yield (
        "these are answers under load, where a server's batches alone may change a word; llmload ab --check-answers "
        "asks apart from the load"
    )


@dataclass(slots=True)
class _Found:
    """Pairs of records as they are gathered, round by round."""

    expected: Mapping[str, dict[str, Any]]
    most: int
    """Pairs of a class and round."""
    pairs: list[Asked] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    other_heads: bool = False

    def add(self, first: Built, second: Built, at: int) -> None:
        """The pairs of one round."""
        others: dict[Any, kept.Said] = {}
        for one in kept.said(second.folder):
            others.setdefault(one.key, one)
        own: dict[Any, kept.Said] = {}
        for one in kept.said(first.folder):
            own.setdefault(one.key, one)
        both = [
            (one, others[key])
            for key, one in own.items()
            if key in others and one.asked == others[key].asked and CUT not in {one.outcome, others[key].outcome}
        ]
        chosen = self._some(both)
        same = _same_heads(first, second)
        busting = first.facts.scenario.get("cache_busting") is not False
        self.other_heads |= not same or (busting and any(one.step != other.step for one, other in chosen))
        one_side = kept.texts(first.folder, (one.at for one, _ in chosen))
        other_side = kept.texts(second.folder, (other.at for _, other in chosen))
        self.pairs += [self._asked(one, other, (one_side[one.at], other_side[other.at]), at) for one, other in chosen]

    def _some(self, both: list[tuple[kept.Said, kept.Said]]) -> list[tuple[kept.Said, kept.Said]]:
        """As many of each class as are judged."""
        chosen = []
        for name in dict.fromkeys(one.key[2] for one, _ in both):
            mine = [item for item in both if item[0].key[2] == name]
            if len(mine) > self.most:
                self.left_out[name] = self.left_out.get(name, 0) + len(mine) - self.most
                mine = [mine[place * len(mine) // self.most] for place in range(self.most)]
            chosen += mine
        return chosen

    def _asked(self, one: kept.Said, other: kept.Said, texts: tuple[str | None, str | None], at: int) -> Asked:
        concurrency, rate, workload, prompt, count = one.key
        level = f"{concurrency:g}" if concurrency >= 0 else f"{rate:g}/s"
        return Asked(
            id=f"{prompt}@{level}/{at}.{count}",
            workload=workload,
            prompt=None,
            baseline=Answer(texts[0] or "", one.finish_reason, one.outcome),
            candidate=Answer(texts[1] or "", other.finish_reason, other.outcome),
            expected=self.expected.get(prompt),
        )


def with_prompts(pairs: Sequence[Asked], pair: Pair) -> tuple[Asked, ...]:
    """The pairs with the texts of their prompts, where the scenario still tells them; without unique heads.

    Records do not hold them. They are made again only for a scorer or a reviewer, who needs them and was asked for.
    """
    missing = {_prompt_id(one.id) for one in pairs if one.prompt is None}
    texts: dict[str, str] = {}
    if missing:
        try:
            scenario = reading.load(str(pair.baseline.rounds[0].folder))
            mix = Mix(replace(scenario, cache_busting=False), scenario.fitted)
            for index in range(LOOKED_AT):
                call = mix.measured(0, index)
                texts.setdefault(call.prompt, call.text)
                if index % 100 == 0 and missing <= texts.keys():
                    break
        except Stop:  # its data file is elsewhere
            texts = {}
    return tuple(one if one.prompt is not None else replace(one, prompt=texts.get(_prompt_id(one.id))) for one in pairs)


def _prompt_id(id_: str) -> str:
    """The prompt of a pair from records."""
    return id_.rpartition("@")[0]


def _decided(pair: Pair, workload: str) -> bool:
    """Whether both sides asked for the likeliest token always: temperature 0, said by the class or the scenario."""
    return all(_temperature(side.rounds[0].facts.scenario, workload) == 0 for side in (pair.baseline, pair.candidate))


def _temperature(scenario: Mapping[str, Any], workload: str) -> Any:
    own: Mapping[str, Any] = next(
        (item for item in scenario.get("classes") or () if isinstance(item, dict) and item.get("name") == workload), {}
    )
    return own["temperature"] if own.get("temperature") is not None else scenario.get("temperature")


def _same_heads(first: Built, second: Built) -> bool:
    one, other = first.facts.scenario, second.facts.scenario
    if one.get("cache_busting") is False and other.get("cache_busting") is False:
        return True
    return all(one.get(name) == other.get(name) for name in ("seed", "round", "cache_busting"))


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


def _words(judged: Sequence[Judged], classes: Sequence[ClassQuality]) -> list[str]:
    """What matters, the losses first."""
    lost = [(one.workload, item) for one in classes for item in one.lost if item.beyond]
    words = [item.words(name) for name, item in sorted(lost, key=lambda each: not each[1].shown)]
    same = [one.identical for one in judged if one.identical is not None]
    if same:
        text = f"{sum(same):,} of {len(same):,} answers are identical ({sum(same) / len(same):.0%})"
        if again := [one.itself for one in judged if one.itself is not None]:
            text += f"; the baseline, asked twice, gave the same answer in {sum(again) / len(again):.0%}"
        words.append(text)
    hard = [one for one in classes if one.checked and max(share or 0 for share in one.correct) < TOO_HARD]
    words += [f"{one.workload}: too hard for both sides to tell them apart: hardly an answer is right" for one in hard]
    if not any(item.what != "sound answers" for one in classes for item in one.lost):
        words.append("no right answer is known to any of these prompts: only what is plainly unsound counts as a loss")
    return words
