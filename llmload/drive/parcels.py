"""Files on their way from the master to workers that do not have them: in parts, each asked for by the worker.

A part is small, so that no loop is held up, and a part that is lost on the way (Locust's sockets drop what finds a
queue full, and say nothing) is asked for again. A file counts only with the SHA-256 that the order names. What came
lies in a folder of its own, away from the run, until this process ends.
"""

import atexit
import hashlib
import math
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from gevent.event import Event

from llmload.exits import Exit, Stop

PART_BYTES = 256 * 1000
"""Of the file; a message is smaller, or larger by a hair if it cannot be compressed."""
AT_ONCE = 4
"""Parts that a worker has asked for and not got."""
AGAIN_S = 3.0
"""After so long they are asked for again …"""
GIVEN_UP_S = 30.0
"""… and after so long without any the file is given up."""


def described(path: str) -> dict[str, Any]:
    """A file as the order names it. Raises Stop(USAGE) if it cannot be read."""
    try:
        return {"path": path, "digest": digest_of(Path(path)), "bytes": Path(path).stat().st_size}
    except OSError as error:
        raise Stop(f"{path}: cannot be read: {error.strerror}") from error


def digest_of(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@lru_cache(maxsize=64)
def part(path: str, number: int) -> bytes:
    """A part of a file, compressed; kept for a moment, since workers ask for the same ones at about the same time."""
    with Path(path).open("rb") as file:
        file.seek(number * PART_BYTES)
        return zlib.compress(file.read(PART_BYTES), 1)


class Parcels:
    """The files of a process that has them from the master. `ask` sends a request for part `number` of a file."""

    def __init__(self, ask: Callable[[str, int], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._ask = ask
        self._clock = clock
        self._folder: Path | None = None
        self._came: dict[tuple[str, int], bytes] = {}
        self._failure: str | None = None
        self._wake = Event()

    def arrived(self, data: dict[str, Any]) -> None:
        """A PART message."""
        if data.get("failure"):
            self._failure = str(data["failure"])
        else:
            self._came[data["digest"], data["part"]] = data["data"]
        self._wake.set()

    def place(self, file: dict[str, Any]) -> str:
        """Where a file of the order lies on this machine; blocks this greenlet until it does.

        The same file at the same path is used as it is. Raises Stop(INCOMPLETE) if it does not come, OSError if it
        cannot be written.
        """
        path, digest = Path(file["path"]), str(file["digest"])
        here = self._home() / f"{digest[:16]}{path.suffix}"
        for there in (path, here):
            if same(there, digest):
                return str(there)
        self._fetch(file, here)
        if not same(here, digest):
            raise Stop(
                f"{path}: what came from the master is not the file that the run began with (SHA-256 {digest[:12]}…); "
                "was it changed meanwhile? Start the run again",
                Exit.INCOMPLETE,
            )
        return str(here)

    def _fetch(self, file: dict[str, Any], here: Path) -> None:
        digest = str(file["digest"])
        parts = -(-int(file["bytes"]) // PART_BYTES)
        missing = dict.fromkeys(range(parts), -math.inf)
        """When each part that is missing was asked for last."""
        self._came.clear()
        self._failure = None
        last = self._clock()
        with here.open("wb") as out:
            while missing:
                now = self._clock()
                for number in list(islice(missing, AT_ONCE)):
                    if now - missing[number] >= AGAIN_S:
                        missing[number] = now
                        self._ask(digest, number)
                self._wake.wait(AGAIN_S)
                self._wake.clear()
                if self._failure is not None:
                    raise Stop(f"{file['path']}: the master cannot send it: {self._failure}", Exit.INCOMPLETE)
                for (whose, number), data in list(self._came.items()):
                    if whose == digest and number in missing:
                        out.seek(number * PART_BYTES)
                        out.write(zlib.decompress(data))
                        del missing[number]
                        last = self._clock()
                self._came.clear()
                if missing and self._clock() - last > GIVEN_UP_S:
                    raise Stop(
                        f"{file['path']}: {len(missing)} of its {parts} parts did not come from the master within "
                        f"{GIVEN_UP_S:.0f} s; is the way to it broken?",
                        Exit.INCOMPLETE,
                    )

    def _home(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="llmload-files-"))
            atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
        return self._folder


def same(path: Path, digest: str) -> bool:
    """Whether the file with this SHA-256 lies there."""
    try:
        return digest_of(path) == digest
    except OSError:
        return False
