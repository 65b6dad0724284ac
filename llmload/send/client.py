"""The sender: one attempt per call, from a free connection to a finished record. Nothing retries behind it.

A `Client` is made once per process, before any clock runs: the SDK, the TLS context and the file-descriptor limit are
settled then. Each attempt runs in the greenlet that calls `send`; its bytes are read, stamped and taken apart in the
event loop's callbacks, and the greenlet is woken once, when its answer has ended.
"""

import contextlib
import re
import resource
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from gevent import get_hub, getcurrent

from llmload.exits import Stop
from llmload.load.call import Call
from llmload.record.clock import at, now
from llmload.record.record import RequestRecord, Tags
from llmload.send import counting, slices, tls
from llmload.send.connection import Clock, Connection
from llmload.send.dial import Dialer, DialError
from llmload.send.pool import Pool
from llmload.send.sdk import Builder
from llmload.send.settings import Sending
from llmload.send.target import Target, proxy_at, split
from llmload.send.wire import Due, Exchange, Whole
from llmload.stream import judge
from llmload.stream.judge import Attempt, EndKind
from llmload.stream.reading import StreamReading
from llmload.stream.words import Hide, secret_remover

MANY_FILES = 65536
"""File descriptors to settle for where the hard limit is more than the kernel grants."""
NAME = re.compile(rb"\r\nx-request-id:", re.IGNORECASE)
Opening = Callable[[float], Tags]
Finished = Callable[[RequestRecord, str], None]
Landing = tuple[RequestRecord, str, BaseException | None]
"""What an attempt leaves: its record, its text, and the exception that cut it short and has to go on."""


class CancelledError(BaseException):
    """Thrown into a greenlet that is still connecting when its attempt is cancelled."""


@dataclass(frozen=True, slots=True)
class Meter:
    """What a client counted since it was asked last."""

    events: int
    """Token-bearing events."""
    stamp_lag_ms: float | None
    """Largest time by which a read came after its bytes; None if the kernel stamped nothing."""
    stamp_faults: int = 0
    """Kernel stamps that could not be true and were not used."""


def may_send_key(target: Target, proxy: Target | None, sending: Sending, key: str | None) -> None:
    """Raises Stop(USAGE) if the key is malformed, or would go over plain http to another machine unasked."""
    if key is None:
        return
    if not key.isascii() or not key.isprintable() or " " in key:
        raise Stop(f"the key in {sending.key_env} holds blanks or signs that no header can carry; set it anew")
    plain = [place for place in (target, proxy) if place is not None and not target.tls and not place.loopback]
    if plain and not sending.allow_http_key:
        raise Stop(
            f"the key in {sending.key_env} would go to {plain[0].host} over plain http, where anybody on the way can "
            "read it; use https, unset the variable, or allow it with --allow-http-key"
        )


