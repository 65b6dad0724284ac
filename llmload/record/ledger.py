"""The ledger of a run: records of all workers, each written to requests.jsonl once, and the sums per worker.

A batch may come twice, late or out of order; (worker, seq) makes each record count once. At the end
`started = finished = received` must hold for every worker; what is missing is lost, and is said to be.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from llmload.record import runfolder
from llmload.record.append import Appender
from llmload.record.runfolder import GENERATOR, REQUESTS

Range = tuple[int, int]
"""First and last of seqs that follow one another."""


@dataclass(slots=True)
class Received:
    """Which seqs of one worker came. Memory grows with the holes only, not with the records."""

    upto: int = 0
    """All seqs below this came …"""
    beyond: set[int] = field(default_factory=set)
    """… and these above it."""

    def __contains__(self, seq: int) -> bool:
        return seq < self.upto or seq in self.beyond

    def __len__(self) -> int:
        return self.upto + len(self.beyond)

    def add(self, seq: int) -> None:
        """Note one seq, which did not come before."""
        if seq == self.upto and not self.beyond:
            self.upto += 1
            return
        self.beyond.add(seq)
        while self.upto in self.beyond:
            self.beyond.remove(self.upto)
            self.upto += 1

    @property
    def end(self) -> int:
        """One more than the largest seq that came."""
        return max(self.beyond, default=self.upto - 1) + 1

    def missing(self, started: int) -> list[Range]:
        """The seqs under `started` that did not come."""
        found, at = [], self.upto
        for seq in (*sorted(seq for seq in self.beyond if seq < started), started):
            if at < seq:
                found.append((at, seq - 1))
            at = seq + 1
        return found


class Listener(Protocol):
    """Hears of what was written."""

    def records(self, lines: Sequence[bytes]) -> None:
        """New lines of requests.jsonl."""

    def samples(self, lines: Sequence[bytes]) -> None:
        """New lines of generator.jsonl."""


class Ledger:
    """Writes requests.jsonl and generator.jsonl of one run folder, and is the only one to do so.

    Raises Stop(USAGE) while another process has it.
    """

    def __init__(self, folder: Path) -> None:
        self.received: dict[str, Received] = {}
        self.listener: Listener | None = None
        self._claim = runfolder.claim(folder)
        self._requests = Appender(folder / REQUESTS)
        self._generator = Appender(folder / GENERATOR)

    def take(self, worker: str, rows: Sequence[tuple[int, bytes]]) -> int:
        """Write those records (seq, line) that are new; returns how many. Raises Stop(INCOMPLETE) on a full disk.

        They count as received only after they were written.
        """
        seen = self.received.setdefault(worker, Received())
        fresh = {seq: line for seq, line in rows if seq not in seen}
        self._requests.append(fresh.values())
        for seq in fresh:
            seen.add(seq)
        if self.listener is not None:
            self.listener.records([*fresh.values()])
        return len(fresh)

    def sample(self, lines: Sequence[bytes]) -> None:
        """Write lines of generator.jsonl. Raises Stop(INCOMPLETE) on a full disk."""
        self._generator.append(lines)
        if self.listener is not None:
            self.listener.samples(lines)

    def account(self, worker: str, started: int, finished: int) -> dict[str, int]:
        """The worker's line of run.json's accounting."""
        received = len(self.received.get(worker, ()))
        return {"started": started, "finished": finished, "received": received, "lost": max(0, started - received)}

    def missing(self, worker: str, started: int) -> list[Range]:
        """The seqs of a worker that were started and never came."""
        return self.received.get(worker, Received()).missing(started)

    def close(self) -> None:
        """Close the files."""
        self._requests.close()
        self._generator.close()
        if self._claim >= 0:
            os.close(self._claim)
            self._claim = -1


def lost_words(worker: str, missing: Sequence[Range]) -> str:
    """The reason of a run in which these records of a worker are missing."""
    n = sum(last - first + 1 for first, last in missing)
    return f"worker {worker}: {n} record{'s' * (n != 1)} missing (seq {ranges(missing)})"


def is_lost_words(worker: str, reason: str) -> bool:
    """Whether a reason says that records of this worker are missing."""
    return reason.startswith(f"worker {worker}: ") and " missing (seq " in reason


def not_handed_over(worker: str) -> str:
    """The reason of a run at whose end a worker kept records back."""
    return f"worker {worker} did not hand over what was left at the end"


def is_mended(worker: str, reason: str) -> bool:
    """Whether a reason about this worker is no more once its spool is here; what is missing then is told anew."""
    return is_lost_words(worker, reason) or reason == not_handed_over(worker)


def ranges(seqs: Sequence[Range]) -> str:
    """Seqs in words: `3, 5-7`, at most eight of them."""
    words = [str(first) if first == last else f"{first}-{last}" for first, last in seqs[:8]]
    return ", ".join(words) + (", …" if len(seqs) > 8 else "")
