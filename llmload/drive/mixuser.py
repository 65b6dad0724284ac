"""The user of a scenario: sends the mix, one request after another, for as long as its gate is open.

In a load by rate it is the one who sends what arrives, see `arriving.py`.
"""

import time
from typing import Any

import gevent
from locust import User, task

from llmload.drive import wiring
from llmload.drive.part import Seat
from llmload.drive.session import Answer, Session

PAUSE_S = 0.1
"""Pause after a first quick failure, doubled after each further one …"""
LONGEST_PAUSE_S = 1.0
"""… up to this: a server that fails at once is not to be hammered."""
QUICK_S = 1.0
"""A failure that took longer needs no pause."""
IDLE_S = 0.005


def pause(failures: int) -> float:
    """Seconds to wait after so many quick failures in a row; none after none."""
    return min(PAUSE_S * 2 ** min(failures - 1, 10), LONGEST_PAUSE_S) if failures else 0.0


class MixUser(User):
    """One request in flight at a time, those of the scenario."""

    abstract = True

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self.session: Session | None = None
        self.seat: Seat | None = None
        self._failures = 0

    def on_start(self) -> None:
        """Take a place in the step."""
        self.session = wiring.session(self.environment)
        self.seat = self.session.sit() if self.session is not None else None

    def on_stop(self) -> None:
        """Give it back."""
        if self.session is not None and self.seat is not None:
            self.session.leave(self.seat)

    @task
    def turn(self) -> None:
        """One request, as soon as the gate is open, and a pause after a quick failure; or all arrivals of a step."""
        if self.session is None or self.seat is None:
            gevent.sleep(IDLE_S)
            return
        self.session.gate.wait()
        if self.session.arriving is not None:
            self.session.arriving.follow(self, self.session)
            return
        self.session.turnstile.enter()
        began = time.monotonic()
        answer = self._answer(self.session, self.seat)
        if answer is None:
            gevent.sleep(IDLE_S)
            return
        quick = answer.record.outcome not in {"ok", "cancelled"} and time.monotonic() - began < QUICK_S
        self._failures = self._failures + 1 if quick else 0
        if quick:
            gevent.sleep(pause(self._failures))

    def _answer(self, session: Session, seat: Seat) -> Answer | None:
        try:
            call = session.call(seat)
            return None if call is None else session.attempt(self, call, seat)
        except Exception as error:  # noqa: BLE001  (what is wrong with one call is wrong with all: the run has to end)
            session.broken(error)
            return None
