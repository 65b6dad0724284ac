"""A server's log: how many of its lines tell an error, from the end that the file has at the beginning.

At most a count leaves this module, never a word of the log. The file may be turned away or emptied meanwhile.
"""

import os
import re
from pathlib import Path

from llmload.gather.seen import Unread

ERROR = re.compile(
    rb"(?<![\w./-])(?:ERROR|CRITICAL|FATAL|Traceback \(most recent call last\)|CUDA error|OOM|"
    rb"(?:torch\.)?(?:cuda\.)?OutOfMemoryError|CUDA out of memory|Out of memory)(?![\w=/-])"
)
"""Level words in capitals as words of their own, and what Python and CUDA say for certain. `errors=0`, `ERROR_RATE`,
`/error` and a lower-case "error" in prose are none. A line counts once; a traceback counts at its head."""

COLOUR = re.compile(rb"\x1b\[[\d;]*m")

MOST = 16 * 2**20
"""Bytes that are read at one look; the next goes on from there."""
LONGEST = 64 * 1024
"""A line that is longer is looked at in pieces."""


def tells_error(line: bytes) -> bool:
    """True for a line that tells an error."""
    return ERROR.search(COLOUR.sub(b" ", line)) is not None


class Log:
    """The log of a server, followed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self._rest = b""
        self.errors = 0
        try:
            self._file = self._open()
            os.lseek(self._file, 0, os.SEEK_END)
        except OSError as error:
            self.problem: str | None = f"cannot be read: {error.strerror}"
        else:
            self.problem = None

    def look(self) -> int:
        """Read what was added; returns all errors so far. Raises Unread while there is no such file."""
        try:
            if self._file is None:
                self._file = self._open()
            left = self._read(MOST)
            there = self._path.stat()
            mine = os.fstat(self._file)
            if (there.st_ino, there.st_dev) != (mine.st_ino, mine.st_dev) and left:
                os.close(self._file)
                self._file, self._rest = None, b""
                self._file = self._open()
                self._read(left)
        except OSError as error:
            raise Unread(f"cannot be read: {error.strerror}") from None
        return self.errors

    def _open(self) -> int:
        return os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)

    def _read(self, most: int) -> int:
        """Count in up to so many bytes; returns how many of them are left."""
        assert self._file is not None  # noqa: S101  (it was opened)
        if os.fstat(self._file).st_size < os.lseek(self._file, 0, os.SEEK_CUR):
            os.lseek(self._file, 0, os.SEEK_SET)
            self._rest = b""
        while most > 0 and (more := os.read(self._file, min(most, 2**18))):
            most -= len(more)
            *lines, self._rest = (self._rest + more).split(b"\n")
            if len(self._rest) > LONGEST:
                lines.append(self._rest)
                self._rest = b""
            self.errors += sum(tells_error(line) for line in lines)
        return max(0, most)
