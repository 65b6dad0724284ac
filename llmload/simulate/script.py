"""What is sent to one request, step by step, and how it ends: a good answer, or one of the failures.

A script has no times in it: its steps are due when `timing.py` says, one after the other. Pure.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice, repeat
from typing import Literal

import orjson

from llmload.simulate import asked, failures, wire
from llmload.simulate.answers import Answer

Ending = Literal["keep", "close", "reset", "hang"]
"""After the last byte: keep the connection, close it, reset it, or be silent until the client leaves."""


@dataclass(slots=True)
class Script:
    """Bytes of one answer. The first `bearing` of `count` steps bear tokens; a step may be empty."""

    opening: bytes
    """Sent when service begins."""
    steps: Iterator[bytes]
    count: int
    bearing: int
    finish: str | None
    """Finish reason, None if there was none."""
    ending: Ending = "keep"
    status: int | None = 200
    """None: no head is sent."""
    sse: bool = True
    """Whether the body is an event stream."""


def good(answer: Answer, finish: str, *, stream: bool) -> Script:
    """The script of a request that is answered well."""
    return _finished(answer, finish, answer.events) if stream else _whole(answer, finish, answer.events)


def failing(answer: Answer, finish: str, kind: str, events: int, *, stream: bool) -> Script:
    """The script of a request that fails; the kinds that fail midway do so after so many token-bearing events."""
    status = failures.status_of(kind)
    if status is not None:
        return _status(answer, status)
    return (_STREAMED if stream else _UNSTREAMED)[kind](answer, finish, events)


def _finished(answer: Answer, finish: str, events: int, *, done: bool = True) -> Script:
    """A stream of so many events with a proper end in the write of the last token."""

    def steps() -> Iterator[bytes]:
        stream = answer.stream()
        yield from islice(stream, events - 1)
        yield next(stream) + answer.closing(finish, answer.tokens_of(events), done=done)

    return Script(answer.opening(), steps(), events, events, finish)


def _broken(answer: Answer, events: int, last: bytes, ending: Ending) -> Script:
    """A stream of so many events and then, when the next would be due, something else."""
    steps = chain(islice(answer.stream(), events), [last])
    return Script(answer.opening(), steps, events + 1, events, None, ending)


def _whole(answer: Answer, finish: str, events: int) -> Script:
    """One JSON answer when all events would have been sent."""
    body = answer.whole(finish, answer.tokens_of(events))
    return _late(events, wire.answer(200, body, keep_alive=answer.keep_alive), finish, "keep")


def _late(events: int, data: bytes, finish: str | None, ending: Ending) -> Script:
    """Nothing until the last of so many events would be due, then these bytes."""
    return Script(b"", chain(repeat(b"", events - 1), [data]), events, events, finish, ending, sse=False)


def _half(answer: Answer, finish: str, events: int, ending: Ending) -> Script:
    """The first half of a JSON answer."""
    data = wire.answer(200, answer.whole(finish, answer.tokens), keep_alive=answer.keep_alive)
    return _late(events, data[: len(data) - answer.tokens // 2 - 20], None, ending)


def _status(answer: Answer, status: int) -> Script:
    """An error status, answered at once."""
    extra = "retry-after: 1\r\n" if status in {429, 503} else "location: /moved\r\n" if status < 400 else ""
    body = orjson.dumps(asked.error_dict(f"injected failure: {wire.phrase(status)}", status, code=str(status)))
    data = wire.answer(status, body, keep_alive=answer.keep_alive, extra=extra)
    return Script(data, iter(()), 0, 0, None, status=status, sse=False)


def _error() -> bytes:
    return orjson.dumps(asked.error_dict("injected failure: the engine died", 500, code="500"))


def _body(answer: Answer, events: int, body: bytes) -> Script:
    """A status 200 with this JSON body."""
    return _late(events, wire.answer(200, body, keep_alive=answer.keep_alive), None, "keep")


def _empty(answer: Answer) -> Script:
    return Script(answer.opening(), iter([answer.done()]), 1, 0, None)


def _silent(opening: bytes) -> Script:
    return Script(opening, iter(()), 0, 0, None, "hang", status=200 if opening else None, sse=bool(opening))


def _closed() -> Script:
    return Script(b"", iter(()), 0, 0, None, "close", status=None, sse=False)


Make = Callable[[Answer, str, int], Script]

_STREAMED: dict[str, Make] = {
    "cut": lambda answer, _, events: _broken(answer, events, b"", "close"),
    "reset": lambda answer, _, events: _broken(answer, events, b"", "reset"),
    "stall": lambda answer, _, events: _broken(answer, events, b"", "hang"),
    "silent": lambda answer, _, _events: _silent(answer.opening()),
    "error-event": lambda answer, _, events: _broken(
        answer, events, answer.frame(b"data: %b\n\n" % _error()) + answer.done(), "keep"
    ),
    "garbage": lambda answer, _, events: _broken(
        answer, events, answer.frame(b'data: {"id":"%b","choi\n\n' % answer.id.encode()) + answer.done(), "keep"
    ),
    "abort": lambda answer, _, events: _finished(answer, "abort", events),
    "filter": lambda answer, _, events: _finished(answer, "content_filter", events),
    "json": lambda answer, finish, _: _whole(answer, finish, answer.events),
    "empty": lambda answer, _, _events: _empty(answer),
    "no-done": lambda answer, finish, _: _finished(answer, finish, answer.events, done=False),
    "close": lambda _answer, _, _events: _closed(),
}
_UNSTREAMED: dict[str, Make] = {
    "cut": lambda answer, finish, events: _half(answer, finish, events, "close"),
    "reset": lambda answer, finish, events: _half(answer, finish, events, "reset"),
    "stall": lambda answer, finish, events: _half(answer, finish, events, "hang"),
    "silent": lambda _answer, _, _events: _silent(b""),
    "error-event": lambda answer, _, events: _body(answer, events, _error()),
    "garbage": lambda answer, _, events: _body(answer, events, b'{"id":"%b","choi' % answer.id.encode()),
    "abort": lambda answer, _, events: _whole(answer, "abort", events),
    "filter": lambda answer, _, events: _whole(answer, "content_filter", events),
    "close": lambda _answer, _, _events: _closed(),
}
