"""Takes the spools of workers into a run: what the master was never told, because it, the worker or the way was gone.

What only a spool holds is appended to requests.jsonl, each record once. The start of an attempt without a record is
kept in the run's own spool folder, so that the report knows step, phase and class of what was lost. Then run.json is
renewed: the sums per worker, the reasons, the verdict. Every file is whole at every moment, and doing all of it again
adds nothing.

What stays: a run that did not come to its end is INCOMPLETE, and one in which a worker died is DEGRADED, since the load
was not the one that was asked for. A run that only lacked records which are now here is OK.

Memory grows with the holes, not with the records.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from llmload.exits import VERDICTS, Exit, Stop
from llmload.record import ledger as books
from llmload.record import runfolder
from llmload.record.append import Appender, drop_half_line
from llmload.record.ledger import Ledger, Received
from llmload.record.record import SCHEMA

BATCH = 500
"""Records that are written at once."""
MOST = 100_000_000
"""No worker sends as many; a larger seq was garbled."""
NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""Of a worker."""
NO_END = "the run has no end: the process that conducted it was killed"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a spool, or of requests.jsonl: a start or a record. None: it does not say."""

    start: bool
    run: str | None
    worker: str | None
    seq: int


@dataclass(slots=True)
class Look:
    """What a spool is, before anything is taken from it."""

    path: Path
    worker: str
    end: int = 0
    """One more than the largest seq in it."""
    unreadable: int = 0
    """Lines that tell nothing."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What came of one worker: records that are new, attempts that it began and of which there is no record."""

    worker: str
    added: int
    missing: int
    unreadable: int
    place: str | None
    """Where its spool should be, if none of it was here."""

    @property
    def words(self) -> str:
        """In a sentence."""
        if self.place is not None:
            return (
                f"{self.worker}: its spool is still to come, so what it began last is not known; look for {self.place}"
            )
        new = f"{self.added:,} record{'s' * (self.added != 1)} taken in" if self.added else "nothing new"
        lost = f", {self.missing:,} started and never ended" if self.missing else ""
        odd = f", {self.unreadable:,} lines of its spool could not be read" if self.unreadable else ""
        return f"{self.worker}: {new}{lost}{odd}"


def collect(folder: Path, given: Sequence[Path]) -> list[Taken]:
    """Take spools (files, or folders of them) into a run; those in its own spool folder always count.

    Raises Stop, and nothing was changed then: USAGE for what is no spool of this run and for a run that is still going
    on, UNJUDGED for a folder that is no run or of a newer format. INCOMPLETE on a full disk.
    """
    runfolder.read_run(folder)  # before anything is made in what is no run folder
    ledger = Ledger(folder)
    try:
        run = runfolder.read_run(folder)
        looks = _look_at_all(folder, str(run.get("run")), given)
        drop_half_line(folder / runfolder.REQUESTS)
        _recall(ledger, folder / runfolder.REQUESTS)
        before = {worker: len(seen) for worker, seen in ledger.received.items()}
        for look in looks:
            _take(ledger, look)
        for look in looks:
            _keep_starts(ledger, look, folder / runfolder.SPOOL)
        ends: dict[str, int] = {}
        for look in looks:
            ends[look.worker] = max(ends.get(look.worker, 0), look.end)
        accounting = _renew(folder, run, ledger, ends)
        known = dict.fromkeys((*ends, *ledger.received, *accounting))
        return [
            Taken(
                worker=worker,
                added=len(ledger.received.get(worker, ())) - before.get(worker, 0),
                missing=accounting.get(worker, {}).get("lost", 0),
                unreadable=sum(look.unreadable for look in looks if look.worker == worker),
                place=None if worker in ends else _place(run, worker),
            )
            for worker in known
            if worker in ends or accounting.get(worker, {}).get("lost", 1)
        ]
    finally:
        ledger.close()


def told(line: bytes) -> Line | None:
    """What a line is; None if it is neither a start nor a record. Raises Stop(UNJUDGED) for a newer record."""
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(row, dict):
        return None
    start = "start" in row
    schema = row.get("schema", SCHEMA)
    if not start and type(schema) is int and schema > SCHEMA:
        raise Stop(
            f"a record of format {schema}, and this llmload reads formats up to {SCHEMA}; update llmload", Exit.UNJUDGED
        )
    run, worker, seq = row.get("run"), row.get("worker"), row.get("start" if start else "seq")
    if type(seq) is not int or not 0 <= seq < MOST:
        return None
    if start:
        return Line(start, run if isinstance(run, str) else None, worker if isinstance(worker, str) else None, seq)
    return Line(start, run, worker, seq) if isinstance(run, str) and isinstance(worker, str) else None


def _look_at_all(folder: Path, run: str, given: Sequence[Path]) -> list[Look]:
    own = sorted(path for path in (folder / runfolder.SPOOL).glob("*.jsonl") if path.is_file())
    paths = {path.resolve(): path for path in (*own, *(path for place in given for path in _spools(place, run)))}
    if not paths:
        raise Stop(f"{folder}: there is no spool in it, and none was named; name those that workers left: w0.jsonl …")
    mine = {path.resolve() for path in own}
    return [look for key, path in paths.items() if (look := _look(path, run, own=key in mine)) is not None]


def _spools(place: Path, run: str) -> list[Path]:
    """The spool files that a path names: itself, those in it, or those of this run below it."""
    if not place.exists():
        raise Stop(f"{place}: no such file or folder; expected a worker's spool, as llmload-spool/{run}/w0.jsonl")
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise Stop(f"{place}: is neither a file nor a folder; expected a worker's spool")
    inside = place / run if (place / run).is_dir() else place
    found = sorted(path for path in inside.glob("*.jsonl") if path.is_file())
    if not found:
        raise Stop(f"{place}: holds no spool; expected w0.jsonl or the like in it")
    return found


