"""The verdict of a comparison: one word, sentences, an exit code."""

from dataclasses import dataclass

from llmload.exits import Exit

WORDS = {
    "supported": Exit.OK,
    "supported, with a loss of quality": Exit.FAILED,
    "partly": Exit.FAILED,
    "direction confirmed, size not": Exit.FAILED,
    "not supported": Exit.FAILED,
    "cannot be judged": Exit.UNJUDGED,
    "not comparable": Exit.UNJUDGED,
    "faster": Exit.OK,
    "slower": Exit.OK,
    "no difference shown": Exit.OK,
    "not repeated": Exit.OK,
}
"""With a claim one of the first seven, without one of the last five. A claim on runs that were not repeated cannot be
judged; without a claim nothing was asked that could fail."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`headline` is one sentence with the figures in it; `reasons` say what weakens or decides it."""

    word: str
    headline: str
    reasons: tuple[str, ...]
    code: Exit
