"""The simulator's sockets and its loop: reads requests, sends each step of each answer when it is due.

One thread, non-blocking sockets, and a heap of due times. A step's due time follows from the due time of the step
before it, never from when that one was really sent, so that a late loop does not shift what comes after. What is
said and when it is due is decided elsewhere (`script.py`, `timing.py`); this file only carries it out. Imports
neither Locust nor gevent.
"""

import contextlib
import errno
import heapq
import hmac
import select
import selectors
import socket
import struct
import time
from collections import deque
from collections.abc import Callable
from http import HTTPStatus

import orjson

from llmload.exits import Stop
from llmload.simulate import asked, failures, metrics, pages, wire
from llmload.simulate import plan as planning
from llmload.simulate.asked import Refused
from llmload.simulate.occupancy import Occupancy
from llmload.simulate.plan import Plan
from llmload.simulate.settings import Settings
from llmload.simulate.truth import Line, TruthFile

READ_BYTES = 256 * 1024
BATCH = 128
"""So many due steps are sent before sockets are looked at again."""
MAX_READS = 16
"""So often is one connection read before the others have their turn."""
MAX_PENDING = 64
"""Requests that a connection may have waiting behind the one that is answered."""
NO_LINGER = struct.pack("ii", 1, 0)
COMPLETIONS = {"/v1/chat/completions": True, "/v1/completions": False}
"""Path: whether it is a chat."""


class Connection:
    """One client's connection: what it sent, what it is being told, and what did not fit into the socket yet."""

    __slots__ = ("number", "out", "pending", "reader", "sock", "stream", "taken", "then")

    def __init__(self, sock: socket.socket, number: int) -> None:
        self.sock = sock
        self.number = number
        self.reader = wire.Reader()
        self.pending: deque[wire.Request] = deque()
        self.stream: Stream | None = None
        self.out = bytearray()
        self.then: Callable[[], None] | None = None
        """What to do once `out` is empty."""
        self.taken = 0
        """Requests of any kind that were taken up."""


class Stream:
    """One completion request in the works. Times are of the monotonic clock, in seconds."""

    __slots__ = (
        "answer", "connection", "due", "events", "first_at", "last_at", "line", "over", "plan",
        "received", "script", "started", "steps",
    )  # fmt: skip

    def __init__(self, connection: Connection, line: Line, plan: Plan, received: float) -> None:
        self.connection = connection
        self.line = line
        self.plan = plan
        self.answer = plan.answer
        self.script = plan.script
        self.received = received
        self.started = received
        self.due = received
        self.first_at: float | None = None
        """When the first token was sent."""
        self.last_at = received
        """When the last one so far was."""
        self.steps = 0
        """Steps carried out …"""
        self.events = 0
        """… and those of them that bore tokens."""
        self.over = False


