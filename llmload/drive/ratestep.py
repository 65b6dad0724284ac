"""Drives one step of a load by rate: what differs from a step of so many in flight.

One user comes up in each worker. All workers make the same schedule; each takes its arrivals out of it, and holds its
part of the limit in flight.
"""

from dataclasses import replace

from llmload.drive.desk import Desk
from llmload.drive.members import Member
from llmload.drive.run import Run
from llmload.drive.stepping import Stepping
from llmload.exits import Exit, Stop
from llmload.load.arrivals import part
from llmload.load.plan import Seen
from llmload.load.rateplan import RateStep
from llmload.record import clock

AHEAD_S = 0.3
"""The schedule begins so long after the gate was opened: by then every worker knows of it."""


class RateStepping(Stepping):
    """One rate of a run."""

    def __init__(self, desk: Desk, run: Run, index: int, rate: float) -> None:
        check_room(run.scenario.load.max_in_flight, len(desk.nodes()))  # before a worker is taken in and waited for
        super().__init__(desk, run, index, 0)
        self.step = RateStep(run.scenario.load.of_step(index), [item.name for item in run.scenario.classes], 0)
        self.rate = rate
        self.row["concurrency"], self.row["rate"] = None, rate

    def users(self) -> int:
        """One for each worker."""
        workers = len(self.run.present)
        check_room(self.run.scenario.load.max_in_flight, workers)
        self.step.concurrency = workers
        return workers

    def seen(self) -> Seen:
        """A worker that has a user has what it takes to send."""
        return replace(super().seen(), users=sum(member.said["users"] > 0 for member in self.run.present))

    def open_gate(self) -> None:
        """Tell each worker when the schedule begins, which arrivals are its own, and what it may have in flight."""
        run, members = self.run, self.run.present
        requests, tokens = self.left()
        starts_at = clock.now() + AHEAD_S

        def own(member: Member) -> dict[str, object]:
            rank, stride = members.index(member), len(members)
            return {
                "step": self.index,
                "concurrency": None,
                "rate": self.rate,
                "starts_at": starts_at,
                "room": part(run.scenario.load.max_in_flight, rank, stride),
                "first_user": 0,
                "rank": rank,
                "stride": stride,
                "requests": None if requests is None else part(requests, rank, stride),
                "tokens": None if tokens is None else part(tokens, rank, stride),
            }

        self.desk.announce(run, "warmup", own)


def check_room(limit: int, workers: int) -> None:
    """Raises Stop if there is not a place in flight for each worker."""
    if limit < workers:
        raise Stop(
            f"[load] max_in_flight: expected at least {workers}, one for each worker, got {limit}; raise it, or use "
            "fewer workers",
            Exit.INCOMPLETE,
        )
