"""One connection: where bytes are stamped. Socket reads happen in the event loop's own callback, never in a greenlet.

The kernel says when bytes reached this host (`SO_TIMESTAMPNS`); a read comes later by the lag of this process, so the
stamp of a read is `now - (wall clock now - kernel stamp)` on the monotonic clock. Where the kernel says nothing, the
time of the read is all there is. A kernel stamp that lies in the future or clearly before the read before it (the wall
clock was set) is counted as a fault and not used.

TLS is decrypted through a memory BIO, so the socket stays ours and its reads keep their stamps. What the bytes mean
is the business of the connection's user: an `Exchange`, or nobody while it is idle in the pool.
"""

import os
import socket
import ssl
import struct
from time import perf_counter_ns, time_ns
from typing import Any, Protocol

from gevent import get_hub

READ_BYTES = 65536
PAUSED_NS = 10_000
"""Two clocks that are read one behind the other within this time (some 100 ns as a rule) tell the same moment."""
SO_TIMESTAMPNS = getattr(socket, "SO_TIMESTAMPNS", 35)
"""Not named by every build of Python; 35 on Linux."""
TIMESPEC = struct.Struct("@qq")
ANCILLARY_BYTES = socket.CMSG_SPACE(TIMESPEC.size)
READ, WRITE = 1, 2
JITTER_NS = 1_000_000
"""Two clocks are read one after the other, so a stamp may seem this much older than the one before and be true."""


class Clock:
    """What all connections of a client found out about how late they read."""

    __slots__ = ("faults", "lag_ns")

    def __init__(self) -> None:
        self.lag_ns = -1
        """Largest time between arrival and read since it was last taken; -1 if the kernel stamped nothing."""
        self.faults = 0
        """Kernel stamps that could not be true."""


class User(Protocol):
    """Whoever takes what arrives on a connection. Called in the event loop: no blocking, no exceptions."""

    def received(self, stamp: int, data: bytes) -> None:
        """Bytes that arrived at `stamp` (nanoseconds, monotonic)."""

    def ended(self, stamp: int, error: OSError | None) -> None:
        """Nothing more will come: the peer closed (None), or the connection broke."""

    def broke(self, error: BaseException) -> None:
        """A fault of our own while bytes were taken."""


def told(error: OSError) -> str:
    """An operating system's error in its own words."""
    return os.strerror(error.errno) if error.errno else str(error)