def _look(path: Path, run: str, *, own: bool) -> Look | None:
    """Read a spool for what it is; None for one in which nothing was ever written.

    A spool in the run's own folder belongs to it and is its worker's by its name, where its lines do not say so.
    """
    look = Look(path, path.stem)
    runs, workers, lines = set(), set(), 0
    for row in _read(path):
        lines += 1
        if row is None:
            look.unreadable += 1
            continue
        runs.add(row.run)
        workers.add(row.worker)
        look.end = max(look.end, row.seq + 1)
    if not lines:
        return None
    runs.discard(None)
    workers.discard(None)
    if not look.end and not own:
        raise Stop(f"{path}: is no spool: none of its {lines:,} lines tells of a request")
    if others := sorted(str(name) for name in runs - {run}):
        raise Stop(f"{path}: is the spool of another run: it tells of {others[0]}, and this run is {run}")
    if len(workers) > 1:
        raise Stop(f"{path}: is no spool: it tells of several workers ({', '.join(sorted(map(str, workers)))})")
    for worker in workers:
        if not NAME.fullmatch(str(worker)):  # it becomes the name of a file
            raise Stop(f"{path}: is no spool: no worker is called {worker!r}")
    if not own and not (runs and workers):
        raise Stop(f"{path}: does not say to which run and worker it belongs; put it into the run's own spool folder")
    look.worker = str(workers.pop()) if workers else look.worker
    return look


def _read(path: Path) -> Iterator[Line | None]:
    for line, _ in _lines(path):
        yield line


def _lines(path: Path) -> Iterator[tuple[Line | None, bytes]]:
    """Each whole line of a file: what it is, and itself."""
    for line in runfolder.lines(path):
        try:
            what = told(line)
        except Stop as stop:
            raise Stop(f"{path}: holds {stop.message}", stop.code) from None
        yield what, line


def _recall(ledger: Ledger, path: Path) -> None:
    """Let the ledger know what requests.jsonl has."""
    for row in _read(path):
        if row is None or row.start or row.worker is None:
            continue
        seen = ledger.received.setdefault(row.worker, Received())
        if row.seq not in seen:
            seen.add(row.seq)


def _take(ledger: Ledger, look: Look) -> None:
    """Append the records of a spool that are not there yet."""
    ledger.received.setdefault(look.worker, Received())
    batch: list[tuple[int, bytes]] = []
    for row, line in _lines(look.path):
        if row is None or row.start or row.seq in ledger.received[look.worker]:
            continue
        batch.append((row.seq, line))
        if len(batch) == BATCH:
            ledger.take(look.worker, batch)
            batch = []
    ledger.take(look.worker, batch)


def _keep_starts(ledger: Ledger, look: Look, spools: Path) -> None:
    """Keep the starts without a record in the run's own spool of that worker."""
    path = spools / f"{look.worker}.jsonl"
    if path.exists() and path.samefile(look.path):
        return
    seen = ledger.received[look.worker]
    there = {row.seq for row in _read(path) if row is not None}
    kept = {
        row.seq: line
        for row, line in _lines(look.path)
        if row is not None and row.start and row.seq not in seen and row.seq not in there
    }
    if not kept:
        return
    try:
        spools.mkdir(exist_ok=True)
    except OSError as error:  # no room, no right, or a file of that name
        raise Stop(f"{spools}: cannot be written: {error.strerror}", Exit.INCOMPLETE) from error
    drop_half_line(path)
    file = Appender(path)
    try:
        file.append(kept.values())
    finally:
        file.close()


def _renew(folder: Path, run: dict[str, Any], ledger: Ledger, ends: dict[str, int]) -> dict[str, dict[str, int]]:
    """Replace run.json by one that knows of what was taken in; returns its accounting."""
    accounting: dict[str, dict[str, int]] = dict(run.get("accounting") or {})
    reasons: list[str] = list(run.get("reasons") or ())
    notes: list[str] = list(run.get("notes") or ())
    lost: list[str] = []
    for worker in dict.fromkeys((*accounting, *ends)):
        before, seen = accounting.get(worker) or {}, ledger.received.get(worker, Received())
        started = max(_count(before, "started"), ends.get(worker, 0), seen.end)
        accounting[worker] = ledger.account(worker, started, max(_count(before, "finished"), len(seen)))
        gone = books.is_mended if worker in ends else books.is_lost_words
        reasons = [reason for reason in reasons if not gone(worker, reason)]
        if missing := ledger.missing(worker, started):
            lost.append(books.lost_words(worker, missing))
    said = run.get("verdict")
    if said not in VERDICTS:
        said, reasons = "INCOMPLETE", [NO_END, *reasons]
    spoiled = [reason for reason in reasons if reason not in notes]
    if said != "INCOMPLETE":
        said = "DEGRADED" if lost or (spoiled and said == "DEGRADED") else "OK"
    told_last = [reason for reason in reasons if reason in notes]
    new = {**run, "accounting": accounting, "verdict": said, "reasons": [*spoiled, *lost, *told_last]}
    try:
        runfolder.write_json(folder / runfolder.RUN, new)
    except OSError as error:
        raise Stop(f"{folder / runfolder.RUN}: cannot be written: {error.strerror}", Exit.INCOMPLETE) from error
    return accounting


def _place(run: dict[str, Any], worker: str) -> str:
    """Where a worker's spool should be."""
    host = ((run.get("workers") or {}).get(worker) or {}).get("host")
    return f"llmload-spool/{run.get('run')}/{worker}.jsonl" + (f" on {host}" if host else "")


def _count(line: dict[str, Any], name: str) -> int:
    value = line.get(name)
    return value if type(value) is int else 0
