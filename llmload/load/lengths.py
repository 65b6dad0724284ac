"""Token lengths: drawn from a distribution, and hit by cutting prompts until a counter agrees.

A counter is a function from texts to numbers of tokens: the server's own, a tokenizer file's, or a ratio. Which one a
run uses, the preflight decides; this file neither counts nor sends.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist, median

from llmload.exits import Stop
from llmload.load.head import head
from llmload.load.prompts import render
from llmload.load.scenario import Lengths, Scenario, WorkloadClass

Counter = Callable[[Sequence[str]], list[int]]

CHARS_PER_TOKEN = 4.5
"""English prose in the tokenizers of today; where nothing better is known."""
MOST_CHARS_PER_TOKEN = 32
"""No text is aimed at that is longer than this allows: a counter that cuts long texts off would never be content."""
PREFIX_KIND = "handbook"

_CLOSE = 0.01
"""A prompt within this share of its length is left alone …"""
_FAR = 0.05
"""… and one farther off than this, because no text is that short, stops the run."""
_ROUNDS = 6


def draws(lengths: Lengths, count: int, key: str) -> list[int]:
    """`count` lengths of a distribution, in an order that `key` decides, none below 1.

    Evenly spaced quantiles, (i + 0.5)/count, so that mean and spread are those of the distribution already for a
    hundred; drawing at random would miss the mean of N(217,40) by 4 tokens in one run out of three.
    """
    if lengths.kind == "fixed":
        return [max(1, round(lengths.a))] * count
    levels = [(at + 0.5) / count for at in range(count)]
    if lengths.kind == "uniform":
        drawn = [lengths.a + level * (lengths.b - lengths.a) for level in levels]
    elif lengths.b == 0:
        drawn = [lengths.a] * count
    else:
        drawn = [NormalDist(lengths.a, lengths.b).inv_cdf(level) for level in levels]
    numbers = [max(1, round(value)) for value in drawn]
    random.Random(key).shuffle(numbers)  # noqa: S311  (a plan, no secret)
    return numbers


BUILTIN_INPUT: dict[str, Lengths] = {
    "builtin:short": Lengths("normal", 217, 40),
    "builtin:medium": Lengths("normal", 482, 80),
    "builtin:long": Lengths("normal", 3210, 160),
}
"""Prompt lengths of a built-in class that names none."""


def targets(scenario: Scenario, cls: WorkloadClass) -> list[int]:
    """The prompt length wanted of each built-in prompt of a class, shared prefix not included."""
    wanted = cls.input_tokens or BUILTIN_INPUT[cls.source]
    return draws(wanted, cls.prompts, f"{scenario.seed}/{cls.name}/input")


def prompt_id(cls: WorkloadClass, number: int) -> str:
    """The id of a built-in prompt: `short-017`."""
    return f"{cls.name}-{number:03d}"


def prefix_id(cls: WorkloadClass) -> str:
    """The id under which a class's shared prefix is fitted."""
    return f"{cls.name}-prefix"


@dataclass(slots=True)
class _Job:
    """One prompt on its way to its length."""

    id: str
    kind: str
    number: int
    target: int
    lead: str
    """What stands before it when it is sent: the head."""
    overhead: int
    characters: int
    text: str = ""
    seen: list[tuple[int, int]] = field(default_factory=list)
    """(characters of the text, tokens too many), the latest last."""
    best: int = 0
    miss: int | None = None

    def write(self) -> str:
        """The text at the present number of characters."""
        self.text = self.lead + render(self.kind, self.number, self.characters)
        return self.text

    def learn(self, counted: int) -> None:
        """Keep this length if it is the nearest yet, and aim anew."""
        miss = counted + self.overhead - self.target
        if self.miss is None or abs(miss) < abs(self.miss):
            self.best, self.miss = self.characters, miss
        self.seen.append((len(self.text), miss))
        aim = self.characters - round(miss * self._slope(counted))
        self.characters = max(1, min(aim, self.target * MOST_CHARS_PER_TOKEN))

    def _slope(self, counted: int) -> float:
        """Characters per token where the text ends: a ticket's last lines are a log, denser than its sentences."""
        average = len(self.text) / max(1, counted)
        if len(self.seen) < 2:
            return average
        (before, miss_before), (now, miss_now) = self.seen[-2:]
        if miss_now == miss_before:
            return average
        return min(max((now - before) / (miss_now - miss_before), average / 3), average * 2)

    @property
    def shortest(self) -> bool:
        """Whether the text is the shortest there is."""
        return len(self.text) == len(self.lead) + len(render(self.kind, self.number, 1))

    @property
    def close(self) -> bool:
        return self.miss is not None and abs(self.miss) <= max(1, self.target * _CLOSE)


