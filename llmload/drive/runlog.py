"""A run's own log, in its folder: what this process logs while the run is on.

Under `llmload run` the whole standard error of Locust is that log already; this is for plain `locust`, and for runs
that a person starts on the web page.
"""

import logging
from pathlib import Path

from llmload.record import runfolder

LOGGERS = ("", "locust")
"""The second one hands nothing to the first."""
FORMAT = "[%(asctime)s] %(levelname)s/%(name)s: %(message)s"


class RunLog(logging.FileHandler):
    """Writes a folder's log from its making to `end`. A disk that takes no more ends no run."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / runfolder.LOG, encoding="utf-8", errors="backslashreplace", delay=True)
        self.setFormatter(logging.Formatter(FORMAT))
        for name in LOGGERS:
            logging.getLogger(name).addHandler(self)

    def end(self) -> None:
        """Write no more."""
        for name in LOGGERS:
            logging.getLogger(name).removeHandler(self)
        self.close()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  (logging's name)
        """Say nothing of a line that could not be written: where the disk is full, the run says so itself."""
