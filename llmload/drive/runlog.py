"""A run's own log, in its folder: what this process logs while the run is on.

Under `llmload run` the whole standard error of Locust is that log already; this is for plain `locust`, and for runs
that a person starts on the web page.
"""

import contextlib
import logging
from pathlib import Path

from llmload.record import runfolder

FORMAT = "[%(asctime)s] %(levelname)s/%(name)s: %(message)s"


class RunLog(logging.FileHandler):
    """Writes a folder's log from its making to `end`. A disk that takes no more ends no run, and says so itself."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / runfolder.LOG, encoding="utf-8", errors="backslashreplace", delay=True)
        self.setFormatter(logging.Formatter(FORMAT))
        locust = logging.getLogger("locust")
        self.loggers = [logging.getLogger(), *([] if locust.propagate else [locust])]
        for logger in self.loggers:
            logger.addHandler(self)

    def end(self) -> None:
        """Write no more."""
        for logger in self.loggers:
            logger.removeHandler(self)
        with contextlib.suppress(OSError):
            self.close()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, if that can be done."""
        with contextlib.suppress(OSError):
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  (logging's name)
        """Say nothing of a line that could not be written."""
