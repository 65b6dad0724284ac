"""Conducts a run from the process that sends nothing: steps, phases, accounting, verdict.

`steps()` is the whole run of a scenario, from the first look at the endpoint to the last line of run.json; it blocks
and is called in the greenlet of Locust's shape. `open_free()` and `close_free()` enclose a run in which a locustfile
of the user's own sends as it likes. Workers may be other processes or this one: they are spoken to by messages only.
"""

import contextlib
import logging
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import gevent
from gevent.event import Event
from locust.runners import STATE_MISSING, MasterRunner

from llmload.drive import book, prepare, words
from llmload.drive.members import Member, share, together
from llmload.drive.order import Order
from llmload.drive.prepare import Prepared
from llmload.drive.voice import Voice
from llmload.exits import Exit, Stop
from llmload.load import reading
from llmload.load.plan import EndedBy, Step
from llmload.load.scenario import Scenario
from llmload.record import spool
from llmload.record.ledger import Ledger, ranges
from llmload.record.runfolder import SPOOL

log = logging.getLogger(__name__)

LOOK_S = 0.02
RAMP_S = 60.0
"""Users that are not up by then never will be."""
CUT_S = 30.0
FLUSH_S = 60.0
"""How long a worker may wait for the master to write its last records."""
DRAIN_S = 90.0
"""How long workers may take to hand over what is left at the end."""

VERDICTS = {"OK": Exit.OK, "DEGRADED": Exit.DEGRADED, "INCOMPLETE": Exit.INCOMPLETE}

BUDGET = "a cap of the scenario (max_requests or max_tokens_total) was reached in step {step}; what follows was not run"


class Halt(BaseException):
    """Ends a run from outside: thrown into the greenlet that runs it."""


class Run:
    """A run that has begun: its folder, its workers, its books."""

    def __init__(self, prepared: Prepared, order: Order, facts: dict[str, Any]) -> None:
        self.prepared = prepared
        self.scenario = prepared.scenario
        self.order = order
        self.ledger = Ledger(prepared.folder)
        self.book = book.Book(prepared.folder, facts)
        self.members: dict[str, Member] = {}
        self.serial = 0
        self.told_at = 0.0
        self.incomplete: list[str] = []
        self.degraded: list[str] = []
        self.failure: Stop | None = None
        self.barren = False
        """Whether a step ended without a single success in its window."""
        self.over = False

    @property
    def present(self) -> list[Member]:
        """The workers that are there."""
        return [member for member in self.members.values() if member.gone is None]

    def member(self, worker: str) -> Member | None:
        """The worker with this id in records."""
        return next((member for member in self.members.values() if member.worker == worker), None)

    @property
    def fresh(self) -> bool:
        """Whether all workers have spoken since the last message to them."""
        return all(member.said["serial"] == self.serial for member in self.present)

    def check(self) -> None:
        """Raises Stop(INCOMPLETE) if something makes going on senseless."""
        if self.failure is not None:
            raise self.failure
        for member in self.present:
            if member.said["failure"]:
                raise Stop(str(member.said["failure"]), Exit.INCOMPLETE)
        if not self.present:
            raise Stop("all workers are lost", Exit.INCOMPLETE)

    @property
    def verdict(self) -> str:
        """Of the run as far as it has come."""
        if self.incomplete:
            return "INCOMPLETE"
        return "DEGRADED" if self.degraded else "OK"


