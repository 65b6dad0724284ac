"""A preflight as far as it has come, and its two ways to ask: a page of the server, and a completion.

A server that answers 503 because it is loading is waited for here. What answers mean is not known here.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gevent

from llmload.load.call import Call
from llmload.load.scenario import Scenario
from llmload.record.record import RequestRecord, Tags
from llmload.send import advice
from llmload.send.asking import Asker, Reply, UnansweredError
from llmload.send.client import Client
from llmload.send.findings import Findings
from llmload.send.settings import Sending
from llmload.send.target import Target

TRIES = 3
"""Completion requests, at most."""

COUNTDOWN_S = 5.0
"""How often the wait for a loading server is told."""

WHOLE_ANSWER_S = 10.0
"""Without streaming there is no first token: a longest request that is not refused within this time is taken."""


@dataclass(slots=True)
class Look:
    """A preflight as far as it has come."""

    scenario: Scenario
    target: Target
    sending: Sending
    key: str | None
    asker: Asker
    say: Callable[[str], None]
    found: Findings
    deadline: float
    """Monotonic clock at which a loading server is given up."""
    left: int = TRIES
    """Completion requests that may still be sent."""
    refused: dict[str, str] = field(default_factory=dict)
    """The server's words by refused field."""
    samples: list[tuple[int, int]] = field(default_factory=list)
    """(characters, tokens counted by the server) of prompts it answered."""
    lists: bool = False
    """Whether it lists its models."""
    kept: bool = True
    """Whether the connection of the last whole answer was still open a moment later."""
    tell_at: float = 0.0
    """Monotonic clock at which the wait is told again."""
    metrics: bool = True
    """Whether the server's /metrics may be asked."""


AGAIN_S = 1.0
"""The wait before another try of what may pass, where the server names none …"""

AGAIN_AT_MOST_S = 10.0
"""… and the most that is waited where it does."""

CLOSING_S = 0.1
"""A server that closes the connection behind an answer has done so by then."""

NO_ANSWER = 0
"""The status of a page that did not answer."""


def fetch(look: Look, place: str, body: dict[str, Any] | None = None) -> Reply:
    """GET a page of the server, or POST to it. No answer is an answer here, unless there is no connection at all.

    Raises Stop(UNMEASURABLE) then.
    """
    try:
        return look.asker.ask(place, body)
    except UnansweredError as error:
        if error.outcome == "connect_error":
            raise advice.unreachable(look.sending.base_url, str(error)) from None
        return Reply(NO_ANSWER, {}, str(error).encode())


def wait(look: Look, words: str, pause_s: float) -> None:
    """Let `pause_s` pass while a server is loading, and tell now and then how long it is still waited for.

    Raises Stop(UNMEASURABLE) behind the scenario's limit, with the server's words.
    """
    until = time.monotonic() + pause_s
    while (now := time.monotonic()) < until:
        if now >= look.deadline:
            raise advice.still_loading(look.sending.base_url, look.scenario.ready_timeout_s, words)
        if now >= look.tell_at:
            look.say(f"waiting for the server, {look.deadline - now:.0f} s at most (503: {words})")
            look.tell_at = now + COUNTDOWN_S
        gevent.sleep(max(0.01, min(until, look.deadline, look.tell_at) - now))


def wait_until_ready(look: Look, words: str, pause_s: float) -> None:
    """Wait at least `pause_s`, and for as long as the server's own /health says 503."""
    wait(look, words, pause_s)
    while fetch(look, "/health").status == 503:
        wait(look, words, 1.0)


def send(look: Look, call: Call, *, until_first: bool = False) -> RequestRecord:
    """Send one completion; with `until_first` it is left at its first token.

    One that is answered 503 is sent again when the server has loaded; only what was taken up counts as a try. Raises
    Stop(UNMEASURABLE) if there is no connection, or if the server does not get ready.
    """
    pause_s = 1.0
    while True:
        record = attempt(look, call, until_first=until_first)
        look.found.requests += 1
        if record.outcome == "connect_error":
            raise advice.unreachable(look.sending.base_url, record.error or "")
        if record.http_status != 503:
            look.left -= 1
            return record
        wait_until_ready(look, record.error or "", record.retry_after_s or pause_s)
        pause_s = min(pause_s * 2, COUNTDOWN_S)


def again_in(record: RequestRecord) -> float:
    """Seconds to wait before another try: what the server asks for, up to a limit, or a second."""
    return min(record.retry_after_s or AGAIN_S, AGAIN_AT_MOST_S)


def pause(look: Look, record: RequestRecord) -> None:
    """Wait before another try of what may pass, if one is left."""
    if look.left:
        look.say(f"{record.outcome}: {advice.said(record)}; trying again in {again_in(record):g} s")
        gevent.sleep(again_in(record))


def attempt(look: Look, call: Call, *, until_first: bool) -> RequestRecord:
    """One completion on a connection of its own."""
    client = Client(look.sending, look.key)

    def leave(_: float = 0.0) -> None:
        gevent.spawn(client.cancel)  # not in the callback that the first token came in

    timer = gevent.spawn_later(WHOLE_ANSWER_S, leave) if until_first and not look.sending.stream else None
    try:
        record = client.send(
            call,
            lambda _: tags(call),
            lambda _record, _text: None,
            on_first_token=leave if until_first else None,
        )
        if record.outcome == "ok":
            gevent.sleep(CLOSING_S)
            look.kept = client.idle > 0
        return record
    finally:
        if timer is not None:
            timer.kill()
        client.close()


def tags(call: Call) -> Tags:
    """Where a request of the preflight belongs: nowhere in the run."""
    return Tags("preflight", "preflight", 0, 0, 1, "warmup", call.workload, call.prompt)
