"""The simulator's tokenizer: deterministic, additive enough to fit prompts by, and easy to recompute elsewhere.

A token is one space or none with up to six letters or digits, one space or none with one other sign, or a run of
white space; English text comes to about four and a half characters a token. With fewer letters to a token it is another
tokenizer, which counts more of them in the same text. A chat adds 4 tokens a message for its
role and marks, and 3 for the turn that is to be answered, as chat templates do. Knows no HTTP.
"""

import re
import zlib
from collections.abc import Sequence
from functools import cache
from typing import Any

LETTERS = 6
"""Of one token, at most."""
PER_MESSAGE = 4
PER_CHAT = 3
VOCABULARY = 49_152


@cache
def _form(letters: int) -> re.Pattern[str]:
    return re.compile(rf"\s?\w{{1,{letters}}}|\s?[^\w\s]|\s+")


def pieces(text: str, letters: int = LETTERS) -> list[str]:
    """The tokens of a text; joined, they are the text."""
    return _form(letters).findall(text)


def count(text: str, letters: int = LETTERS) -> int:
    """Tokens of a text."""
    return len(pieces(text, letters))


def ids(text: str, letters: int = LETTERS) -> list[int]:
    """Token ids of a text, 0 to VOCABULARY - 1; equal pieces have equal ids."""
    return [zlib.crc32(piece.encode("utf-8", "surrogatepass")) % VOCABULARY for piece in pieces(text, letters)]


def overhead(messages: int) -> int:
    """Tokens that the chat template adds to so many messages."""
    return PER_MESSAGE * messages + PER_CHAT


def text_of(content: Any) -> str | None:
    """The text of a message's content: a string, null, or a list of text parts; None if it is anything else."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    parts = []
    for part in content:
        if not (isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)):
            return None
        parts.append(part["text"])
    return "".join(parts)


def texts_of(messages: Any) -> list[str]:
    """The text of each message of a chat. Raises ValueError, with a sentence, if they are no messages."""
    if not isinstance(messages, list) or not messages:
        raise ValueError("messages must be a list of at least one message")
    texts = []
    for index, message in enumerate(messages):
        if not _has_role(message):
            raise ValueError(f"messages[{index}] must be an object with a role")
        text = text_of(message.get("content"))
        if text is None:
            raise ValueError(f"messages[{index}].content must be a text or a list of text parts")
        texts.append(text)
    return texts


def _has_role(message: Any) -> bool:
    return isinstance(message, dict) and isinstance(message.get("role"), str)


def count_chat(texts: Sequence[str], letters: int = LETTERS) -> int:
    """Tokens of a chat with these message texts, template included."""
    return sum(count(text, letters) for text in texts) + overhead(len(texts))
