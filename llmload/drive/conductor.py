"""Conducts runs from the process that sends nothing: beginning, steps, end, verdict.

`steps()` is the whole run of a scenario, from the first look at the endpoint to the last line of run.json; it blocks
and is called in the greenlet of Locust's shape. `open_free()` and `close_free()` enclose a run in which a locustfile
of the user's own sends as it likes. Workers may be other processes or this one: the desk speaks to them.
"""

import contextlib
import itertools
import logging
import math
from collections.abc import Callable
from typing import Any

import gevent
from gevent.event import Event
from locust.runners import STATE_RUNNING, STATE_SPAWNING, MasterRunner

from llmload.drive import book, listing, messages, prepare, surroundings
from llmload.drive.desk import FLUSH_S, LOOK_S, Desk, Halt
from llmload.drive.exporter import Exporter
from llmload.drive.feed import Feed
from llmload.drive.hand import Hand
from llmload.drive.members import Member, together
from llmload.drive.muster import Muster
from llmload.drive.order import Order, digest_of
from llmload.drive.prepare import Prepared
from llmload.drive.ratestep import RateStepping
from llmload.drive.reporter import reported
from llmload.drive.run import ALL_LOST, Run
from llmload.drive.runlog import RunLog
from llmload.drive.sampling import Sampling
from llmload.drive.stepping import CUT_S, RAMP_S, Stepping
from llmload.drive.voice import Voice
from llmload.exits import VERDICTS, Exit, Stop
from llmload.load import kept, options, reading
from llmload.load.plan import Step
from llmload.load.scenario import Scenario
from llmload.record import clock, prompts

log = logging.getLogger(__name__)

GOING = (STATE_SPAWNING, STATE_RUNNING)

DRAIN_S = 90.0
"""How long workers may take to hand over what is left at the end."""

STOPPED = "stopped by the user"
RESET = "reset by the user; a new run began"
NOTHING_HELD = "no level was held for long enough to be a row"
HEADLESS = Stop(f'--load "{options.BY_HAND}" needs the web page, where a person sets the users: leave out --headless')
NOT_BEGUN = Stop("stopped before the load began; nothing was recorded", Exit.INCOMPLETE)
BUDGET = "a cap of the scenario (max_requests or max_tokens_total) was reached in step {step}; what follows was not run"


class Reset(Halt):
    """Ends a run, and another one begins."""


