"""Where the words of the workers come in and the words to them go out. Knows messages, and no load.

A worker that is silent may be alive: the way to it is broken, or it or this process stood still. It goes on with its
load meanwhile, so the run waits for it, and no phase begins or ends. One whose process is dead, that has left, or that
was silent for too long is gone for good; should it speak after all, it is told to end.
"""

import socket
import time
from collections.abc import Callable
from typing import Any

import gevent
import psutil
from locust.runners import STATE_MISSING, MasterRunner

from llmload.drive import messages, muster
from llmload.drive.members import Member
from llmload.drive.run import Run
from llmload.drive.voice import Voice
from llmload.exits import Exit, Stop
from llmload.load.plan import Stopped
from llmload.record import clock

LOOK_S = 0.02
SILENT_S = 3.0
"""A worker says something twice a second; one that said nothing for so long is silent …"""
GIVEN_UP_S = 60.0
"""… and after this gone."""
HURRY_S = 10.0
"""Behind a Ctrl-C it is waited for no longer than this: who waits at the terminal would end the run with no end."""
AGAIN_S = 3.0
"""What a worker that can be heard has not answered for so long is said again: a connection that breaks loses what is
on its way, and the next one does not bring it."""
FLUSH_S = 60.0
"""How long a worker may wait for the master to write its last records."""


class Halt(BaseException):
    """Ends a run from outside: thrown into the greenlet that runs it."""


