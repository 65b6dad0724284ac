"""A server's own words, made fit for one line of a record. Pure."""

import re
from collections.abc import Callable

from llmload import plain
from llmload.stream import chunk as chunks

LIMIT = 300
"""Characters of a server's words that are kept."""
TAG = re.compile(r"<(?:style|script)\b.*?</(?:style|script)>|<[^>]*>", re.IGNORECASE | re.DOTALL)

Hide = Callable[[str], str]
"""Takes secrets out of a text."""


def one_line(text: str, limit: int = LIMIT) -> str:
    """A text without line ends, control characters and rows of spaces, cut at `limit` characters."""
    flat = " ".join(plain.one_line(text[: 20 * limit]).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def secret_remover(secret: str | None) -> Hide:
    """A function that replaces `secret` in a text, also where a server repeats it.

    A secret under eight characters is replaced only where it stands alone, or every text would be in shreds.
    """
    if not secret:
        return lambda text: text
    pattern = re.escape(secret)
    if len(secret) < 8:
        pattern = rf"(?<![A-Za-z0-9]){pattern}(?![A-Za-z0-9])"
    found = re.compile(pattern)
    return lambda text: found.sub("[key]", text)


def of_body(body: bytes) -> str:
    """What a body that is no stream says: the message of its JSON, or its text without tags."""
    if not body.strip():
        return ""
    try:
        value = chunks.load(body)
    except ValueError:
        return TAG.sub(" ", body.decode("utf-8", "replace"))
    if isinstance(value, dict):
        error = chunks.error_of(value, b"error")
        return chunks.words_of(error)
    return chunks.words_of(value)
