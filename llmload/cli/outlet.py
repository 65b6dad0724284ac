"""Standard output and standard error whose reader may leave: a command goes on, what it says then goes nowhere.

A pager that is closed, a terminal that hangs up and a file on a full disk end no run and lose no report. Knows no
command.
"""

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast

GONE = {errno.EPIPE, errno.EIO}
"""Whoever read has left: a pipe without a reader, a terminal that hung up. That is no fault of the command."""


class Outlet:
    """A text stream in place of another: from the first write that fails on, what is written goes nowhere."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.failure: OSError | None = None
        """Why it was given up, if it was."""

    def write(self, text: str) -> int:
        """As of any text stream; never fails for want of room or of a reader."""
        try:
            return self.stream.write(text)
        except OSError as error:
            self.give_up(error)
            return len(text)

    def flush(self) -> None:
        """As of any text stream; never fails for want of room or of a reader."""
        try:
            self.stream.flush()
        except OSError as error:
            self.give_up(error)

    def give_up(self, error: OSError) -> None:
        """Lead the stream's descriptor nowhere, so that neither later writes nor the interpreter's end fail."""
        self.failure = self.failure or error
        with contextlib.suppress(OSError):  # one without a descriptor
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stream.fileno())
            os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        """All else is the stream's own."""
        return getattr(self.stream, name)


def prepare() -> None:
    """Make both streams usable: one that is closed leads nowhere, a character without a place in it becomes `?`."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name)
        if stream is None:  # the descriptor is filled too: the next file that is opened would get it
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, number) if nowhere != number else os.set_inheritable(number, True)
            if nowhere != number:
                os.close(nowhere)
            stream = open(number, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  (lasts with the process)
            setattr(sys, name, stream)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


@contextlib.contextmanager
def lasting() -> Iterator[tuple[Outlet, Outlet]]:
    """Standard output and standard error as outlets while the block lasts; both are written out at its end."""
    former = sys.stdout, sys.stderr
    outlets = Outlet(former[0]), Outlet(former[1])
    sys.stdout, sys.stderr = cast("TextIO", outlets[0]), cast("TextIO", outlets[1])
    try:
        yield outlets
    finally:
        for outlet in outlets:
            outlet.flush()
        sys.stdout, sys.stderr = former


def as_utf8() -> None:
    """From here on standard output is UTF-8, whatever the terminal is: for formats that are defined so."""
    stream = sys.stdout.stream if isinstance(sys.stdout, Outlet) else sys.stdout
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8")