class Desk:
    """One per process that conducts; `run` is the run that words are about."""

    def __init__(self, runner: Any, voice: Voice) -> None:
        self.runner = runner
        self.voice = voice
        self.run: Run | None = None
        hear = runner.register_message
        hear(messages.STATUS, self._on_status)
        hear(messages.RECORDS, self._on_records)
        hear(messages.GENERATOR, self._on_generator)
        hear(messages.DRAINED, self._on_drained)

    def nodes(self) -> list[str]:
        """Locust's ids of the workers that are there now."""
        return muster.nodes(self.runner)

    def look(self, run: Run) -> None:
        """See who is gone, then whether the run can go on. Raises Stop if it cannot."""
        if isinstance(self.runner, MasterRunner):
            now = time.monotonic()
            for member in run.present:
                if member.drained is not None:
                    continue
                member.gone = how_gone(member, self.runner.clients.get(member.node), now)
                if member.gone is not None:
                    self.voice.complain(f"worker {member.worker} ({member.node}) {member.gone}")
                    muster.strike(self.runner, member.node)
                else:
                    self._say_again(run, member, now)
        run.check()

    def heard(self, run: Run) -> bool:
        """Whether all workers have answered the last word to them, and none of them is silent now."""
        return run.fresh and not self._silent(run)

    def _silent(self, run: Run) -> bool:
        if not isinstance(self.runner, MasterRunner):
            return False
        now = time.monotonic()
        return any(now - member.spoke_at > SILENT_S for member in run.present if member.drained is None)

    def every(self, run: Run, done: Callable[[Member], bool], *, hurry: bool) -> bool:
        """Whether something is so of every worker; in a hurry, of those that are not silent for longer than that."""
        now = time.monotonic()
        return all(done(member) or (hurry and now - member.spoke_at > HURRY_S) for member in run.present)

    def whose_stop(self, error: BaseException) -> Stopped:
        """Whether the user ended the run by this, or a fault did.

        Locust itself ends a run whose last worker is lost, by killing the greenlet that runs it.
        """
        return "stopped" if isinstance(error, (Halt, gevent.GreenletExit)) and self.nodes() else "fault"

    def until(self, run: Run, done: Callable[[], bool], limit_s: float, *, strict: bool = True) -> bool:
        """Wait for something, at most so long (while a worker is silent no time passes); False if it did not come.

        Raises Stop if the run cannot go on; if not `strict`, only if nobody is there any more.
        """
        left, last = limit_s, time.monotonic()
        while not done():
            if left < 0:
                return False
            gevent.sleep(LOOK_S)
            try:
                self.look(run)
            except Stop:
                if strict or not run.present:
                    raise
            now = time.monotonic()
            left -= 0.0 if self._silent(run) else now - last
            last = now
        return True

    def announce(self, run: Run, phase: str, each: Callable[[Member], dict[str, Any]]) -> None:
        """Tell every worker the phase, with what is for it alone."""
        run.serial += 1
        run.told_at = clock.now()
        for member in run.present:
            self._say(run, messages.PHASE, {"serial": run.serial, "phase": phase, **each(member)}, member)

    def phase(self, run: Run, phase: str, **more: Any) -> None:
        """Tell every worker the phase."""
        self.announce(run, phase, lambda _: more)

    def tell(self, run: Run, kind: str, data: dict[str, Any], member: Member) -> None:
        """A word to one worker about a run."""
        self.runner.send_message(kind, {"run": run.order.run, **data}, member.node)

    def _say(self, run: Run, kind: str, data: dict[str, Any], member: Member) -> None:
        """A word that has to be answered."""
        member.word, member.word_at = (kind, data), time.monotonic()
        self.tell(run, kind, data, member)

    def _say_again(self, run: Run, member: Member, now: float) -> None:
        """The same once more, if it is not answered."""
        if member.word is None or now - member.word_at < AGAIN_S or now - member.spoke_at > SILENT_S:
            return
        kind, data = member.word
        if kind == messages.PHASE:
            if member.said["serial"] >= data["serial"]:
                return
            run.notes.append(f"worker {member.worker} was told {data['phase']!r} again: it had not answered")
        member.word_at = now
        self.tell(run, kind, data, member)

    def end(self, run: Run, member: Member, patience_s: float = FLUSH_S) -> None:
        """Tell a worker that its part of the run is over: it sends what is left, waiting so long for answers."""
        code = Exit.OK if member.gone is None else Exit.DEGRADED
        self._say(run, messages.END, {"patience_s": patience_s, "code": code}, member)

    def _said(self, msg: Any) -> tuple[Run, Member] | None:
        """The present run and who speaks; None for words about another run."""
        run = self.run
        if run is None or msg.data.get("run") != run.order.run:
            return None
        member = run.member(msg.data["worker"])
        if member is None:
            return None
        silence_s, member.spoke_at = time.monotonic() - member.spoke_at, time.monotonic()
        if silence_s > SILENT_S and member.gone is None and member.said["serial"] >= 0:
            run.notes.append(f"worker {member.worker} was not heard for {silence_s:.0f} s; the run waited for it")
        return run, member

    def _on_status(self, msg: Any, **_: Any) -> None:
        if (found := self._said(msg)) is None:
            self._send_away(msg)
            return
        run, member = found
        if member.gone is not None and member.drained is None:
            self.end(run, member)
        member.said = msg.data
        member.host, member.pid = msg.data["host"], msg.data["pid"]

    def _send_away(self, msg: Any) -> None:
        """A worker in a run that nobody conducts ends: its master died, and this one took the place."""
        if isinstance(self.runner, MasterRunner) and msg.node_id not in self.runner.clients:
            self.runner.send_message("quit", client_id=msg.node_id)

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
        self.tell(run, messages.ACK, {"batches": [msg.data["batch"]]}, member)

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
        if (found := self._said(msg)) is None:
            return
        _run, member = found
        member.drained = (int(msg.data["started"]), int(msg.data["finished"]))
        member.clock_drift_s = msg.data["clock_drift_s"]
        if member.gone is not None:
            self.runner.send_message("quit", client_id=member.node)  # Locust listens to it no more


def how_gone(member: Member, client: Any, now: float) -> str | None:
    """How a worker was lost, None if it was not. `client` is what Locust knows of it, `now` the monotonic clock's time.

    Of a silent worker on this machine the system knows whether its process is dead; of others only time tells.
    """
    silence_s = now - member.spoke_at
    if client is None:
        return "left in mid-run"
    if client.state == STATE_MISSING or silence_s > GIVEN_UP_S:
        return f"went missing in mid-run: not heard for {silence_s:.0f} s"
    if silence_s > SILENT_S and member.pid is not None and member.host == socket.gethostname() and dead(member.pid):
        return "went missing in mid-run: its process is dead"
    return None


def dead(pid: int) -> bool:
    """Whether a process of this machine is no more, or a zombie."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True
