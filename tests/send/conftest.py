"""A client that is closed again, and calls to give it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from llmload.load.call import Call
from llmload.record.record import RequestRecord, Tags
from llmload.send.client import Client
from llmload.send.settings import Sending

CALL = Call("short", "p1", ({"role": "user", "content": "hi"},), "hi", 3)


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
