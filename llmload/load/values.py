"""Single values of a scenario file: a function per kind of value, from what TOML (or a flag) holds to what is used.

Each raises ValueError with "expected …, got …"; which file, table and key it was, `reading.py` adds. Knows no key.
"""

import json
import math
import re
from collections.abc import Callable
from typing import Any

from llmload.load.scenario import Lengths

Parser = Callable[[Any], Any]

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_DURATIONS = re.compile(rf"(?:{_DURATION.pattern})+")
_LENGTHS = re.compile(r"([NU])\(\s*(\d+(?:\.\d+)?)\s*,\s*(\d+(?:\.\d+)?)\s*\)")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LANGUAGE = re.compile(r"[a-z]{2}")
_LONGEST = 10_000_000
"""Tokens; a number above this is a slip of the pen."""

SECRET_HEADER = re.compile(r"key|token|secret|auth|cookie|password|credential", re.IGNORECASE)
"""Names of headers that may hold what must not stand in a file: every gateway has one of its own."""
OUR_HEADERS = {"host", "content-length", "content-type", "accept-encoding", "connection", "transfer-encoding"}


def shown(value: Any) -> str:
    """A value as a person wrote it, cut when it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _refused(expected: str, value: Any) -> ValueError:
    return ValueError(f"expected {expected}, got {shown(value)}")


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def whole(low: int, high: int = 2**53) -> Parser:
    """A whole number from `low` on."""

    def parse(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < low:
            raise _refused(f"a whole number of at least {low}", value)
        if value > high:
            raise _refused(f"a whole number of at most {high}", value)
        return value

    return parse


def wholes(low: int, high: int) -> Parser:
    """A list of whole numbers, or one."""
    one = whole(low, high)

    def parse(value: Any) -> tuple[int, ...]:
        values = value if isinstance(value, list) else [value]
        if not values:
            raise _refused("at least one whole number", value)
        try:
            return tuple(one(item) for item in values)
        except ValueError as error:
            raise ValueError(str(error).replace("a whole number", "whole numbers")) from None

    return parse


def number(low: float = 0.0, high: float = math.inf, *, above: bool = False) -> Parser:
    """A number from `low` (or above it) to `high`."""
    bounds = f"above {low:g}" if above else f"of at least {low:g}"
    bounds += "" if high == math.inf else f" and at most {high:g}"

    def parse(value: Any) -> float:
        if not _is_number(value) or value < low or value > high or (above and value == low):
            raise _refused(f"a number {bounds}", value)
        return float(value)

    return parse


def numbers(low: float = 0.0, high: float = math.inf, *, above: bool = False) -> Parser:
    """A list of numbers, or one."""
    one = number(low, high, above=above)

    def parse(value: Any) -> tuple[float, ...]:
        values = value if isinstance(value, list) else [value]
        if not values:
            raise _refused("at least one number", value)
        return tuple(one(item) for item in values)

    return parse


def duration(unit: str, *, above: bool = False) -> Parser:
    """A time: a number in `unit` ("s" or "ms"), or a string with its own unit such as "20s", "150ms", "1h30m"."""
    name = {"s": "seconds", "ms": "milliseconds"}[unit]

    def parse(value: Any) -> float:
        if isinstance(value, str) and _DURATIONS.fullmatch(value):
            seconds = sum(float(amount) * _UNITS[suffix] for amount, suffix in _DURATION.findall(value))
            parsed = round(seconds / _UNITS[unit], 6)
        elif _is_number(value) and value >= 0:
            parsed = float(value)
        else:
            raise _refused(f'{name} as a number, or a time such as "20s", "150ms", "10m" or "1h"', value)
        if above and parsed == 0:
            raise _refused("a time above 0", value)
        return parsed

    return parse


def flag(value: Any) -> bool:
    """A truth value."""
    if not isinstance(value, bool):
        raise _refused("true or false", value)
    return value


def text(value: Any) -> str:
    """A string that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise _refused("a text", value)
    return value


def codes(value: Any) -> tuple[str, ...]:
    """A list of languages by their codes of two letters, or one."""
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(item, str) and _LANGUAGE.fullmatch(item) for item in values):
        raise _refused('codes of two small letters such as ["en", "de"]', value)
    return tuple(values)


def any_text(value: Any) -> str:
    """A string, perhaps an empty one."""
    if not isinstance(value, str):
        raise _refused("a text", value)
    return value


def choice(*names: str) -> Parser:
    """One of a few words."""

    def parse(value: Any) -> str:
        if value not in names:
            raise _refused(f"one of {', '.join(names)}", value)
        return str(value)

    return parse


def optional(parser: Parser) -> Parser:
    """What `parser` takes, or "none"."""

    def parse(value: Any) -> Any:
        return None if value == "none" else parser(value)

    return parse


