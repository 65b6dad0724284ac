"""One process's part of a step by rate: every arrival is sent at its time, or recorded at its time as not sent.

No answer is waited for. An arrival that finds no room is `not_sent`; one that a busy process comes to late is sent all
the same, and its record shows by how much. Knows the session that sends, and no message.
"""

from collections.abc import Iterator
from typing import Any, Protocol

import gevent
from gevent.event import Event

from llmload.drive.turnstile import Turnstile
from llmload.load.call import Call
from llmload.record import clock

IDLE_S = 0.005
BEHIND_S = 0.01
"""An arrival that is so late waits for no turn of its own: one request in each turn of a loop that has few turns would
fall back further and further."""
HAND_OVER_S = 0.05
"""So long, at most, nobody follows the schedule where the user that did is stopped and another is there."""
BREATH_S = 0.005
"""So long, at most, one arrival after another is begun before the loop has its turn."""
TOO_LATE = "the step ended before it could be sent"


class Sends(Protocol):
    """What arrivals need of a session."""

    turnstile: Turnstile

    @property
    def cutting(self) -> bool:
        """Whether nothing may begin any more."""

    def arrival(self) -> Call | None:
        """The call of the next arrival; None if none may be made any more."""

    def affords(self, call: Call) -> bool:
        """Whether the budget allows a call; it is used up by it then."""

    def attempt(self, user: Any, call: Call, *, scheduled_at: float) -> Any:
        """Send a call and wait for its end."""

    def not_sent(self, user: Any, call: Call, scheduled_at: float, why: str) -> None:
        """Record a call that is not sent."""

    def broken(self, error: Exception) -> None:
        """A fault that every further call would meet."""


class Arriving:
    """The arrivals of one step in this process."""

    def __init__(self, offsets: Iterator[float], starts_at: float, rate: float, room: int) -> None:
        self.rate = rate
        """Of the whole step, as records have it."""
        self.room = room
        """So many of this process may be under way at once."""
        self.under_way = 0
        self.over = Event()
        """Set once nothing arrives any more."""
        self._due = (starts_at + offset for offset in offsets)
        self._next: float | None = None
        """The arrival that is waited for."""
        self._taken = False

    def follow(self, user: Any, session: Sends) -> None:
        """Wait for each arrival and let it be sent, until the step is over. One user does that.

        Further ones stand by: Locust may stop the one that does, where it deals users anew, and no arrival is passed
        over then.
        """
        if self._taken or self.over.is_set():
            self.over.wait(HAND_OVER_S)
            gevent.sleep(IDLE_S)
            return
        self._taken = True
        breath = clock.now()
        try:
            while (due := self._coming()) is not None:
                now = clock.now()
                if due > now or now - breath > BREATH_S:
                    self.over.wait(max(0.0, due - now))
                    breath = clock.now()
                if self.over.is_set():
                    return
                self._next = None
                self._arrive(user, session, due)
        finally:
            self._taken = False

    def _coming(self) -> float | None:
        """When the next arrival is due; None behind the last."""
        if self._next is None:
            self._next = next(self._due, None)
        return self._next

    def _arrive(self, user: Any, session: Sends, due: float) -> None:
        try:
            call = session.arrival()
            if call is None:
                return
            if self.under_way >= self.room:
                session.not_sent(user, call, due, f"{self.under_way} in flight already, all that this worker may have")
            elif session.affords(call):
                self.under_way += 1
                gevent.spawn(self._send, user, session, call, due)
        except Exception as error:  # noqa: BLE001  (what is wrong with one call is wrong with all: the run has to end)
            session.broken(error)

    def _send(self, user: Any, session: Sends, call: Call, due: float) -> None:
        try:
            if clock.now() - due < BEHIND_S:
                session.turnstile.enter()
            if session.cutting:
                session.not_sent(user, call, due, TOO_LATE)
            else:
                session.attempt(user, call, scheduled_at=due)
        except Exception as error:  # noqa: BLE001  (as above)
            session.broken(error)
        finally:
            self.under_way -= 1
