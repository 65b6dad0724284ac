"""The mix: which prompt, of which class, how long an answer, behind which head, for every request of a run.

Pure functions of the scenario, its seed and round, and the request's place (step and index): any worker makes the same
call for the same place, in any order. Knows no clock, socket or user.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import floor, gcd, lcm
from typing import Any

from llmload.exits import Stop
from llmload.load import dataset, lengths
from llmload.load.call import Call
from llmload.load.head import Phase, head
from llmload.load.prompts import render
from llmload.load.scenario import Scenario, WorkloadClass

_LARGEST_BLOCK = 1000
_DRAWS = 100
"""Answer lengths are drawn by the hundred, as prompt lengths are."""
_WRITTEN_AHEAD = 1000
"""Prompts written before the first request: a long one takes a millisecond, which would stand in the streams' way."""
_CHARS_PER_TOKEN = 4
"""Only to tell which prompt of a data file is the longest."""


class Mix:
    """All requests of a scenario, by their place. `fit` (see `lengths.fit`) maps prompt ids to characters kept."""

    def __init__(self, scenario: Scenario, fit: dict[str, int] | None = None) -> None:
        self._seed = scenario.seed
        self._sources = [_Source(scenario, cls, fit or {}) for cls in scenario.classes]
        self._shares = shares(scenario)
        self._block = lru_cache(maxsize=64)(self._make_block)

    def measured(self, step: int, index: int) -> Call:
        """Request `index` (0-based, counted over all users) of a step, after its warm-up.

        Classes come in blocks in which each has exactly its share, shuffled by the seed; a class uses all its prompts
        before one comes again.
        """
        return self._mixed("measured", step, index)

    def warming(self, step: int, index: int) -> Call:
        """The same for the warm-up of a load by rate: one of each class, so that none is waited for, then the mix.

        The mix, since a queue that heavier requests leave would stand there in the window.
        """
        if index < len(self._sources):
            return self._sources[index].call("warmup", step, index, 0)
        return self._mixed("warmup", step, index)

    def warmup(self, step: int, user: int, k: int) -> Call:
        """The k-th warm-up request (0-based) of a user: classes in turn, each user beginning one further on."""
        at = (user + k) % len(self._sources)
        return self._sources[at].call("warmup", step, (user % 16384) << 14 | k % 16384, user + k // len(self._sources))

    def prompts(self) -> Iterator[tuple[str, str, str]]:
        """Every prompt of every class, as (class, prompt id, text without head and shared prefix)."""
        for source in self._sources:
            for number in range(source.size):
                prompt = source.prompt(number)
                yield source.cls.name, prompt.id, _text(prompt.messages)

    def longest(self) -> Call:
        """The request that needs most context: of each class its longest prompt with its longest answer."""
        return max(
            (source.longest(at) for at, source in enumerate(self._sources)),
            key=lambda call: _tokens(call.requested_input_tokens, call.text) + call.max_tokens,
        )

    def _mixed(self, phase: Phase, step: int, index: int) -> Call:
        block, place = divmod(index, sum(self._shares))
        at, before = self._block(step, block)[place]
        return self._sources[at].call(phase, step, index, block * self._shares[at] + before)

    def _make_block(self, step: int, block: int) -> list[tuple[int, int]]:
        """The classes of one block in their order, each with how often it came before in this block."""
        order = [at for at, share in enumerate(self._shares) for _ in range(share)]
        random.Random(f"{self._seed}/{step}/{block}/classes").shuffle(order)  # noqa: S311  (a plan, no secret)
        seen = [0] * len(self._shares)
        places = []
        for at in order:
            places.append((at, seen[at]))
            seen[at] += 1
        return places


def shares(scenario: Scenario) -> list[int]:
    """The weights as the smallest whole numbers: 0.5, 0.3 and 0.2 are 5, 3 and 2 of every 10 requests."""
    weights = [Fraction(cls.weight).limit_denominator(_LARGEST_BLOCK) for cls in scenario.classes]
    scale = lcm(*(weight.denominator for weight in weights))
    whole = [int(weight * scale) for weight in weights]
    if sum(whole) > _LARGEST_BLOCK or 0 in whole:  # to a thousandth, no class left out
        total = sum(cls.weight for cls in scenario.classes)
        whole = [max(1, round(cls.weight / total * _LARGEST_BLOCK)) for cls in scenario.classes]
    divisor = gcd(*whole)
    return [number // divisor for number in whole]


@dataclass(frozen=True, slots=True)
class _Prompt:
    """One prompt of a class without its head."""

    id: str
    messages: tuple[dict[str, Any], ...]
    requested: int | None
    """Input tokens wanted, without a shared prefix."""
    max_tokens: int | None


class _Source:
    """One class: its prompts in their order, and the call for each."""

    def __init__(self, scenario: Scenario, cls: WorkloadClass, fit: dict[str, int]) -> None:
        self.scenario = scenario
        self.cls = cls
        self.fit = fit
        self.entries = _entries(cls)
        self.targets = [] if self.entries else lengths.targets(scenario, cls)
        self.size = len(self.entries) or len(self.targets)
        self.prompt = lru_cache(maxsize=10_000)(self._make_prompt)
        self.order = lru_cache(maxsize=8)(self._make_order)
        self.answers = lru_cache(maxsize=8)(self._make_answers)
        self.prefix = self._make_prefix() if cls.shared_prefix_tokens else ""
        for number in range(min(self.size, _WRITTEN_AHEAD)):
            self.prompt(number)

    def call(self, phase: Phase, step: int, index: int, occurrence: int) -> Call:
        """The class's request number `occurrence` (0-based) of a step and phase."""
        cycle, place = divmod(occurrence, self.size)
        prompt = self.prompt(self.order(phase, step, cycle)[place])
        cycle, place = divmod(occurrence, _DRAWS)
        answer = prompt.max_tokens or self.answers(phase, step, cycle)[place]
        share = self.cls.shared_prefix_share
        reuses = floor((occurrence + 1) * share) > floor(occurrence * share)
        return self._made(prompt, answer, head(self.scenario.seed, self.scenario.round, phase, step, index), reuses)

    def longest(self, index: int) -> Call:
        """The longest prompt with the longest answer."""
        usual = max(self.answers("preflight", 0, 0))
        prompts = (self.prompt(number) for number in range(self.size))
        prompt = max(prompts, key=lambda one: _tokens(one.requested, _text(one.messages)) + (one.max_tokens or usual))
        answer = prompt.max_tokens or usual
        words = head(self.scenario.seed, self.scenario.round, "preflight", 0, index)
        return self._made(prompt, answer, words, self.cls.shared_prefix_share > 0)

    def _made(self, prompt: _Prompt, max_tokens: int, words: str, reuses: bool) -> Call:
        lead = lengths.lead_of(self.scenario, words)
        requested = prompt.requested
        if reuses:
            lead = f"{self.prefix}\n\n{lead}"
            requested = None if requested is None else requested + self.cls.shared_prefix_tokens
        messages = _behind(lead, prompt.messages)
        scenario, cls = self.scenario, self.cls
        return Call(
            workload=cls.name,
            prompt=prompt.id,
            messages=messages,
            text=_text(messages),
            max_tokens=max_tokens,
            requested_input_tokens=requested,
            temperature=scenario.temperature if cls.temperature is None else cls.temperature,
            extra_body={**scenario.extra_body, **cls.extra_body},
            headers={**scenario.headers, **cls.headers},
            tools=cls.tools,
            ignore_eos=cls.ignore_eos,
            min_tokens=cls.min_tokens,
        )

    def _make_prompt(self, number: int) -> _Prompt:
        if self.entries:
            entry = self.entries[number]
            return _Prompt(f"{self.cls.name}-{entry.line}", entry.messages, None, entry.max_tokens)
        id_ = lengths.prompt_id(self.cls, number)
        target = self.targets[number]
        text = render(self.cls.source.removeprefix("builtin:"), number, self._characters(id_, target))
        return _Prompt(id_, ({"role": "user", "content": text},), target, None)

    def _make_prefix(self) -> str:
        tokens = self.cls.shared_prefix_tokens
        characters = self.fit.get(lengths.prefix_id(self.cls), lengths.guess(tokens, "", 0))
        return render(lengths.PREFIX_KIND, 0, characters)

    def _characters(self, id_: str, target: int) -> int:
        lead = lengths.typical_lead(self.scenario)
        return self.fit.get(id_, lengths.guess(target, lead, 0))

    def _make_order(self, phase: Phase, step: int, cycle: int) -> list[int]:
        order = list(range(self.size))
        random.Random(f"{self._key}/{phase}/{step}/{cycle}/prompts").shuffle(order)  # noqa: S311
        return order

    def _make_answers(self, phase: Phase, step: int, cycle: int) -> list[int]:
        return lengths.draws(self.cls.max_tokens, _DRAWS, f"{self._key}/{phase}/{step}/{cycle}/answers")

    @property
    def _key(self) -> str:
        return f"{self.scenario.seed}/{self.cls.name}"


def _entries(cls: WorkloadClass) -> tuple[dataset.Entry, ...]:
    """The prompts of a data file; none for a built-in class. Raises Stop if the file is not the one of the scenario."""
    if cls.source != "file" or cls.path is None:
        return ()
    data = dataset.load(cls.path)
    if cls.digest is not None and data.digest != cls.digest:
        raise Stop(
            f"{cls.path}: not the file that this run began with: expected SHA-256 {cls.digest[:12]}…, got "
            f"{data.digest[:12]}…; every machine needs the same file"
        )
    return data.entries


def _behind(lead: str, messages: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
    """The messages with `lead` before the first one's content."""
    if not lead:
        return messages
    first, *rest = messages
    content = first["content"]
    content = lead + content if isinstance(content, str) else [{"type": "text", "text": lead}, *content]
    return ({**first, "content": content}, *rest)


def _text(messages: tuple[dict[str, Any], ...]) -> str:
    """What the messages say, for the completions API and for counting words."""
    texts = []
    for message in messages:
        content = message["content"]
        parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
        texts.append("".join(parts))
    return "\n\n".join(texts)


def _tokens(requested: int | None, text: str) -> float:
    return len(text) / _CHARS_PER_TOKEN if requested is None else requested
