"""What comes to a master's port and makes no sense, on a real port: Locust's listener goes on."""

import socket
from argparse import Namespace
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import gevent
import msgpack  # type: ignore[import-untyped]  # Locust brings it
import pytest
import zmq.green as zmq
from locust.env import Environment

from llmload.drive import plugin  # noqa: F401  (it has the master keep hearing)
from llmload.exits import Exit

NONSENSE: list[Any] = [
    b"",
    b"\x93\x01",
    b"\xff" * 50,
    b"\xc1",
    [1, 2],
    5,
    {"a": 1},
    ["client_ready", {"a": 1}, "odd"],
    [["a list"], None, "odd"],
    ["locustfile", None, "odd"],
    ["stats", None, "odd"],
    ["spawning_complete", None, "good"],
    ["heartbeat", 7, "good"],
    ["exception", None, "odd"],
    ["logs", None, "odd"],
]


@pytest.fixture(autouse=True)
def tidy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Locust leaves it to the end of its process to close what it opened."""
    made, context = [], zmq.Context

    def noted() -> Any:
        made.append(context())
        return made[-1]

    monkeypatch.setattr(zmq, "Context", noted)
    yield
    for one in made:
        one.destroy(linger=0)


def test_a_master_hears_on_whatever_comes() -> None:
    """Behind each piece of nonsense a word that makes sense is still heard, and the worker is still known."""
    environment: Any = Environment(parsed_options=Namespace(headless=True, enable_rebalancing=False))
    runner = environment.create_master_runner("127.0.0.1", 0)
    heard: list[int] = []
    runner.register_message("count", lambda msg, **_: heard.append(msg.data))
    with zmq.Context() as context, context.socket(zmq.DEALER) as way:
        way.identity = b"good"
        way.linger = 0
        way.connect(f"tcp://127.0.0.1:{runner.server.port}")
        way.send(msgpack.dumps(["client_ready", -1, "good"]))
        for number, words in enumerate(NONSENSE):
            way.send(words if isinstance(words, bytes) else msgpack.dumps(words))
            way.send(msgpack.dumps(["count", number, "good"]))
        with gevent.Timeout(10, False):
            while len(heard) < len(NONSENSE):
                gevent.sleep(0.01)
    assert heard == list(range(len(NONSENSE)))
    assert list(runner.clients) == ["good"]
    runner.greenlet.kill()


def test_a_port_that_is_taken_ends_a_master_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Another master may have taken it since it was looked at."""
    monkeypatch.setattr("llmload.drive.hearing.Voice", lambda _: SimpleNamespace(complain=print))
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(SystemExit) as left:
            Environment(parsed_options=Namespace()).create_master_runner("127.0.0.1", port)
    assert left.value.code == Exit.USAGE
    assert capfd.readouterr().out == (
        f"a master cannot listen on 127.0.0.1:{port}: address already in use; is another master running? "
        "Name another port with --master-port, on both sides\n"
    )
