"""Lets one request be made per turn of the event loop.

Making a request takes about a millisecond of this process. When many answers end together, as they do where a server
is regular, dozens of users would make theirs one after another before the loop reads a socket again, and tokens of all
other streams would pile up meanwhile. Behind the turnstile the loop reads its sockets between any two of them.
"""

from collections import deque

import gevent
from gevent.event import Event


class Turnstile:
    """One per process."""

    def __init__(self) -> None:
        self._waiting: deque[Event] = deque()
        self._taken = False
        self._timer = gevent.get_hub().loop.timer(0)

    def enter(self) -> None:
        """Wait for one's turn; the first one in a turn of the loop does not wait."""
        if self._taken:
            turn = Event()
            self._waiting.append(turn)
            turn.wait()
            return
        self._taken = True
        self._timer.start(self._next)

    def _next(self) -> None:
        """Called by the loop once it has looked at its sockets."""
        self._timer.stop()
        if self._waiting:
            self._waiting.popleft().set()
            self._timer.start(self._next)
        else:
            self._taken = False
