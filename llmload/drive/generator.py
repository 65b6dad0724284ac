"""How well the generator itself does: one line per worker and second for generator.jsonl.

A greenlet wakes every 20 ms and notes how late it was: that is how late everything else in this loop was. Once a
second CPU, memory, streams and what the client metered go into one line.
"""

import contextlib
import gc
import resource
import time
from collections.abc import Callable
from typing import Protocol

import gevent
import orjson
import psutil

from llmload.drive.apart import Apart
from llmload.record import clock

TICK_S = 0.02
LINE_S = 1.0
STILL_S = 2.0
"""A tick that is later than this: no busy loop, but a process that was stopped, or a machine that was."""
GARBAGE = 50_000
"""Objects since the last collection at which a young collection is due although none should be: some 25 ms of pause
then, instead of memory that grows through a window of any length."""


class Meter(Protocol):
    """What the client counted since it was asked last."""

    @property
    def events(self) -> int:
        """Token-bearing events."""

    @property
    def stamp_lag_ms(self) -> float | None:
        """Largest time by which a read came after its bytes; None where the kernel cannot tell."""


class Sampler:
    """Samples this process and gives each line to `emit`."""

    def __init__(
        self,
        worker: str,
        meter: Callable[[], Meter],
        streams: Callable[[], int],
        emit: Callable[[bytes], None],
        apart: Apart,
    ) -> None:
        self._worker = worker
        self._meter = meter
        self._streams = streams
        self._emit = emit
        self._apart = apart
        self._process = psutil.Process()
        self._last_rss: int = self._process.memory_info().rss
        self.stood_still_s = 0.0
        """For how long in all nothing at all went on here."""
        self._greenlet = gevent.spawn(self._run)

    def close(self) -> None:
        """Stop sampling."""
        self._greenlet.kill(block=False)

    def _run(self) -> None:
        lags: list[float] = []
        began, busy = time.monotonic(), cpu_seconds()
        due = began + TICK_S
        while True:
            gevent.sleep(max(0.0, due - time.monotonic()))
            now = time.monotonic()
            lags.append(round(max(0.0, now - due) * 1000, 3))
            if now - due > STILL_S:
                self.stood_still_s += now - due
            due = due + TICK_S if due + TICK_S > now else now + TICK_S
            if now - began >= LINE_S:
                used = cpu_seconds()
                self._emit(self._line(lags, (used - busy) / (now - began)))
                if not gc.isenabled() and gc.get_count()[0] > GARBAGE:
                    gc.collect(0)
                lags, began, busy = [], now, used

    def _line(self, lags: list[float], cpu: float) -> bytes:
        meter = self._meter()
        return orjson.dumps(
            {
                "at": clock.now(),
                "worker": self._worker,
                "cpu": round(cpu, 4),
                "loop_lag_ms": lags,
                "stamp_lag_ms": meter.stamp_lag_ms,
                "streams": self._streams(),
                "events": meter.events,
                "rss_bytes": self._rss(),
                "clock_offset_ms": self._apart.offset_ms,
                "clock_error_ms": self._apart.error_ms,
            }
        )

    def _rss(self) -> int:
        """Memory of this process, or what it last was where the system has no file descriptor left to tell it."""
        with contextlib.suppress(OSError, psutil.Error):
            self._last_rss = self._process.memory_info().rss
        return self._last_rss


def cpu_seconds() -> float:
    """CPU time that this process has used, system time included."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def settle() -> None:
    """Set aside all that is there before a run, so that later collections need not look at it again."""
    gc.collect()
    gc.freeze()


def quiet() -> None:
    """Switch garbage collection off, after one last time: its pauses would be in the stamps."""
    gc.collect()
    gc.disable()


def tidy() -> None:
    """Switch garbage collection on again and do what was put off."""
    gc.enable()
    gc.collect()
