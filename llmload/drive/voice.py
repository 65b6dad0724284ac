"""What is said to the person who runs this, one sentence a line.

Under `llmload run` the terminal is standard output, and standard error is a log file in which the sentence that
ended the run must be the last that begins with `llmload: `. Under plain `locust` everything goes to Locust's log,
which is the terminal unless a log file was asked for, and is on the page's Logs tab too.

Nobody may be there to hear it: a reader of the terminal that left, or a disk that is full, ends no run.
"""

import contextlib
import logging
import os
import re
import sys
import textwrap
from typing import Any, TextIO

from llmload.handover import PARENT_PID

log = logging.getLogger("llmload")


class Voice:
    """Speaks to whoever runs this process."""

    def __init__(self, options: Any, *, of_worker: bool = False) -> None:
        self.attended = PARENT_PID in os.environ
        """Whether `llmload run` started this process, and reports at the end."""
        self._aloud = self.attended or bool(getattr(options, "logfile", None))
        self._logs = not (of_worker and self.attended)
        """Under `llmload run --worker` the log is on the terminal too, and would say everything twice."""
        self._last: str | None = None

    def say(self, sentence: str) -> None:
        """Something to know."""
        if self._logs:
            log.info(sentence)
        if self._aloud:
            aloud(sentence, sys.stdout)

    def complain(self, sentence: str) -> None:
        """Something that went wrong, and what to do."""
        if self._logs:
            log.error(sentence)
        self._last = sentence
        if self._aloud:
            aloud(f"llmload: {sentence}", sys.stderr)

    def last_words(self) -> None:
        """Repeat the last complaint behind everything that Locust printed at its end."""
        if self._last is not None and self.attended:
            aloud(f"llmload: {self._last}", sys.stderr)


def aloud(line: str, to: TextIO | None) -> None:
    """Print a line, if anything takes it."""
    if to is None:
        return
    try:
        if to.isatty():
            width = os.get_terminal_size(to.fileno()).columns
            line = "\n".join(wrapped(part, width) for part in line.split("\n"))
        to.write(f"{line}\n")  # in one piece: several processes may write to the same terminal
        to.flush()
    except (OSError, ValueError):  # gone, full, or closed
        with contextlib.suppress(OSError, ValueError):
            drop(to)


NAMED = re.compile(r" *(?:\S.{0,20}? {2,})?")
"""What stands before the text of a line: blanks, and a name with two blanks or more behind it."""


def wrapped(line: str, width: int) -> str:
    """A line in so many columns, broken at blanks, what follows indented to where its text begins.

    A line with a command in it stays whole, so that it can be copied.
    """
    if len(line) <= width or " --" in line:
        return line
    before = NAMED.match(line)
    indent = " " * ((before.end() if before else 0) or 2)
    return textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def drop(to: TextIO) -> None:
    """Let go of what an output did not take, or Python tries again at its end and fails with an exit code of its own.

    The output itself stays: a disk that is full now may have room again.
    """
    kept = os.dup(to.fileno())
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, to.fileno())
        to.flush()
        os.dup2(kept, to.fileno())
    finally:
        os.close(kept)
        os.close(nowhere)
