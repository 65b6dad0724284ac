"""A claim in a phrase: `14x e2e_p95`, `1.5x tokens short@8`, `50 % faster ttft_p50`, `20 % more requests @32`. Pure.

    FACTOR [faster|more|less …] FIGURE [CLASS] [@LEVEL]        CLASS and LEVEL in any order, or CLASS/FIGURE@LEVEL

FACTOR is a number with x (or a sign of multiplication, `times`, `fold`) or with %. What a percentage means of a time is
not agreed among people, so it is settled here:

    50 % faster, better, or without a word   a gain of 1.5: so much more gets done in the same time
    50 % less, lower, fewer, shorter         a gain of 1 / (1 - 0.5) = 2: the time itself is halved
    50 % more, higher                        a gain of 1.5, of what should be high

`50 % faster` is thus the smaller claim of a latency, and what holds for the larger one holds for it.
"""

import math
import re
from dataclasses import dataclass

from llmload.compare import figures
from llmload.compare.figures import Figure
from llmload.compare.words import X
from llmload.exits import Stop
from llmload.plain import one_line

EXAMPLE = "expected for example '14x e2e_p95', '50 % faster ttft_p50' or '1.5x tokens short@8'"
LARGEST = 1_000_000
"""No factor above it is a claim."""
UP = frozenset({"more", "higher", "greater"})
DOWN = frozenset({"less", "lower", "fewer", "shorter", "smaller"})
FAST = frozenset({"faster", "quicker", "better", "speed-up", "speedup"})
WORSE = frozenset({"slower", "worse", "longer"})
FILLERS = frozenset({"of", "for", "in", "on", "the", "class"})

_FACTOR = re.compile(rf"(\d+(?:\.\d+)?)\s*(x|{X}|times|-?fold|%|percent|per cent)(?=\s|$)\s*", re.IGNORECASE)
_LEVEL = re.compile(r"(?:@\s*|(?<!\S)at\s+)(\d+(?:\.\d+)?)(?:\s+in\s+flight|\s*/s)?(?=\s|$)", re.IGNORECASE)
_PER_S = re.compile(r"(?:/s(?:ec|econd)?|\s+per\s+s(?:ec|econd)?)(?=\s|@|$)", re.IGNORECASE)
_CLASS = re.compile(r"[A-Za-z0-9_-]{1,40}")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase, taken apart."""

    figure: Figure
    factor: float
    level: float | None
    workload: str | None


def parse(text: str, where: str) -> Phrase:
    """Take a phrase apart. Raises Stop(USAGE) that begins with `where` and says what is wrong."""
    rest, number, sign = _number(one_line(text).strip(), where)
    level = None
    found = list(_LEVEL.finditer(rest))
    if len(found) > 1:
        raise Stop(f"{where}: names {len(found)} levels; expected one at most, as @32")
    if found:
        level = float(found[0][1])
        rest = f"{rest[: found[0].start()]} {rest[found[0].end() :]}"
    if "@" in rest or level == 0:
        raise Stop(f"{where}: no concurrency and no rate behind @; {EXAMPLE}")
    words = _PER_S.sub("", rest).split()
    how = words.pop(0).lower() if words and words[0].lower() in UP | DOWN | FAST | WORSE else ""
    workload = None
    if words and words[0].count("/") == 1:
        workload, words[0] = words[0].split("/")
        words = [word for word in words if word]
    words = [word for word in words if word.lower() not in FILLERS]
    figure, other = _figure(words, where)
    if other is not None and workload is not None:
        raise Stop(f"{where}: names the classes {workload!r} and {other!r}; expected one at most")
    workload = workload if other is None else other
    if workload is not None and not _CLASS.fullmatch(workload):
        raise Stop(f"{where}: {workload!r} is no name of a class; expected letters, digits, - and _")
    return Phrase(figure, _gain(number, sign, how, figure, where), level, workload)


def factor(text: str, figure: Figure, where: str) -> float:
    """A factor alone, as a file may write it: `14x`, `50 %`, `50 % less`. Raises Stop(USAGE) as `parse` does."""
    rest, number, sign = _number(one_line(text).strip(), where)
    how = rest.strip().lower()
    if how and how not in UP | DOWN | FAST | WORSE:
        raise Stop(f"{where}: {rest.strip()!r} is not understood; expected for example '14x', '50 %' or '50 % less'")
    return _gain(number, sign, how, figure, where)


def bounded(gain: float, where: str) -> float:
    """A factor that a claim can have. Raises Stop(USAGE) for any other."""
    if not math.isfinite(gain) or gain > LARGEST:
        raise Stop(f"{where}: expected a factor of at most {LARGEST:,}")
    if gain < 1:
        raise Stop(
            f"{where}: a factor of {gain:g} is no gain; expected 1 or more: a time cut to a half is 2x, or 50 % less"
        )
    return gain


def _number(text: str, where: str) -> tuple[str, float, str]:
    """What follows the factor, its number and its sign."""
    match = _FACTOR.match(text)
    if match is None:
        raise Stop(f"{where}: does not begin with a factor such as 14x or 50 %; {EXAMPLE}")
    return text[match.end() :], float(match[1]), match[2].lower()


def _gain(number: float, sign: str, how: str, figure: Figure, where: str) -> float:
    """The gain that a factor and its word stand for."""
    if how in WORSE:
        raise Stop(f"{where}: {how} is no gain; a claim is about what became better")
    if (how in UP and figure.lower) or (how in DOWN and not figure.lower):
        good = "lower" if figure.lower else "higher"
        raise Stop(f"{where}: {how} of {figure.words} is no gain; {good} is better there")
    if sign not in ("%", "percent", "per cent"):
        return bounded(number, where)
    if how not in DOWN:
        return bounded(1 + number / 100, where)
    if number >= 100:
        raise Stop(f"{where}: {number:g} % less leaves nothing; expected less than 100 %")
    return bounded(1 / (1 - number / 100), where)


def _figure(words: list[str], where: str) -> tuple[Figure, str | None]:
    """The figure and, if a word is left over, the class: before or behind the figure."""
    if not words:
        raise Stop(f"{where}: names no figure; expected one of: {', '.join(figures.FIGURES)}")
    for n in (len(words), len(words) - 1):
        if n < 1:
            continue
        for mine, other in ((words[:n], words[n:]), (words[-n:], words[:-n])):
            if (found := known(" ".join(mine))) is not None:
                return found, other[0] if other else None
    return figures.find(" ".join(words[:1] if len(words) == 2 else words), where), None


def known(text: str) -> Figure | None:
    """A figure as a person writes it; None where there is none of that name."""
    try:
        return figures.find(text, "")
    except Stop:
        return None
