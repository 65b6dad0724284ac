"""One prompt with the answers of both sides, and what is found between them. Pure."""

from dataclasses import dataclass, field
from typing import Any

from llmload.answers import alike, faults, known, language
from llmload.answers.differing import Differing, between

FAULTS = ("no answer", "cut", "empty", "garbled", "loop", "language")
"""What may be wrong with the answer of one side. `cut`: it came to its limit of tokens."""
UNSOUND = {"no answer", "empty", "garbled", "loop", "language"}
"""Of these, those with which an answer is of no use. A cut one may be: the limit is the scenario's."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one side said."""

    text: str
    finish_reason: str | None = None
    outcome: str = "ok"
    """As of a record: what is not `ok` is no answer."""

    @property
    def came(self) -> bool:
        """Whether there is an answer at all, if only an empty one."""
        return self.outcome == "ok"


@dataclass(frozen=True, slots=True)
class Asked:
    """One prompt with both answers."""

    id: str
    workload: str
    prompt: str | None
    """None: its text is not known, as of a run's records."""
    baseline: Answer
    candidate: Answer
    expected: dict[str, Any] | None = None
    """As `known` checks it."""
    again: Answer | None = None
    """What the baseline said when it was asked a second time."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What was found. Pairs are (baseline's, candidate's)."""

    asked: Asked
    identical: bool | None
    """None: at least one is no answer, or answers are drawn at random."""
    similarity: float | None
    """Of two that are not identical."""
    differing: Differing | None
    faults: tuple[frozenset[str], frozenset[str]]
    right: tuple[bool, bool] | None
    """None: nothing is expected."""
    itself: bool | None = None
    """Whether the baseline said the same again."""
    why: tuple[str, ...] = field(default=())
    """Faults in words."""

    @property
    def sound(self) -> tuple[bool, bool]:
        """Whether the answers are of any use."""
        first, second = self.faults
        return not first & UNSOUND, not second & UNSOUND

    @property
    def found(self) -> tuple[str, ...]:
        """Everything in words, what tells most first."""
        words = []
        if self.right is not None and self.right[0] != self.right[1]:
            words.append("only the baseline is right" if self.right[0] else "only the candidate is right")
        elif self.right is not None:
            words.append("both are right" if self.right[0] else "neither is right")
        if self.differing:
            words.append(f"numbers differ: {self.differing.words}")
        words += self.why
        if self.similarity is not None:
            words.append(f"similarity {self.similarity:.2f}")
        return tuple(words)


def judge(asked: Asked, *, random: bool = False) -> Judged:
    """Look at one pair; `random`: answers are drawn, so that how they differ says nothing."""
    sides = (asked.baseline, asked.candidate)
    both = all(side.came for side in sides)
    identical = alike.identical(asked.baseline.text, asked.candidate.text) if both and not random else None
    different = identical is False
    found = [_faults(side) for side in sides]
    strays = (False, False)
    if both and not alike.identical(asked.baseline.text, asked.candidate.text):
        strays = language.strays(asked.prompt, asked.baseline.text, asked.candidate.text)
    for side, stray in zip(found, strays, strict=True):
        if stray:
            side["language"] = "is in another language"
    why = [f"the {name} {words}" for name, side in zip(("baseline", "candidate"), found, strict=True)
           for words in side.values()]  # fmt: skip
    right = None
    if asked.expected is not None:
        first, second = (side.came and known.right(asked.expected, side.text) for side in sides)
        right = (first, second)
    itself = None
    if asked.again is not None and asked.again.came and asked.baseline.came:
        itself = alike.identical(asked.again.text, asked.baseline.text)
    return Judged(
        asked=asked,
        identical=identical,
        similarity=alike.similarity(asked.baseline.text, asked.candidate.text) if different else None,
        differing=between(asked.baseline.text, asked.candidate.text) if different else None,
        faults=(frozenset(found[0]), frozenset(found[1])),
        right=right,
        itself=itself,
        why=tuple(why),
    )


def _faults(answer: Answer) -> dict[str, str]:
    """What is wrong with an answer by itself, each with words for it."""
    if not answer.came:
        return {"no answer": f"gave no answer ({answer.outcome})"}
    found = {}
    if answer.finish_reason == "length":
        found["cut"] = "is cut at its limit of tokens"
    if faults.empty(answer.text):
        found["empty"] = "is empty"
    if (words := faults.garbled(answer.text)) is not None:
        found["garbled"] = f"is garbled: {words}"
    if (piece := faults.loop(answer.text)) is not None:
        found["loop"] = f"repeats itself: {piece.strip()[:60]!r}"
    return found
