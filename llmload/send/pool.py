"""Kept connections to one target: as many as are in flight, the one used last first.

A connection on which something can be read while nobody uses it has been closed, or said what nobody asked for: it is
dropped in silence, as nothing was put on the wire yet. One that dies at the very moment of a request is the request's
business (`stale_connection`).
"""

from llmload.send.connection import Connection
from llmload.send.dial import Dialer


class Pool:
    """Unbounded: the load plan says how many requests are in flight, never the pool."""

    def __init__(self, dialer: Dialer, *, fresh: bool = False) -> None:
        self._dialer = dialer
        self._fresh = fresh
        self._idle: list[Connection] = []

    @property
    def address(self) -> str | None:
        """Host and port that the last new connection led to, as the system names them; None before one."""
        if self._dialer.worked is None:
            return None
        host, port = self._dialer.worked[1][:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    @property
    def idle(self) -> int:
        """Connections that wait for a request and are still open."""
        self._idle = [kept for kept in self._idle if kept.is_alive()]
        return len(self._idle)

    def take(self) -> Connection:
        """A connection that is ready for a request: a kept one that lives, or a new one. Raises DialError."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_alive():
                return connection
        return self._dialer.open()

    def give(self, connection: Connection) -> None:
        """Keep a connection for the next request."""
        if self._fresh or connection.closed:
            connection.close()
            return
        self._idle.append(connection)
        if len(self._idle) % 64 == 0:
            self._idle = [kept for kept in self._idle if not kept.closed]

    def close(self) -> None:
        """Close all connections that are idle."""
        while self._idle:
            self._idle.pop().close()
