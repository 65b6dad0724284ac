"""Drives one step of a closed loop: users up, gate open, phase after phase as the plan says, gate closed, nobody left.

bring_up    Locust has started the users; they wait at the gate
open_gate   every worker learns its part; warm-up begins
follow      until the plan says done: what workers report goes in, what it says goes out
close       what is still in flight is cut and counted
"""

import time
from collections.abc import Callable
from typing import Any

import gevent

from llmload.drive.desk import LOOK_S, Desk
from llmload.drive.members import Member, apart_ms, share, together
from llmload.drive.run import Run
from llmload.exits import Exit, Stop
from llmload.load.plan import Seen, Step
from llmload.record import clock

RAMP_S = 60.0
"""Users that are not up by then never will be."""
CUT_S = 30.0
"""By then everything that was cut has ended."""


class Stepping:
    """One step of a run."""

    def __init__(
        self, desk: Desk, run: Run, index: int, concurrency: int, moved_on: Callable[[], bool] = lambda: False
    ) -> None:
        self.desk = desk
        self.run = run
        self.index = index
        self.step = Step(run.scenario.load.of_step(index), [item.name for item in run.scenario.classes], concurrency)
        self.row = run.book.begin_step(index, concurrency, clock.now())
        self._moved_on = moved_on
        """By hand: whether another level is asked for."""

    def users(self) -> int:
        """How many users have to come up, now that the workers are known."""
        return self.step.concurrency

    def start(self) -> None:
        """Have Locust start them; at this rate all that are missing at once, in one message to each worker."""
        users = self.users()
        self.desk.runner.start(users, float(max(users, self.desk.runner.user_count)))

    def perform(self, enlist: Callable[[], None]) -> None:
        """From the call for workers (`enlist`) to nobody in flight.

        Raises Stop if the run cannot go on; the row is right in any case.
        """
        try:
            enlist()
            self.start()
            self.bring_up()
            self.open_gate()
            self.follow()
        except BaseException as error:
            self.step.stop(time.monotonic(), self.desk.whose_stop(error))
            raise
        finally:
            self.row["ended_by"] = self.step.ended_by
            self.row["ended_at"] = clock.now()
            if self.row["window_started_at"] is not None and self.row["window_ended_at"] is None:
                self.row["window_ended_at"] = self.row["ended_at"]
            if self.run.scenario.load.kind == "hand":
                self.row["held"] = self.step.held
        self.close()

    def bring_up(self) -> None:
        """Wait until exactly as many users are up as the step asks for.

        Those of a worker that is lost meanwhile come up elsewhere: nobody has a stream yet that this could disturb.
        """
        there = len(self.run.present)

        def up() -> bool:
            nonlocal there
            if len(self.run.present) < there:
                there = len(self.run.present)
                self.start()
            return self.step.advance(time.monotonic(), self.seen()) != "ramp"

        if not self.desk.until(self.run, up, RAMP_S):
            users = self.seen().users
            raise Stop(f"{users} of {self.step.concurrency} users came up within {RAMP_S:.0f} s", Exit.INCOMPLETE)

    def seen(self) -> Seen:
        """What all workers together report about this step."""
        return together(self.run.present, self.index)

    def open_gate(self) -> None:
        """Tell each worker its part of the step; those without users have none, so that no call number is left out."""
        run, concurrency = self.run, self.step.concurrency
        requests, tokens = self.left()
        busy = [member for member in run.present if member.said["users"]]
        first_users = {}
        first = 0
        for member in busy:
            first_users[member.node] = first
            first += int(member.said["users"])

        def part(member: Member) -> dict[str, Any]:
            users = int(member.said["users"])
            return {
                "step": self.index,
                "concurrency": concurrency,
                "first_user": first_users.get(member.node, 0),
                "rank": busy.index(member) if users else 0,
                "stride": len(busy),
                "requests": share(requests, users, concurrency),
                "tokens": share(tokens, users, concurrency),
            }

        self.desk.announce(run, "warmup", part)

    def left(self) -> tuple[int | None, int | None]:
        """What the caps of the run leave for this step, in requests and in output tokens; None is no limit."""
        run, load = self.run, self.run.scenario.load
        sent = run.total("started") - run.total("not_sent")
        return (
            None if load.max_requests is None else max(0, load.max_requests - sent),
            None if load.max_tokens_total is None else max(0, load.max_tokens_total - run.total("asked_tokens")),
        )

    def follow(self) -> None:
        """Let the plan decide whenever all workers have answered the last word, and pass on what it decides."""
        while self.step.phase != "done":
            gevent.sleep(LOOK_S)
            self.desk.look(self.run)
            if self.desk.heard(self.run):
                self.advance()

    def advance(self) -> None:
        """One look of the plan."""
        before, sending = self.step.phase, self.step.sending
        if before == "measure" and self.row["marks_apart_ms"] is None:
            self.row["marks_apart_ms"] = apart_ms(self.run.present, self.run.told_at)
        if self._moved_on():
            self.step.leave()
        phase = self.step.advance(time.monotonic(), self.seen())
        if phase == "done" or (phase == before and self.step.sending == sending):
            return
        self.desk.phase(self.run, phase if self.step.sending else "finish")
        if phase == "measure":
            self.row["window_started_at"] = self.run.told_at
        elif before == "measure":
            self.row["window_ended_at"] = self.run.told_at
        self.run.book.write()

    def close(self) -> None:
        """Close the gate and wait until nothing is in flight; count what was cut, and pause for its dead work."""
        run = self.run
        before = sum(member.said["cut"] for member in run.present)
        self.desk.phase(run, "closed", why="step")
        if not self.desk.until(run, lambda: run.fresh and self.seen().in_flight == 0, CUT_S):
            raise Stop(
                f"step {self.index}: {self.seen().in_flight} requests had not ended {CUT_S:.0f} s after they were cut, "
                "and would have run on into the next step",
                Exit.INCOMPLETE,
            )
        self.row["abandoned"] = int(sum(member.said["cut"] for member in run.present) - before)
        self.row["ended_at"] = clock.now()
        if self.row.get("held", True):
            run.look_for_success(self.index)
        run.book.write()
        if self.row["abandoned"]:
            gevent.sleep(run.scenario.load.settle_s)
