"""Questions whose right answers are known: how a line of a file states one, and whether an answer keeps to it. Pure.

A line is a JSON object: `id`; `prompt` (without one it speaks of the prompt of that id in the scenario or records);
perhaps `workload` and `max_tokens`; and what is expected, one member of `EXPECTATIONS` at least. All must hold.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import resources
from typing import Any

import orjson

from llmload.answers.numbers import numbers
from llmload.exits import Stop

SETS = ("sums", "code")
"""The shipped files, without `.jsonl`."""
MOST_TOKENS = 100_000
_DEFAULT_TOKENS = 256
_FENCE = re.compile(r"```[a-z]*\n(.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Known:
    """One question. `expected` is as in the file."""

    id: str
    prompt: str | None
    workload: str
    max_tokens: int
    expected: dict[str, Any] = field(default_factory=dict)

    def right(self, answer: str) -> bool:
        """Whether an answer keeps to all that is expected."""
        return right(self.expected, answer)


def shipped() -> tuple[Known, ...]:
    """The questions that come with llmload."""
    folder = resources.files("llmload.answers") / "sets"
    found: list[Known] = []
    for name in SETS:
        found += read((folder / f"{name}.jsonl").read_text(encoding="utf-8"), f"{name}.jsonl", name)
    return tuple(found)


def read(text: str, where: str, workload: str = "facts") -> tuple[Known, ...]:
    """All questions of a file. Raises Stop(USAGE) that names `where` and the line for the first that is none."""
    found: dict[str, Known] = {}
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if not line.strip():
            continue
        place = f"{where}: line {number}"
        one = _one(line, place, workload)
        if one.id in found:
            raise Stop(f"{place}: the id {one.id!r} was there before; every line needs its own")
        found[one.id] = one
    if not found:
        raise Stop(f'{where}: no question in it; expected lines such as {{"id": "q1", "prompt": "…", "number": 42}}')
    return tuple(found.values())


def _one(line: str, place: str, workload: str) -> Known:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise Stop(f"{place}: no JSON: {error}") from None
    if not isinstance(row, dict):
        raise Stop(f"{place}: expected a JSON object, got {type(row).__name__}")
    _text(row, "id", place, needed=True)
    expected = {name: row.pop(name) for name in (*EXPECTATIONS, *BESIDE) if name in row}
    unknown = set(row) - {"id", "prompt", "workload", "max_tokens", "note"}
    if unknown:
        known = ", ".join(("id", "prompt", "workload", "max_tokens", "note", *EXPECTATIONS, *BESIDE))
        raise Stop(f"{place}: unknown member {min(unknown)!r}; expected some of: {known}")
    check(expected, place)
    tokens = row.get("max_tokens", _DEFAULT_TOKENS)
    if type(tokens) is not int or not 0 < tokens <= MOST_TOKENS:
        raise Stop(f"{place}: max_tokens: expected a whole number from 1 to {MOST_TOKENS:,}, got {tokens!r}")
    prompt = _text(row, "prompt", place)
    return Known(row["id"], prompt, _text(row, "workload", place) or workload, tokens, expected)


def _text(row: dict[str, Any], name: str, place: str, *, needed: bool = False) -> str | None:
    value = row.get(name)
    if value is None and not needed:
        return None
    if not isinstance(value, str) or not value.strip():
        raise Stop(f"{place}: {name}: expected text, got {value!r}")
    return value


def check(expected: dict[str, Any], place: str) -> None:
    """Raises Stop(USAGE) for expectations that are none."""
    if not set(expected) & set(EXPECTATIONS):
        raise Stop(f"{place}: nothing is expected of the answer; name one of: {', '.join(EXPECTATIONS)}")
    if strange := set(expected) - set(EXPECTATIONS) - set(BESIDE):
        raise Stop(f"{place}: unknown expectation {min(strange)!r}; there are: {', '.join((*EXPECTATIONS, *BESIDE))}")
    for name, value in expected.items():
        words = (EXPECTATIONS[name] if name in EXPECTATIONS else BESIDE[name])[0](value)
        if words:
            raise Stop(f"{place}: {name}: {words}")
    if "number" not in expected and (beside := set(expected) & set(BESIDE)):
        raise Stop(f"{place}: {min(beside)}: belongs to number, which is not there")


def right(expected: dict[str, Any], answer: str) -> bool:
    """Whether an answer keeps to all that is expected; `expected` was checked."""
    return all(
        holds(value, answer, expected)
        for name, (_, holds) in EXPECTATIONS.items()
        if (value := expected.get(name)) is not None
    )


def _texts(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else value


def _bad_texts(value: Any) -> str | None:
    fine = isinstance(value, list) and value and all(isinstance(one, str) and one for one in value)
    return None if fine or (isinstance(value, str) and value) else f"expected a text, or a list of texts, got {value!r}"


def _folded(text: str) -> str:
    """Upper and lower case alike, every kind and number of white space alike."""
    return " ".join(text.casefold().split())


def _contains(value: Any, answer: str, _: dict[str, Any]) -> bool:
    return all(_folded(one) in _folded(answer) for one in _texts(value))


def _contains_none(value: Any, answer: str, _: dict[str, Any]) -> bool:
    return not any(_folded(one) in _folded(answer) for one in _texts(value))


def _bad_regex(value: Any) -> str | None:
    try:
        re.compile(value)
    except (re.error, TypeError, RecursionError) as error:
        return f"no regular expression: {error}"
    return None


def _matches(value: Any, answer: str, _: dict[str, Any]) -> bool:
    return re.search(value, answer) is not None


def _bad_number(value: Any) -> str | None:
    fine = type(value) in (int, float) and abs(value) < 1e300
    return None if fine else f"expected a number, got {value!r}"


def _has_number(value: Any, answer: str, expected: dict[str, Any]) -> bool:
    """Some number of the answer, in one of its readings, is within the tolerance; the decimals as they are written."""
    wanted, tolerance = Fraction(str(value)), Fraction(str(expected.get("tolerance", 0)))
    found = numbers(answer)
    if expected.get("where") == "ends":
        found = [*found[:1], *found[-1:]]
    return any(
        abs(reading - wanted) <= tolerance for one in found for reading in one.readings if not isinstance(reading, str)
    )


def _bad_tolerance(value: Any) -> str | None:
    return _bad_number(value) or (None if value >= 0 else f"expected 0 or more, got {value!r}")


def _bad_where(value: Any) -> str | None:
    return None if value in ("anywhere", "ends") else f"expected anywhere or ends, got {value!r}"


def _bad_json(value: Any) -> str | None:
    return None if isinstance(value, dict | list) else f"expected an object or a list, got {value!r}"


def _has_json(value: Any, answer: str, _: dict[str, Any]) -> bool:
    """Some JSON of the answer (all of it, in a fence, or between the first and last bracket) is the same value."""
    return any(found == value for found in _jsons(answer))


def _jsons(answer: str) -> Iterator[Any]:
    starts = [at for at in (answer.find("{"), answer.find("[")) if at >= 0]
    end = max(answer.rfind("}"), answer.rfind("]"))
    inside = [answer[min(starts) : end + 1]] if starts else []
    for text in (answer, *_FENCE.findall(answer), *inside):
        try:
            yield orjson.loads(text.strip())
        except orjson.JSONDecodeError:
            continue


EXPECTATIONS: dict[str, tuple[Callable[[Any], str | None], Callable[[Any, str, dict[str, Any]], bool]]] = {
    "must_contain": (_bad_texts, _contains),
    "must_not_contain": (_bad_texts, _contains_none),
    "regex": (_bad_regex, _matches),
    "number": (_bad_number, _has_number),
    "json": (_bad_json, _has_json),
}
"""What may be expected: what is wrong with such an expectation (None: nothing), and whether an answer keeps to it.
Texts are looked for without regard to case and white space, a regular expression just as it is."""
BESIDE: dict[str, tuple[Callable[[Any], str | None]]] = {"tolerance": (_bad_tolerance,), "where": (_bad_where,)}
"""What belongs to `number`: by how much it may be missed (0), and where it stands: `anywhere`, or `ends`: it is the
first or the last number of the answer."""
