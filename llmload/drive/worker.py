"""The side of a process that sends: opens a session for each run and passes the master's messages on to it."""

import os
import socket
from functools import partial
from pathlib import Path
from typing import Any

import gevent
from locust.runners import WorkerRunner

from llmload.drive import messages
from llmload.drive.candidate import Candidate
from llmload.drive.members import NOTHING_SAID
from llmload.drive.order import Order, from_json
from llmload.drive.session import Session, Tools
from llmload.exits import Exit, Stop
from llmload.load import arrivals, reading
from llmload.record import runfolder
from llmload.record.spool import Spool

OWN_SPOOL = Path("llmload-spool")
"""Where spools lie on a machine that does not see the run folder, below the folder in which the worker was started."""

SHOW_S = 5.0
"""How often a worker's own terminal gets a line."""

LEAVE_S = 3.0
"""How long a process that has to go may take to hand over what it has."""


class Worker:
    """One per process that sends."""

    def __init__(self, environment: Any) -> None:
        self.environment = environment
        self.runner = environment.runner
        self.session: Session | None = None
        self._refusal: dict[str, Any] | None = None
        """The status of a run in which this process cannot take part."""
        hear = self.runner.register_message
        hear(messages.BEGIN, self._on_begin)
        hear(messages.PHASE, self._on_phase)
        hear(messages.ACK, self._on_ack)
        hear(messages.END, self._on_end)
        self.candidate = Candidate(environment, self._tell)
        if self.candidate.own:
            gevent.spawn(self._show)

    def open(self) -> None:
        """A run begins: its order is among the options. A session that cannot be opened is told to the master."""
        text = getattr(self.environment.parsed_options, messages.OPTION, None)
        if self.session is not None:
            if text is not None and not self.session.over and from_json(text).run == self.session.order.run:
                return
            self.session.close()
            self.session = None
        self._refusal = None
        self._leave_with(Exit.OK)
        if text is None:
            return
        self._leave_with(Exit.INCOMPLETE)  # until the master says that the run is over
        order = from_json(text)
        worker = order.workers.get(self.runner.client_id, "?")
        try:
            order.check()
            self.session = self._session(order, worker)
            self.candidate.say(f"run {order.run} begins; this is worker {worker}")
        except (Stop, OSError) as error:
            host = socket.gethostname()
            why = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
            failure = f"worker {worker} on {host} cannot take part: {why}"
            self.candidate.complain(failure)
            self._refusal = {
                **NOTHING_SAID,
                "run": order.run,
                "worker": worker,
                "host": host,
                "pid": os.getpid(),
                "failure": failure,
            }
            self._tell(messages.STATUS, self._refusal)

    def leave(self, patience_s: float = LEAVE_S) -> None:
        """This process goes; if a run is on, hand over what there is."""
        if self.session is not None and not self.session.over:
            self.session.leave_early(patience_s)

    def master_gone(self) -> None:
        """No load without a master; nobody is there to hand anything over to, and the spool has it."""
        kept = ""
        if self.session is not None and not self.session.over:
            kept = f"; its records lie in {spool_folder(self.session.order).resolve()}: llmload collect takes them in"
        self.candidate.complain(f"the master at {self.candidate.master} is gone{kept}")
        self.leave(patience_s=0.0)

    def _show(self) -> None:
        """A line every few seconds, for whoever looks at this worker's terminal."""
        while True:
            gevent.sleep(SHOW_S)
            if self.session is not None and not self.session.over:
                self.candidate.say(line(self.session.status()))

    def _session(self, order: Order, worker: str) -> Session:
        scenario = reading.from_resolved(order.scenario)
        made = self.candidate.kit(order)
        return Session(
            order,
            worker,
            Tools(
                client=made.client,
                plan=made.plan,
                schedule=partial(arrivals.schedule, scenario.load, scenario.seed),
                spool=Spool(spool_folder(order) / f"{worker}.jsonl"),
                events=self.environment.events,
                tell=self._tell,
                apart=self.candidate.apart,
            ),
        )

    def _tell(self, kind: str, data: dict[str, Any]) -> None:
        self.runner.send_message(kind, data)

    def _present(self, msg: Any) -> Session | None:
        """The session that a message is for; None if it is about another run."""
        if self.session is None or msg.data["run"] != self.session.order.run:
            return None
        return self.session

    def _refused(self, msg: Any) -> dict[str, Any] | None:
        """The refusal of the run that a message is about, if it was refused."""
        return self._refusal if self._refusal is not None and msg.data["run"] == self._refusal["run"] else None

    def _on_begin(self, msg: Any, **_: Any) -> None:
        setattr(self.environment.parsed_options, messages.OPTION, msg.data["order"])
        self.open()

    def _on_phase(self, msg: Any, **_: Any) -> None:
        if (session := self._present(msg)) is not None:
            session.hear(msg.data)
            if msg.data["phase"] == "closed":
                # Locust passes over spawn messages that are older than the last: after the clock was set back, all are
                self.runner.last_received_spawn_timestamp = 0
        elif (refusal := self._refused(msg)) is not None:
            self._tell(messages.STATUS, {**refusal, "serial": msg.data["serial"]})

    def _on_ack(self, msg: Any, **_: Any) -> None:
        if (session := self._present(msg)) is not None:
            session.acknowledged(msg.data)

    def _on_end(self, msg: Any, **_: Any) -> None:
        session, refusal = self._present(msg), self._refused(msg)
        if session is not None and not session.over:
            session.over = True
            sent = session.status()["started"]
            self.candidate.say(f"run {session.order.run} is over after {sent} requests; handing over the rest")
            gevent.spawn(session.end, msg.data["patience_s"], self._last_stats)
            self._leave_with(Exit(msg.data["code"]))
        elif session is not None:
            gevent.spawn(session.drained)
        elif refusal is not None:
            about = {"run": refusal["run"], "worker": refusal["worker"]}
            self._tell(messages.DRAINED, {**about, "started": 0, "finished": 0, "clock_drift_s": None})
            self._leave_with(Exit.INCOMPLETE)

    def _leave_with(self, code: Exit) -> None:
        """The exit code of a process that only sends; failed requests are for the master to judge."""
        if isinstance(self.runner, WorkerRunner):
            self.environment.process_exit_code = code

    def _last_stats(self) -> None:
        """Locust's own table is made from reports that come every three seconds; the last one would come too late."""
        if isinstance(self.runner, WorkerRunner):
            self.runner._send_stats()  # noqa: SLF001  (there is no public way)


def line(status: dict[str, Any]) -> str:
    """A worker's status for people."""
    here = f"{status['in_flight']} in flight, {status['ok']} ok, {status['failed']} failed"
    return f"{status['worker']}: step {status['step'] + 1}: {here}; {status['started']} requests since the run began"


def spool_folder(order: Order) -> Path:
    """The run folder's spool if this machine sees it, else one of its own."""
    folder = Path(order.folder)
    return folder / runfolder.SPOOL if (folder / runfolder.RUN).exists() else OWN_SPOOL / order.run
