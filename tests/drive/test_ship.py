"""Batches that are lost, late or refused on the way are sent again until they are acknowledged."""

from collections.abc import Iterator

import gevent
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.drive import ship
from llmload.drive.ship import Row, Shipper, cut


class Way:
    """A way to the master that loses what the test says, and a clock that the test sets."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sent: list[tuple[int, list[Row]]] = []
        self.blocked = False
        self.shipper = Shipper(self.send, lambda: self.now)

    def send(self, batch: int, rows: list[Row]) -> None:
        """Send a batch, or fail."""
        if self.blocked:
            raise OSError("no way")
        self.sent.append((batch, list(rows)))

    def pump(self) -> None:
        """Let the shipper look once."""
        self.shipper._wake.set()
        gevent.sleep(0.001)


@pytest.fixture
def way() -> Iterator[Way]:
    """A way that ends with the test."""
    made = Way()
    yield made
    made.shipper.close()


def test_a_batch_without_acknowledgement_is_sent_again(way: Way) -> None:
    """After three seconds, the same rows under the same number, until the acknowledgement."""
    way.shipper.add(0, b"a")
    way.shipper.add(1, b"b")
    way.pump()
    way.now = 2.9
    way.pump()
    assert way.sent == [(0, [(0, b"a"), (1, b"b")])]
    way.now = 3.0
    way.pump()
    assert way.sent == [(0, [(0, b"a"), (1, b"b")])] * 2
    assert way.shipper.left == 2
    way.shipper.acknowledge(0)
    way.now = 9.0
    way.pump()
    assert len(way.sent) == 2
    assert way.shipper.left == 0


def test_a_way_that_is_broken_is_not_filled(way: Way) -> None:
    """After the first time every twelve seconds; a sign of the master, and it is every three again."""
    way.shipper.add(0, b"a")
    way.pump()
    sent_at = []
    for tenth in range(1, 300):
        before, way.now = len(way.sent), tenth / 10
        way.pump()
        sent_at += [way.now] * (len(way.sent) - before)
    assert sent_at == [3.0, 15.0, 27.0]
    assert way.shipper.unheard
    way.shipper.add(1, b"b")
    way.pump()
    way.shipper.acknowledge(0)
    assert not way.shipper.unheard
    way.now += 3.0
    way.pump()
    assert [batch for batch, _ in way.sent] == [0, 0, 0, 0, 1, 1]


def test_a_master_that_is_away_is_not_flooded(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than so many batches are on the way at once; the rest waits here."""
    monkeypatch.setattr(ship, "BATCH_BYTES", 1)
    for seq in range(40):
        way.shipper.add(seq, b"x")
    way.pump()
    assert [batch for batch, _ in way.sent] == list(range(ship.WINDOW))
    for batch in range(ship.WINDOW):
        way.shipper.acknowledge(batch)
    way.pump()
    assert [batch for batch, _ in way.sent] == list(range(2 * ship.WINDOW))


def test_a_way_that_fails_loses_nothing(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch whose sending failed is sent again like one that was lost."""
    monkeypatch.setattr(ship, "RESEND_S", 0.0)
    way.blocked = True
    way.shipper.add(0, b"a")
    way.pump()
    assert way.shipper.left == 1
    way.blocked = False
    for _ in range(3):
        way.pump()
    assert way.sent[0] == (0, [(0, b"a")])


def test_flush_gives_up(way: Way) -> None:
    """A master that never acknowledges holds nobody for ever."""

    def clock() -> float:
        way.now += 0.5
        return way.now

    way.shipper._clock = clock
    way.shipper.add(0, b"a")
    assert not way.shipper.flush(2.0)


@given(st.lists(st.binary(max_size=30), max_size=30), st.integers(1, 60))
def test_cut_keeps_rows_and_the_limit(lines: list[bytes], limit: int) -> None:
    """First and rest are the rows; the first fit, unless a single row is larger than all that fits."""
    rows = list(enumerate(lines))
    first, rest = cut(rows, limit)
    assert first + rest == rows
    assert bool(first) == bool(rows)
    assert len(first) == 1 or sum(len(line) for _, line in first) <= limit
