"""Rows of the steps that are over, from the reporter itself.

One at a time: while one is being made, any number of steps may end, and one more is made behind it.
"""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gevent
import orjson
from gevent.event import Event

from llmload.drive import reporter

log = logging.getLogger(__name__)

SETTLE_S = 5.0
"""How long the last records of a step may be on their way; the rows that come with the next end have them then."""
LOOK_S = 0.1

Wanted = tuple[Path, frozenset[int], Callable[[], bool]]


class StepRows:
    """Has rows made and gives them to `got`, with the run folder they are of."""

    def __init__(self, got: Callable[[Path, list[dict[str, Any]]], None]) -> None:
        self._got = got
        self._wanted: Wanted | None = None
        self._asked = Event()
        self._greenlet = gevent.spawn(self._run)

    def want(self, folder: Path, over: frozenset[int], settled: Callable[[], bool]) -> None:
        """Have the rows of the steps that are over made, once their records are there. Returns at once.

        A step that ends while rows are being made has a row only behind the next want: the reporter may have read
        no more than a part of it.
        """
        self._wanted = (folder, over, settled)
        self._asked.set()

    def _run(self) -> None:
        while True:
            self._asked.wait()
            self._asked.clear()
            if self._wanted is None:
                continue
            folder, over, settled = self._wanted
            deadline = time.monotonic() + SETTLE_S
            while not settled() and time.monotonic() < deadline:
                gevent.sleep(LOOK_S)
            try:
                self._got(folder, [row for row in made(folder) if row["step"] in over])
            except (OSError, ValueError, KeyError) as error:
                log.warning("llmload: no rows for the live page: %s; llmload report %s tells why", error, folder)


def made(folder: Path) -> list[dict[str, Any]]:
    """The rows of a run folder as its summary.json will have them. Raises ValueError if there are none."""
    done = reporter.behind(folder, "--format", "json", "--no-files")
    rows: list[dict[str, Any]] = orjson.loads(done.stdout)["rows"]
    return rows
