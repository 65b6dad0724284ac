"""Prompts of a user's own file: JSON lines with `prompt` or `messages`, ShareGPT conversations, or a prompt a line.

Reads the file and checks it; knows no scenario and no request.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from llmload.exits import Stop


@dataclass(frozen=True, slots=True)
class Entry:
    """One prompt of a file."""

    line: int
    """Where it stands: line from 1, or element from 1 where the file is one JSON list."""
    messages: tuple[dict[str, Any], ...]
    max_tokens: int | None


@dataclass(frozen=True, slots=True)
class Dataset:
    """A whole file."""

    entries: tuple[Entry, ...]
    digest: str
    """SHA-256 of the file, in hex."""


@lru_cache(maxsize=8)
def load(name: str) -> Dataset:
    """Read a data file. Raises Stop(USAGE) naming file and line if it is missing, empty or broken.

    - `.txt`: one prompt a line, blank lines left out.
    - else JSON lines, or one JSON list: objects with `prompt` (text) or `messages` (as the chat API takes them) and
      perhaps `max_tokens` or `expected_output_tokens`; or ShareGPT's `{"conversations": [{"from": "human", "value":
      …}, …]}`, of which the first human turn is taken and those without one are left out. Other members are ignored.
    """
    path = Path(name)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Stop(f"{path}: cannot be read: {error.strerror}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Stop(f"{path}: line {line}: no UTF-8 text; save the file as UTF-8") from error
    read = _plain_lines if path.suffix == ".txt" else _objects
    entries = tuple(read(path, text))
    if not entries:
        raise Stop(f'{path}: no prompt in it; expected at least one line such as {{"prompt": "…"}}')
    return Dataset(entries, hashlib.sha256(data).hexdigest())


def _plain_lines(_path: Path, text: str) -> Iterator[Entry]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield Entry(number, ({"role": "user", "content": line.strip()},), None)


def _objects(path: Path, text: str) -> Iterator[Entry]:
    if text.lstrip().startswith("["):
        try:
            items = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise Stop(f"{path}: line {error.lineno}: no valid JSON: {error.msg}") from error
        numbered = [(f"element {at}", at, item) for at, item in enumerate(items, 1)]
    else:
        numbered = []
        for at, line in enumerate(text.split("\n"), 1):
            if line.strip():
                try:
                    numbered.append((f"line {at}", at, orjson.loads(line)))
                except orjson.JSONDecodeError as error:
                    raise Stop(f"{path}: line {at}: no valid JSON: {error.msg}; expected an object a line") from error
    for where, at, item in numbered:
        try:
            messages = _messages(item)
            limit = _limit(item)
        except ValueError as error:
            raise Stop(f"{path}: {where}: {error}") from None
        if messages:
            yield Entry(at, messages, limit)


def _messages(item: Any) -> tuple[dict[str, Any], ...]:
    """The messages of one object; none for a conversation without a human turn."""
    if not isinstance(item, dict):
        raise ValueError(f"expected an object, got {type(item).__name__}")  # noqa: TRY004  (one kind of error for all)
    kinds = [key for key in ("prompt", "messages", "conversations") if key in item]
    if len(kinds) != 1:
        raise ValueError(f"expected one of prompt, messages and conversations, got {' and '.join(kinds) or 'none'}")
    value = item[kinds[0]]
    if kinds[0] == "prompt":
        if not isinstance(value, str) or not value.strip():
            raise ValueError("prompt: expected a text that is not empty")
        return ({"role": "user", "content": value},)
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        raise ValueError(f"{kinds[0]}: expected a list of objects")
    if kinds[0] == "conversations":
        turns = [part.get("value") for part in value if part.get("from") in {"human", "user"}]
        return ({"role": "user", "content": turns[0]},) if turns and isinstance(turns[0], str) and turns[0] else ()
    if not value:
        raise ValueError("messages: expected at least one message")
    if not all(isinstance(one.get("role"), str) and isinstance(one.get("content"), str | list) for one in value):
        raise ValueError("messages: expected role and content in each, content a text or a list of parts")
    return tuple(value)


def _limit(item: dict[str, Any]) -> int | None:
    for key in ("max_tokens", "expected_output_tokens"):
        value = item.get(key)
        if value is not None:
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{key}: expected a whole number of at least 1, got {value!r}")
            return value
    return None
