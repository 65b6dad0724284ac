"""The bytes of an answer: chat and completions, as a stream and whole. Pure: request in, bytes out.

An event carries a fixed number of tokens (the last one what is left). Every token is a word, or a part of one, that the
simulator's own tokenizer counts as one, so that the text of an answer, counted again, gives what `usage` says.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson

from llmload.simulate import wire
from llmload.simulate.tokens import LETTERS, pieces

_PROSE = (
    "the order was sent by mail on Monday and it has been signed for at the front desk so we can close this case now"
    " if you want to keep it open just reply with a short note about what is still wrong and when it would suit you"
    " to talk to one of our team"
)
WORDS = tuple(_PROSE.split())
"""Words of one token each; an answer goes round and round in them, from a place that depends on its number."""

_DONE = b"data: [DONE]\n\n"


@cache
def _round(letters: int) -> list[bytes]:
    """All tokens of the prose, in their order; where a word begins, with its space."""
    return [piece.encode() for piece in pieces(f" {_PROSE}", letters)]


def words(start: int, count: int, letters: int = LETTERS) -> Iterator[bytes]:
    """So many tokens of text; the first begins with no space."""
    ring = _round(letters)
    if count > 0:
        yield ring[start % len(ring)].lstrip()
    for index in range(start + 1, start + count):
        yield ring[index % len(ring)]


@dataclass(slots=True)
class Answer:
    """What is said to one request; `script.py` says when, and how much of it."""

    number: int
    chat: bool
    model: str
    created: int
    """Unix seconds."""
    prompt_tokens: int
    tokens: int
    per_event: int = 1
    letters: int = LETTERS
    """Of a token, at most."""
    include_usage: bool = False
    keep_alive: bool = True
    chunked: bool = True

    @property
    def id(self) -> str:
        """The id of the answer."""
        return f"{'chatcmpl' if self.chat else 'cmpl'}-{self.number:012d}"

    @property
    def events(self) -> int:
        """Token-bearing events of the whole answer."""
        return -(-self.tokens // self.per_event)

    def tokens_of(self, events: int) -> int:
        """Tokens in the first so many events."""
        return min(self.tokens, events * self.per_event)

    def usage(self, tokens: int) -> dict[str, Any]:
        """The usage object after so many tokens."""
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": tokens,
            "total_tokens": self.prompt_tokens + tokens,
            "prompt_tokens_details": {"cached_tokens": 0},
        }

    def opening(self) -> bytes:
        """Head of a stream; a chat's begins with an event that bears the role and no text."""
        data = wire.stream_head(keep_alive=self.keep_alive, chunked=self.chunked)
        if self.chat:
            data += self.frame(self._event(self._choice({"role": "assistant", "content": ""}, None)))
        return data

    def stream(self) -> Iterator[bytes]:
        """The token-bearing events, framed, in order."""
        mark = self._event(self._choice({"content": "\0"} if self.chat else "\0", None))
        before, _, after = mark.rpartition(b"\\u0000")
        pieces = words(self.number * 7, self.tokens, self.letters)
        if self.per_event > 1:
            pieces = _joined(pieces, self.per_event)
        if not self.chunked:
            return (b"%b%b%b" % (before, piece, after) for piece in pieces)
        size = len(before) + len(after)
        return (b"%x\r\n%b%b%b\r\n" % (size + len(piece), before, piece, after) for piece in pieces)

    def closing(self, finish: str, tokens: int, *, done: bool = True) -> bytes:
        """The end of a stream: finish reason, usage if asked for, `[DONE]` unless `done` is false, end of the body."""
        data = self.frame(self._event(self._choice({} if self.chat else "", finish)))
        if self.include_usage:
            data += self.frame(self._event(None, usage=self.usage(tokens)))
        return data + (self.done() if done else self.end())

    def done(self) -> bytes:
        """`[DONE]` and the end of the body."""
        return self.frame(_DONE) + self.end()

    def end(self) -> bytes:
        """The end of the body."""
        return wire.LAST_CHUNK if self.chunked else b""

    def frame(self, event: bytes) -> bytes:
        """An event as it goes onto the wire."""
        return wire.chunk(event) if self.chunked else event

    def whole(self, finish: str, tokens: int) -> bytes:
        """The JSON body for who asked for no stream."""
        text = b"".join(words(self.number * 7, tokens, self.letters)).decode()
        said: dict[str, Any] = {"message": {"role": "assistant", "content": text}} if self.chat else {"text": text}
        return orjson.dumps(
            {
                **self._names("chat.completion" if self.chat else "text_completion"),
                "choices": [{"index": 0, **said, "logprobs": None, "finish_reason": finish}],
                "usage": self.usage(tokens),
            }
        )

    def _names(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def _choice(self, said: Any, finish: str | None) -> dict[str, Any]:
        return {"index": 0, "delta" if self.chat else "text": said, "logprobs": None, "finish_reason": finish}

    def _event(self, choice: dict[str, Any] | None, **more: Any) -> bytes:
        names = self._names("chat.completion.chunk" if self.chat else "text_completion")
        return b"data: %b\n\n" % orjson.dumps({**names, "choices": [choice] if choice else [], **more})


def _joined(pieces: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Pieces joined to so many at a time."""
    group: list[bytes] = []
    for piece in pieces:
        group.append(piece)
        if len(group) == size:
            yield b"".join(group)
            group = []
    if group:
        yield b"".join(group)
