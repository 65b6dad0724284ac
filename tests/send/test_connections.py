"""Opening, keeping and losing connections, and what this process does to its own stamps."""

import json
import random
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import gevent
import gevent.socket
import pytest

from llmload.load.call import Call
from llmload.send import dial
from tests.send.conftest import CALL, Sender, undisturbed
from tests.send.scripted import END, HEAD, MARK, Answer, data, serving, stream, token

Make = Callable[..., Sender]
Addresses = list[tuple[int, int, int, str, Any]]


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def deaf() -> Iterator[int]:
    """A port whose listener never accepts and whose queue is full: connecting to it hangs."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        crowd = []
        for _ in range(4):
            crowd.append(socket.socket())
            crowd[-1].setblocking(False)
            crowd[-1].connect_ex(listener.getsockname())
        time.sleep(0.05)
        yield int(listener.getsockname()[1])
        for sock in crowd:
            sock.close()


def resolving(monkeypatch: pytest.MonkeyPatch, *addresses: tuple[str, int]) -> None:
    """Let every name resolve to these addresses, in this order."""

    def getaddrinfo(*_place: Any, **_more: Any) -> Addresses:
        kinds = [(socket.AF_INET6 if ":" in host else socket.AF_INET, (host, port)) for host, port in addresses]
        return [(family, socket.SOCK_STREAM, 6, "", address) for family, address in kinds]

    monkeypatch.setattr(gevent.socket, "getaddrinfo", getaddrinfo)


def test_refused(sender: Make) -> None:
    """G01: the error says so, and the record holds the start of connecting and no other time."""
    port = free_port()
    before = time.time()
    row = sender(f"http://127.0.0.1:{port}/v1").send()
    assert (row.outcome, row.connect_ms, row.ttft_ms, row.http_status) == ("connect_error", None, None, None)
    assert row.end_ms is not None
    assert row.error is not None
    assert row.error.startswith(f"connection refused by 127.0.0.1 port {port}")
    assert row.sent_at is not None
    assert before <= row.sent_at <= time.time()


def test_a_name_that_nobody_knows(sender: Make) -> None:
    """DNS is told apart from a refusal."""
    row = sender("http://no-such-host.invalid/v1").send()
    assert (row.outcome, (row.error or "")[:28]) == ("connect_error", "DNS: no-such-host.invalid: T"[:28]) or (
        row.error or ""
    ).startswith("DNS: no-such-host.invalid: ")


def test_a_full_accept_queue(sender: Make) -> None:
    """G02m: a time-out of connecting, within its own limit, and no limit of the first token."""
    with deaf() as port:
        row = sender(f"http://127.0.0.1:{port}/v1", connect_s=0.3).send()
    assert row.outcome == "connect_error"
    assert row.error == f"connect time-out: no connection to 127.0.0.1 port {port} within 0.3 s"


@pytest.mark.parametrize("listens_on", ["127.0.0.1", "::1"])
@undisturbed
def test_two_address_families(sender: Make, monkeypatch: pytest.MonkeyPatch, listens_on: str) -> None:
    """G03: whichever family the server has, the other costs no visible time, and none of it is in `ttft_ms`."""
    with serving(stream(), address=listens_on) as server:
        other = "::1" if listens_on == "127.0.0.1" else "127.0.0.1"
        resolving(monkeypatch, (other, server.port), (listens_on, server.port))
        book = sender(f"http://twofold:{server.port}/v1", fresh=True)
        rows = [book.send() for _ in range(2)]
    assert [row.outcome for row in rows] == ["ok", "ok"]
    assert all(row.connect_ms is not None and row.connect_ms < 100 for row in rows)
    assert len(book.client._line.pool._dialer.failing) == 1


@undisturbed
def test_a_dead_address_is_passed_by_and_remembered(sender: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that never answers delays the first connection by a quarter of a second and no later one."""
    with deaf() as hole, serving(stream()) as server:
        resolving(monkeypatch, ("127.0.0.1", hole), ("127.0.0.1", server.port))
        book = sender("http://twofold:1/v1", fresh=True)
        first, second = (book.send().connect_ms or 0 for _ in range(2))
    assert first >= dial.NEXT_ADDRESS_S * 1e3
    assert second < first / 2


