"""Where the words of the workers come in and the words to them go out. Knows messages, and no load."""

import time
from collections.abc import Callable
from typing import Any

import gevent
from locust.runners import STATE_MISSING, MasterRunner

from llmload.drive import words
from llmload.drive.members import Member
from llmload.drive.run import Run
from llmload.drive.voice import Voice
from llmload.exits import Stop

LOOK_S = 0.02


class Desk:
    """One per process that conducts; `run` is the run that words are about."""

    def __init__(self, runner: Any, voice: Voice) -> None:
        self.runner = runner
        self.voice = voice
        self.run: Run | None = None
        hear = runner.register_message
        hear(words.STATUS, self._on_status)
        hear(words.RECORDS, self._on_records)
        hear(words.GENERATOR, self._on_generator)
        hear(words.DRAINED, self._on_drained)

    def nodes(self) -> list[str]:
        """Locust's ids of the workers that are there now; of this process if it is all there is."""
        if isinstance(self.runner, MasterRunner):
            return sorted(node for node, client in self.runner.clients.items() if client.state != STATE_MISSING)
        return [self.runner.client_id]

    def look(self, run: Run) -> None:
        """See who is gone, then whether the run can go on. Raises Stop if it cannot."""
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

    def until(self, run: Run, done: Callable[[], bool], limit_s: float, *, strict: bool = True) -> bool:
        """Wait for something, at most so long; False if it did not come.

        Raises Stop if the run cannot go on; if not `strict`, only if nobody is there any more.
        """
        deadline = time.monotonic() + limit_s
        while not done():
            if time.monotonic() > deadline:
                return False
            gevent.sleep(LOOK_S)
            try:
                self.look(run)
            except Stop:
                if strict or not run.present:
                    raise
        return True

    def announce(self, run: Run, phase: str, each: Callable[[Member], dict[str, Any]]) -> None:
        """Tell every worker the phase, with what is for it alone."""
        run.serial += 1
        run.told_at = time.time()
        for member in run.present:
            self.tell(run, words.PHASE, {"serial": run.serial, "phase": phase, **each(member)}, member)

    def phase(self, run: Run, phase: str, **more: Any) -> None:
        """Tell every worker the phase."""
        self.announce(run, phase, lambda _: more)

    def tell(self, run: Run, kind: str, data: dict[str, Any], member: Member) -> None:
        """A word to one worker about a run."""
        self.runner.send_message(kind, {"run": run.order.run, **data}, member.node)

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
        self.tell(run, words.ACK, {"batches": [msg.data["batch"]]}, member)

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
