"""Keeps Locust's master hearing: whatever comes to its port, and nobody knows what will, it listens to the next.

Locust's one listener ends with the first message that it cannot read or make sense of; nobody is heard from then on,
and a run waits forever. Knows nothing of what is said.
"""

import logging
import sys
from collections.abc import Callable
from typing import Any

from locust import rpc, runners
from locust.exception import RPCError, RPCReceiveError

from llmload import ports
from llmload.drive.voice import Voice
from llmload.exits import Exit

log = logging.getLogger(__name__)


def receive(server: Any, original: Callable[[Any], Any] = rpc.zmqrpc.Server.recv_from_client) -> Any:
    """The next message. What is none is told as Locust tells it, and dropped."""
    try:
        return original(server)
    except RPCError:
        raise
    except Exception as error:
        raise RPCReceiveError(f"what came is no message: {type(error).__name__}") from error


def handle(
    runner: Any, client: str, msg: Any, original: Callable[..., None] = runners.MasterRunner.handle_message
) -> None:
    """Do what a message says, if it can be done."""
    try:
        original(runner, client, msg)
    except Exception as error:  # noqa: BLE001  (whatever is wrong with it: others are to be heard)
        log.warning("llmload: a message of %r makes no sense and was dropped: %s", client, type(error).__name__)


def listen(
    runner: Any,
    environment: Any,
    master_bind_host: str,
    master_bind_port: int,
    original: Callable[..., None] = runners.MasterRunner.__init__,
) -> None:
    """Become a master, or say why nobody can be heard, and leave."""
    try:
        original(runner, environment, master_bind_host, master_bind_port)
    except RPCError as error:
        why = ports.no_master(master_bind_host, master_bind_port) or f"the master cannot listen: {error}"
        Voice(environment.parsed_options).complain(why)
        sys.exit(Exit.USAGE)


def keep() -> None:
    """From now on, in this process."""
    rpc.zmqrpc.Server.recv_from_client = receive  # type: ignore[method-assign]
    runners.MasterRunner.handle_message = handle  # type: ignore[method-assign, assignment]
    runners.MasterRunner.__init__ = listen  # type: ignore[method-assign, assignment]
