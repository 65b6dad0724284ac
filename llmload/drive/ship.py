"""Ships records from a worker to the master: numbered batches, sent again until they are acknowledged.

Runs in a greenlet of its own, since a message that finds the way blocked sleeps in whoever sends it: that must be
neither a user nor the loop. Knows nothing of what is in a line.
"""

import logging
import time
from collections.abc import Callable

import gevent
from gevent.event import Event

log = logging.getLogger(__name__)

BATCH_BYTES = 256 * 1024
"""Larger messages freeze the loops of both sides."""
PERIOD_S = 0.25
RESEND_S = 3.0
UNHEARD_S = 12.0
"""After so long it is sent again and again: a way that is broken keeps what it was given, up to a thousand messages."""
WINDOW = 16
"""Batches on the way at once; the rest waits here, so that a master that is away is not flooded when it is back."""

Row = tuple[int, bytes]


class Shipper:
    """Sends rows (seq, line) through `send(batch number, rows)`, which may block and may fail."""

    def __init__(self, send: Callable[[int, list[Row]], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._send = send
        self._clock = clock
        self._waiting: list[Row] = []
        self._unacked: dict[int, tuple[float, list[Row]]] = {}
        self._next = 0
        self.unheard = False
        """Whether the master has not acknowledged anything for some time."""
        self._wake = Event()
        self._greenlet = gevent.spawn(self._run)

    def add(self, seq: int, line: bytes) -> None:
        """Take a record; returns at once."""
        self._waiting.append((seq, line))

    def acknowledge(self, batch: int) -> None:
        """The master has written a batch."""
        self._unacked.pop(batch, None)
        self.unheard = False
        if not self.left:
            self._wake.set()

    @property
    def left(self) -> int:
        """Records that are not acknowledged yet."""
        return len(self._waiting) + sum(len(rows) for _, rows in self._unacked.values())

    def flush(self, timeout_s: float) -> bool:
        """Send all that is left and wait until it is acknowledged; False if that took too long."""
        deadline = self._clock() + timeout_s
        while self.left and self._clock() < deadline:
            self._wake.set()
            gevent.sleep(0.02)
        return not self.left

    def close(self) -> None:
        """Stop sending; what is left stays in the spool."""
        self._greenlet.kill(block=False)

    def _run(self) -> None:
        while True:
            self._wake.wait(PERIOD_S)
            self._wake.clear()
            try:
                self._round()
            except Exception as error:  # noqa: BLE001  (any failure of the way: the batch is sent again later)
                log.warning("llmload: records could not be sent to the master, trying again: %s", error)
                gevent.sleep(RESEND_S)

    def _round(self) -> None:
        now = self._clock()
        patience_s = UNHEARD_S if self.unheard else RESEND_S
        for batch, (at, rows) in list(self._unacked.items()):
            if now - at >= patience_s:
                self.unheard = True
                self._unacked[batch] = (now, rows)
                self._send(batch, rows)
        while self._waiting and len(self._unacked) < WINDOW:
            rows, self._waiting = cut(self._waiting, BATCH_BYTES)
            batch, self._next = self._next, self._next + 1
            self._unacked[batch] = (self._clock(), rows)
            self._send(batch, rows)


def cut(rows: list[Row], limit: int) -> tuple[list[Row], list[Row]]:
    """The first rows that fit into so many bytes (one at least), and the rest."""
    size = 0
    for count, (_, line) in enumerate(rows):
        size += len(line)
        if size > limit and count:
            return rows[:count], rows[count:]
    return rows, []
