"""Opening a connection: names to addresses, addresses to a socket, TLS, a proxy on the way. All before `sent`.

All addresses of a name are tried. The next one starts when the one before has failed, or after a quarter of a second
without an answer, so a dead address family costs no visible time; addresses that failed are tried last from then on.
What went wrong is told apart: this machine's own limits (`local_resource`) and everything else (`connect_error`).
"""

import errno
import ipaddress
import os
import socket
import ssl
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any

import gevent
import gevent.socket
from gevent import get_hub, monkey
from gevent.event import Event

from llmload.send import tls
from llmload.send.connection import (
    ANCILLARY_BYTES,
    READ,
    READ_BYTES,
    WRITE,
    Clock,
    Connection,
    ask_for_stamps,
    told,
)
from llmload.send.target import Target

NEXT_ADDRESS_S = 0.25
OWN_LIMITS = {
    errno.EMFILE: "no file descriptor left (ulimit -n)",
    errno.ENFILE: "no file descriptor left on this machine",
    errno.EADDRNOTAVAIL: "no local port left",
    errno.ENOBUFS: "no buffer space left",
    errno.ENOMEM: "no memory left",
    errno.EAGAIN: "no local port left",
}
Socket: type[socket.socket] = monkey.get_original("socket", "socket")
"""The plain socket, whether or not gevent has put its own in place: we watch it ourselves."""
Address = tuple[int, Any]
"""Address family and socket address."""


class DialError(Exception):
    """No connection: `outcome` is that of the record, the text its error line."""

    def __init__(self, outcome: str, text: str) -> None:
        super().__init__(text)
        self.outcome = outcome


