"""Append-only files of whole lines: a line is there or it is not, also on a full disk and after a kill.

Every call hands its lines to the operating system at once (no buffer of ours), so that a process that is killed
has lost nothing that was appended. A write that the disk takes only in part is taken back.
"""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from llmload.exits import Exit, Stop

BLOCK = 64 * 1024


class Appender:
    """Appends lines to one file. The first failure is final: later lines are refused with the same sentence."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._failure: str | None = None
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise Stop(f"{path}: cannot be opened: {error.strerror}", Exit.USAGE) from error

    def append(self, lines: Iterable[bytes]) -> None:
        """Append lines, given without their ends; all of them or none. Raises Stop(INCOMPLETE) if that fails."""
        data = b"".join(line + b"\n" for line in lines)
        if self._failure is not None:
            raise Stop(self._failure, Exit.INCOMPLETE)
        if not data:
            return
        written = 0
        try:
            while written < len(data):
                written += os.write(self._descriptor, data[written:] if written else data)
        except OSError as error:
            if written:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - written)
            self._failure = f"{self.path}: cannot be written: {error.strerror}; what was written before is kept"
            raise Stop(self._failure, Exit.INCOMPLETE) from error

    def close(self) -> None:
        """Close the file; nothing more can be appended."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            self._failure = f"{self.path}: is closed"


def drop_half_line(path: Path) -> None:
    """Cut off a last line that has no end (a kill or a full disk left it), so that the next one is not glued to it.

    Only for who writes the file alone: another writer may be just about to end that line.
    """
    with contextlib.suppress(FileNotFoundError), path.open("r+b") as file:
        end = at = file.seek(0, os.SEEK_END)
        while at:
            size = min(at, BLOCK)
            at = file.seek(at - size)
            if (found := file.read(size).rfind(b"\n")) >= 0:
                at += found + 1
                break
        if at < end:
            file.truncate(at)