class Conductor:
    """One per process that conducts; runs follow one another in it (Start and Stop on the web page)."""

    def __init__(self, environment: Any) -> None:
        self.environment = environment
        self.runner = environment.runner
        self.voice = Voice(environment.parsed_options)
        self.muster = Muster(environment, self.voice)
        self.expected = 1
        """Workers that the first run waits for."""
        self.desk = Desk(self.runner, self.voice)
        self.feed = Feed(rows=getattr(environment, "web_ui", None) is not None)
        self.exporter: Exporter | None = None
        self.idle = Event()
        self.idle.set()
        self.halted = False
        """Whether a signal ended a run: then Locust ends as well."""
        self.hand = Hand()
        self.begun = Event()
        """A run has begun, or could not …"""
        self.refusal: str | None = None
        """… for this reason."""
        self.log: RunLog | None = None
        self._greenlet: Any = None
        self._again = False

    @property
    def ending(self) -> bool:
        """Whether a run is on that takes no other level any more, and none follows it by itself."""
        return not self.idle.is_set() and self._greenlet is None and not self._again

    def serve_metrics(self) -> None:
        """Serve /metrics, as the options say. What cannot be had is told when a run is to begin."""
        sends = not isinstance(self.runner, MasterRunner)
        self.exporter = Exporter(self.environment.parsed_options, self.feed, self.voice, sends=sends)

    def halt(self) -> None:
        """The user's stop: ends the present run, and keeps everything. Returns at once."""
        self.halted = True
        if self._greenlet is not None:
            self._greenlet.kill(Halt, block=False)

    def reset(self) -> None:
        """The user's reset: the present run ends and keeps everything, and the same begins anew. Returns at once."""
        run = self.desk.run
        if self._greenlet is not None and run is not None and not run.over and not run.order.free:
            self._again = True
            self._greenlet.kill(Reset, block=False)

    def give_up(self) -> None:
        """This process ends now: write down as much."""
        run = self.desk.run
        if run is not None and not run.over:
            run.book.verdict = "INCOMPLETE"
            run.book.reasons = ["ended at once by the user"]
            with contextlib.suppress(Stop):
                run.book.write()

    # The run of a scenario

    def steps(self) -> None:
        """Run the scenario that the options name, from beginning to end. Sets the exit code; raises nothing.

        Locust would never end if this raised, so what comes out of a handler too (a log that cannot be written) is
        dropped, and the exit code is then the one that was set first.
        """
        self.idle.clear()
        self.begun.clear()
        self.environment.process_exit_code = Exit.INCOMPLETE
        self.hand.users = int(self.environment.parsed_options.num_users or 1)
        self._greenlet = gevent.getcurrent()
        try:
            self._steps()
            while self._again and not self.halted:
                self._again = False
                self._greenlet = gevent.getcurrent()
                self._steps()
        except (Exception, Halt, gevent.GreenletExit):
            log.exception("llmload: a fault of llmload itself")
        finally:
            self._greenlet = None
            self._again = False
            self.idle.set()
            self.begun.set()

    def _clear(self) -> None:
        """The users of a run that is over go, though Locust goes on; a new run's will come."""
        self.runner.start(0, float(max(1, self.runner.user_count)))
        with gevent.Timeout(RAMP_S, False):
            while self.runner.user_count:
                gevent.sleep(LOOK_S)
        self.environment.stats.reset_all()

    def _steps(self) -> None:
        self.feed.starting()
        try:
            if self.halted:  # before anything of it ran: whoever started this process was gone that soon
                raise NOT_BEGUN
            if self.runner.state in GOING:
                self._clear()
            self.muster.wait(self.expected)
            if self.environment.parsed_options.load == options.BY_HAND and self.environment.web_ui is None:
                raise HEADLESS
            prepared = prepare.prepare(self._wanted(), self.voice.say)
            self._run(self._open(prepared, free=False))
        except Stop as stop:
            self._refuse(stop)
        except (Halt, gevent.GreenletExit):
            self._refuse(NOT_BEGUN)
        except Exception as error:
            log.exception("llmload: a fault of llmload itself")
            self._refuse(Stop(f"a fault of llmload itself ended the run: {error!r}; the log has more", Exit.INCOMPLETE))

    def _run(self, run: Run) -> None:
        why = "step"
        try:
            if run.sampling is not None:
                run.sampling.idle(self.voice.say)  # not where users come by themselves: `-t` counts from the start
            if self.runner.state in GOING:  # Locust tells workers of a begin only where it was not going
                self._enlist(run)
                for member in run.present:
                    self.desk.tell(run, messages.BEGIN, {"order": run.order.to_json()}, member)
            if run.scenario.load.kind == "hand":
                self._by_hand(run)
            else:
                self._all_steps(run)
        except (Halt, gevent.GreenletExit) as stop:
            why = "user" if self.desk.whose_stop(stop) == "stopped" else "fault"
            run.incomplete += interrupted(run, stop) if why == "user" else [ALL_LOST]
        except Stop as stop:
            why = "fault"
            self.voice.complain(stop.message)
            run.incomplete.append(stop.message)
        except Exception as error:
            why = "fault"
            log.exception("llmload: a fault of llmload itself")
            run.incomplete.append(f"a fault of llmload itself ended the run: {error!r}")
        self._greenlet = None
        if shielded(lambda: self._finish(run, why)):
            self._again = False  # stopped behind a reset

    def _all_steps(self, run: Run) -> None:
        levels = run.levels
        for index in range(len(levels)):
            if index < len(run.scenario.load.levels) or run.sampling is None:
                step = self._step(run, self._stepping(run, index))
            else:
                with run.sampling.paused(run.measured_until):
                    stepping = self._stepping(run, index)
                    stepping.row["observed"] = False
                    step = self._step(run, stepping)
            if step.spent and (step.ended_by == "budget" or index + 1 < len(levels)):
                run.incomplete.append(BUDGET.format(step=index))
                return

    def _by_hand(self, run: Run) -> None:
        """Level after level as the person asks for them, until none is."""
        for index in itertools.count():
            users = self.hand.users
            if users == 0:
                break

            def left(now: int = users) -> bool:
                return self.hand.users != now

            step = self._step(run, Stepping(self.desk, run, index, users, left))
            if step.spent:
                run.incomplete.append(BUDGET.format(step=index))
                return
            self.desk.until(run, left, math.inf)  # too many failures ended it: nobody sends until somebody decides
        run.incomplete += unheld(run)

    def _step(self, run: Run, stepping: Stepping) -> Step:
        run.book.write()  # before workers are taken in: where it fails, nobody is waited for who knows of no run
        stepping.perform(lambda: self._enlist(run))
        return stepping.step

    def _stepping(self, run: Run, index: int) -> Stepping:
        concurrency, rate = run.levels[index]
        if rate is not None:
            return RateStepping(self.desk, run, index, rate)
        assert concurrency is not None  # noqa: S101  (for the type checker: a level is the one or the other)
        return Stepping(self.desk, run, index, concurrency)

    # A run without steps

    def open_free(self, scenario: Scenario) -> None:
        """A locustfile of the user's own begins. Raises Stop."""
        self.idle.clear()
        try:
            run = self._open(prepare.ready(scenario, self._wanted(), self.voice.say), free=True)
            self._enlist(run)
            now = clock.now()
            run.book.begin_step(0, None, now)["window_started_at"] = now
            run.book.write()
        except BaseException as error:
            self.idle.set()
            if isinstance(error, gevent.GreenletExit):
                self._refuse(NOT_BEGUN)
            raise

    def join(self, node: str) -> None:
        """A worker comes. Without steps Locust gives it users at once; with steps it is taken in at the next one."""
        run = self.desk.run
        if run is not None and run.order.free and not run.ending:
            run.enlist([node])
            setattr(self.environment.parsed_options, messages.OPTION, run.order.to_json())

    def free_users(self, users: int) -> None:
        """That many users are up now."""
        run = self.desk.run
        if run is not None and run.order.free and not run.over:
            run.book.steps[0]["concurrency"] = users

    def close_free(self, stop_timeout: float) -> None:
        """It ends: let requests in flight end within so many seconds, then cut them, and account for all."""
        run = self.desk.run
        if run is None or not run.order.free or run.ending:
            return
        run.ending = True
        row = run.book.steps[0]
        row["ended_by"] = "stopped" if self.halted else "window"
        if self.halted:
            run.incomplete.append(STOPPED)
        try:
            self.desk.phase(run, "finish")
            self.desk.until(run, lambda: run.fresh and together(run.present, 0).in_flight == 0, stop_timeout)
        except Stop as stop:
            row["ended_by"] = "fault"
            run.incomplete.append(stop.message)
        row["window_ended_at"] = row["ended_at"] = clock.now()
        shielded(lambda: self._finish(run, "fault" if row["ended_by"] == "fault" else "user"))
        self.idle.set()

    # Beginning and end

    def _wanted(self) -> prepare.Wanted:
        if self.exporter is not None:
            self.exporter.check()
        given = self.environment.parsed_options
        host = self.environment.host or given.host
        host = host or next((item.host for item in self.runner.user_classes if item.host), None)
        return prepare.Wanted(given, host, again=self.desk.run is not None)

    def _open(self, prepared: Prepared, *, free: bool) -> Run:
        folder, found = prepared.folder, prepared.findings
        scenario, files = reading.resolved(prepared.scenario), prepared.files()
        order = Order(
            run=folder.name,
            scenario=scenario,
            files=files,
            digest=digest_of(scenario, files),
            sending=prepared.sending.as_dict(),
            folder=str(folder.resolve()),
            workers={},
            fit=found.fit,
            save_text=prepared.save_text,
            free=free,
        )
        try:
            own, sequence = ([], None) if free else listing.listed(prepared)
            self.muster.call(order, set(), 0 if free else self.expected)
            sampling = self._sampling(prepared)
        except BaseException:
            if self._wanted().own_folder:
                folder.rmdir()
            raise
        self.expected = 1
        facts = {
            "run": folder.name,
            "scenario": order.scenario,
            "rerun_of": None if free else kept.run_of(self.environment.parsed_options.scenario),
            "seed": prepared.scenario.seed,
            "sequence": sequence,
            "command": book.command(),
            "labels": dict(prepared.scenario.labels),
            "versions": book.versions(),
            "started_at": prepared.started_at,
            "environment": surroundings.environment(prepared, sampling),
            "capabilities": found.capabilities,
            "sending": order.sending,
            "files": files,
            "preflight": found.as_dict(),
            "save_text": prepared.save_text,
            "sampling": None if sampling is None else sampling.facts,
        }
        run = Run(prepared, order, facts, sampling)
        try:
            run.book.write()  # who has no room for this has none for a run
            if not free:
                prompts.write(folder, own)
        except Stop:
            run.book.withdraw()
            run.ledger.close()
            if sampling is not None:
                sampling.close()
            raise
        if not self.voice.attended:
            self._end_log()
            self.log = RunLog(folder)
        self.desk.run = run
        self.feed.begin(run)
        self.refusal = None
        self.begun.set()
        return run

    def _sampling(self, prepared: Prepared) -> Sampling | None:
        """The sampler of GPUs and server, if there is anything to look at or to look for. Raises Stop."""
        if prepared.sources.none:
            return None
        sampling = Sampling(prepared.sources, prepared.folder, prepared.sending)
        self.voice.say(sampling.begin())
        return sampling

    def _enlist(self, run: Run) -> None:
        """Take in all workers that are there now, and give every one the run's order with the next spawn message."""
        self.muster.call(run.order, set(run.members), 0)
        run.enlist(self.desk.nodes())
        for member in run.present:
            member.host, member.pid = self.muster.place(member.node)  # one may die before its first word in the run
        setattr(self.environment.parsed_options, messages.OPTION, run.order.to_json())

    def _finish(self, run: Run, why: str) -> None:
        """Stop what is sent, collect what is left, account for it, judge it, write it down."""

        def idle(member: Member) -> bool:
            return bool(member.said["serial"] == run.serial and not member.said["in_flight"])

        def drained(member: Member) -> bool:
            return member.drained is not None

        with contextlib.suppress(Stop):
            self.desk.phase(run, "closed", why=why)
            self.desk.until(run, lambda: self.desk.every(run, idle, hurry=self.halted), CUT_S)
        if run.sampling is not None:  # before workers let go of users, who would find no run
            run.sampling.end(run.prepared.started_at, run.measured_until, lambda: self.halted)
            run.notes += run.sampling.notes
            run.book.facts["environment"] |= surroundings.of_gpus(run.prepared, run.sampling)
        run.notes += surroundings.notes(run.book.facts["environment"], run.prepared.findings.capabilities)
        patience_s = FLUSH_S if run.failure is None else 0.0  # what cannot be written here stays in the spools
        for member in run.present:
            self.desk.end(run, member, patience_s)
        with contextlib.suppress(Stop):
            self.desk.until(run, lambda: self.desk.every(run, drained, hurry=self.halted), DRAIN_S, strict=False)
        run.over = True
        if run.order.free:
            run.look_for_success(0)
        run.account()
        run.book.ended_at, run.book.clock_drift_s = clock.now(), round(clock.drift_s(), 3)
        run.book.verdict = run.verdict
        run.notes += self.muster.take_notes()
        run.book.reasons = run.incomplete + run.degraded + run.notes
        run.book.notes = run.notes
        try:
            run.book.write()
        except Stop as stop:
            self.voice.complain(stop.message)
            run.incomplete.append(stop.message)
        self.feed.end(run)
        run.ledger.close()
        code = max(VERDICTS[run.verdict], Exit.FAILED if run.barren else Exit.OK)
        self.environment.process_exit_code = code if self.voice.attended else max(code, self._report(run))
        self._end_log()
        if self.exporter is not None and self.environment.web_ui is None:
            self.exporter.linger(lambda: self.halted)

    def _end_log(self) -> None:
        if self.log is not None:
            self.log.end()
            self.log = None

    def _report(self, run: Run) -> Exit:
        """Tables and pages; returns what they say about the run, as an exit code."""
        folder = run.prepared.folder
        code = Exit.OK if self.environment.parsed_options.no_report else reported(folder)
        untold = self.environment.parsed_options.no_report or code == Exit.UNJUDGED
        reasons = "".join(f"\n  {reason}" for reason in run.book.reasons)
        # the report has told its own verdict, which may be worse
        self.voice.say(f"run folder: {folder}" + (f"  verdict: {run.verdict}{reasons}" if untold else ""))
        return code

    def _refuse(self, stop: Stop) -> None:
        """The run could not begin."""
        self.refusal = stop.message
        self.feed.refused(stop.message)
        self.environment.process_exit_code = stop.code
        self.voice.complain(stop.message)
        self.muster.take_notes()
        if self.environment.web_ui is None:
            self.muster.dismiss_all(stop)


def interrupted(run: Run, stop: BaseException) -> list[str]:
    """What the user's stop left undone: nothing by hand, where it is how a run ends."""
    if run.scenario.load.kind == "hand":
        return unheld(run)
    return [RESET if isinstance(stop, Reset) else STOPPED]


def unheld(run: Run) -> list[str]:
    """By hand: what is wrong if there is no row."""
    return [] if any(row.get("held") for row in run.book.steps) else [NOTHING_HELD]


def shielded(work: Callable[[], None]) -> bool:
    """Do something to its end, even if the calling greenlet is killed meanwhile; returns whether it was."""
    task, killed = gevent.spawn(work), False
    while not task.ready():
        try:
            task.join()
        except (gevent.GreenletExit, Halt):
            killed = True
    task.get()
    return killed