@dataclass(slots=True)
class Dialer:
    """Opens connections to one target, directly or through a proxy."""

    target: Target
    limit_s: float
    clock: Clock
    context: ssl.SSLContext | None = None
    proxy: Target | None = None
    worked: Address | None = None
    """The address of the last connection that was opened."""
    failing: set[Address] = field(default_factory=set)
    """Addresses that did not answer when they were tried last."""

    def open(self) -> Connection:
        """A new connection, ready for a request. Blocks this greenlet only. Raises DialError."""
        start = perf_counter_ns()
        what = "connection"
        timer = gevent.Timeout(self.limit_s)
        try:
            with timer:
                near = self.proxy or self.target
                sock = self._reach(near)
                try:
                    what = "TLS handshake" if self.context else "connection"
                    connection = self._greet(sock)
                except BaseException:
                    sock.close()
                    raise
        except gevent.Timeout as late:
            if late is not timer:
                raise  # the caller's own timer
            raise DialError(
                "connect_error", f"connect time-out: no {what} to {self.whom} within {self.limit_s:g} s"
            ) from None
        connection.connect_ms = round((perf_counter_ns() - start) / 1e6, 3)
        connection.watch()
        return connection

    @property
    def whom(self) -> str:
        """The other side, for people."""
        via = f" through the proxy {self.proxy.authority}" if self.proxy else ""
        return f"{self.target.host} port {self.target.port}{via}"

    # ---- TCP ---------------------------------------------------------------------------------------------------

    def _addresses(self, near: Target) -> list[Address]:
        try:
            version = ipaddress.ip_address(near.host).version
        except ValueError:
            pass
        else:
            return [(socket.AF_INET6 if version == 6 else socket.AF_INET, (near.host, near.port))]
        try:
            found = gevent.socket.getaddrinfo(near.host, near.port, type=socket.SOCK_STREAM)
        except (socket.gaierror, UnicodeError) as error:
            said = error.strerror if isinstance(error, socket.gaierror) else str(error)
            raise DialError("connect_error", f"DNS: {near.host}: {said}") from None
        addresses = list(dict.fromkeys((family, address) for family, _, _, _, address in found))
        addresses.sort(key=self.failing.__contains__)
        return addresses

    def _reach(self, near: Target) -> socket.socket:
        """A connected socket to the first of the addresses that answers."""
        waiting = list(reversed(self._addresses(near)))
        errors: list[tuple[Address, OSError]] = []
        racers: dict[int, tuple[socket.socket, Any, Address]] = {}
        ready: list[int] = []
        news = Event()

        def answered(number: int) -> None:
            ready.append(number)
            news.set()

        try:
            while waiting or racers:
                if waiting:
                    address = waiting.pop()
                    try:
                        sock = self._start(address)
                    except OSError as error:
                        errors.append((address, error))
                        if error.errno in {errno.EMFILE, errno.ENFILE}:
                            break
                        continue
                    watcher = get_hub().loop.io(sock.fileno(), WRITE)
                    racers[sock.fileno()] = (sock, watcher, address)
                    watcher.start(answered, sock.fileno())
                news.wait(NEXT_ADDRESS_S if waiting else None)
                news.clear()
                while ready:
                    sock, watcher, address = racers.pop(ready.pop())
                    watcher.stop()
                    watcher.close()
                    if code := sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                        sock.close()
                        errors.append((address, OSError(code, os.strerror(code))))
                    else:
                        self.worked = address
                        self.failing.discard(address)
                        self.failing |= {racer for _, _, racer in racers.values()} | {loser for loser, _ in errors}
                        return sock
        finally:
            for sock, watcher, _ in racers.values():
                watcher.stop()
                watcher.close()
                sock.close()
        raise self._unreachable(errors)

    @staticmethod
    def _start(address: Address) -> socket.socket:
        sock = Socket(address[0], socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            ask_for_stamps(sock)
            code = sock.connect_ex(address[1])
            if code not in (0, errno.EINPROGRESS):
                raise OSError(code, os.strerror(code))
        except BaseException:
            sock.close()
            raise
        return sock

    def _unreachable(self, errors: list[tuple[Address, OSError]]) -> DialError:
        codes = [error.errno or 0 for _, error in errors]
        if codes and (all(code in OWN_LIMITS for code in codes) or {errno.EMFILE, errno.ENFILE} & set(codes)):
            code = next(code for code in reversed(codes) if code in OWN_LIMITS)
            return DialError("local_resource", f"{OWN_LIMITS[code]} for a connection to {self.whom}")
        each = "; ".join(dict.fromkeys(f"{address[1][0]}: {told(error)}" for address, error in errors))
        refused = "connection refused" if errno.ECONNREFUSED in codes else "no connection"
        return DialError("connect_error", f"{refused} by {self.whom} ({each or 'no address'})")

    # ---- TLS and proxy -----------------------------------------------------------------------------------------

    def _greet(self, sock: socket.socket) -> Connection:
        if self.context is None:
            return Connection(sock, self.clock)
        if self.proxy is not None:
            self._tunnel(sock)
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        session = self.context.wrap_bio(incoming, outgoing, server_hostname=self.target.host)
        try:
            while True:
                try:
                    session.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    write_all(sock, outgoing.read())
                    if data := read_some(sock):
                        incoming.write(data)
                    else:
                        incoming.write_eof()
            write_all(sock, outgoing.read())
        except ssl.SSLError as error:
            raise DialError("connect_error", f"{tls.why(error)} ({self.whom})") from None
        except OSError as error:
            raise DialError("connect_error", f"TLS: {told(error)} within the handshake ({self.whom})") from None
        connection = Connection(sock, self.clock, session)
        connection.incoming, connection.outgoing = incoming, outgoing
        return connection

    def _tunnel(self, sock: socket.socket) -> None:
        """Ask the proxy for a way through to the target; from then on it only passes bytes on."""
        place = f"{self.target.host if ':' not in self.target.host else f'[{self.target.host}]'}:{self.target.port}"
        head = b""
        try:
            write_all(sock, f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
            while b"\r\n\r\n" not in head and len(head) < READ_BYTES:
                data = read_some(sock, 1)  # one by one: what follows belongs to TLS
                if not data:
                    break
                head += data
        except OSError as error:
            raise DialError("connect_error", f"proxy: {told(error)} ({self.whom})") from None
        line = head.split(b"\r\n", 1)[0].decode("latin-1")
        if line.split(" ")[1:2] != ["200"]:
            raise DialError("connect_error", f"proxy: it answered {line[:80]!r} to CONNECT ({self.whom})")


def read_some(sock: socket.socket, size: int = READ_BYTES) -> bytes:
    """What arrives next on a non-blocking socket, waited for in this greenlet; empty at the end."""
    while True:
        try:
            return sock.recvmsg(size, ANCILLARY_BYTES)[0]
        except BlockingIOError:
            wait_for(sock, READ)


def write_all(sock: socket.socket, data: bytes) -> None:
    """Write everything to a non-blocking socket, waiting in this greenlet."""
    while data:
        try:
            data = data[sock.send(data) :]
        except BlockingIOError:
            wait_for(sock, WRITE)


def wait_for(sock: socket.socket, events: int) -> None:
    """Wait in this greenlet until the socket can be read or written."""
    hub = get_hub()
    watcher = hub.loop.io(sock.fileno(), events)
    try:
        hub.wait(watcher)
    finally:
        watcher.close()
