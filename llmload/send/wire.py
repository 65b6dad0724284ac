"""One request and its answer on one connection: HTTP, limits, and when it is over.

Bytes come in with stamps from the connection's callback; llhttp (httptools) takes HTTP apart; the body goes on to
whoever reads it, one call per socket read, so that what came together stays together. The greenlet that sent the
request sleeps meanwhile and is woken once, at the end.

llhttp has no word for the end of a connection, so whether a body was whole is judged here. Limits cost nothing per
event: one timer per exchange goes off when the first limit could be passed, looks at how far things are by then, and
goes back to sleep or ends it.
"""

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, Protocol

import httptools
from gevent import get_hub
from gevent.event import Event

from llmload.send.connection import Connection, told
from llmload.send.encoding import Decode, decoder
from llmload.stream.judge import Answer, Ending, EndKind

BODY_LIMIT = 65536
"""Bytes that are kept of a body that is not read as a stream."""
REFUSAL_S = 1.0
"""How long the body of an answer other than 200 is waited for: its status is known."""
GRACE_S = 0.15
"""How long the end of the body is waited for once the answer itself has ended."""

Due = Callable[[int], tuple[int, EndKind, str]]
"""The next limit of a request that was sent at the given stamp: when, which, and the words for it."""


class Sink(Protocol):
    """Who reads a body."""

    over: bool
    """True once nothing that counts can follow; the body's end is then waited for only briefly."""

    def feed(self, stamp: int, data: bytes) -> None:
        """Body bytes of one socket read, decoded."""


class Whole:
    """A body that is kept as it is, up to a limit."""

    LIMIT = 1 << 24

    def __init__(self) -> None:
        self.over = False
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, stamp: int, data: bytes) -> None:  # noqa: ARG002  (all that counts is that it came)
        """Keep some more of the body; what comes beyond the limit until the connection is closed is left."""
        if self.over:
            return
        self._pieces.append(data)
        self._size += len(data)
        self.over = self._size > self.LIMIT

    @property
    def body(self) -> bytes:
        """What came so far."""
        return b"".join(self._pieces)