@undisturbed
def test_one_connection_for_requests_in_a_row(sender: Make) -> None:
    """G07: it is kept, as the rest of each body is drained; only the first record pays for it."""
    late_end = Answer([(0, HEAD), (20, data(token("A", "stop"), "[DONE]")), (100, END)])
    with serving(late_end) as server:
        book = sender(server.url)
        rows = [book.send() for _ in range(3)]
        assert {seen["connection"] for seen in server.log()} == {1}
    assert [row.new_connection for row in rows] == [True, False, False]
    assert [row.connect_ms is None for row in rows] == [False, True, True]
    assert all(row.end_ms is not None and row.end_ms < 80 for row in rows)


def test_fresh_connections(sender: Make) -> None:
    """G11: By option each request has its own, and the server is told that it is the last one."""
    with serving(stream()) as server:
        book = sender(server.url, fresh=True)
        assert all(book.send().new_connection for _ in range(3))
        seen = server.log()
    assert [row["connection"] for row in seen] == [1, 2, 3]
    assert "\r\nConnection: close\r\n" in seen[0]["head"]


@undisturbed
def test_a_connection_that_closed_while_idle_is_replaced_in_silence(sender: Make) -> None:
    """Nothing was put on the wire, so nothing failed."""
    closing = Answer(stream().steps, "close", 120)
    with serving(closing, stream()) as server:
        book = sender(server.url)
        first = book.send()
        time.sleep(0.1)  # the loop does not run meanwhile, so the end is found when the connection is taken
        second = book.send()
        assert len(server.log()) == 2
    assert (first.outcome, second.outcome, second.new_connection) == ("ok", "ok", True)


@pytest.mark.parametrize("end", ["close", "reset"])
def test_a_connection_that_dies_under_the_request(sender: Make, end: str) -> None:
    """G06: closed the moment the next request arrives: `stale_connection`, and never sent again."""
    with serving(stream(), Answer([], end), stream()) as server:
        book = sender(server.url)
        rows = [book.send() for _ in range(3)]
        assert len(server.log()) == 3
    assert [row.outcome for row in rows] == ["ok", "stale_connection", "ok"]
    assert (rows[1].ttft_ms, rows[1].http_status, rows[1].new_connection) == (None, None, False)