def fit(scenario: Scenario, count: Counter, overhead: int) -> dict[str, int]:
    """How many characters of each built-in prompt to keep, so that the server counts the length that was drawn.

    `count` gives the tokens of each text, `overhead` the tokens that the chat template adds to a prompt. A few texts of
    each kind are counted first for a ratio, then all, then again those that are not yet within 1 % or one token.
    Returns prompt id to characters. Raises Stop(USAGE) if a class asks for prompts shorter than there are.
    """
    jobs = [job for cls in scenario.classes if cls.source != "file" for job in _jobs(scenario, cls, overhead)]
    _first_guess(jobs, count)
    pending = jobs
    for _ in range(_ROUNDS):
        if not pending:
            break
        before = [job.text for job in pending]
        texts = [job.write() for job in pending]
        if texts == before:
            break
        for job, counted in zip(pending, count(texts), strict=True):
            job.learn(counted)
        pending = [job for job in pending if not job.close]
    for job in pending:
        if job.shortest and job.miss is not None and job.miss > max(2, job.target * _FAR):
            raise Stop(
                f"class {job.id.rpartition('-')[0]}: input_tokens: prompt {job.id} cannot be as short as {job.target} "
                f"tokens, {job.target + job.miss} is the least, head and chat template included; ask for longer ones"
            )
    return {job.id: job.best for job in jobs}


def refit(scenario: Scenario, fitted: dict[str, int]) -> dict[str, int]:
    """The lengths that another run found, of those prompts that this scenario has. Raises Stop(USAGE) if one lacks."""
    builtin = [cls for cls in scenario.classes if cls.source != "file"]
    wanted = [prompt_id(cls, number) for cls in builtin for number in range(cls.prompts)]
    wanted += [prefix_id(cls) for cls in builtin if cls.shared_prefix_tokens]
    for name in wanted:
        if name not in fitted:
            raise Stop(f"the lengths of prompts that are to be used again: {name} is not among them; fit them anew")
    return {name: fitted[name] for name in wanted}


def _jobs(scenario: Scenario, cls: WorkloadClass, overhead: int) -> list[_Job]:
    kind = cls.source.removeprefix("builtin:")
    lead = typical_lead(scenario)
    jobs = [
        _Job(prompt_id(cls, number), kind, number, target, lead, overhead, guess(target, lead, overhead))
        for number, target in enumerate(targets(scenario, cls))
    ]
    if cls.shared_prefix_tokens:
        wanted = cls.shared_prefix_tokens
        jobs.append(_Job(prefix_id(cls), PREFIX_KIND, 0, wanted, "", 0, guess(wanted, "", 0)))
    return jobs


def _first_guess(jobs: list[_Job], count: Counter) -> None:
    """Set out from the characters per token of three texts of each kind."""
    for kind in sorted({job.kind for job in jobs}):
        same = [job for job in jobs if job.kind == kind]
        sample = same[:: max(1, len(same) // 3)][:3]
        texts = [job.write() for job in sample]
        ratio = median(len(text) / max(1, counted) for text, counted in zip(texts, count(texts), strict=True))
        for job in same:
            job.characters = max(
                1, round((job.target - job.overhead) * min(ratio, MOST_CHARS_PER_TOKEN)) - len(job.lead)
            )


def lead_of(scenario: Scenario, words: str) -> str:
    """The head as it stands before a prompt; nothing where the scenario wants none."""
    return f"{words}\n" if scenario.cache_busting else ""


def typical_lead(scenario: Scenario) -> str:
    """A head to fit prompts behind: of the same length as all, and the same in each round, so that prompts stay."""
    return lead_of(scenario, head(scenario.seed, 0, "preflight", 0, 0))


def guess(target: int, lead: str, overhead: int) -> int:
    """Characters for a length before anything was counted."""
    return max(1, round((target - overhead) * CHARS_PER_TOKEN) - len(lead))