class Exchange:
    """Runs one exchange; `sink` takes the body of an answer with status 200, `due` tells the next limit."""

    __slots__ = (
        "_collected", "_collected_size", "_decode", "_done", "_due", "_feed", "_framed", "_fresh", "_grace_due",
        "_headers_over", "_interim", "_message_over", "_parser", "_pieces", "_reads_stream", "_sink", "_stamp",
        "_take", "_timer", "answer", "connection", "ending", "keep", "on_body", "sent",
    )  # fmt: skip

    def __init__(self, connection: Connection, sink: Sink, due: Due, *, fresh: bool = False) -> None:
        self.connection = connection
        self.answer = Answer()
        self.ending: Ending | None = None
        self.sent = 0
        """Stamp of the moment the first byte was handed to the socket; 0 before that."""
        self.keep = False
        """The connection can carry another request."""
        self._sink = sink
        self._feed = sink.feed
        self._due = due
        self._fresh = fresh
        self._stamp = 0
        self._pieces: list[bytes] = []
        self.on_body = self._pieces.append
        """llhttp looks for its callbacks when it is made; this one is C calling C."""
        self._parser = httptools.HttpResponseParser(self)
        self._take = self._parser.feed_data
        self._headers_over = False
        self._message_over = False
        self._framed = False
        self._interim = False
        self._reads_stream = False
        self._decode: Decode | None = None
        self._collected: list[bytes] = []
        self._collected_size = 0
        self._timer: Any = None
        self._grace_due: int | None = None
        self._done = Event()

    # ---- the sender's side -------------------------------------------------------------------------------------

    def run(self, request: bytes) -> Ending:
        """Send a request and sleep until its answer has ended, one way or another.

        If this greenlet is killed meanwhile the exchange ends as `cancelled` and the exception goes on.
        """
        connection = self.connection
        connection.begin(self)
        self.sent = connection.last = perf_counter_ns()
        if connection.closed:  # it died while nobody looked
            self.end("cut", self.sent, "connection closed")
        try:
            connection.send(request)
        except OSError as error:
            self.end("cut", perf_counter_ns(), f"connection broken ({told(error)})")
        self.arm()
        try:
            self._done.wait()
        except BaseException:
            self.end("cancelled", perf_counter_ns(), "cancelled")
            raise
        assert self.ending is not None  # noqa: S101  (for the type checker: that is what was waited for)
        return self.ending

    def end(self, kind: EndKind, at: int, words: str = "") -> None:
        """End the exchange, once; the connection is closed unless it can carry another request."""
        if self.ending is not None:
            return
        self.ending = Ending(kind, at, words)
        if self._timer is not None:
            self._timer.stop()
            self._timer.close()
            self._timer = None
        # llhttp holds this object's methods: with the garbage collector off, as it is in a measurement, the two would
        # keep each other, and all that was read, for ever.
        del self._parser, self._take
        connection = self.connection
        self.keep = (
            kind == "whole" and self.keep and not self._fresh and not connection.sending and not connection.closed
        )
        self.answer.body = b"".join(self._collected)[:BODY_LIMIT]
        if self.keep:
            connection.release()
        else:
            connection.close()
        self._done.set()

    # ---- limits ------------------------------------------------------------------------------------------------

    def _limit(self) -> tuple[int, EndKind, str]:
        if self._grace_due is not None:
            return self._grace_due, "enough", "the body was not ended"
        due = self._due(self.sent)
        if self._headers_over and self.answer.status != 200:
            refused = (self.answer.headers_at or self.sent) + int(REFUSAL_S * 1e9)
            return min(due, (refused, "enough", "the body was not ended"))
        return due

    def arm(self) -> None:
        """Set the timer to the next limit. Limits that move away need no call: the timer finds out."""
        if self.ending is not None:
            return
        if self._timer is not None:
            self._timer.stop()
            self._timer.close()
        rest = (self._limit()[0] - perf_counter_ns()) / 1e9
        self._timer = get_hub().loop.timer(max(rest, 0.0005))
        self._timer.start(self._tick)

    def _tick(self) -> None:
        try:
            self.connection.drain()  # what has arrived counts before the limit does
            if self.ending is not None:
                return
            due, kind, words = self._limit()
            now = perf_counter_ns()
            if now >= due:
                self.end(kind, now, words)
            else:
                self.arm()
        except Exception as error:  # noqa: BLE001  (an exception lost in the loop would leave the sender asleep)
            self.broke(error)

    # ---- the connection's side (event loop) --------------------------------------------------------------------

    def received(self, stamp: int, data: bytes) -> None:
        """Bytes that arrived at `stamp`. The hot path."""
        self._stamp = stamp
        self.answer.began = True
        fault: Exception | None = None
        try:
            self._take(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            fault = error
        pieces = self._pieces
        if pieces:
            body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
            pieces.clear()
            if self._reads_stream and self._decode is None:
                self._feed(stamp, body)
            else:
                self._take_body(stamp, body)
        if self._message_over:
            self.end("whole", stamp, "the body ended")
        elif fault is not None:
            self._refuse(stamp, fault)
        elif self._sink.over:
            self._grace(stamp)

    def ended(self, stamp: int, error: OSError | None) -> None:
        """The peer closed the connection, or it broke."""
        if error is None and self._headers_over and not self._framed:
            self.end("whole", stamp, "the connection, and with it the body, ended")
        elif error is None:
            self.end("cut", stamp, "connection closed")
        else:
            self.end("cut", stamp, f"connection broken ({told(error)})")

    def broke(self, error: BaseException) -> None:
        """A fault of llmload's own; it must not look like the server's and must not hang anybody."""
        self.end("protocol", perf_counter_ns(), f"llmload failed to read the answer: {type(error).__name__}: {error}")

    def _grace(self, stamp: int) -> None:
        if self._grace_due is None:
            self._grace_due = stamp + int(GRACE_S * 1e9)
            self.arm()

    def _refuse(self, stamp: int, fault: Exception) -> None:
        context = fault.__context__
        words = str(context) if isinstance(context, ValueError) else f"no valid HTTP: {fault}"
        self.end("protocol", stamp, words)

    def _take_body(self, stamp: int, body: bytes) -> None:
        if self._decode is not None:
            try:
                body = self._decode(body)
            except ValueError as error:
                self.end("protocol", stamp, f"the encoded body is broken: {error}")
                return
        if self._reads_stream:
            if body:
                self._feed(stamp, body)
        elif self._collected_size < BODY_LIMIT:
            self._collected.append(body)
            self._collected_size += len(body)
            if self._collected_size >= BODY_LIMIT:
                self._grace(stamp)

    # ---- llhttp's side -----------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A head begins; behind a whole message it is one that nobody asked for."""
        if self._message_over:
            self.keep = False

    def on_status(self, reason: bytes) -> None:
        """The reason phrase, or a piece of it."""
        self.answer.reason += reason.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header; trailers behind the body are passed over."""
        if not self._headers_over:
            self.answer.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """The head is whole. Raises ValueError for an encoding that cannot be read."""
        answer = self.answer
        status = self._parser.get_status_code()
        self._interim = 100 <= status < 200 and status != 101
        if self._interim:
            answer.headers.clear()
            answer.reason = ""
            return
        answer.status = status
        answer.headers_at = self._stamp
        headers = answer.headers
        self._headers_over = True
        self._framed = "chunked" in headers.get("transfer-encoding", "").lower() or "content-length" in headers
        self._reads_stream = status == 200
        self.keep = self._parser.should_keep_alive()
        if encoding := headers.get("content-encoding"):
            self._decode = decoder(encoding)
            answer.compressed = self._decode is not None
        if status != 200:
            self.arm()

    def on_message_complete(self) -> None:
        """The message is whole; one with an interim status only announces the real one."""
        self._message_over = not self._interim
