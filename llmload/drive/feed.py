"""Feeds the tally: with each line that the ledger has written, and once a second with what the conductor knows.

It looks at the run's own books instead of being told of every change, so nobody has to think of it. A fault of the
tally ends no run: it is logged once, and the figures stand still from then on.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import gevent

from llmload import __version__
from llmload.drive.run import Run
from llmload.drive.steprows import StepRows, Summary
from llmload.live import metrics
from llmload.live.health import Worker
from llmload.live.tally import About, Tally
from llmload.record import clock

log = logging.getLogger(__name__)

BEAT_S = 1.0


class Feed:
    """One per process that conducts."""

    def __init__(self, *, rows: bool) -> None:
        self.tally = Tally()
        self.broken = False
        self._run: Run | None = None
        self._rows = StepRows(self._got) if rows else None
        """Rows are for the page alone."""
        self._over = 0
        self._beating: Any = None

    # What the conductor says

    def starting(self) -> None:
        """A run was asked for."""
        self._try(self.tally.starting)

    def refused(self, sentence: str) -> None:
        """It could not begin."""
        self._try(lambda: self.tally.refused(sentence))

    def begin(self, run: Run) -> None:
        """It begins."""
        self._run, self._over, self.broken = run, 0, False
        server = run.book.facts["environment"]["server"]
        about = About(
            run=run.order.run,
            scenario=run.scenario,
            started_at=run.prepared.started_at,
            target=str(server["url"]),
            model=str(server["model"] or ""),
            version=__version__,
        )
        self._try(lambda: self.tally.begin(about))
        run.ledger.listener = self
        if self._beating is None:
            self._beating = gevent.spawn(self._beat)

    def end(self, run: Run) -> None:
        """It is over and accounted for."""
        if self._beating is not None:
            self._beating.kill(block=False)
            self._beating = None
        self._try(self.look)
        lost = sum(line["lost"] for line in run.book.accounting.values())
        awaited = self._rows is not None and run.verdict == "OK"  # the report may find it worse, never better
        self._try(lambda: self.tally.end(None if awaited else run.verdict, run.book.reasons, lost, clock.now()))
        self._want_rows(run)

    # What the ledger says

    def records(self, lines: Sequence[bytes]) -> None:
        """New lines of requests.jsonl."""
        if self._run is not None and len(self._run.book.steps) != len(self.tally.steps):
            self._try(self.look)  # a step began since the last beat, and these may be its own
        self._try(lambda: each(self.tally.record, lines))

    def samples(self, lines: Sequence[bytes]) -> None:
        """New lines of generator.jsonl."""
        self._try(lambda: each(self.tally.sample, lines))

    # What is asked

    def snapshot(self, since: float | None = None) -> dict[str, Any]:
        """The JSON of the live page; `since` leaves out the history up to that time."""
        if self.tally.state == "running":
            self._try(self.look)
        return self.tally.snapshot(clock.now(), since)

    def families(self) -> Iterator[metrics.Family]:
        """What Prometheus is told."""
        if self.tally.state == "running":
            self._try(self.look)
        return metrics.families(self.tally)

    def look(self) -> None:
        """Take over what the run's books say now."""
        run = self._run
        if run is None:
            return
        now = time.monotonic()
        workers = [
            Worker(
                worker=member.worker,
                host=member.host,
                users=int(member.said["users"]),
                in_flight=int(member.said["in_flight"]),
                started=member.started - int(member.said["not_sent"]),
                silent_s=now - member.spoke_at,
                clock_offset_ms=member.said["clock_offset_ms"],
                clock_error_ms=member.said["clock_error_ms"],
            )
            for member in run.present
        ]
        self.tally.look(run.book.steps, workers)
        over = sum(row["ended_at"] is not None for row in run.book.steps)
        if over > self._over:
            self._over = over
            self._want_rows(run)

    # How it is done

    def _beat(self) -> None:
        due = time.monotonic()
        while True:
            due = max(due + BEAT_S, time.monotonic())
            gevent.sleep(due - time.monotonic())
            self._try(self.look)
            self._try(lambda: self.tally.tick(clock.now()))

    def _try(self, work: Callable[[], Any]) -> None:
        if self.broken:
            return
        try:
            work()
        except Exception:
            self.broken = True
            log.exception("llmload: live figures stand still because of a fault of llmload itself; the run goes on")

    def _want_rows(self, run: Run) -> None:
        if self._rows is not None:
            over = frozenset(row["step"] for row in run.book.steps if row["ended_at"] is not None)
            whole = None if self.tally.state == "ended" else over
            told = {member.worker: member.finished for member in run.members.values()}

            def settled() -> bool:
                received = run.ledger.received
                return all(len(received.get(worker, ())) >= finished for worker, finished in told.items())

            self._rows.want(run.prepared.folder, whole, settled)

    def _got(self, folder: Path, summary: Summary) -> None:
        run = self._run
        if run is not None and run.prepared.folder == folder:
            if "failure" in summary:
                self.tally.judged(run.verdict, [*run.book.reasons, summary["failure"]])
                return
            self.tally.rows = summary["rows"]
            if "verdict" in summary:
                self.tally.judged(summary["verdict"], summary["reasons"])


def each(take: Callable[[bytes], None], lines: Sequence[bytes]) -> None:
    """Give every line."""
    for line in lines:
        take(line)
