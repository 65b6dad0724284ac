"""What is said to the person who runs this, one sentence a line.

Under `llmload run` the terminal is standard output, and standard error is a log file in which the sentence that
ended the run must be the last that begins with `llmload: `. Under plain `locust` everything goes to Locust's log,
which is the terminal unless a log file was asked for, and is on the page's Logs tab too.
"""

import logging
import os
import sys
from typing import Any

from llmload.handover import PARENT_PID

log = logging.getLogger("llmload")


class Voice:
    """Speaks to whoever runs this process."""

    def __init__(self, options: Any) -> None:
        self.attended = PARENT_PID in os.environ
        """Whether `llmload run` started this process, and reports at the end."""
        self._aloud = self.attended or bool(getattr(options, "logfile", None))
        self._last: str | None = None

    def say(self, sentence: str) -> None:
        """Something to know."""
        log.info(sentence)
        if self._aloud:
            print(sentence, flush=True)

    def complain(self, sentence: str) -> None:
        """Something that went wrong, and what to do."""
        log.error(sentence)
        self._last = sentence
        if self._aloud:
            print(f"llmload: {sentence}", file=sys.stderr, flush=True)

    def last_words(self) -> None:
        """Repeat the last complaint behind everything that Locust printed at its end."""
        if self._last is not None and self.attended:
            print(f"llmload: {self._last}", file=sys.stderr, flush=True)
