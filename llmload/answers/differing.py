"""Numbers, dates and codes in which two answers differ; and those of them whose digits changed places. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from llmload.answers.numbers import Found, find


@dataclass(frozen=True, slots=True)
class Differing:
    """What one answer has and the other has not, as written, in order of appearance, each once."""

    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    swapped: tuple[tuple[str, str], ...]
    """Pairs of both that are the same but for two digits that changed places: 327,846,000 and 327,486,000."""

    def __bool__(self) -> bool:
        return bool(self.only_a or self.only_b)

    @property
    def words(self) -> str:
        """A clause: `327,846,000 against 327,486,000 (digits changed places)`."""
        if self.swapped:
            return "; ".join(f"{a} against {b} (digits changed places)" for a, b in self.swapped[:3])
        return f"{_some(self.only_a)} against {_some(self.only_b)}"


def between(a: str, b: str) -> Differing:
    """What differs between two texts. How often something is said does not matter, nor where.

    A writing with several readings (`1,234`) differs only from a text in which nothing shares any of them.
    """
    in_a, in_b = find(a), find(b)
    only_a, only_b = _without(in_a, in_b), _without(in_b, in_a)
    swapped = tuple((x.text, y.text) for x in only_a for y in only_b if x.kind == y.kind and swap(x.text, y.text))
    return Differing(tuple(one.text for one in only_a), tuple(one.text for one in only_b), swapped)


def swap(a: str, b: str) -> bool:
    """Whether the digits of two writings are the same but for two that changed places."""
    x, y = ([sign for sign in text.lower() if sign.isalnum()] for text in (a, b))
    if len(x) != len(y):
        return False
    apart = [at for at in range(len(x)) if x[at] != y[at]]
    if len(apart) != 2:
        return False
    i, j = apart
    return x[i].isdigit() and x[j].isdigit() and (x[i], x[j]) == (y[j], y[i])


def _without(found: Iterable[Found], others: list[Found]) -> list[Found]:
    """Those that nothing of `others` is the same as, each once."""
    told = {(one.kind, reading) for one in others for reading in one.readings}
    kept: dict[str, Found] = {}
    for one in found:
        if not any((one.kind, reading) in told for reading in one.readings):
            kept.setdefault(one.text, one)
    return list(kept.values())


def _some(texts: tuple[str, ...]) -> str:
    """The first three, or that there is nothing."""
    return ", ".join(texts[:3]) + (f" and {len(texts) - 3} more" if len(texts) > 3 else "") if texts else "nothing"
