"""The questions a reader should ask of a comparison, each answered from the runs, or "these runs cannot say"."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """One question and its answer."""

    question: str
    answer: str
    known: bool = True
