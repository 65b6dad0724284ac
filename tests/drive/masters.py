"""Locust's master without sockets: who listens to which message, and what was sent."""

from types import SimpleNamespace
from typing import Any

from locust.runners import STATE_RUNNING, MasterRunner


class Master(MasterRunner):
    """It has these workers."""

    def __init__(self, *nodes: str) -> None:
        self.clients: Any = {node: SimpleNamespace(id=node, state=STATE_RUNNING) for node in nodes}
        self._users_dispatcher = None
        self.greenlet = None  # what Locust's destructor asks for
        self.hears: dict[str, Any] = {}
        self.sent: list[tuple[str, Any, str | None]] = []

    def register_message(self, msg_type: str, listener: Any, concurrent: bool = False) -> None:
        """Remember who listens."""
        self.hears[msg_type] = listener

    def send_message(self, msg_type: str, data: Any = None, client_id: str | None = None) -> None:
        """Remember what was sent."""
        self.sent.append((msg_type, data, client_id))