class Server:
    """A listening simulator. `serve()` runs until `stop()`, which any thread or signal handler may call."""

    def __init__(
        self, settings: Settings, listener: socket.socket, truth: TruthFile, *, key: str | None = None
    ) -> None:
        """`listener` is from `listen` and becomes this object's own; `key` is the bearer token that requests need."""
        self._settings = settings
        self._truth = truth
        self._key = key
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._wake_out, self._wake_in = socket.socketpair()
        self._wake_in.setblocking(False)
        self._wake_out.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._selector.register(self._wake_out, selectors.EVENT_READ, self._wake_out)
        self._facts = pages.Facts(settings.model, settings.max_context, int(time.time()))
        self._metrics = metrics.Metrics(settings.model)
        self._occupancy = Occupancy(time.monotonic(), time.time())
        self._due: list[tuple[float, int, Stream]] = []
        self._running: set[Stream] = set()
        self._waiting: deque[Stream] = deque()
        self._connections: set[Connection] = set()
        self._numbers = 0
        self._connection_numbers = 0
        self._accepting = True
        self._admitting = False
        self._stopping = False

    @property
    def url(self) -> str:
        """Where it listens, without /v1."""
        host, port = self._listener.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def stop(self) -> None:
        """Ask the loop to end."""
        self._stopping = True
        with contextlib.suppress(OSError):
            self._wake_in.send(b"\0")

    def serve(self) -> None:
        """Serve until stopped; then every open request gets its line of truth, and all sockets are closed."""
        try:
            while not self._stopping:
                self._send_due()
                self._look()
        finally:
            self._close()

    # The loop: waiting, and what is due.

    def _look(self) -> None:
        """Wait for a socket or for the next due time, whichever is first, and deal with the sockets."""
        timeout = max(0.0, self._due[0][0] - time.monotonic()) if self._due else None
        # select() on the selector's own descriptor, since epoll's time-out has a resolution of a millisecond.
        if not select.select([self._selector], [], [], timeout)[0]:
            return
        for key, events in self._selector.select(0):
            connection = key.data
            if connection is None:
                self._accept()
            elif connection is self._wake_out:
                with contextlib.suppress(BlockingIOError):
                    self._wake_out.recv(4096)
            elif connection in self._connections:
                if events & selectors.EVENT_WRITE:
                    self._flush(connection)
                if events & selectors.EVENT_READ and connection in self._connections:
                    self._read(connection)
            if self._due and self._due[0][0] <= time.monotonic():
                self._send_due()  # a crowd of new requests must not hold up the streams

    def _send_due(self) -> None:
        """Carry out the steps that are due, a batch of them at most."""
        due = self._due
        monotonic = time.monotonic
        for _ in range(BATCH):
            if not due:
                return
            if due[0][2].over:
                heapq.heappop(due)
                continue
            if due[0][0] > monotonic():
                return
            _, number, stream = heapq.heappop(due)
            self._step(stream)
            if stream.steps < stream.script.count and not stream.over:
                heapq.heappush(due, (stream.due, number, stream))

    def _step(self, stream: Stream) -> None:
        """One step of an answer; the next one's due time is put into `stream.due`."""
        what, line = stream.script, stream.line
        data = next(what.steps)
        stream.steps += 1
        now = time.monotonic()
        line.late_ms = max(line.late_ms, (now - stream.due) * 1e3)
        bears = stream.events < what.bearing
        if bears:
            self._count_token(stream, now)
        if data:
            wall = time.time()
            if bears:
                line.event_at.append(wall)
            if what.sse and line.first_event_at is None:
                line.first_event_at = wall
            self._send(stream.connection, data)
        if stream.over:
            return
        if stream.steps == what.count:
            self._played(stream)
        else:
            stream.due += stream.plan.pace.gap(len(self._running))

    def _count_token(self, stream: Stream, now: float) -> None:
        """A token-bearing step: its tokens and its time go into the counts."""
        stream.events += 1
        tokens = stream.answer.tokens_of(stream.events)
        counts = self._metrics
        counts.generation_tokens += tokens - stream.line.output_tokens
        stream.line.output_tokens = tokens
        if stream.first_at is None:
            stream.first_at = now
            counts.first_token.observe(now - stream.received)
            counts.prefill.observe(now - stream.started)
        else:
            counts.between_tokens.observe(now - stream.last_at)
        stream.last_at = now

    # The life of a completion request.

    def _completion(self, connection: Connection, request: wire.Request, *, chat: bool) -> None:
        """A completion request was read whole: refuse it, answer it at once, or put it in service or in the queue."""
        settings = self._settings
        number, self._numbers = self._numbers, self._numbers + 1
        now, wall = time.monotonic(), time.time()
        self._occupancy.enter(now)
        name = request.headers.get("x-llmload-request") or request.headers.get("x-request-id")
        line = Line(number, wall, connection.number, connection.taken - 1, client_request=name)
        try:
            self._check_key(request)
            wanted = asked.read(request.body, chat=chat, model=settings.model, max_context=settings.max_context)
        except Refused as refused:
            self._refuse(connection, request, line, refused)
            return
        plan = planning.make(settings, number, wanted, request, created=int(wall))
        line.id, line.model, line.head, line.stream = plan.answer.id, settings.model, wanted.head, wanted.stream
        line.prompt_tokens, line.status = wanted.prompt_tokens, plan.script.status
        line.outcome = plan.failure or "ok"
        line.expected = failures.expected(plan.failure, first_on_connection=line.on_connection == 0)
        stream = connection.stream = Stream(connection, line, plan, now)
        if plan.at_once:
            self._begin(stream)
        elif settings.slots is not None and len(self._running) >= settings.slots:
            self._waiting.append(stream)
        else:
            self._running.add(stream)
            self._begin(stream)

    def _refuse(self, connection: Connection, request: wire.Request, line: Line, refused: Refused) -> None:
        """Answer a request that asks wrongly."""
        line.status, line.outcome = refused.status, "refused"
        line.expected = failures.expected_status(refused.status)
        body = orjson.dumps(refused.as_dict())
        reply = wire.answer(refused.status, body, keep_alive=request.keep_alive)
        self._reply(connection, reply, keep_alive=request.keep_alive)
        line.end_at = time.time()
        self._occupancy.leave(time.monotonic(), line.outcome)
        self._truth.write(line)

    def _begin(self, stream: Stream) -> None:
        """Service begins: the opening is sent, and the first step's due time is known."""
        line, what = stream.line, stream.script
        stream.started = time.monotonic()
        line.started_at = time.time()
        if not stream.plan.at_once:
            self._metrics.begin(stream.answer.prompt_tokens, stream.started - stream.received)
        if what.opening:
            if what.sse and stream.answer.chat:
                line.first_event_at = time.time()
            self._send(stream.connection, what.opening)
        if stream.over:
            return
        if what.count == 0:
            self._played(stream)
            return
        stream.due = stream.started + stream.plan.pace.first(stream.answer.prompt_tokens, len(self._running))
        heapq.heappush(self._due, (stream.due, line.request, stream))

    def _played(self, stream: Stream) -> None:
        """The last step was carried out: the slot is free, and the request is over when its bytes are gone."""
        if stream.script.ending != "hang":
            self._free(stream)
            self._after(stream.connection, lambda: self._sent(stream))

    def _sent(self, stream: Stream) -> None:
        """The answer's last byte was handed to the kernel."""
        connection, ending = stream.connection, stream.script.ending
        self._over(stream)
        connection.stream = None
        if ending == "reset":
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        if ending != "keep" or not stream.answer.keep_alive:
            self._drop(connection)
        else:
            self._take(connection)

    def _free(self, stream: Stream) -> None:
        """Take a request out of service, or out of the queue; the one that waited longest follows."""
        if stream in self._running:
            self._running.discard(stream)
        elif stream in self._waiting:
            self._waiting.remove(stream)
        if self._admitting:
            return  # the loop below is at work further up the stack: its own request was found to have left
        self._admitting = True
        slots = self._settings.slots
        while self._waiting and (slots is None or len(self._running) < slots):
            following = self._waiting.popleft()
            self._running.add(following)
            self._begin(following)
        self._admitting = False

    def _over(self, stream: Stream) -> None:
        """A request has come to its end, whichever: it is counted and gets its line of truth."""
        stream.over = True
        now, line = time.monotonic(), stream.line
        line.end_at = time.time()
        if stream.steps == stream.script.count:
            line.finish_reason = stream.script.finish
        self._occupancy.leave(now, line.outcome)
        finish = "abort" if line.client_left else line.finish_reason
        if finish in self._metrics.success:
            decode = None if stream.first_at is None else stream.last_at - stream.first_at
            self._metrics.over(finish, now - stream.received, decode)
        self._truth.write(line)

    def _left(self, stream: Stream, outcome: str) -> None:
        """The client left (or the server stops) before the answer's end: its dead work stops and its slot is free."""
        line = stream.line
        hangs = stream.script.ending == "hang" and stream.steps == stream.script.count
        if not hangs or line.started_at is None:
            line.outcome, line.expected = outcome, None
        line.client_left = outcome == "client_left"
        self._over(stream)
        self._free(stream)

    # Requests of all kinds.

    def _take(self, connection: Connection) -> None:
        """Answer what a connection has waiting, up to the first request that takes time."""
        while connection.pending and connection.stream is None and connection in self._connections:
            request = connection.pending.popleft()
            connection.taken += 1
            if request.method == "POST" and request.path in COMPLETIONS:
                self._completion(connection, request, chat=COMPLETIONS[request.path])
            else:
                self._page(connection, request)

    def _page(self, connection: Connection, request: wire.Request) -> None:
        """Answer a request that takes no time."""
        status, kind, extra = 200, wire.JSON, ""
        try:
            self._check_key(request)
            kind, body = self._short(request)
        except Refused as refused:
            status, body = refused.status, orjson.dumps(refused.as_dict())
            extra = f"allow: {refused.param}\r\n" if status == HTTPStatus.METHOD_NOT_ALLOWED else ""
        keep_alive = request.keep_alive
        reply = wire.answer(status, body, content_type=kind, keep_alive=keep_alive, extra=extra)
        if request.method == "HEAD":
            reply = reply[: len(reply) - len(body)]
        self._reply(connection, reply, keep_alive=keep_alive)

    def _reply(self, connection: Connection, data: bytes, *, keep_alive: bool) -> None:
        """Send a whole answer at once."""
        self._send(connection, data)
        if not keep_alive:
            self._after(connection, lambda: self._drop(connection))

    def _short(self, request: wire.Request) -> tuple[str, bytes]:
        """Content type and body of a page. Raises Refused."""
        path = request.path
        own = {"/metrics": "GET", "/_state": "GET", "/_reset": "POST", **dict.fromkeys(COMPLETIONS, "POST")}
        method = pages.PAGES[path][0] if path in pages.PAGES else own.get(path)
        if method is None:
            raise Refused(f"no such page: {path[:100]}", status=404, code="not_found")
        if request.method not in {method, "HEAD" if method == "GET" else method}:
            raise Refused(f"{path} takes {method}, not {request.method}", status=405, param=method)
        if path == "/metrics":
            return metrics.CONTENT_TYPE, self._metrics.page(self._now())
        if path == "/_state":
            return wire.JSON, orjson.dumps(self._state())
        if path == "/_reset":
            self._occupancy.reset(time.monotonic(), time.time())
            return wire.JSON, orjson.dumps(self._state())
        return wire.JSON, orjson.dumps(pages.PAGES[path][1](self._facts, request.body))

    def _state(self) -> dict[str, object]:
        counts = self._occupancy.as_dict(time.monotonic())
        return {**counts, "running": len(self._running), "waiting": len(self._waiting), "at": time.time()}

    def _now(self) -> metrics.Now:
        held = sum(stream.answer.prompt_tokens + stream.line.output_tokens for stream in self._running)
        return metrics.Now(len(self._running), len(self._waiting), held)

    def _check_key(self, request: wire.Request) -> None:
        """Raises Refused if the path is guarded and the key is missing or wrong."""
        if self._key is None or not (request.path.startswith("/v1/") or request.path == "/tokenize"):
            return
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode("latin-1", "replace"), f"Bearer {self._key}".encode()):
            raise Refused("Incorrect or missing API key.", status=401, code="invalid_api_key")

    # Sockets.

    def _accept(self) -> None:
        """Take new connections, as long as there are file descriptors."""
        while True:
            try:
                sock, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in {errno.EMFILE, errno.ENFILE}:
                    raise
                self._selector.unregister(self._listener)  # it would be ready for ever; see _drop
                self._accepting = False
                return
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(sock, self._connection_numbers)
            self._connection_numbers += 1
            self._connections.add(connection)
            self._selector.register(sock, selectors.EVENT_READ, connection)

    def _read(self, connection: Connection) -> None:
        """Read what a client sent; the end of its side means that it left.

        Reads on until there is no more, so that a client that asked and left is known to have left before what it
        asked next, on another connection, is looked at: else it would be counted as two in flight.
        """
        for _ in range(MAX_READS):
            try:
                data = connection.sock.recv(READ_BYTES)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if data:
                self._got(connection, data)
            else:
                self._drop(connection)
            if connection not in self._connections:
                return

    def _got(self, connection: Connection, data: bytes) -> None:
        """Bytes of a client: take up the requests that they complete."""
        try:
            connection.pending.extend(connection.reader.feed(data))
        except wire.BadRequest as bad:
            if connection.stream is None:
                body = orjson.dumps(asked.error_dict(bad.message, bad.status))
                self._reply(connection, wire.answer(bad.status, body, keep_alive=False), keep_alive=False)
            else:
                self._drop(connection)
            return
        if len(connection.pending) > MAX_PENDING:
            self._drop(connection)
            return
        if connection.reader.expects_continue and connection.stream is None:
            connection.reader.expects_continue = False
            self._send(connection, wire.CONTINUE)
        self._take(connection)

    def _send(self, connection: Connection, data: bytes) -> None:
        """Hand bytes to the kernel; what it does not take now waits in order."""
        if connection.out:
            connection.out += data
            return
        try:
            sent = connection.sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._drop(connection)
            return
        if sent < len(data):
            connection.out += data[sent:]
            self._selector.modify(connection.sock, selectors.EVENT_READ | selectors.EVENT_WRITE, connection)

    def _flush(self, connection: Connection) -> None:
        """The socket takes bytes again."""
        try:
            sent = connection.sock.send(connection.out)
        except BlockingIOError:
            return
        except OSError:
            self._drop(connection)
            return
        del connection.out[:sent]
        if connection.out:
            return
        self._selector.modify(connection.sock, selectors.EVENT_READ, connection)
        then, connection.then = connection.then, None
        if then is not None:
            then()

    def _after(self, connection: Connection, then: Callable[[], None]) -> None:
        """Do something when all bytes are handed over: now, if they are."""
        if connection.out:
            connection.then = then
        else:
            then()

    def _drop(self, connection: Connection) -> None:
        """Close a connection; a request in the works on it is over."""
        if connection not in self._connections:
            return
        self._connections.discard(connection)
        self._selector.unregister(connection.sock)
        connection.sock.close()
        connection.reader.close()
        connection.then = None
        stream, connection.stream = connection.stream, None
        if not self._accepting:
            self._selector.register(self._listener, selectors.EVENT_READ, None)
            self._accepting = True
        if stream is not None and not stream.over:
            self._left(stream, "client_left")

    def _close(self) -> None:
        """Close everything; requests in the works get their line."""
        self._waiting.clear()
        for connection in list(self._connections):
            stream, connection.stream = connection.stream, None
            if stream is not None and not stream.over:
                self._left(stream, "server_stopped")
            self._drop(connection)
        self._selector.close()
        for sock in (self._listener, self._wake_in, self._wake_out):
            sock.close()


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one. Raises Stop with what to do if the address cannot be had."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise Stop(f"--host {host}: no such address: {error.strerror}") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(4096)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            message = f"port {port} on {host} is taken; stop what listens there or choose another: --port 0 finds one"
        else:
            message = f"cannot listen on {host} port {port}: {error.strerror}; choose another --host or --port"
        raise Stop(message) from error
    listener.setblocking(False)
    return listener
