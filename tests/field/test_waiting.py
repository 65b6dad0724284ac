"""Situations at the socket: how long an answer may be waited for, and which of several servers is reached."""

import contextlib
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import chain, count

import gevent
import pytest

from llmload.load.scenario import Limits
from llmload.send.settings import Sending
from tests.send.conftest import Sender, sender
from tests.send.scripted import END, HEAD, Answer, data, pump, serving, stream, token
from tests.simulate import child

__all__ = ["sender"]

Make = Callable[..., Sender]


def test_nothing_but_the_limits_cuts_a_silence(sender: Make) -> None:
    """G13: 6 s of silence, past a library's five, under a limit of 320: `ok`, and no other clock is set on the way.

    310 s of silence differ from six by timers alone: there is one, for what is left of the first token's limit, and
    the socket has none, neither Python's nor the kernel's.
    """
    late = Answer([(0, HEAD), (6000, data(token("A", "stop"), "[DONE]") + END)])
    with serving(late) as server:
        book = sender(server.url, ttft_s=320.0, stall_s=60.0, total_s=600.0)
        run = gevent.spawn(book.send)
        gevent.sleep(1.0)
        (flight,) = book.client._flights
        exchange = flight._exchange
        assert exchange is not None
        due, kind, words = exchange._limit()
        assert (kind, words) == ("ttft", "no token within 320 s")
        assert due - exchange.sent == 320_000_000_000
        assert exchange._timer.active
        sock = exchange.connection._sock
        assert sock.gettimeout() == 0.0  # never waits by itself: the loop does
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            assert sock.getsockopt(socket.SOL_SOCKET, option, 16) == bytes(16)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 0
        assert flight._client._line.builder._sdk.max_retries == 0
        run.join()
        assert len(server.log()) == 1
    row = book.finished[0][0]
    assert (row.outcome, row.events) == ("ok", 1)
    assert row.ttft_ms is not None
    assert row.ttft_ms > 5900


@pytest.mark.parametrize(("limit", "outcome"), [(1.2, "ok"), (0.6, "ttft_timeout")])
def test_the_own_limit_decides(sender: Make, limit: float, outcome: str) -> None:
    """G13: in small: a silence of 0.9 s is `ok` under a limit of 1.2, and cut by one of 0.6."""
    late = Answer([(0, HEAD), (900, data(token("A", "stop"), "[DONE]") + END)])
    with serving(late) as server:
        row = sender(server.url, ttft_s=limit).send()
    assert row.outcome == outcome


def test_limits_of_the_scenario_are_those_of_the_sender() -> None:
    """G13: what a run asks for is what the record of settings holds: the defaults are one and the same."""
    limits, sending = Limits(), Sending("http://127.0.0.1/v1", "m")
    for name in ("connect_s", "ttft_s", "stall_s", "total_s"):
        assert getattr(limits, name) == getattr(sending, name)


@contextlib.contextmanager
def one_address(*ports: int) -> Iterator[int]:
    """A port that passes its connections to these in turn, as a balancer does."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    pairs: list[tuple[socket.socket, socket.socket]] = []

    def accept() -> None:
        with contextlib.suppress(OSError):
            for turn in count():
                near, _ = listener.accept()
                far = socket.create_connection(("127.0.0.1", ports[turn % len(ports)]))
                pairs.append((near, far))
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=pump, args=(source, sink), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        for sock in (listener, *chain.from_iterable(pairs)):
            sock.close()


@pytest.mark.parametrize(("fresh", "shares"), [(True, [5, 5]), (False, [0, 10])])
def test_one_replica_of_two(sender: Make, fresh: bool, shares: list[int]) -> None:
    """G11: chosen per connection: with fresh ones both get a share, a kept one stays where it is."""
    quick = stream(2, 5, 5)
    with serving(quick) as one, serving(quick) as two, one_address(one.port, two.port) as port:
        book = sender(f"http://127.0.0.1:{port}/v1", fresh=fresh)
        rows = [book.send() for _ in range(10)]
        got = sorted(len(server.log()) for server in (one, two))
    assert [row.outcome for row in rows] == ["ok"] * 10
    assert got == shares
    assert sum(row.new_connection for row in rows) == (10 if fresh else 1)


FLOOD = """
import gc, json, sys, gevent, psutil
from llmload.load.call import Call
from llmload.record.record import Tags
from llmload.send.client import Client
from llmload.send.settings import Sending
client, tokens = Client(Sending(base_url=sys.argv[1], model="simulated"), None), 0
def opening(at): return Tags("r", "w", 0, 0, 1, "measure", "s", "p")
def finished(record, text):
    global tokens
    tokens += record.events
def user(requests, length):
    for _ in range(requests):
        client.send(Call("s", "p", ({"role": "user", "content": "hi"},), "hi", length), opening, finished)
def flood(requests, length):
    global tokens
    tokens = 0
    before = psutil.Process().memory_info().rss
    gevent.joinall([gevent.spawn(user, requests, length) for _ in range(5)], raise_error=True)
    return tokens, psutil.Process().memory_info().rss - before
flood(1, 1000)
gc.collect()
gc.disable()  # as in the window of a run
print(json.dumps([flood(8, 100), flood(8, 1000)]))
"""


def test_memory_does_not_grow_with_tokens() -> None:
    """I07: forty answers of 1,000 tokens take no more than forty of 100: less than a float for each token more."""
    with child.running("--ttft-ms", "5", "--itl-ms", "0.5") as server:
        command = [sys.executable, "-c", FLOOD, server.url + "/v1"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    (few, little), (many, much) = json.loads(done.stdout)
    assert (few, many) == (4_000, 40_000)
    assert much - little < 32 * (many - few)