def raise_file_limit() -> None:
    """Allow this process as many file descriptors as it may allow itself; every connection takes one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in (hard, MANY_FILES):
        if soft < wanted or wanted == resource.RLIM_INFINITY:
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
                return


@dataclass(slots=True)
class Line:
    """The way to one endpoint: who words the requests, and the connections they go over."""

    target: Target
    builder: Builder
    pool: Pool
    clock: Clock


def line(sending: Sending, key: str | None) -> Line:
    """Everything between the settings and the socket. Raises Stop(USAGE).

    Through a proxy, https goes by CONNECT, so that TLS is end to end. Plain http goes in absolute form: every proxy
    understands it, while many refuse CONNECT to a port other than 443.
    """
    target, proxy = split(sending.base_url), proxy_at(sending.proxy)
    may_send_key(target, proxy, sending, key)
    raise_file_limit()
    slices.ask_for_short()
    context = tls.context(sending.ca, insecure=sending.insecure) if target.tls else None
    clock = Clock()
    dialer = Dialer(target, sending.connect_s, clock, context, proxy)
    builder = Builder(sending, target, key, absolute=proxy is not None and not target.tls)
    return Line(target, builder, Pool(dialer, fresh=sending.fresh), clock)


def named(request: bytes, tags: Tags) -> bytes:
    """A request with a name of its own, under which the server's log and the record can be held together.

    One that its headers name already keeps that name: twice the same header is anybody's guess.
    """
    if NAME.search(request, 0, request.index(b"\r\n\r\n")):
        return request
    first, rest = request.split(b"\r\n", 1)
    name = f"{tags.run}-{tags.worker}-{tags.seq}".encode()
    return b"%b\r\nX-Request-Id: %b\r\n%b" % (first, name, rest)


def stream_limits(sending: Sending, reading: StreamReading) -> Due:
    """The limits of a streamed answer: first token, next token, all of it. Only tokens and the finish re-arm them."""
    ttft, stall, total = (int(limit * 1e9) for limit in (sending.ttft_s, sending.stall_s, sending.total_s))
    words = {
        "ttft": f"no token within {sending.ttft_s:g} s",
        "stall": f"no further token within {sending.stall_s:g} s",
        "total": f"not finished within {sending.total_s:g} s",
    }

    def due(sent: int) -> tuple[int, EndKind, str]:
        last = reading.stamps[-1] if reading.stamps else None
        if reading.finish_at is not None:
            last = max(last or 0, reading.finish_at)
        first: tuple[int, EndKind] = (sent + ttft, "ttft") if last is None else (last + stall, "stall")
        at, kind = min(first, (sent + total, "total"))
        return at, kind, words[kind]

    return due


def whole_limits(sending: Sending) -> Due:
    """The limit of an answer that is no stream."""
    total, words = int(sending.total_s * 1e9), f"not finished within {sending.total_s:g} s"
    return lambda sent: (sent + total, "total", words)


class Client:
    """Sends calls to one endpoint, each as one attempt with one record."""

    def __init__(self, sending: Sending, key: str | None) -> None:
        """Settle everything that takes time or can be wrong. Raises Stop(USAGE)."""
        self.sending = sending
        self._line = line(sending, key)
        self.hide: Hide = secret_remover(key)
        self._count = None if sending.tokenizer is None else counting.by_file(Path(sending.tokenizer))
        self._flights: set[Flight] = set()
        self._events_over = 0
        self._events_told = 0

    def send(
        self,
        call: Call,
        opening: Opening,
        finished: Finished,
        *,
        on_first_token: Callable[[float], None] | None = None,
        save_text: bool = False,
    ) -> RequestRecord:
        """Send one call and wait for the end of its answer; returns its record.

        `opening(sent_at)` is called once, right before the first byte is handed to the socket, or with the start of
        connecting where no connection came about. `finished(record, text)` is called once for it, whatever happens,
        also when this greenlet is killed (outcome `cancelled`; the exception then goes on). `on_first_token(ttft_ms)`
        is called from the event loop when the first token has been read, and must not block. Raises Stop(USAGE),
        before any of these, if the call cannot be made into a request.
        """
        builder = self._line.builder
        body = builder.body(call)
        request = builder.request(body, call.headers)
        flight = Flight(self, call, body, opening, on_first_token)
        self._flights.add(flight)
        try:
            try:
                record, text, cause = flight.run(request, self._line.pool)
            finally:
                self._flights.discard(flight)
                self._events_over += len(flight.reading.stamps)
            if cause is None and self._count is not None and flight.uncounted(record):
                cause = self._tokens(flight, record, text)
        finally:
            flight.reading.let_go()  # what is in a circle with it stays until a collection, and those are rare in a run
        if save_text:
            record.text = text
        finished(record, text)
        if cause is not None:
            raise cause
        return record

    def _tokens(self, flight: "Flight", record: RequestRecord, text: str) -> BaseException | None:
        """Count an answer, joined and once, in a thread: the loop has other streams to read. What cut it short goes on.

        The answer is over and its record made, so no time in it depends on this; flags may.
        """
        assert flight.attempt is not None  # noqa: S101  (for the type checker: what has a text was judged)
        try:
            tokens = get_hub().threadpool.apply(self._count, ([text],))[0]
        except BaseException as cause:  # noqa: BLE001  (it goes on once the record is finished)
            return cause
        judge.recount(record, flight.attempt, tokens)
        return None

    @property
    def in_flight(self) -> int:
        """Attempts that have begun and not ended, those still connecting among them."""
        return len(self._flights)

    @property
    def idle(self) -> int:
        """Connections that are kept for the next request and that the server has not closed."""
        return self._line.pool.idle

    def cancel(self) -> int:
        """End all attempts at once as `cancelled`, those that are still connecting too; returns how many."""
        return sum(flight.cancel() for flight in list(self._flights))

    def meter(self) -> Meter:
        """Counts since the last call."""
        clock = self._line.clock
        events = self._events_over + sum(len(flight.reading.stamps) for flight in self._flights)
        told = Meter(
            events - self._events_told,
            round(clock.lag_ns / 1e6, 3) if clock.lag_ns >= 0 else None,
            clock.faults,
        )
        self._events_told = events
        clock.lag_ns, clock.faults = -1, 0
        return told

    def close(self) -> None:
        """Cancel what is in flight and close all connections."""
        self.cancel()
        self._line.pool.close()


class Flight:
    """One attempt under way."""

    def __init__(
        self,
        client: Client,
        call: Call,
        body: dict[str, Any],
        opening: Opening,
        on_first_token: Callable[[float], None] | None,
    ) -> None:
        self._client = client
        self._call = call
        self._body = body
        self._opening = opening
        self._on_first_token = on_first_token
        self._greenlet = getcurrent()
        self._start = 0
        self._dialing = True
        self._exchange: Exchange | None = None
        self.tags: Tags | None = None
        self.reading = StreamReading(self._first)
        self.attempt: Attempt | None = None
        """What its record was made of; None if nothing was sent."""

    def cancel(self) -> bool:
        """End the attempt; True if that ended it."""
        if self.tags is None:
            get_hub().loop.run_callback(self._throw)
            return True
        if self._exchange is None or self._exchange.ending is not None:
            return False
        self._exchange.end("cancelled", perf_counter_ns(), "cancelled")
        return True

    def _throw(self) -> None:
        if self._dialing:
            self._greenlet.throw(CancelledError())

    def _first(self, stamp: int) -> None:
        assert self._exchange is not None  # noqa: S101  (for the type checker: a token came, so it was sent)
        self._exchange.arm()  # from now on the limit between tokens counts, which may be nearer
        if self._on_first_token is not None:
            ttft_ms = round((stamp - self._exchange.sent) / 1e6, 3)
            get_hub().loop.run_callback(self._on_first_token, ttft_ms)

    def uncounted(self, record: RequestRecord) -> bool:
        """Whether nobody told the tokens of a text that is wholly known: reasoning and tool calls are not kept."""
        return record.output_tokens_source != "server" and bool(record.output_chars) and not self.reading.other_chars

    def run(self, request: bytes, pool: Pool) -> Landing:
        """The attempt from a free connection to its end."""
        start = now()
        self._start = perf_counter_ns()
        try:
            connection = pool.take()
        except DialError as error:
            return self._grounded(start, error.outcome, self._client.hide(str(error))), "", None
        except CancelledError:
            return self._grounded(start, "cancelled", "cancelled while connecting"), "", None
        except BaseException as cause:  # noqa: BLE001  (it goes on once there is a record)
            return self._grounded(start, "cancelled", "cancelled while connecting"), "", cause
        finally:
            self._dialing = False
        sent_at = now()
        try:
            self.tags = self._opening(sent_at)
        except BaseException:
            pool.give(connection)
            raise
        return self._exchanged(request, pool, connection)

    def _grounded(self, start: float, outcome: str, error: str) -> RequestRecord:
        end_ms = round((perf_counter_ns() - self._start) / 1e6, 3)
        return judge.failed(self._opening(start), start, outcome, error, end_ms)

    def _exchanged(self, request: bytes, pool: Pool, connection: Connection) -> Landing:
        sending, reading, tags = self._client.sending, self.reading, self.tags
        assert tags is not None  # noqa: S101  (for the type checker: given a moment ago)
        streaming = bool(self._body.get("stream"))
        whole = Whole()
        if streaming:
            exchange = Exchange(connection, reading, stream_limits(sending, reading), fresh=sending.fresh)
        else:
            exchange = Exchange(connection, whole, whole_limits(sending), fresh=sending.fresh)
        self._exchange = exchange
        new = connection.used == 0
        cause: BaseException | None = None
        try:
            exchange.run(named(request, tags))
        except BaseException as error:  # noqa: BLE001  (it goes on once there is a record)
            cause = error
        ending = exchange.ending
        assert ending is not None  # noqa: S101  (for the type checker: run has set it)
        lag_ns = connection.lag_ns
        if exchange.keep:
            pool.give(connection)
        reading.close()
        if not streaming and exchange.answer.status == 200:
            exchange.answer.body = whole.body
            reading.take_whole(ending.at, whole.body)
        self.attempt = attempt = Attempt(
            tags=tags,
            sent=exchange.sent,
            sent_at=at(exchange.sent),
            answer=exchange.answer,
            reading=reading,
            ending=ending,
            new_connection=new,
            connect_ms=connection.connect_ms if new else None,
            stamp_lag_ms=round(lag_ns / 1e6, 3) if lag_ns >= 0 else None,
            streaming=streaming,
            words_sent=self._call.words,
            ignore_eos=bool(self._body.get("ignore_eos")),
        )
        return judge.record(attempt, self._client.hide), self._client.hide(reading.text), cause
