"""The answers of two sides out of runs that kept their texts (--save-text), paired request by request.

Records hold no text of a prompt; what a request asked follows from its place in the mix (`load.mix`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from llmload.answers.judging import Answer, Asked
from llmload.answers.known import Known
from llmload.compare.sides import Pair
from llmload.exits import Stop
from llmload.load import reading
from llmload.load.mix import Mix
from llmload.record import answers as kept
from llmload.report.building import Built

MOST = 2000
"""Pairs of a class that are judged."""
CUT = "cancelled"
"""An attempt that was cut from this side says nothing of the answer that would have come."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The answers that were found."""

    pairs: tuple[Asked, ...]
    notes: tuple[str, ...]
    """What to know about them."""
    prompts: frozenset[str]
    """Ids of the prompts that they answer, as facts name them."""
    random: frozenset[str] = frozenset()
    """Classes whose answers are drawn, not decided."""


def find(pair: Pair, facts: Sequence[Known] = ()) -> Gathered | None:
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
    prompts = frozenset(_prompt_id(one.id) for one in found.pairs)
    return Gathered(tuple(found.pairs), tuple(_notes(found, drawn)), prompts, drawn)


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
    """The pairs with the texts of their prompts, where the scenario still tells them.

    Without heads and shared prefixes. Records do not hold them: they are made again, for a scorer or a reviewer alone.
    """
    missing = {_prompt_id(one.id) for one in pairs if one.prompt is None}
    texts: dict[str, str] = {}
    if missing:
        try:
            scenario = reading.load(str(pair.baseline.rounds[0].folder))
            mix = Mix(scenario, scenario.fitted)
            texts = {name: text for _, name, text in mix.prompts() if name in missing}
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
