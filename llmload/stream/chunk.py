"""What one JSON payload of a stream says: text by kind, finish reason, usage, error. Pure; knows no SSE and no time.

Servers differ in the names and shapes of nearly everything; each shape that is understood stands here once.
"""

import json
import re
from typing import Any

import orjson

Json = Any
"""A value read from JSON, of which nothing is known yet."""

RATE_LIMITED = re.compile(r"\b429\b|rate[ _-]?limit|too[ _-]many[ _-]requests", re.IGNORECASE)
OVERLOADED = re.compile(
    r"\b(?:503|529)\b|overload|(?:no|at|over|insufficient)[ _-]capacity|server[ _-](?:is[ _-])?busy"
    r"|(?:service|temporarily)[ _-]unavailable|queue[ _-](?:is[ _-])?full",
    re.IGNORECASE,
)


def load(payload: bytes) -> Json:
    """A payload as JSON. Raises ValueError if it is none.

    orjson refuses lone surrogates, NaN and broken UTF-8, which servers do send; the standard library takes the first
    two, and broken bytes become replacement signs, as the standard of SSE asks.
    """
    try:
        return orjson.loads(payload)
    except orjson.JSONDecodeError:
        try:
            return json.loads(payload.decode("utf-8", "replace"))
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


def text_of(value: Json) -> str:
    """The text in a value that may be a string, a list of parts, or an object that holds it."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(text_of, value))
    if isinstance(value, dict):
        return text_of(value.get("text") or value.get("content") or value.get("thinking"))
    return ""


def is_thought(part: Json) -> bool:
    """True for a part of a content list that holds reasoning."""
    return isinstance(part, dict) and part.get("type") in {"thinking", "reasoning"}


def call_text(call: Json) -> str:
    """Name and arguments of a tool call or of a function call of the older kind."""
    if not isinstance(call, dict):
        return ""
    function = call.get("function")
    parts = function if isinstance(function, dict) else call
    return text_of(parts.get("name")) + text_of(parts.get("arguments"))


def generated(choice: dict[str, Json]) -> tuple[str, str, str]:
    """Generated text of one choice: (answer content, reasoning, other: refusal, tool and function calls)."""
    delta = choice.get("delta")
    if not isinstance(delta, dict):
        delta = choice.get("message")
    if not isinstance(delta, dict):
        return text_of(choice.get("text")), "", ""
    content = delta.get("content")
    reasoning = text_of(delta.get("reasoning_content")) or text_of(delta.get("reasoning"))
    if isinstance(content, list):
        reasoning += "".join(text_of(part) for part in content if is_thought(part))
        content = [part for part in content if not is_thought(part)]
    calls = delta.get("tool_calls")
    other = "".join(map(call_text, calls)) if isinstance(calls, list) else ""
    if delta.get("function_call"):
        other += call_text(delta["function_call"])
    return text_of(content), reasoning, text_of(delta.get("refusal")) + other


def is_hollow(choice: dict[str, Json]) -> bool:
    """True if a choice says an empty text and nothing else: neither a role nor a finish reason."""
    delta = choice.get("delta")
    if isinstance(delta, dict):
        return delta.get("content") == "" and not delta.get("role") and not choice.get("finish_reason")
    return choice.get("text") == "" and not choice.get("finish_reason")


def error_of(chunk: dict[str, Json], name: bytes = b"") -> Json:
    """The error that a payload reports, in whatever form, or None. `name` is the name of the SSE event."""
    found = chunk.get("error")
    if found:
        return found
    if name == b"error" or chunk.get("object") == "error" or chunk.get("type") == "error":
        return chunk
    if "choices" in chunk:
        choices = chunk["choices"]
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            return choices[0].get("error") or None
        return None
    return chunk if chunk.get("detail") or (chunk.get("message") and "code" in chunk) else None


def words_of(error: Json) -> str:
    """The server's own words in an error value: its message, or the whole of it as JSON."""
    if isinstance(error, str):
        return error
    if isinstance(error, dict):
        for name in ("message", "msg", "detail", "error", "error_message", "title"):
            if error.get(name):
                return words_of(error[name])
    return json.dumps(error, ensure_ascii=False, default=str)


def kind_of_error(error: Json) -> str:
    """Outcome that an error in a body stands for: `rate_limited`, `overloaded` or `stream_error`.

    Codes and types are asked before the words, as the words may speak of anything.
    """
    members = error if isinstance(error, dict) else {}
    labels = " ".join(
        str(members.get(name)) for name in ("code", "status", "status_code", "type", "error_type", "reason")
    )
    for text in (labels, words_of(error)):
        if RATE_LIMITED.search(text):
            return "rate_limited"
        if OVERLOADED.search(text):
            return "overloaded"
    return "stream_error"
