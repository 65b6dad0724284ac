"""Which kind of faster it is, in words, from the cells."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """What became faster. `key` is one word for programs, `words` one sentence."""

    key: str
    words: str
    doubt: bool = False
    """Whether it is something that poses as speed, or spoils it: a verdict says it beside a gain."""
