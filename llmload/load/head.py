"""The unique head of a request: six words before the prompt, so that no prefix cache can answer it.

A pure function of seed, round, phase, step and index, and one to one for a given seed: two requests of one run, or of
two rounds of it, never have the same head, and all heads differ within their first 64 characters. The same request of
a rerun, and of the other side of a comparison, has the same head.

Words are common and short, one token each in the tokenizers of today's models, so that all heads have (nearly) the
same number of tokens.
"""

import hashlib
from functools import cache
from importlib import resources
from typing import Literal

Phase = Literal["preflight", "warmup", "measured"]

_WORDS = (resources.files("llmload.load") / "texts" / "head.txt").read_text(encoding="utf-8").split()
"""256 of them: a byte chooses one."""

_BITS = 48
_MASK = (1 << _BITS) - 1
_PHASES: dict[Phase, int] = {"preflight": 0, "warmup": 1, "measured": 2}


@cache
def _factors(seed: int) -> tuple[tuple[int, int], ...]:
    """Three pairs (odd factor, summand) of 48 bits for a seed."""
    digest = hashlib.sha512(f"llmload head {seed}".encode()).digest()
    numbers = [int.from_bytes(digest[at : at + 6], "big") for at in range(0, 36, 6)]
    return tuple((numbers[at] | 1, numbers[at + 1]) for at in range(0, 6, 2))


def head(seed: int, round_: int, phase: Phase, step: int, index: int) -> str:
    """The head of one request, such as `Case amber river stone oak lamp field`.

    Rounds count to 256, steps to 1,024 and requests of a step to 268 million before a head can come again.
    """
    number = (round_ % 256) << 40 | _PHASES[phase] << 38 | (step % 1024) << 28 | index % (1 << 28)
    for factor, summand in _factors(seed):
        # Each line is one to one on 48 bits: an odd factor has an inverse, and a shift by half only mixes downwards.
        number = (number * factor + summand) & _MASK
        number ^= number >> (_BITS // 2)
    return "Case " + " ".join(_WORDS[byte] for byte in number.to_bytes(6, "big"))
