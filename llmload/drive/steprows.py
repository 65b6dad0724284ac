"""Rows of the steps that are over, and of a run that is, its verdict: from the reporter itself.

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

Wanted = tuple[Path, frozenset[int] | None, Callable[[], bool]]
Summary = dict[str, Any]


class StepRows:
    """Has rows made and gives them to `got`, in what summary.json will be, with the run folder they are of.

    Where those of a run that is over cannot be made, `failure` is a sentence about it, and all that is given.
    """

    def __init__(self, got: Callable[[Path, Summary], None]) -> None:
        self._got = got
        self._wanted: Wanted | None = None
        self._asked = Event()
        self._greenlet = gevent.spawn(self._run)

    def want(self, folder: Path, over: frozenset[int] | None, settled: Callable[[], bool]) -> None:
        """Have the rows of the steps that are over made, once their records are there. Returns at once.

        None: the run is over, and its verdict is wanted too; that of a run that goes on is left out.

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
                summary = made(folder)
                if over is not None:
                    summary = {"rows": [row for row in summary["rows"] if row["step"] in over]}
                self._got(folder, summary)
            except (OSError, ValueError, KeyError) as error:
                sentence = f"the report could not be made for the page: {error}; llmload report {folder} tells why"
                log.warning("llmload: %s", sentence)
                if over is None:
                    self._got(folder, {"failure": sentence})


def made(folder: Path) -> Summary:
    """What a run folder's summary.json will be. Raises ValueError if it cannot be made."""
    done = reporter.behind(folder, "--format", "json", "--no-files")
    summary: Summary = orjson.loads(done.stdout)
    return summary
