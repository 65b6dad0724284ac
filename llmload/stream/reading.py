"""One streamed answer, read event by event: bytes with the stamp of their arrival in, facts out.

Pure: stamps are whole nanoseconds of any one clock and come in as arguments; nothing here asks for the time. Each
event is read when it comes, never a batch at the end, so `feed` is the hot path: the usual chunk (one choice, one
text) takes the short way through it, everything else goes through `_event`.
"""

from collections.abc import Callable
from typing import Any

import orjson

from llmload.stream import chunk as chunks
from llmload.stream.sse import Parser

DONE = b"[DONE]"
PLAIN_NAMES = (b"", b"message")
"""Names of events that hold chunks; what another event holds need not be JSON."""


class StreamReading:
    """What was learnt of one answer so far. Facts of tokens are those of choice 0, usage is that of all choices."""

    __slots__ = (
        "_at", "_before", "_on_first", "_parse", "_parser", "coalesced", "content_at", "done_at", "error", "error_at",
        "fault", "finish", "finish_at", "first_event_at", "hollow", "id", "id_changed", "model", "other_chars", "over",
        "parts", "reasoned", "stamps", "text_after_finish", "unterminated", "usage", "usage_at",
    )  # fmt: skip

    def __init__(self, on_first: Callable[[int], None] | None = None) -> None:
        self._parser = Parser()
        self._parse = self._parser.feed
        self._on_first = on_first
        """Called with the stamp of the first token when it is read."""
        self._at = 0
        self._before = 0
        """Token events before the last read."""
        self.stamps: list[int] = []
        """Arrival of every token-bearing event."""
        self.parts: list[str] = []
        """Answer content, piece by piece."""
        self.other_chars = 0
        """Characters of generated text that is no answer content."""
        self.coalesced = 0
        self.first_event_at: int | None = None
        self.content_at: int | None = None
        self.reasoned = False
        """Reasoning text was streamed."""
        self.finish: str | None = None
        self.finish_at: int | None = None
        self.done_at: int | None = None
        self.usage: dict[str, Any] | None = None
        self.usage_at: int | None = None
        self.id: str | None = None
        self.id_changed = False
        self.model: str | None = None
        self.hollow = False
        """A chunk held an empty text and nothing else."""
        self.text_after_finish = False
        self.unterminated = False
        self.error: Any = None
        """The first error that the stream reported."""
        self.error_at: int | None = None
        self.fault: str | None = None
        """The first payload that could not be read."""
        self.over = False
        """Nothing that counts can follow: the end mark or an error came, or too much that is no SSE."""

    @property
    def is_sse(self) -> bool:
        """True once a line was seen that SSE knows."""
        return self._parser.known

    @property
    def overlong(self) -> bool:
        """True if an event or a line did not end within what is kept of one; nothing behind it was read."""
        return self._parser.overlong

    @property
    def stray(self) -> bytes:
        """The body, or its first 64 KiB, where it is no SSE."""
        return self._parser.stray

    @property
    def text(self) -> str:
        """The joined answer content. Halves of a character that found each other are joined, lone ones replaced."""
        joined = "".join(self.parts)
        try:
            joined.encode()
        except UnicodeEncodeError:
            return joined.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return joined

    def feed(self, stamp: int, data: bytes) -> None:
        """Take the bytes of one socket read, which arrived at `stamp`."""
        if self.done_at is not None:
            return
        stamps = self.stamps
        before = len(stamps)
        self._at = stamp
        self._before = before
        blocks = self._parse(data)
        for name, payload in blocks:
            if name or self.content_at is None or self.finish is not None:
                self._event(stamp, name, payload)
                if self.done_at is not None:
                    break
                continue
            # The short way: known id, one choice, number 0, a text and nothing beside it. What does not fit falls
            # through to the long way, which also decides what is an error.
            try:
                chunk = orjson.loads(payload)
                choices = chunk["choices"]
                choice = choices[0]
                delta = choice["delta"]
                text = delta["content"]
                if (
                    text.__class__ is str
                    and text
                    and len(delta) == 1
                    and len(choices) == 1
                    and choice["index"] == 0
                    and choice.get("finish_reason") is None
                    and chunk.get("id") == self.id
                    and not chunk.get("usage")
                    and not chunk.get("error")
                ):
                    stamps.append(stamp)
                    self.parts.append(text)
                    continue
            except (ValueError, KeyError, TypeError, IndexError, AttributeError):
                pass
            self._event(stamp, name, payload)
            if self.done_at is not None:
                break
        if len(blocks) > 1:
            self.coalesced += max(len(stamps) - before - 1, 0)
        elif not blocks and (self._parser.overlong or (not self._parser.known and self._parser.stray_full)):
            self.over = True

    def close(self) -> None:
        """The body has ended, however it did. An event whose blank line is missing counts if it is whole."""
        self._on_first = None  # whoever is told holds this reading, and must not be held by it
        if self.done_at is not None:
            return
        before = len(self.stamps)
        for name, payload in self._parser.finish():
            if not payload and name != b"error":
                continue
            self.unterminated = True
            fault, began = self.fault, self.first_event_at
            self._event(self._at, name, payload)
            if self.fault is not fault:  # half an event is the cut itself, not a fault of its own
                self.fault, self.first_event_at = fault, began
            if len(self.stamps) > before > self._before:
                self.coalesced += 1

    def let_go(self) -> None:
        """Forget every token, once all that was learnt is on record; nothing may be read here any more."""
        self.stamps = []
        self.parts = []
        self._on_first = None

    def take_whole(self, stamp: int, body: bytes) -> None:
        """Read an answer that is no stream but one JSON object, which was complete at `stamp`.

        It has texts and counts but no token times: `stamps` stays empty. Sets `fault` if it is no JSON object.
        """
        self._event(stamp, b"", body)
        self.stamps.clear()
        self.first_event_at = self.content_at = None
        self.hollow = False

    def _event(self, stamp: int, name: bytes, payload: bytes) -> None:
        text = payload.strip()
        if text == DONE:
            self._began(stamp)
            self.done_at = stamp
            self.over = True
            return
        if name != b"error" and (not text or text.startswith(b":")):
            return  # nothing, or a comment that was wrapped into a data line
        self._began(stamp)
        try:
            chunk = chunks.load(payload)
        except ValueError:
            chunk = None
        if isinstance(chunk, dict):
            self._chunk(stamp, name, chunk)
        elif name == b"error":
            self._error(stamp, text.decode("utf-8", "replace") or "an event named error")
        elif name in PLAIN_NAMES and self.fault is None:
            self.fault = text.decode("utf-8", "replace")

    def _began(self, stamp: int) -> None:
        if self.first_event_at is None:
            self.first_event_at = stamp

    def _error(self, stamp: int, error: Any) -> None:
        if self.error is None:
            self.error = error
            self.error_at = stamp
        self.over = True

    def _chunk(self, stamp: int, name: bytes, chunk: dict[str, Any]) -> None:
        if (error := chunks.error_of(chunk, name)) is not None:
            self._error(stamp, error)
        if (found := chunk.get("id")) and isinstance(found, str) and found != self.id:
            self.id_changed = self.id is not None
            self.id = found
        if self.model is None and isinstance(chunk.get("model"), str):
            self.model = chunk["model"] or None
        self._usage(stamp, chunk.get("usage"))
        choices = chunk.get("choices")
        if isinstance(choices, list):
            for choice in choices:
                if isinstance(choice, dict) and choice.get("index") in (None, 0):
                    self._choice(stamp, choice)

    def _usage(self, stamp: int, usage: Any) -> None:
        if isinstance(usage, dict) and usage:
            self.usage = usage
            self.usage_at = stamp

    def _choice(self, stamp: int, choice: dict[str, Any]) -> None:
        content, reasoning, other = chunks.generated(choice)
        if content or reasoning or other:
            self.text_after_finish |= self.finish is not None
            self.stamps.append(stamp)
            if content:
                if self.content_at is None:
                    self.content_at = stamp
                self.parts.append(content)
            self.reasoned |= bool(reasoning)
            self.other_chars += len(reasoning) + len(other)
            if len(self.stamps) == 1 and self._on_first is not None:
                self._on_first(stamp)
        else:
            self.hollow |= chunks.is_hollow(choice)
        finish = choice.get("finish_reason")
        if finish and (self.finish != str(finish) or self.text_after_finish):
            self.finish = str(finish)
            self.finish_at = stamp
        self._usage(stamp, choice.get("usage"))
