"""The spool of one worker: a line before each request is sent, and its record after it.

What a worker did can be read from it whatever became of the worker or of the way to the master: a start without a
record is an attempt whose end nobody knows. One process writes one spool.
"""

from dataclasses import dataclass, field
from pathlib import Path

import orjson

from llmload.exits import Stop
from llmload.record.append import Appender
from llmload.record.record import Tags
from llmload.record.runfolder import lines


class Spool:
    """Writes a spool.

    A disk that takes no more ends the writing and leaves its sentence in `failure`: the load itself is never hurt
    by it, and whoever drives the run looks here.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.failure: str | None = None
        self._file = Appender(path)

    def start(self, tags: Tags, sent_at: float) -> None:
        """The line before a request."""
        self._append(
            orjson.dumps(
                {
                    "start": tags.seq,
                    "run": tags.run,
                    "worker": tags.worker,
                    "step": tags.step,
                    "phase": tags.phase,
                    "workload": tags.workload,
                    "sent_at": sent_at,
                }
            )
        )

    def finish(self, line: bytes) -> None:
        """The record after it, as one line of JSON."""
        self._append(line)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _append(self, line: bytes) -> None:
        if self.failure is None:
            try:
                self._file.append((line,))
            except Stop as stop:
                self.failure = stop.message


@dataclass(slots=True)
class Spooled:
    """What a spool tells: `started` are the seqs of its start lines, `records` its records as lines, by seq."""

    started: set[int] = field(default_factory=set)
    records: dict[int, bytes] = field(default_factory=dict)


def read(path: Path) -> Spooled:
    """Read a spool, also a killed worker's; a cut last line, a broken line and a missing file give nothing."""
    spooled = Spooled()
    for line in lines(path):
        try:
            row = orjson.loads(line)
            if "start" in row:
                spooled.started.add(int(row["start"]))
            else:
                seq = int(row["seq"])
                spooled.started.add(seq)
                spooled.records[seq] = line
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            continue
    return spooled
