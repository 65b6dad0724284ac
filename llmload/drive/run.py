"""A run as the process that conducts it knows it: its folder, its workers, its books, and what is wrong with it."""

from typing import Any

from llmload.drive.book import Book
from llmload.drive.members import Member
from llmload.drive.order import Order
from llmload.drive.prepare import Prepared
from llmload.drive.sampling import Sampling
from llmload.exits import Exit, Stop
from llmload.record import spool
from llmload.record.ledger import Ledger, lost_words, not_handed_over
from llmload.record.runfolder import SPOOL

APART_MS = 50.0
"""Clocks that are further apart are told."""
ALL_LOST = "all workers are lost"


class Run:
    """From its begin to its verdict."""

    def __init__(
        self, prepared: Prepared, order: Order, facts: dict[str, Any], sampling: Sampling | None = None
    ) -> None:
        self.prepared = prepared
        self.scenario = prepared.scenario
        self.order = order
        self.sampling = sampling
        self.ledger = Ledger(prepared.folder)
        self.book = Book(prepared.folder, facts)
        self.members: dict[str, Member] = {}
        """By Locust's id of the process."""
        self.serial = 0
        """Number of the last word to the workers …"""
        self.told_at = 0.0
        """… and when it was said."""
        self.incomplete: list[str] = []
        """Why the run did not come to its end."""
        self.degraded: list[str] = []
        """What was lost."""
        self.notes: list[str] = []
        """What is to be known, and spoiled nothing."""
        self.failure: Stop | None = None
        """Why nothing can be written any more."""
        self.barren = False
        """Whether a step, or a run without steps, ended without a single success."""
        self.ending = False
        self.over = False

    @property
    def levels(self) -> tuple[tuple[int | None, float | None], ...]:
        """What each step asks for, requests in flight or a rate; last comes the one that --observer-check repeats."""
        again = self.prepared.sources.repeated
        return self.scenario.load.levels + (() if again is None else ((again, None),))

    @property
    def measured_until(self) -> float:
        """When the last window closed that has closed so far."""
        return max((float(row["window_ended_at"] or 0.0) for row in self.book.steps), default=0.0)

    @property
    def present(self) -> list[Member]:
        """The workers that are there."""
        return [member for member in self.members.values() if member.gone is None]

    def member(self, worker: str) -> Member | None:
        """The worker with this id in records."""
        return next((member for member in self.members.values() if member.worker == worker), None)

    def enlist(self, nodes: list[str]) -> None:
        """Take in workers that are new; ids are given once and never again."""
        for node in nodes:
            if node not in self.members:
                self.members[node] = Member(node, f"w{len(self.members)}")
        self.order.workers.clear()
        self.order.workers.update({member.node: member.worker for member in self.present})

    @property
    def fresh(self) -> bool:
        """Whether all workers have spoken since the last word to them."""
        return all(member.said["serial"] == self.serial for member in self.present)

    def total(self, key: str) -> int:
        """Sum of something over all workers that ever were."""
        return sum(int(member.said[key]) for member in self.members.values())

    def check(self) -> None:
        """Raises Stop(INCOMPLETE) if something makes going on senseless."""
        if self.failure is not None:
            raise self.failure
        for member in self.present:
            if member.said["failure"]:
                raise Stop(str(member.said["failure"]), Exit.INCOMPLETE)
        if not self.present:
            raise Stop(ALL_LOST, Exit.INCOMPLETE)

    @property
    def verdict(self) -> str:
        """Of the run as far as it has come."""
        if self.incomplete:
            return "INCOMPLETE"
        return "DEGRADED" if self.degraded else "OK"

    def account(self) -> None:
        """For each worker: started = finished = received, or what is missing is lost, and said to be."""
        for member in self.members.values():
            if member.drained is None:
                self._recover(member)
            line = self.ledger.account(member.worker, member.started, member.finished)
            self.book.accounting[member.worker] = line
            self.book.workers[member.worker] = {
                "host": member.host,
                "pid": member.pid,
                "clock_offset_ms": member.said["clock_offset_ms"],
                "clock_error_ms": member.said["clock_error_ms"],
                "clock_drift_s": member.clock_drift_s,
            }
            if abs(member.said["clock_offset_ms"] or 0.0) > APART_MS:
                self.notes.append(clocks_apart(member))
            if member.gone is not None:
                self.degraded.append(f"worker {member.worker} {member.gone}")
            elif member.drained is None:
                self.degraded.append(not_handed_over(member.worker))
            if member.said["stood_still_s"]:
                self.degraded.append(
                    f"worker {member.worker} stood still for {member.said['stood_still_s']:.1f} s: its process did not "
                    "run, so it neither sent nor read what it should have"
                )
            if line["lost"]:
                self.degraded.append(lost_words(member.worker, self.ledger.missing(member.worker, line["started"])))

    def look_for_success(self, step: int) -> None:
        """At the end of a step: a run of which one has no success in its window is barren."""
        said = [member.said for member in self.members.values() if member.said["step"] == step]
        self.barren = self.barren or not any(status["measured_ok"] for status in said)

    def _recover(self, member: Member) -> None:
        """Take what a lost worker has left in its spool, if that lies here."""
        left = spool.read(self.prepared.folder / SPOOL / f"{member.worker}.jsonl")
        if not left.started:
            return
        try:
            self.ledger.take(member.worker, sorted(left.records.items()))
        except Stop as stop:
            self.incomplete.append(stop.message)
        member.drained = (max(left.started) + 1, len(left.records))


def clocks_apart(member: Member) -> str:
    """The note on a worker whose clock is far from the master's."""
    offset_ms, error_ms = member.said["clock_offset_ms"], member.said["clock_error_ms"]
    return (
        f"the clock of worker {member.worker} on {member.host} is {abs(offset_ms):,.0f} ms "
        f"{'ahead of' if offset_ms > 0 else 'behind'} the master's (to within {error_ms:,.1f} ms); windows are "
        "corrected by it; synchronise the clocks (NTP)"
    )
