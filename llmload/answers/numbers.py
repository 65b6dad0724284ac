"""Numbers, dates and codes in a text, as values that can be held against another text's. Pure; knows no question.

People write one number in many ways (327,846,000; 327.846.000; 327 846 000; 327'846'000; 3,278,46,000), and one
writing can be two numbers: `1,234` is 1234 to some and 1.234 to others. So what is found is a set of readings, and two
writings are the same if they share one. Values are exact (`Fraction`): nothing is rounded.
"""

import re
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Literal

Kind = Literal["number", "date", "code"]

THIN = "\u00a0\u2009\u202f"
"""Spaces that do not break a line: they group digits, as a plain space between groups of three does."""

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january", "feb february", "mar march", "apr april", "may", "jun june", "jul july", "aug august",
            "sep sept september", "oct october", "nov november", "dec december",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))

_ISO = r"(?P<iso>\d{4}-\d{2}-\d{2})"
_PARTS = r"(?P<parts>\d{1,2}[./]\d{1,2}[./]\d{4})"
_DAY_FIRST = rf"(?P<dmy>\d{{1,2}}(?:st|nd|rd|th)?\.?\s(?:{_MONTH})\.?,?\s\d{{4}})"
_MONTH_FIRST = rf"(?P<mdy>(?:{_MONTH})\.?\s\d{{1,2}}(?:st|nd|rd|th)?,?\s\d{{4}})"
_CODE = r"(?P<code>(?:[a-z][a-z0-9]*+|\d++(?:[-_]\d++)*+[-_][a-z][a-z0-9]*+)(?:[-_][a-z0-9]++)*+(?:\.\d++)*+)"
"""Possessive, so that a text made to be slow to read is not."""
_GROUPED = rf"\d{{1,3}}(?:[{THIN} ]\d{{3}})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,'\u2019]\d+)*"
_NUMBER = rf"(?P<number>(?:{_GROUPED})(?:e[+-]?\d{{1,3}}(?![a-z0-9]))?)"
_FOUND = re.compile(
    rf"(?<![a-z0-9_])(?:{_ISO}|{_PARTS}|{_DAY_FIRST}|{_MONTH_FIRST})(?![a-z0-9])"
    rf"|(?<![a-z0-9_]){_CODE}|(?<![0-9_]){_NUMBER}",
    re.IGNORECASE | re.ASCII,
)
_MARK = re.compile(r"(?m)^[ \t]*(?:#+[ \t]+)?\**\d{1,2}[.)]\**[ \t]")
"""The number of an item of a list, which counts the items and says nothing."""
_SIGN = re.compile(r"(?:^|[\s(=:\[{,$€£])[-\u2212][$€£]?$")
"""A minus stands alone, or it is a hyphen or a subtraction."""
_LONGEST = 400
"""Digits of a number that is read; longer ones are codes of their own."""


@dataclass(frozen=True, slots=True)
class Found:
    """A number, date or code. `readings`: all that it may mean; a number's are `Fraction`, the others' are text."""

    kind: Kind
    text: str
    readings: frozenset[Fraction | str]

    def same(self, other: "Found") -> bool:
        """Whether both may mean the same."""
        return self.kind == other.kind and bool(self.readings & other.readings)


def find(text: str) -> list[Found]:
    """Everything in a text, in its order. Numbers inside dates and codes are no numbers of their own."""
    marks = {at for match in _MARK.finditer(text) for at in range(*match.span())}
    found = []
    for match in _FOUND.finditer(text):
        if match.start() in marks:
            continue
        one = _read(match, text)
        if one is not None:
            found.append(one)
    return found


def numbers(text: str) -> list[Found]:
    """The numbers alone."""
    return [one for one in find(text) if one.kind == "number"]


def _read(match: re.Match[str], text: str) -> Found | None:
    kind, said = match.lastgroup, match.group()
    if kind == "code":
        return _code(said)
    if kind == "number":
        minus = _SIGN.search(text, max(0, match.start() - 3), match.start()) is not None
        values = readings(said)
        if not values:
            return Found("code", said, frozenset({said}))
        return Found("number", ("-" if minus else "") + said, frozenset(-v if minus else v for v in values))
    days = _days(str(kind), said)
    return Found("date", said, frozenset(days or {said.lower()}))


def _code(said: str) -> Found | None:
    """A code has letters and digits; `3-year` is a number with what it counts."""
    if not any(sign.isdigit() for sign in said):
        return None
    if (match := re.fullmatch(r"(\d+)-[a-z-]+", said)) is not None:
        return Found("number", match[1], readings(match[1]))
    return Found("code", said, frozenset({said.lower()}))


def readings(said: str) -> frozenset[Fraction]:
    """All numbers that a writing without its sign may mean; none for one that is too long to be a number.

    Groups are 3 digits each, or 2 and at last 3 (India). One sign alone before exactly 3 digits may group or be the
    decimal sign, unless it is a space or an apostrophe; a comma or point before other digits is the decimal sign.
    """
    if len(said) > _LONGEST:
        return frozenset()
    body, _, power = said.lower().partition("e")
    body = re.sub(rf"[{THIN} ]", " ", body).replace("\u2019", "'")
    signs = [sign for sign in body if not sign.isdigit()]
    factor = Fraction(10) ** int(power) if power else Fraction(1)
    found: set[Fraction] = set()
    if not signs:
        found.add(Fraction(body))
    if signs and len(set(signs)) == 1 and _groups(body.split(signs[0])):
        found.add(Fraction(body.replace(signs[0], "")))
    if signs and signs[-1] in ".," and signs.count(signs[-1]) == 1:
        whole, _, part = body.rpartition(signs[-1])
        rest = set(signs[:-1])
        if not rest or (len(rest) == 1 and _groups(re.split(r"[.,' ]", whole))):
            found.add(Fraction(f"{re.sub('[^0-9]', '', whole)}.{part}"))
    if not found:  # 1.2.3: a version, not a number
        return frozenset()
    return frozenset(value * factor for value in found)


def _groups(parts: list[str]) -> bool:
    first, *middle, last = parts
    if not first or len(last) != 3 or first == "0":
        return False
    return (len(first) <= 3 and all(len(part) == 3 for part in middle)) or (
        len(first) <= 2 and bool(middle) and all(len(part) == 2 for part in middle)
    )


def _days(kind: str, said: str) -> set[str]:
    """The days a date may mean, as ISO text: 3/4/2025 is two; none for one that no calendar has."""
    words = [word for word in re.split(r"[\s,./-]+", said.lower()) if word]
    if kind == "iso":
        tries = [(words[0], words[1], words[2])]
    elif kind == "parts":
        tries = [(words[2], words[1], words[0]), (words[2], words[0], words[1])]
    else:
        day, month = (words[0], words[1]) if kind == "dmy" else (words[1], words[0])
        tries = [(words[2], str(MONTHS[month]), re.sub(r"\D", "", day))]
    found = set()
    for year, month, day in tries:
        try:
            found.add(date(int(year), int(month), int(day)).isoformat())
        except ValueError:
            continue
    return found
