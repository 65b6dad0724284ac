"""Sorts of difference and their parts: how a value is read from a run, and how two of them are held against each other.

Pure. A value that is not known is None, and so is everything of a wrong kind in a run.json that was changed by hand.
Where None itself is a setting (no temperature, no limit) it reads as `NOT_SET`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llmload.plain import one_line
from llmload.report.building import Built

NOT_SET = "not set"
LONGEST = 100
"""Characters of a value that a sentence shows."""

Texts = tuple[str, str]
"""Two values that differ, each in words."""
Read = Callable[[Built], Any]
Hold = Callable[[Any, Any], Texts | None]
"""Holds two known values against one another: None where they are the same, else both in words."""


def first(values: Sequence[Any]) -> Any:
    """The first of the values of several rounds, all of them known."""
    return values[0]


def unequal(one: Any, other: Any) -> Texts | None:
    """Both in words where they are not equal."""
    return None if one == other else (shown(one), shown(other))


def common(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> Texts | None:
    """What differs in tables, of the keys that both have: classes that one side lacks are told once, elsewhere."""
    keys = [key for key in one if key in other and one[key] != other[key]]
    return _of(keys, one, other)


def every(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> Texts | None:
    """What differs in tables; a key that one of them lacks is not set there."""
    keys = [key for key in dict.fromkeys([*one, *other]) if one.get(key, NOT_SET) != other.get(key, NOT_SET)]
    return _of(keys, one, other)


def _of(keys: Sequence[Any], one: Mapping[Any, Any], other: Mapping[Any, Any]) -> Texts | None:
    if not keys:
        return None
    mine, theirs = ({key: table.get(key, NOT_SET) for key in keys} for table in (one, other))
    return shown(mine), shown(theirs)


def apart(share: float, words: Callable[[float], str] = "{:g}".format) -> Hold:
    """Holds numbers against one another that are the same up to a share of the larger."""

    def hold(one: float, other: float) -> Texts | None:
        if abs(one - other) <= share * max(abs(one), abs(other)):
            return None
        return words(one), words(other)

    return hold


@dataclass(frozen=True, slots=True)
class Part:
    """One value in which runs can differ."""

    key: str
    """As --changed and --accept may call it, if not by its sort."""
    words: str
    read: Read
    hold: Hold = unequal
    pool: Callable[[Sequence[Any]], Any] = first
    """What the known values of a side's rounds come to."""
    note: bool = False
    """A difference in it spoils nothing."""
    within: bool = True
    """Whether the rounds of one side should agree in it."""
    optional: bool = False
    """Few tell it: nothing is said where one side does and the other does not."""
    of_levels: bool = False
    """Its value is levels, by their labels: it spoils only what is decided at one of them."""
    cure: str = ""
    """What to do about a difference in it that is nobody's intention."""


@dataclass(frozen=True, slots=True)
class Sort:
    """A sort of difference: what --changed and --accept call it, and its parts."""

    name: str
    words: str
    """What may differ, for the table of all names."""
    parts: tuple[Part, ...]


def walk(built: Built, *path: str) -> Any:
    """A member of run.json, however deep; None where there is none on the way."""
    value: Any = built.facts.run
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def plain(value: Any) -> str | float | bool | None:
    """A single value as JSON has it: a text, a number, true or false; None for everything else."""
    if isinstance(value, str):
        return one_line(value).strip() or None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, bool | int | float) else None


def number(value: Any) -> float | None:
    """A number that is finite; None for everything else."""
    found = plain(value)
    return None if isinstance(found, str | bool) else found


def table(value: Any) -> dict[str, Any]:
    """A table; an empty one for everything else."""
    return value if isinstance(value, dict) else {}


def tables(value: Any) -> list[dict[str, Any]]:
    """A list of tables; whatever else is in it is left out."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def at(*path: str) -> Read:
    """Reads a single value of run.json."""
    return lambda built: plain(walk(built, *path))


def set_to(value: Any) -> Any:
    """A setting of a scenario as a value: None is one of them. Tables and lists as a text with their keys sorted."""
    if value is None:
        return NOT_SET
    if isinstance(value, dict):
        inner = ", ".join(f"{key}: {set_to(value[key])}" for key in sorted(value, key=str))
        return f"{{{inner}}}" if value else NOT_SET
    if isinstance(value, list | tuple):
        return f"[{', '.join(str(set_to(item)) for item in value)}]" if value else NOT_SET
    return plain(value)


def setting(*path: str) -> Read:
    """Reads a setting of the scenario; one that it does not have at all is unknown."""

    def read(built: Built) -> Any:
        inner = walk(built, "scenario", *path[:-1])
        return set_to(inner[path[-1]]) if isinstance(inner, dict) and path[-1] in inner else None

    return read


def by_class(read: Callable[[dict[str, Any], dict[str, Any]], Any]) -> Read:
    """Reads a value of each class, given the scenario and the class, into a table by name; None where none is known."""

    def of(built: Built) -> dict[str, Any] | None:
        scenario = table(built.facts.scenario)
        rows = tables(scenario.get("classes"))
        found = {str(row.get("name")): read(scenario, row) for row in rows}
        return {name: value for name, value in found.items() if value is not None} or None

    return of


def shown(value: Any) -> str:
    """A value in a sentence, on one line, cut where it is long."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        text = ", ".join(f"{key} {shown(item)}" for key, item in value.items())
    elif isinstance(value, tuple):
        text = ", ".join(shown(item) for item in value) or "none"
    else:
        text = one_line(str(value))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
