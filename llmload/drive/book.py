"""run.json as it grows: written at the start, at every change of phase and at the end, always whole.

Holds what is known about a run and its machine; it decides nothing.
"""

import contextlib
import os
import platform
import sys
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import orjson

from llmload import __version__, handover
from llmload.exits import Exit, Stop
from llmload.load.sources import all_hidden
from llmload.record import runfolder

SCHEMA = 1
PACKAGES = ("locust", "gevent", "openai", "httpx2", "httptools")
ROOM = ".room"
"""A file that keeps room on the disk while a run is on: where it is full, the run still has that for how it ended."""
SPARE_BYTES = 6 * 1024
"""What run.json may still grow by."""


@dataclass(slots=True)
class Book:
    """What goes into run.json, apart from what others keep and hand over when it is written."""

    folder: Path
    facts: dict[str, Any]
    steps: list[dict[str, Any]] = field(default_factory=list)
    workers: dict[str, dict[str, Any]] = field(default_factory=dict)
    accounting: dict[str, dict[str, int]] = field(default_factory=dict)
    ended_at: float | None = None
    clock_drift_s: float | None = None
    verdict: str | None = None
    reasons: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Those of the reasons that spoiled nothing."""

    def begin_step(self, index: int, concurrency: int | None, at: float, rate: float | None = None) -> dict[str, Any]:
        """A step begins; its row is for the caller to fill."""
        row = {
            "step": index,
            "concurrency": concurrency,
            "rate": rate,
            "started_at": at,
            "window_started_at": None,
            "window_ended_at": None,
            "marks_apart_ms": None,
            "ended_at": None,
            "ended_by": None,
            "abandoned": 0,
        }
        self.steps.append(row)
        return row

    def write(self) -> None:
        """Replace run.json. Raises Stop(INCOMPLETE) if the disk takes no more; the old one is still there then.

        Room is put by for the last words; where there is none for a beginning and that, nothing stays.
        """
        path, room = self.folder / runfolder.RUN, self.folder / ROOM
        try:
            if self.verdict is not None:
                room.unlink(missing_ok=True)
            self._replace()
            if self.verdict is None:
                put_by(room, path.stat().st_size + SPARE_BYTES)
        except OSError as error:
            if not self.steps:
                self.withdraw()
            raise Stop(f"{path}: cannot be written: {error.strerror}", Exit.INCOMPLETE) from error

    def withdraw(self) -> None:
        """Take run.json away again, of a run that does not begin."""
        for name in (runfolder.RUN, ROOM):
            (self.folder / name).unlink(missing_ok=True)

    def _replace(self) -> None:
        runfolder.write_json(
            self.folder / runfolder.RUN,
            {
                "schema": SCHEMA,
                **self.facts,
                "ended_at": self.ended_at,
                "clock_drift_s": self.clock_drift_s,
                "steps": self.steps,
                "workers": self.workers,
                "accounting": self.accounting,
                "verdict": self.verdict,
                "reasons": self.reasons,
                "notes": self.notes,
            },
        )


def put_by(room: Path, size: int) -> None:
    """Make a file so large, if it is smaller."""
    with room.open("ab") as file:
        if (missing := size - file.tell()) > 0:
            file.write(os.urandom(missing))  # no zeros, which take no room on some disks


def versions() -> dict[str, str | None]:
    """Versions of what measured."""
    found: dict[str, str | None] = {"llmload": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def command() -> list[str]:
    """The command as the user typed it: `llmload run …` if that started this process, else this process's own.

    Users and passwords of URLs are left out.
    """
    with contextlib.suppress(orjson.JSONDecodeError, TypeError):
        return all_hidden(map(str, orjson.loads(os.environ.get(handover.COMMAND, ""))))
    return all_hidden([Path(sys.argv[0]).name, *sys.argv[1:]])