@undisturbed
def test_what_nobody_asked_for_spoils_the_connection(sender: Make) -> None:
    """Bytes behind an answer would be taken for the next one."""
    extra = Answer([*stream().steps, (105, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")])
    with serving(extra, stream()) as server:
        book = sender(server.url)
        book.send()
        gevent.sleep(0.05)
        assert book.send().outcome == "ok"
        assert [seen["connection"] for seen in server.log()] == [1, 2]


@undisturbed
def test_the_pool_is_as_wide_as_the_load(sender: Make) -> None:
    """G08, I02: 150 at once are 150 in flight on the server, and none waits for another or for a client's set-up."""
    with serving(stream(3, 900, 40)) as server:
        book = sender(server.url)
        gevent.joinall([gevent.spawn(book.send) for _ in range(150)])
        seen = server.log()
    assert [record.outcome for record, _ in book.finished] == ["ok"] * 150
    assert len({row["connection"] for row in seen}) == 150
    assert max(row["at"] for row in seen) < min(row["writes"][-1] for row in seen)
    truth = sorted((row["writes"][1] - row["at"]) / 1e6 for row in seen)
    measured = sorted(record.ttft_ms or 0 for record, _ in book.finished)
    assert measured[75] == pytest.approx(truth[75], abs=100)


CROWD = """
import resource, sys, json, gevent
resource.setrlimit(resource.RLIMIT_NOFILE, (64, int(sys.argv[2])))
from llmload.send.client import Client
from llmload.send.settings import Sending
from llmload.record.record import Tags
from tests.send.conftest import CALL
client, rows = Client(Sending(base_url=sys.argv[1], model="m"), None), []
def opening(at): return Tags("r", "w", 0, 0, 1, "measure", "s", "p")
def user(): client.send(CALL, opening, lambda record, text: rows.append((record.outcome, record.error)))
gevent.joinall([gevent.spawn(user) for _ in range(100)])
print(json.dumps(rows))
"""


@pytest.mark.parametrize(("hard", "outcomes"), [(4096, {"ok"}), (64, {"ok", "local_resource"})])
@undisturbed
def test_file_descriptors(hard: int, outcomes: set[str]) -> None:
    """G09: the soft limit is raised as far as allowed; what is still missing is this machine's fault and says so."""
    with serving(stream(3, 600)) as server:
        command = [sys.executable, "-c", CROWD, server.url, str(hard)]
        rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert {outcome for outcome, _ in rows} == outcomes
    assert len(rows) == 100
    assert all("no file descriptor left" in error for outcome, error in rows if outcome != "ok")


@undisturbed
def test_ports_used_up(sender: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """G10: ten local ports and 30 at once: `local_resource`, with the cause."""
    low, prepare = 42000, dial.ask_for_stamps

    def narrow(sock: socket.socket) -> None:
        prepare(sock)
        sock.setsockopt(socket.IPPROTO_IP, 51, struct.pack("I", low | (low + 9) << 16))  # IP_LOCAL_PORT_RANGE

    with socket.socket() as trial:
        try:
            narrow(trial)
        except OSError:
            pytest.skip("this kernel cannot narrow the ports of one socket")
    monkeypatch.setattr(dial, "ask_for_stamps", narrow)
    with serving(stream(3, 300)) as server:
        book = sender(server.url, fresh=True)
        gevent.joinall([gevent.spawn(book.send) for _ in range(30)])
    rows = [record for record, _ in book.finished]
    assert {row.outcome for row in rows} == {"ok", "local_resource"}
    assert sum(row.outcome == "ok" for row in rows) <= 10
    assert all("no local port left" in (row.error or "") for row in rows if row.outcome != "ok")


def test_small_writes_go_out_at_once(sender: Make) -> None:
    """G14: TCP_NODELAY on our side."""
    with serving(stream()) as server:
        book = sender(server.url)
        connection = book.client._line.pool.take()
        assert connection._sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        connection.close()


def test_a_token_torn_into_two_delayed_writes(sender: Make) -> None:
    """G14: gaps are reported as the events came, not as the server meant them."""
    first, second = data(token("A", None)), data(token("B", "stop"), "[DONE]") + END
    steps = [(0, HEAD), (20, first[:-9]), (60, first[-9:] + second)]
    with serving(Answer(steps)) as server:
        row = sender(server.url).send()
    assert (row.gaps_ms, row.coalesced, row.outcome) == ([0.0], 1, "ok")
    assert row.ttft_ms is not None
    assert row.ttft_ms > 50


@undisturbed
def test_a_thousand_events_in_one_write(sender: Make) -> None:
    """I04: all get the stamp of that read, and reading them does not move the next one."""
    tiny = [{"choices": [{"text": "x"}]}] * 1000
    with serving(Answer([(0, HEAD), (30, data(*tiny)), (60, data(*tiny[:1], "[DONE]") + END)])) as server:
        row = sender(server.url).send()
        writes = server.log()[0]["writes"]
    assert (row.events, row.coalesced, row.gaps_ms[:999]) == (1001, 999, [0.0] * 999)
    assert row.gaps_ms[999] == pytest.approx((writes[2] - writes[1]) / 1e6, abs=10)


@undisturbed
def test_a_reader_that_is_late_still_stamps_true(sender: Make) -> None:
    """I01, I03: while the process is kept busy, events are read late, but their stamps are those of their arrival."""
    with serving(stream(12, 60, 60)) as server:
        book = sender(server.url)
        run = gevent.spawn(book.send)
        while not run.dead:
            time.sleep(0.03)  # blocks the loop: as bad as any tokenizer, report or user code
            gevent.sleep(0.001)
        row, writes = book.finished[0][0], server.log()[0]["writes"]
    true_gaps = [(b - a) / 1e6 for a, b in pairwise(writes[1:13])]
    assert (row.outcome, row.coalesced) == ("ok", 0)
    assert row.stamp_lag_ms is not None
    assert row.stamp_lag_ms > 15
    errors = [abs(gap - true) for gap, true in zip(row.gaps_ms, true_gaps, strict=True)]
    assert sorted(errors)[len(errors) // 2] < row.stamp_lag_ms / 10


@undisturbed
def test_events_that_pile_up_coalesce_and_the_lag_shows(sender: Make) -> None:
    """I01: what came while the process was busy shares one stamp, is counted, and the meter tells the lag."""
    with serving(stream(30, 20, 20)) as server:
        book = sender(server.url)
        runs = [gevent.spawn(book.send) for _ in range(3)]
        while not all(run.dead for run in runs):
            time.sleep(0.1)
            gevent.sleep(0.02)
    rows = [record for record, _ in book.finished]
    assert [(row.outcome, row.events) for row in rows] == [("ok", 30)] * 3
    assert sum(row.coalesced for row in rows) > 15
    assert all(sum(gap == 0 for gap in row.gaps_ms) >= row.coalesced for row in rows)
    lag = book.client.meter().stamp_lag_ms
    assert lag is not None
    assert (
        lag > 5
    )  # of the last event that was merged into a read: they come every 20 ms, and the process slept for 100


def test_no_cross_talk_between_requests_that_are_cut(sender: Make) -> None:
    """Under random time-outs and kills each answer belongs to its request, and each request has one record."""
    answer = Answer([(0, HEAD), (5, data(token(MARK))), (12, data(token(MARK, "stop"))), (18, data("[DONE]") + END)])
    chance = random.Random(3)
    texts: list[tuple[str, str, str]] = []
    attempts = 0
    with serving(answer) as server:
        book = sender(server.url)

        def user(number: int) -> None:
            nonlocal attempts
            for turn in range(25):
                mark = f"mark-{number:03d}{turn:03d}"
                call = Call("s", "p", ({"role": "user", "content": mark},), mark, 3)
                done = lambda record, text, mark=mark: texts.append((mark, record.outcome, text))  # noqa: E731  (bound)
                attempts += 1
                with gevent.Timeout(chance.choice([0.004, 0.01, 0.016, 1, 1, 1]), False):
                    book.client.send(call, book.opening, done)
                if chance.random() < 0.02:
                    book.client.cancel()

        gevent.joinall([gevent.spawn(user, number) for number in range(16)], raise_error=True)
        assert book.client.in_flight == 0
    assert len(texts) == attempts == len(book.opened)
    assert {text for mark, _, text in texts if text not in {"", mark, mark * 2}} == set()
    assert all(text == mark * 2 for mark, outcome, text in texts if outcome == "ok")
    assert {outcome for _, outcome, _ in texts} == {"ok", "cancelled"}


def test_the_wall_clock_may_be_set(sender: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """I09: five seconds back in mid-stream change no duration; the stamps that could not be true are counted."""
    from llmload.send import connection

    real, shift = time.time_ns, [0]
    monkeypatch.setattr(connection, "time_ns", lambda: real() + shift[0])
    with serving(stream(8, 30, 30)) as server:
        book = sender(server.url)
        run = gevent.spawn(book.send)
        gevent.sleep(0.1)
        shift[0] = -5_000_000_000
        gevent.sleep(0.08)
        shift[0] = 5_000_000_000
        run.join()
    row = book.finished[0][0]
    assert row.outcome == "ok"
    assert all(5 < gap < 200 for gap in row.gaps_ms)
    assert book.client.meter().stamp_faults > 3


def test_without_kernel_stamps_the_read_counts(sender: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the record says that it does not know how late that was."""
    monkeypatch.setattr(dial, "ask_for_stamps", lambda sock: sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1))
    with serving(stream()) as server:
        book = sender(server.url)
        row = book.send()
        assert row.ttft_ms == pytest.approx((server.log()[0]["writes"][1] - server.log()[0]["at"]) / 1e6, abs=30)
    assert (row.outcome, row.stamp_lag_ms, book.client.meter().stamp_lag_ms) == ("ok", None, None)


def test_a_fault_of_our_own_hangs_nobody(sender: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception in the event loop ends its request with what it was, and no other."""
    from llmload.stream.reading import StreamReading

    monkeypatch.setattr(StreamReading, "feed", lambda *_: 1 / 0)
    with serving(stream()) as server:
        row = sender(server.url).send(CALL)
    assert (row.outcome, row.error) == (
        "protocol_error",
        "llmload failed to read the answer: ZeroDivisionError: division by zero",
    )
