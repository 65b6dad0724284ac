"""The events that a locustfile can listen to: those of llmload, and Locust's own `request`, once per attempt.

    first_token(user, workload, ttft_ms)   at its arrival, in a greenlet of its own
    token_gaps(user, workload, gaps_ms)    once after the stream, if there were gaps
    llm_request(record, text)              once after the stream, whatever became of it

All fire in the process that sent the request. Importing this module puts them on `locust.events`, which is
`environment.events` in everything that the `locust` command runs.
"""

from collections.abc import Callable
from typing import Any

import gevent
import locust
from locust.event import EventHook, Events

from llmload.record.record import RequestRecord

REQUEST_TYPE = "LLM"
NAMES = ("first_token", "token_gaps", "llm_request")


class Hook(EventHook):
    """An event that knows whether anybody listens."""

    @property
    def heard(self) -> bool:
        """True if there is a listener."""
        return bool(self._handlers)


def put_on(events: Events) -> None:
    """Add llmload's events to Locust's, unless they are there."""
    for name in NAMES:
        if not hasattr(events, name):
            setattr(events, name, Hook())  # type: ignore[no-untyped-call]  # Locust's constructor has no types


put_on(locust.events)


class Outcome(Exception):
    """Why an attempt is no success, as Locust's statistics show it: the outcome alone, so that they stay bounded."""

    def __init__(self, record: RequestRecord) -> None:
        super().__init__(record.outcome)
        self.record = record

    def __repr__(self) -> str:
        return self.record.outcome


def first_token(events: Any, user: Any, workload: str) -> Callable[[float], None] | None:
    """What to call at the arrival of a first token; None if nobody listens. Never blocks who calls it."""
    hook = events.first_token
    if not hook.heard:
        return None

    def arrived(ttft_ms: float) -> None:
        gevent.spawn(hook.fire, user=user, workload=workload, ttft_ms=ttft_ms)

    return arrived


def after(events: Any, user: Any, record: RequestRecord, text: str) -> None:
    """Fire what is due once an attempt has ended."""
    if record.gaps_ms:
        events.token_gaps.fire(user=user, workload=record.workload, gaps_ms=record.gaps_ms)
    events.llm_request.fire(record=record, text=text)
    events.request.fire(
        request_type=REQUEST_TYPE,
        name=record.workload,
        response_time=e2e_ms(record),
        response_length=record.output_chars or 0,  # Locust calls them bytes; the body's are not kept
        exception=None if record.outcome == "ok" else Outcome(record),
        response=None,
        context=user.context(),
        start_time=record.scheduled_at if record.sent_at is None else record.sent_at,
        url=None,
    )


def e2e_ms(record: RequestRecord) -> float:
    """E2E latency of a success, from sent to its last token (or its end, if it has none); a failure's time."""
    if record.outcome == "ok" and record.last_token_ms is not None:
        return record.last_token_ms
    return record.end_ms or 0.0
