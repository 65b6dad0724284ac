"""The simulator's sockets: connections, what was read from them and what is still to be written, and the waiting.

Non-blocking, in one thread. Knows requests only as what `wire.Reader` puts together; what they ask is for others.
"""

import contextlib
import errno
import select
import selectors
import socket
import struct
from collections import deque
from collections.abc import Callable

import orjson

from llmload.exits import Stop
from llmload.simulate import asked, wire

READ_BYTES = 256 * 1024
MAX_READS = 16
"""So often is one connection read before the others have their turn."""
MAX_PENDING = 64
"""Requests that a connection may have waiting behind the one that is answered."""
NO_LINGER = struct.pack("ii", 1, 0)


class Connection:
    """One client's connection: what it sent, and what did not fit into the socket yet."""

    __slots__ = ("busy", "number", "out", "pending", "reader", "sock", "taken", "then")

    def __init__(self, sock: socket.socket, number: int) -> None:
        self.sock = sock
        self.number = number
        self.reader = wire.Reader()
        self.pending: deque[wire.Request] = deque()
        self.taken = 0
        """Requests of any kind that were taken up."""
        self.busy = False
        """Whether one of them is still being answered."""
        self.out = bytearray()
        self.then: Callable[[], None] | None = None
        """What to do once `out` is empty."""


class Hub:
    """All connections of one server."""

    def __init__(
        self, listener: socket.socket, asks: Callable[[Connection], None], gone: Callable[[Connection], None]
    ) -> None:
        """`asks` is called when a connection has requests pending, `gone` when one was closed by either side."""
        self._listener = listener
        self._asks = asks
        self._gone = gone
        self._selector = selectors.DefaultSelector()
        self._wake_out, self._wake_in = socket.socketpair()
        self._wake_in.setblocking(False)
        self._wake_out.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._selector.register(self._wake_out, selectors.EVENT_READ, self._wake_out)
        self._connections: set[Connection] = set()
        self._accepted = 0
        self._accepting = True

    def is_open(self, connection: Connection) -> bool:
        """Whether a connection still stands."""
        return connection in self._connections

    def wake(self) -> None:
        """End the waiting; any thread or signal handler may call this."""
        with contextlib.suppress(OSError):
            self._wake_in.send(b"\0")

    def look(self, timeout: float | None, between: Callable[[], None]) -> None:
        """Wait for a socket, at most so many seconds, and deal with all that are ready; `between` any two of them."""
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
            between()

    def send(self, connection: Connection, data: bytes) -> None:
        """Hand bytes to the kernel; what it does not take now waits in order. The connection may be gone after this."""
        if connection.out:
            connection.out += data
            return
        try:
            sent = connection.sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self.drop(connection)
            return
        if sent < len(data):
            connection.out += data[sent:]
            self._selector.modify(connection.sock, selectors.EVENT_READ | selectors.EVENT_WRITE, connection)

    def reply(self, connection: Connection, data: bytes, *, keep_alive: bool) -> None:
        """Send a whole answer at once."""
        self.send(connection, data)
        if not keep_alive:
            self.after(connection, lambda: self.drop(connection))

    def after(self, connection: Connection, then: Callable[[], None]) -> None:
        """Do something when all bytes are handed over: now, if they are."""
        if connection.out:
            connection.then = then
        else:
            then()

    def drop(self, connection: Connection, *, reset: bool = False) -> None:
        """Close a connection, if it still stands."""
        if connection not in self._connections:
            return
        if reset:
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        self._connections.discard(connection)
        self._selector.unregister(connection.sock)
        connection.sock.close()
        connection.reader.close()
        connection.then = None
        if not self._accepting:
            self._selector.register(self._listener, selectors.EVENT_READ, None)
            self._accepting = True
        self._gone(connection)

    def close(self) -> None:
        """Close every socket."""
        for connection in list(self._connections):
            self.drop(connection)
        self._selector.close()
        for sock in (self._listener, self._wake_in, self._wake_out):
            sock.close()

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
                self._selector.unregister(self._listener)  # it would be ready for ever; see drop
                self._accepting = False
                return
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(sock, self._accepted)
            self._accepted += 1
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
                self.drop(connection)
            if connection not in self._connections:
                return

    def _got(self, connection: Connection, data: bytes) -> None:
        """Bytes of a client: tell of the requests that they complete."""
        try:
            connection.pending.extend(connection.reader.feed(data))
        except wire.BadRequest as bad:
            if connection.busy:
                self.drop(connection)
            else:
                body = orjson.dumps(asked.error_dict(bad.message, bad.status))
                self.reply(connection, wire.answer(bad.status, body, keep_alive=False), keep_alive=False)
            return
        if len(connection.pending) > MAX_PENDING:
            self.drop(connection)
            return
        if connection.reader.expects_continue and not connection.busy:
            connection.reader.expects_continue = False
            self.send(connection, wire.CONTINUE)
        self._asks(connection)

    def _flush(self, connection: Connection) -> None:
        """The socket takes bytes again."""
        try:
            sent = connection.sock.send(connection.out)
        except BlockingIOError:
            return
        except OSError:
            self.drop(connection)
            return
        del connection.out[:sent]
        if connection.out:
            return
        self._selector.modify(connection.sock, selectors.EVENT_READ, connection)
        then, connection.then = connection.then, None
        if then is not None:
            then()


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