def ask_for_stamps(sock: socket.socket) -> None:
    """Let the kernel stamp what arrives, if it can, and send small writes at once."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    except OSError:
        return  # another system: reads are stamped when they are made, and the record says so


class Connection:
    """A connected, non-blocking socket, watched by the event loop from its birth to its end."""

    __slots__ = (
        "_clock", "_reader", "_recvmsg", "_sock", "_unsent", "_writer", "closed", "connect_ms", "incoming", "lag_ns",
        "last", "outgoing", "tls", "used", "user",
    )  # fmt: skip

    def __init__(self, sock: socket.socket, clock: Clock, tls: ssl.SSLObject | None = None) -> None:
        self._sock = sock
        self._recvmsg = sock.recvmsg
        self._clock = clock
        self.tls = tls
        self.incoming: ssl.MemoryBIO | None = None
        self.outgoing: ssl.MemoryBIO | None = None
        self.user: User | None = None
        """Who takes what arrives; nobody while the connection is idle."""
        self.used = 0
        """Requests that were put on it."""
        self.connect_ms: float | None = None
        self.closed = False
        self.last = 0
        """Stamp of the last read, or of what was sent before it: no later stamp may lie before it."""
        self.lag_ns = -1
        """Largest lag of a read since the request began; -1 as long as the kernel told no stamp."""
        self._unsent = memoryview(b"")
        loop = get_hub().loop
        self._reader = loop.io(sock.fileno(), READ)
        self._writer: Any = None

    # ---- reading -----------------------------------------------------------------------------------------------

    def watch(self) -> None:
        """Begin to read whatever arrives."""
        self._reader.start(self._readable)

    def _readable(self) -> bool:
        """Stamp and hand on what one read gives; True if there was anything. Lets no exception out."""
        try:
            data, ancillary, _, _ = self._recvmsg(READ_BYTES, ANCILLARY_BYTES)
            now = perf_counter_ns()
            wall = time_ns()
            tries = 3
            while perf_counter_ns() - now > PAUSED_NS and tries:  # off the processor in between: not the same moment
                now = perf_counter_ns()
                wall = time_ns()
                tries -= 1
        except (BlockingIOError, InterruptedError):
            return False
        except OSError as error:
            self._ended(error)
            return True
        try:
            stamp = self._arrival(ancillary, now, wall) if ancillary else now
            self.last = stamp
            if not data:
                self._ended(None)
            elif self.tls is not None:
                self._decrypt(stamp, data)
            elif self.user is not None:
                self.user.received(stamp, data)
            else:
                self.close()  # nobody asked for anything: whatever it is, it is no answer to the next request
        except BaseException as error:  # one that got out here would leave its waiter hanging
            self._broke(error)
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
        return True

    def _arrival(self, ancillary: list[tuple[int, int, bytes]], now: int, wall: int) -> int:
        """When the kernel got what was just read, on our clock."""
        seconds, nanoseconds = TIMESPEC.unpack(ancillary[0][2])
        lag: int = wall - seconds * 1_000_000_000 - nanoseconds
        stamp = now - lag
        clock = self._clock
        if lag < 0 or stamp < self.last - JITTER_NS:
            clock.faults += 1
            return now
        if lag > self.lag_ns:  # noqa: PLR1730  (the hot path: a call of max takes six times as long)
            self.lag_ns = lag
        if lag > clock.lag_ns:  # noqa: PLR1730
            clock.lag_ns = lag
        return stamp if stamp > self.last else self.last  # noqa: FURB136

    def drain(self) -> None:
        """Read all that has arrived already."""
        while not self.closed and self.user is not None and self._readable():
            pass

    def _decrypt(self, stamp: int, data: bytes) -> None:
        tls, incoming = self.tls, self.incoming
        assert tls is not None  # noqa: S101  (for the type checker: only called on a TLS connection)
        assert incoming is not None  # noqa: S101
        incoming.write(data)
        plain: list[bytes] = []
        closing = False
        try:
            while piece := tls.read(READ_BYTES):
                plain.append(piece)
            closing = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            closing = True
        except ssl.SSLError as error:
            self._give(stamp, plain)
            self._ended(OSError(error.errno, f"TLS: {error.reason}"))
            return
        if self.outgoing is not None and self.outgoing.pending:
            self._push(self.outgoing.read())
        self._give(stamp, plain)
        if closing:
            self._ended(None)

    def _give(self, stamp: int, plain: list[bytes]) -> None:
        if plain and self.user is not None:
            self.user.received(stamp, plain[0] if len(plain) == 1 else b"".join(plain))
        elif plain:
            self.close()

    def _ended(self, error: OSError | None) -> None:
        user = self.user
        self.close()
        if user is not None:
            user.ended(perf_counter_ns(), error)

    def _broke(self, error: BaseException) -> None:
        user = self.user
        self.close()
        if user is not None:
            user.broke(error)

    # ---- writing -----------------------------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        """Put bytes on the wire, as fast as the peer takes them; returns at once.

        A connection that breaks meanwhile is found by the next read, behind whatever the peer still had to say.
        """
        if self.tls is not None and self.outgoing is not None:
            rest = memoryview(data)
            while rest:  # one write takes one record of at most 16 KiB
                rest = rest[self.tls.write(rest) :]
            data = self.outgoing.read()
        self._push(data)

    @property
    def sending(self) -> bool:
        """True while bytes wait for the peer to take them."""
        return bool(self._unsent)

    def _push(self, data: bytes) -> None:
        if self._unsent:
            self._unsent = memoryview(bytes(self._unsent) + data)
            return
        self._unsent = memoryview(data)
        self._writable()

    def _writable(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[self._sock.send(self._unsent) :]
        except (BlockingIOError, InterruptedError):
            if self._writer is None:
                self._writer = get_hub().loop.io(self._sock.fileno(), WRITE)
                self._writer.start(self._writable)
            return
        except OSError:
            self._unsent = memoryview(b"")
        if self._writer is not None:
            self._writer.stop()
            self._writer.close()
            self._writer = None

    # ---- life --------------------------------------------------------------------------------------------------

    def begin(self, user: User) -> None:
        """Give the connection to a user for one request."""
        self.user = user
        self.used += 1
        self.lag_ns = -1
        self.last = 0

    def release(self) -> None:
        """Take the connection from its user; it is idle now."""
        self.user = None

    def is_alive(self) -> bool:
        """False if the peer has closed an idle connection, or said something that nobody asked for."""
        while not self.closed and self._readable():
            pass
        return not self.closed

    def close(self) -> None:
        """Close the socket; nobody is told. The watchers stop first, or the loop would watch a descriptor reused."""
        if self.closed:
            return
        self.closed = True
        self.user = None
        for watcher in (self._reader, self._writer):
            if watcher is not None:
                watcher.stop()
                watcher.close()
        self._writer = None
        self._unsent = memoryview(b"")
        self._sock.close()
