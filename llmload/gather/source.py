"""One source and its thread: a look at each point of a fixed grid of time, and what each look told as one line.

A look that takes longer than the grid's step misses points and disturbs no other source. Knows neither pages nor
files: `Look` is what it looks at, `Lines` is where it writes.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Protocol

from llmload.gather.lines import Lines, Notes
from llmload.gather.seen import Unread
from llmload.plain import one_line

Told = Mapping[str, object]


class Look(Protocol):
    """What a source is asked for."""

    def ask(self) -> tuple[float, float, Callable[[float], Told]]:
        """Ask it: readings of `perf_counter()` before and after, and what makes the rest of a line of the answer.

        That is called with the moment of the look in Unix seconds. Both raise Unread; whatever else they raise is a
        look that failed, too.
        """


class Source(threading.Thread):
    """One source."""

    def __init__(  # noqa: PLR0913
        self,
        name: str,
        look: Look,
        lines: Lines,
        notes: Notes,
        *,
        anchor_s: float,
        every_s: float,
        needed: bool = True,
    ) -> None:
        super().__init__(name=name, daemon=True)
        self.source = name
        self.looks = 0
        self.failed = 0
        self.error: str | None = None
        """Why the latest look failed; None if it did not."""
        self.ready = threading.Event()
        """Set after the first look."""
        self._look = look
        self._lines = lines
        self._notes = notes
        self._anchor_s = anchor_s
        self._every_s = every_s
        self._needed = needed
        """False: it was a guess; if the first look fails, there is no such source."""
        self._over = threading.Event()
        self._busy = threading.Lock()
        self._paused = self._told_paused = False
        self._last = False
        self._first_error = ""

    def run(self) -> None:
        """Look until it is over."""
        began = time.perf_counter()
        with self._busy:
            self._once()
        self.ready.set()
        if self.is_absent:
            return
        while not self._over.wait(self._until_next(began)):
            with self._busy:
                if not self._paused:
                    self._once()
        if self._last:
            with self._busy:
                self._once()

    @property
    def is_absent(self) -> bool:
        """True for a guess that was wrong."""
        return not self._needed and self.looks == self.failed == 1

    def pause(self) -> None:
        """Look no more from now on; a look that is under way goes on."""
        self._paused = True

    def tell_paused(self, *, paused: bool) -> None:
        """Write that it is paused, after the look that may be under way; or that it is no more, and go on looking."""
        with self._busy:
            if paused != self._told_paused and not self.is_absent:
                now = time.perf_counter()
                self._lines.write({"at": self._anchor_s + now, "source": self.source, "paused": paused})
            self._paused = self._told_paused = paused

    def over(self, *, last: bool) -> None:
        """End, after one last look if asked for; `join` waits for it."""
        self._last = last
        self._over.set()

    def tell(self) -> None:
        """Say in the notes how often it failed, if it did."""
        if self.is_alive():
            self._notes.add(f"{self.source}: it was still being asked when all was over; that look is missing")
        if self.failed and not self.is_absent:
            self._notes.add(
                f"{self.source}: {self.failed} of {self.looks} looks failed; the first said: {self._first_error}"
            )

    def _until_next(self, began: float) -> float:
        now = time.perf_counter()
        return began + (1 + (now - began) // self._every_s) * self._every_s - now

    def _once(self) -> None:
        self.looks += 1
        before = time.perf_counter()
        try:
            begun, ended, make = self._look.ask()
            middle = (begun + ended) / 2
            told = make(self._anchor_s + middle)
            self.error = None
        except Exception as error:  # noqa: BLE001  (a page that nobody foresaw must not be the last one)
            begun, ended = before, time.perf_counter()
            middle = (begun + ended) / 2
            self.error = str(error) if isinstance(error, Unread) else unforeseen(error)
            told = {"error": self.error}
            self._first_error = self._first_error or self.error
            self.failed += 1
            if self.is_absent:
                return
        self._lines.write(
            {
                "at": self._anchor_s + middle,
                "mono_ns": int(middle * 1e9),
                "source": self.source,
                "took_ms": round((ended - begun) * 1e3, 3),
                **told,
            }
        )


def unforeseen(error: Exception) -> str:
    """What is said of a fault that nobody foresaw."""
    return one_line(f"its answer could not be read: {type(error).__name__}: {error}")[:300]
