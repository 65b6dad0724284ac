"""Which of the GPUs that are there a user means by a number or by the beginning of a UUID. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from llmload.sidecar.backend import Absent


@dataclass(frozen=True, slots=True)
class Found:
    """A GPU that is there."""

    number: int
    uuid: str
    name: str = ""


def choose(asked: Sequence[str], found: Sequence[Found]) -> list[Found]:
    """Those that were asked for, each once, in the order in which they are there; all of them if none was.

    Raises Absent where one is not there or could be several.
    """
    there = ", ".join(f"{one.number} ({one.uuid}{', ' + one.name if one.name else ''})" for one in found)
    picked: list[Found] = []
    for word in asked:
        number = word.isascii() and word.isdigit()
        fits = [one for one in found if (one.number == int(word) if number else begins(one.uuid, word))]
        if not fits:
            raise Absent(f"no GPU {word!r} here; expected the number or UUID of one of: {there}")
        if len(fits) > 1:
            which = ", ".join(one.uuid for one in fits)
            raise Absent(f"GPU {word!r} could be any of {which}; write more of its UUID, or its number")
        picked += fits
    return [one for one in found if one in picked or not asked]


def begins(uuid: str, word: str) -> bool:
    """Whether a UUID is meant; with or without `GPU-` before it, in capitals or not."""
    uuid, word = uuid.lower(), word.lower()
    return bool(word) and (uuid.startswith(word) or uuid.removeprefix("gpu-").startswith(word))
