"""What an answer held, whether it came as a stream or whole: its words, its tool calls, how it ended.

For the few answers that are read outside of any measuring; what is measured is read event by event in stream/.
"""

from dataclasses import dataclass, field
from typing import Any

import orjson

from llmload.send.asking import Reply
from llmload.stream import chunk
from llmload.stream.sse import Parser


@dataclass(slots=True)
class Heard:
    """What an answer held, streamed or whole."""

    content: str = ""
    calls: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Name and arguments of each tool call."""
    finish: str | None = None
    error: str | None = None


def hear(reply: Reply) -> Heard:
    """What an answer held: the events of a stream put together, or the one message of a whole answer."""
    parser, heard = Parser(), Heard()
    payloads = [data for _, data in (*parser.feed(reply.body), *parser.finish())] if is_stream(reply) else [reply.body]
    for payload in payloads:
        if payload.strip() in (b"", b"[DONE]"):
            continue
        try:
            value = chunk.load(payload)
        except ValueError:
            heard.error = "the answer could not be read"
            continue
        if isinstance(value, dict):
            take(heard, value, reply)
    return heard


def is_stream(reply: Reply) -> bool:
    """Whether a body is events."""
    return "event-stream" in reply.headers.get("content-type", "") or reply.body.lstrip().startswith(b"data:")


def take(heard: Heard, value: dict[str, Any], reply: Reply) -> None:
    """Add one payload."""
    if (error := chunk.error_of(value)) is not None:
        heard.error = reply.quote(chunk.words_of(error))
        return
    choices = value.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
    if choice is None:
        return
    heard.content += chunk.generated({**choice, "delta": without_calls(choice)})[0]
    if isinstance(choice.get("finish_reason"), str):
        heard.finish = choice["finish_reason"]
    calls = part_of(choice).get("tool_calls")
    for at, call in enumerate(calls if isinstance(calls, list) else ()):
        called = call.get("function") if isinstance(call, dict) else None
        if not isinstance(called, dict):
            continue
        index = call.get("index") if isinstance(call.get("index"), int) else at
        name, arguments = heard.calls.get(index, ("", ""))
        given = called.get("arguments")
        if isinstance(given, dict):  # some servers give the object itself
            given = orjson.dumps(given).decode()
        heard.calls[index] = name + chunk.text_of(called.get("name")), arguments + chunk.text_of(given)


def part_of(choice: dict[str, Any]) -> dict[str, Any]:
    """A choice's delta, or its message."""
    delta = choice.get("delta")
    message = choice.get("message")
    return delta if isinstance(delta, dict) else message if isinstance(message, dict) else {}


def without_calls(choice: dict[str, Any]) -> dict[str, Any]:
    """The same without its calls."""
    return {name: value for name, value in part_of(choice).items() if name not in ("tool_calls", "function_call")}


def object_of(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is; a fence of code around it is no part of it."""
    bare = text.strip()
    if bare.startswith("```"):
        bare = bare.partition("\n")[2].rpartition("```")[0]
    try:
        value = orjson.loads(bare)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None