def lengths(value: Any) -> Lengths:
    """Token lengths: 217, or "N(217,40)" for a normal distribution, or "U(100,300)" for a uniform one."""
    parsed = None
    if isinstance(value, int | str) and not isinstance(value, bool) and str(value).strip().isdecimal():
        parsed = Lengths("fixed", float(value), 0.0)
    elif isinstance(value, str) and (match := _LENGTHS.fullmatch(value.strip())):
        letter, first, second = match.groups()
        parsed = Lengths("normal" if letter == "N" else "uniform", float(first), float(second))
    if parsed is None:
        raise _refused('tokens as a number, "N(mean,sd)" or "U(low,high)"', value)
    if not 1 <= parsed.a <= _LONGEST or parsed.b > _LONGEST:
        raise _refused(f"at least 1 token and at most {_LONGEST:,}", value)
    if parsed.kind == "uniform" and parsed.b < parsed.a:
        raise _refused("U(low,high) with low not above high", value)
    return parsed


def lengths_json(value: Lengths | None) -> int | str | None:
    """The way back: what `lengths` reads to the same value."""
    if value is None:
        return None
    return int(value.a) if value.kind == "fixed" else value.notation


def json_value(value: Any) -> Any:
    """What JSON can say: TOML's dates and its inf and nan are none of it."""
    if isinstance(value, dict):
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [json_value(item) for item in value]
    if not (value is None or isinstance(value, str | bool) or _is_number(value)):
        raise _refused("something that JSON can say", value)
    return value


def variable(value: Any) -> str:
    """Name of an environment variable. What it is instead is not shown: it may be the key itself."""
    if not isinstance(value, str) or not _VARIABLE.fullmatch(value):
        raise ValueError(
            "expected the name of an environment variable (letters, digits and _), not a key; put the key into the "
            "environment and name the variable here"
        )
    return value


def texts_table(value: Any) -> dict[str, str]:
    """A table of texts; numbers and true/false in it are taken as texts."""
    if not isinstance(value, dict):
        raise _refused("a table of texts", value)
    for key, item in value.items():
        if not isinstance(item, str) and not _is_number(item) and not isinstance(item, bool):
            raise ValueError(f"{key}: expected a text, got {shown(item)}")
    return {key: item if isinstance(item, str) else json.dumps(item) for key, item in value.items()}


def headers(value: Any) -> dict[str, str]:
    """HTTP headers, without secrets and without those that llmload sets."""
    table = texts_table(value)
    for name, item in table.items():
        if SECRET_HEADER.search(name):
            raise ValueError(
                f"{name}: a key never stands in a file; put it into the environment and name the variable with key_env"
            )
        if name.lower() in OUR_HEADERS:
            raise ValueError(f"{name}: llmload sets this header itself; take it out")
        if not _HEADER_NAME.fullmatch(name) or not item.isascii() or not item.isprintable():
            raise ValueError(f"{name}: no valid HTTP header")
    return table


_BODY_KEYS = {
    "model": "set model at the top of the scenario",
    "messages": "prompts come from the classes ([[class]] source)",
    "prompt": "prompts come from the classes ([[class]] source)",
    "stream": "set stream at the top of the scenario",
    "stream_options": "set stream_usage at the top of the scenario",
    "max_tokens": "set max_tokens of the class",
    "max_completion_tokens": "set max_tokens of the class, and max_tokens_field at the top of the scenario",
    "min_tokens": "set min_tokens of the class",
    "ignore_eos": "set ignore_eos of the class",
    "temperature": "set temperature at the top of the scenario or of the class",
    "tools": "set tools of the class",
}
"""Members of the body that have a key of their own."""
_BODY_VALUES: dict[str, tuple[Any, str]] = {
    "n": (1, "several choices share one usage, so that no time per token could be told; take it out"),
    "best_of": (1, "the server would stream nothing before all are done; take it out"),
    "echo": (False, "the prompt sent back would count as the first token; take it out"),
}
"""Members that would break measuring at any other value."""


def extra_body(value: Any) -> dict[str, Any]:
    """Members added to the body of a request, other than those that have a key of their own or break measuring."""
    if not isinstance(value, dict):
        raise _refused("a table", value)
    for key, item in value.items():
        if key in _BODY_KEYS:
            raise ValueError(f"{key}: cannot be set here; {_BODY_KEYS[key]}")
        if key in _BODY_VALUES and item != _BODY_VALUES[key][0]:
            raise ValueError(
                f"{key}: expected {shown(_BODY_VALUES[key][0])}, got {shown(item)}: {_BODY_VALUES[key][1]}"
            )
        try:
            json_value(item)
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from None
    return value


def tools(value: Any) -> tuple[dict[str, Any], ...]:
    """Tools of a chat request, as the API takes them."""
    if not isinstance(value, list) or not all(isinstance(item, dict) and "type" in item for item in value):
        raise _refused('a list of tables, each with a type such as "function"', value)
    return tuple(json_value(value))