class Conductor:
    """One per process that conducts; runs follow one another in it (Start and Stop on the web page)."""

    def __init__(self, environment: Any) -> None:
        self.environment = environment
        self.runner = environment.runner
        self.voice = Voice(environment.parsed_options)
        self.run: Run | None = None
        self.idle = Event()
        self.idle.set()
        self.halted = False
        self._greenlet: Any = None
        self._numbers = 0
        hear = self.runner.register_message
        hear(words.STATUS, self._on_status)
        hear(words.RECORDS, self._on_records)
        hear(words.GENERATOR, self._on_generator)
        hear(words.DRAINED, self._on_drained)

    # The run of a scenario

    def steps(self) -> None:
        """Run the scenario that the options name, from beginning to end. Sets the exit code; raises nothing."""
        self.idle.clear()
        self._greenlet = gevent.getcurrent()
        try:
            prepared = prepare.prepare(self._wanted(), self.voice.say)
            self._run(self._open(prepared, free=False))
        except Stop as stop:
            self._refuse(stop)
        except (Halt, gevent.GreenletExit):
            self._refuse(Stop("stopped before the load began; nothing was recorded", Exit.INCOMPLETE))
        except Exception as error:
            log.exception("llmload: a fault of llmload itself")
            self._refuse(Stop(f"a fault of llmload itself ended the run: {error!r}; the log has more", Exit.INCOMPLETE))
        finally:
            self._greenlet = None
            self.idle.set()

    def halt(self) -> None:
        """The user's stop: ends the present run, and keeps everything. Returns at once."""
        self.halted = True
        if self._greenlet is not None:
            self._greenlet.kill(Halt, block=False)

    def give_up(self) -> None:
        """This process ends now: write down as much."""
        if self.run is not None and not self.run.over:
            self.run.book.verdict = "INCOMPLETE"
            self.run.book.reasons = ["ended at once by the user"]
            with contextlib.suppress(Stop):
                self.run.book.write()

    def _run(self, run: Run) -> None:
        by_user = True
        try:
            run.book.write()
            self._all_steps(run)
            by_user = False
        except (Halt, gevent.GreenletExit):
            run.incomplete.append("stopped by the user" if run.present else "all workers are lost")
        except Stop as stop:
            self.voice.complain(stop.message)
            run.incomplete.append(stop.message)
        self._greenlet = None
        shielded(lambda: self._finish(run, by_user=by_user))

    def _all_steps(self, run: Run) -> None:
        levels = run.scenario.load.steps
        for index, concurrency in enumerate(levels):
            ended_by = self._step(run, index, concurrency)
            if ended_by == "budget":
                run.incomplete.append(BUDGET.format(step=index))
                return

    def _step(self, run: Run, index: int, concurrency: int) -> EndedBy | None:
        step = Step(run.scenario.load, [item.name for item in run.scenario.classes], concurrency)
        row = run.book.begin_step(index, concurrency, time.time())
        self._enlist(run)
        run.book.write()
        rate = max(concurrency, self.runner.user_count, 1)
        self.runner.start(concurrency, float(rate))
        try:
            self._bring_up(run, step)
            self._open_gate(run, step, index)
            while step.phase != "done":
                gevent.sleep(LOOK_S)
                self._look(run)
                if run.fresh:
                    self._advance(run, step, index, row)
        except BaseException:
            step.stop(time.monotonic())
            row["ended_by"] = step.ended_by
            raise
        finally:
            self._close_row(run, row)
        row["ended_by"] = step.ended_by
        row["abandoned"] = self._cut(run, index)
        row["ended_at"] = time.time()
        if not any(member.said["measured_ok"] for member in run.present):
            run.barren = True
        run.book.write()
        if row["abandoned"]:
            gevent.sleep(run.scenario.load.settle_s)
        return step.ended_by

    def _bring_up(self, run: Run, step: Step) -> None:
        deadline = time.monotonic() + RAMP_S
        while step.advance(time.monotonic(), together(run.present, -1)) == "ramp":
            gevent.sleep(LOOK_S)
            self._look(run)
            if time.monotonic() > deadline:
                up = together(run.present, -1).users
                raise Stop(f"{up} of {step.concurrency} users came up within {RAMP_S:.0f} s", Exit.INCOMPLETE)

    def _open_gate(self, run: Run, step: Step, index: int) -> None:
        """Tell each worker its part of the step; those without users have none, so that no call number is left out."""
        load = run.scenario.load
        requests = None if load.max_requests is None else load.max_requests - total(run, "started")
        tokens = None if load.max_tokens_total is None else load.max_tokens_total - total(run, "asked_tokens")
        busy = [member for member in run.present if member.said["users"]]
        first, run.serial, run.told_at = 0, run.serial + 1, time.time()
        for member in run.present:
            users = int(member.said["users"])
            self._tell(
                words.PHASE,
                {
                    "run": run.order.run,
                    "serial": run.serial,
                    "phase": "warmup",
                    "step": index,
                    "concurrency": step.concurrency,
                    "first_user": first,
                    "rank": busy.index(member) if users else 0,
                    "stride": len(busy),
                    "requests": share(requests, users, step.concurrency),
                    "tokens": share(tokens, users, step.concurrency),
                },
                member,
            )
            first += users

    def _advance(self, run: Run, step: Step, index: int, row: dict[str, Any]) -> None:
        before, sending = step.phase, step.sending
        phase = step.advance(time.monotonic(), together(run.present, index))
        if phase == before and step.sending == sending:
            return
        if phase == "measure":
            self._phase(run, phase)
            row["window_started_at"] = run.told_at
        elif phase == "drain":
            self._phase(run, "drain" if step.sending else "finish")
            if before == "measure":
                row["window_ended_at"] = run.told_at
        run.book.write()

    def _close_row(self, run: Run, row: dict[str, Any]) -> None:
        """Whatever ended the step: what has begun has ended."""
        now = time.time()
        row["ended_at"] = now
        if row["window_started_at"] is not None and row["window_ended_at"] is None:
            row["window_ended_at"] = now
        del run

    def _cut(self, run: Run, index: int) -> int:
        """Close the gate and wait until nothing is in flight; returns how many requests were cut."""
        before = sum(member.said["cut"] for member in run.present)
        self._phase(run, "closed", by_user=False)
        self._until(run, lambda: run.fresh and together(run.present, index).in_flight == 0, CUT_S)
        return int(sum(member.said["cut"] for member in run.present) - before)

    # A run without steps

    def open_free(self, scenario: Scenario) -> None:
        """A locustfile of the user's own begins. Raises Stop."""
        self.idle.clear()
        try:
            prepared = prepare.ready(scenario, self._wanted(), self.voice.say)
            run = self._open(prepared, free=True)
            self._enlist(run)
            now = time.time()
            run.book.begin_step(0, None, now)["window_started_at"] = now
            run.book.write()
        except BaseException:
            self.idle.set()
            raise

    def free_users(self, users: int) -> None:
        """That many users are up now."""
        if self.run is not None and self.run.order.free and not self.run.over:
            self.run.book.steps[0]["concurrency"] = users

    def close_free(self, stop_timeout: float) -> None:
        """It ends: let requests in flight end within so many seconds, then cut them, and account for all."""
        run = self.run
        if run is None or not run.order.free or run.over:
            return
        with contextlib.suppress(Stop):
            self._phase(run, "finish")
            self._until(run, lambda: run.fresh and together(run.present, 0).in_flight == 0, stop_timeout)
        row = run.book.steps[0]
        self._close_row(run, row)
        row["ended_by"] = "stopped" if self.halted else "window"
        if self.halted:
            run.incomplete.append("stopped by the user")
        shielded(lambda: self._finish(run, by_user=True))
        self.idle.set()

    # Beginning and end

    def _wanted(self) -> prepare.Wanted:
        given = self.environment.parsed_options
        host = self.environment.host or given.host
        host = host or next((item.host for item in self.runner.user_classes if item.host), None)
        return prepare.Wanted(given, host, again=self.run is not None)

    def _open(self, prepared: Prepared, *, free: bool) -> Run:
        folder = prepared.folder
        scenario = reading.resolved(prepared.scenario)
        order = Order(
            run=folder.name,
            scenario=scenario,
            sending=prepared.sending.as_dict(),
            folder=str(folder.resolve()),
            workers={},
            fit=prepared.findings.fit,
            save_text=prepared.save_text,
            free=free,
        )
        found = prepared.findings
        facts = {
            "run": folder.name,
            "scenario": scenario,
            "seed": prepared.scenario.seed,
            "command": book.command(),
            "labels": dict(prepared.scenario.labels),
            "versions": book.versions(),
            "started_at": prepared.started_at,
            "environment": {
                "client": book.client(),
                "server": {
                    "url": found.base_url,
                    "address": found.address,
                    "model": found.model,
                    "models": found.models,
                    "server_header": found.server,
                },
            },
            "sending": order.sending,
            "preflight": found.as_dict(),
            "save_text": prepared.save_text,
        }
        self.run = Run(prepared, order, facts)
        self._numbers = 0
        return self.run

    def _enlist(self, run: Run) -> None:
        """Take in all workers that are there now, and give every one the run's order with the next spawn message."""
        for node in self._nodes():
            if node not in run.members:
                run.members[node] = Member(node, f"w{self._numbers}")
                self._numbers += 1
        run.order.workers.clear()
        run.order.workers.update({member.node: member.worker for member in run.present})
        setattr(self.environment.parsed_options, words.OPTION, run.order.to_json())

    def _nodes(self) -> list[str]:
        if isinstance(self.runner, MasterRunner):
            return sorted(node for node, client in self.runner.clients.items() if client.state != STATE_MISSING)
        return [self.runner.client_id]

    def _finish(self, run: Run, *, by_user: bool) -> None:
        """Stop what is sent, collect what is left, account for it, judge it, write it down."""
        with contextlib.suppress(Stop):
            self._phase(run, "closed", by_user=by_user)
            self._until(run, lambda: run.fresh and not any(m.said["in_flight"] for m in run.present), CUT_S)
        for member in run.present:
            patience_s = FLUSH_S if run.failure is None else 0.0  # what cannot be written here stays in the spools
            self._tell(words.END, {"run": run.order.run, "patience_s": patience_s}, member)
        self._until(run, lambda: all(member.drained for member in run.present), DRAIN_S, strict=False)
        run.over = True
        self._account(run)
        run.book.ended_at = time.time()
        run.book.verdict = run.verdict
        run.book.reasons = run.incomplete + run.degraded
        try:
            run.book.write()
        except Stop as stop:
            self.voice.complain(stop.message)
            run.incomplete.append(stop.message)
        run.ledger.close()
        code = VERDICTS[run.verdict]
        self.environment.process_exit_code = max(code, Exit.FAILED if run.barren else Exit.OK)
        self._report(run)

    def _account(self, run: Run) -> None:
        for member in run.members.values():
            if member.gone is not None or member.drained is None:
                self._recover(run, member)
            line = run.ledger.account(member.worker, member.started, member.finished)
            run.book.accounting[member.worker] = line
            run.book.workers[member.worker] = {
                "host": member.host,
                "pid": member.pid,
                "clock_offset_ms": round(member.offset_ms, 3),
                "clock_error_ms": None if member.offset_error_ms is None else round(member.offset_error_ms, 3),
            }
            if member.gone is not None:
                run.degraded.append(f"worker {member.worker} {member.gone}")
            elif member.drained is None:
                run.degraded.append(f"worker {member.worker} did not hand over what was left within {DRAIN_S:.0f} s")
            if line["lost"]:
                missing = ranges(run.ledger.missing(member.worker, line["started"]))
                run.degraded.append(f"worker {member.worker}: {line['lost']} records missing (seq {missing})")

    def _recover(self, run: Run, member: Member) -> None:
        """Take what a lost worker has left in its spool, if that lies here."""
        left = spool.read(run.prepared.folder / SPOOL / f"{member.worker}.jsonl")
        if not left.started:
            return
        try:
            run.ledger.take(member.worker, sorted(left.records.items()))
        except Stop as stop:
            run.incomplete.append(stop.message)
        member.drained = (max(left.started) + 1, len(left.records))

    def _report(self, run: Run) -> None:
        folder = run.prepared.folder
        if self.voice.attended:
            return
        if not self.environment.parsed_options.no_report:
            subprocess.run([sys.executable, "-m", "llmload", "report", str(folder)], check=False)
        reasons = "".join(f"\n  {reason}" for reason in run.book.reasons)
        self.voice.say(f"run folder: {folder}  verdict: {run.verdict}{reasons}")

    def _refuse(self, stop: Stop) -> None:
        """The run could not begin."""
        self.voice.complain(stop.message)
        self.environment.process_exit_code = stop.code

    # Watching and speaking

    def _look(self, run: Run) -> None:
        """See who is gone, then whether the run can go on."""
        if isinstance(self.runner, MasterRunner):
            for member in run.present:
                client = self.runner.clients.get(member.node)
                if client is None:
                    member.gone = "left in mid-run"
                elif client.state == STATE_MISSING:
                    member.gone = "went missing in mid-run: no heartbeat any more"
                if member.gone is not None:
                    self.voice.complain(f"worker {member.worker} ({member.node}) {member.gone}")
        run.check()

    def _until(self, run: Run, done: Callable[[], bool], limit_s: float, *, strict: bool = True) -> bool:
        """Wait for something, at most so long; `strict` raises Stop if the run cannot go on."""
        deadline = time.monotonic() + limit_s
        while not done():
            if time.monotonic() > deadline:
                return False
            gevent.sleep(LOOK_S)
            try:
                self._look(run)
            except Stop:
                if strict or not run.present:
                    raise
        return True

    def _phase(self, run: Run, phase: str, **more: Any) -> None:
        run.serial += 1
        run.told_at = time.time()
        for member in run.present:
            self._tell(words.PHASE, {"run": run.order.run, "serial": run.serial, "phase": phase, **more}, member)

    def _tell(self, kind: str, data: dict[str, Any], member: Member) -> None:
        self.runner.send_message(kind, data, member.node)

    def _said(self, msg: Any) -> tuple[Run, Member] | None:
        """The present run and who speaks; None for words about another run."""
        run = self.run
        if run is None or msg.data.get("run") != run.order.run:
            return None
        member = run.member(msg.data["worker"])
        return None if member is None else (run, member)

    def _on_status(self, msg: Any, **_: Any) -> None:
        if (found := self._said(msg)) is None:
            return
        run, member = found
        first = msg.data["serial"] == run.serial != member.said["serial"]
        member.said = msg.data
        member.host, member.pid = msg.data["host"], msg.data["pid"]
        if first and run.serial:
            member.clock(run.told_at, time.time())

    def _on_records(self, msg: Any, **_: Any) -> None:
        if (found := self._said(msg)) is None:
            return
        run, member = found
        if run.failure is not None:
            return
        try:
            run.ledger.take(member.worker, [(int(seq), line) for seq, line in msg.data["rows"]])
        except Stop as stop:
            run.failure = stop
            return
        self._tell(words.ACK, {"run": run.order.run, "batches": [msg.data["batch"]]}, member)

    def _on_generator(self, msg: Any, **_: Any) -> None:
        if (found := self._said(msg)) is None:
            return
        run, _member = found
        if run.failure is None and not run.over:
            try:
                run.ledger.sample(msg.data["lines"])
            except Stop as stop:
                run.failure = stop

    def _on_drained(self, msg: Any, **_: Any) -> None:
        if (found := self._said(msg)) is not None:
            found[1].drained = (int(msg.data["started"]), int(msg.data["finished"]))


def total(run: Run, key: str) -> int:
    """Sum of something over all workers that ever were."""
    return sum(int(member.said[key]) for member in run.members.values())


def shielded(work: Callable[[], None]) -> None:
    """Do something to its end, even if the calling greenlet is killed meanwhile."""
    task = gevent.spawn(work)
    while not task.ready():
        with contextlib.suppress(gevent.GreenletExit, Halt):
            task.join()
    task.get()
