"""A client that is closed again, and calls to give it."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec

import pytest

from llmload.load.call import Call
from llmload.record.record import RequestRecord, Tags
from llmload.send.client import Client
from llmload.send.settings import Sending

P = ParamSpec("P")
CALL = Call("short", "p1", ({"role": "user", "content": "hi"},), "hi", 3)


def undisturbed(test: Callable[P, None]) -> Callable[P, None]:
    """Up to five tries: a machine that stalls moves the times of one of them, a fault those of all."""

    @functools.wraps(test)
    def tried(*args: P.args, **kwargs: P.kwargs) -> None:
        for _ in range(4):
            with contextlib.suppress(AssertionError):
                return test(*args, **kwargs)
        return test(*args, **kwargs)

    return tried


class Sender:
    """A client with a book: every record it finished, every text, and what was sent when."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.opened: list[float] = []
        self.finished: list[tuple[RequestRecord, str]] = []

    def send(self, call: Call = CALL, **more: Any) -> RequestRecord:
        """Send one call."""
        return self.client.send(call, self.opening, lambda record, text: self.finished.append((record, text)), **more)

    def opening(self, sent_at: float) -> Tags:
        """Tags with the next number."""
        self.opened.append(sent_at)
        return Tags("r", "w", len(self.opened) - 1, 0, 1, "measure", "short", "p1", requested_output_tokens=3)


@pytest.fixture
def sender() -> Iterator[Callable[..., Sender]]:
    """Make senders: `sender(url, key=None, **settings)`."""
    made: list[Client] = []

    def make(url: str, key: str | None = None, **settings: Any) -> Sender:
        client = Client(Sending(**({"base_url": url, "model": "m", "connect_s": 5.0} | settings)), key)
        made.append(client)
        return Sender(client)

    yield make
    for client in made:
        client.close()
