"""What this process is in the Locust around it: who conducts, who sends, what Locust's events mean to them.

LocalRunner    conducts and sends
MasterRunner   conducts
WorkerRunner   sends
"""

import sys
from typing import Any, cast

import gevent
from locust import runners
from locust.runners import MasterRunner, WorkerRunner

from llmload import ports
from llmload.drive import oblivion, prepare, signals
from llmload.drive.conductor import Conductor
from llmload.drive.desk import GIVEN_UP_S
from llmload.drive.session import Session
from llmload.drive.web import beside, guard, permit
from llmload.drive.web.downloads import Runs
from llmload.drive.web.form import FIELDS, Form
from llmload.drive.web.routes import Web
from llmload.drive.worker import Worker
from llmload.exits import Exit, Stop
from llmload.load.scenario import Load, Scenario, WorkloadClass

PLACE = "llmload"
"""The attribute of Locust's environment under which this is found."""


def wiring(environment: Any) -> "Wiring | None":
    """The wiring of an environment, if the `locust` command has made it."""
    return cast("Wiring | None", getattr(environment, PLACE, None))


def session(environment: Any) -> Session | None:
    """The open run of this process, for users."""
    wires = wiring(environment)
    return wires.worker.session if wires is not None and wires.worker is not None else None


class Wiring:
    """One per process. Listens to Locust's events from `init` on."""

    def __init__(self, environment: Any) -> None:
        self.environment = environment
        self.runner = environment.runner
        self.governed = bool(getattr(environment.shape_class, "governs", False))
        """Whether a scenario's shape runs this, and not a locustfile of the user's own."""
        self.conductor = None if isinstance(self.runner, WorkerRunner) else Conductor(environment)
        self.worker = None if isinstance(self.runner, MasterRunner) else Worker(environment)
        if self.conductor is not None:
            self.conductor.serve_metrics()
        if self.conductor is not None and environment.web_ui is not None:
            self.serve(self.conductor, environment.web_ui)
        self.signals: signals.Signals | None = None
        if isinstance(self.runner, WorkerRunner):
            signals.guard_worker(self.runner, self.master_gone, forked=bool(environment.parsed_options.processes))
        else:
            signals.watch_parent(self.interrupt)
        oblivion.forgetting(environment.stats)
        if self.governed:
            environment.stop_timeout = 0.0  # users wait at a closed gate when they are stopped: nothing to wait for
            if self.conductor is not None:
                keep_start(self.runner)
                if isinstance(self.runner, MasterRunner):  # Locust would wait without a word, and not look at them
                    given = environment.parsed_options
                    self.conductor.expected, given.expect_workers = given.expect_workers, 0
                runners.HEARTBEAT_LIVENESS = int(GIVEN_UP_S)  # who is silent and who is lost is told by the desk
            if self.conductor is not None and environment.web_ui is not None:
                self.watch()  # between runs too: whoever waits at the page ends it by Ctrl-C
        events = environment.events
        events.test_start.add_listener(self.on_test_start)
        events.spawning_complete.add_listener(self.on_spawning_complete)
        events.worker_connect.add_listener(self.on_worker_connect)
        events.test_stopping.add_listener(self.on_test_stopping)
        events.quitting.add_listener(self.on_quitting)
        events.quit.add_listener(self.on_quit)

    def serve(self, conductor: Conductor, web_ui: Any) -> None:
        """Put llmload on Locust's web server: routes of its own, and what it adds to Locust's page."""
        if (refusal := ports.no_page(web_ui.host, web_ui.port)) is not None:  # Locust would say so with a traceback
            raise Stop(refusal)
        guard.guard(web_ui)
        web = Web(web_ui, Runs(prepare.root(self.environment.parsed_options)), conductor.feed.snapshot)
        form = Form(web_ui, conductor) if self.governed else None
        beside.beside(web_ui, web.rows, None if form is None else form.state)
        permit.permit(web_ui, self.environment.parsed_options, beside.OWN_LOCUSTFILE if form is None else FIELDS)
        if form is not None:
            self.environment.events.reset_stats.add_listener(lambda **_: conductor.reset())

    def conduct(self) -> None:
        """Run the scenario, in the shape's greenlet."""
        if self.conductor is None:
            return
        self.watch()
        try:
            self.conductor.steps()
        finally:
            if self.environment.web_ui is None:
                self.unwatch()
        if self.conductor.halted and self.environment.web_ui is not None:
            self.environment.web_ui.stop()

    # Locust's events

    def on_test_start(self, **_: Any) -> None:
        """A run begins in this process; one without a scenario begins on the master by this."""
        user_class = free_class(self.environment)
        if self.conductor is not None and not self.governed and user_class is not None:
            self.open_free(self.conductor, user_class)
        if self.worker is not None:
            self.worker.open()

    def on_spawning_complete(self, user_count: int, **_: Any) -> None:
        """Users are up."""
        if self.conductor is not None:
            self.conductor.free_users(user_count)

    def on_worker_connect(self, client_id: str, **_: Any) -> None:
        """A worker comes."""
        if self.conductor is not None:
            self.conductor.join(client_id)

    def on_test_stopping(self, **_: Any) -> None:
        """Users are about to be stopped: a run without steps ends, and is accounted for before Locust tells anybody.

        On a worker in mid-run it means that this process has to go, whoever says so.
        """
        self.hand_over()
        if self.conductor is not None and not self.governed:
            self.conductor.close_free(self.environment.stop_timeout)
            self.unwatch()

    def on_quitting(self, **_: Any) -> None:
        """Locust is about to go: a run that is on is ended in order first; a worker hands over what it has."""
        if self.conductor is not None and not self.conductor.idle.is_set():
            self.conductor.halt()
            if not self.governed:
                self.conductor.close_free(self.environment.stop_timeout)
            self.conductor.idle.wait()
        else:
            self.hand_over()

    def hand_over(self) -> None:
        """A worker goes: if its run is not over, it gives what it has."""
        if self.worker is not None and self.conductor is None:
            self.worker.leave()

    def master_gone(self) -> None:
        """No load without a master; nobody is there to hand anything over to, and the spool has it."""
        self.environment.process_exit_code = Exit.INCOMPLETE
        if self.worker is not None:
            self.worker.master_gone()
        self.runner.quit()

    def on_quit(self, **_: Any) -> None:
        """The very end, behind Locust's own tables."""
        if self.conductor is not None:
            self.conductor.voice.last_words()

    # A locustfile of the user's own

    def open_free(self, conductor: Conductor, user_class: Any) -> None:
        """Open a run for it; if that fails, say why and end."""
        scenario = Scenario(
            name=(self.environment.locustfile or "locustfile").removesuffix(".py"),
            description="a locustfile of the user's own",
            classes=(WorkloadClass("chat"),),
            model=self.environment.parsed_options.model or user_class.model,
            key_env=user_class.key_env,
            load=Load(steps=()),
        )
        self.watch()
        try:
            conductor.open_free(scenario)
        except Stop as stop:
            conductor.voice.complain(stop.message)
            self.environment.process_exit_code = stop.code
            self.unwatch()
            gevent.spawn(self.runner.quit if self.environment.web_ui is None else self.runner.stop)

    # Signals

    def watch(self) -> None:
        """From now on Ctrl-C and SIGTERM are ours."""
        if self.signals is None:
            self.signals = signals.Signals(self.interrupt, self.leave_at_once)

    def unwatch(self) -> None:
        """They are Locust's again."""
        if self.signals is not None:
            self.signals.close()
            self.signals = None

    def interrupt(self) -> None:
        """The user's stop, or the parent is gone."""
        if self.conductor is None:
            return
        self.conductor.halt()
        if not self.governed or self.conductor.idle.is_set():
            gevent.spawn(self.end)

    def end(self) -> None:
        """End Locust from inside."""
        self.runner.quit()
        if self.environment.web_ui is not None:
            self.environment.web_ui.stop()

    def leave_at_once(self) -> None:
        """The second Ctrl-C: what was recorded stays readable, and no worker goes on."""
        if isinstance(self.runner, MasterRunner):
            self.runner.send_message("quit")
            gevent.sleep(0.2)
        if self.conductor is not None:
            self.conductor.give_up()
        sys.stdout.flush()
        signals.leave_at_once()


def free_class(environment: Any) -> Any:
    """The first user class that sends through llmload, if there is one."""
    return next((item for item in environment.user_classes if hasattr(item, "key_env")), None)


def keep_start(runner: Any) -> None:
    """Let nobody but the shape start users: Locust would redistribute them, killing streams, when a worker comes."""
    start = runner.start

    def kept(*args: Any, **kwargs: Any) -> None:
        if gevent.getcurrent() is runner.shape_greenlet:
            start(*args, **kwargs)

    runner.start = kept
