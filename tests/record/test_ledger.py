"""Every record once, whatever comes twice, late or out of order, and the sums that must hold."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.exits import Exit, Stop
from llmload.record.ledger import Ledger, Received, ranges


def test_a_batch_that_comes_twice_counts_once(tmp_path: Path) -> None:
    """J18: (worker, seq) is the key; the same seq of another worker is another record."""
    ledger = Ledger(tmp_path)
    assert ledger.take("w0", [(0, b"a0"), (1, b"a1")]) == 2
    assert ledger.take("w0", [(1, b"a1"), (2, b"a2")]) == 1
    assert ledger.take("w0", [(0, b"a0"), (1, b"a1")]) == 0
    assert ledger.take("w1", [(0, b"b0")]) == 1
    ledger.close()
    assert (tmp_path / "requests.jsonl").read_bytes() == b"a0\na1\na2\nb0\n"


def test_account_counts_what_is_lost(tmp_path: Path) -> None:
    """Five started, four finished, seqs 0, 1, 4 received: two lost, and they have numbers."""
    ledger = Ledger(tmp_path)
    ledger.take("w0", [(4, b"e"), (0, b"a"), (1, b"b")])
    assert ledger.account("w0", 5, 4) == {"started": 5, "finished": 4, "received": 3, "lost": 2}
    assert ledger.missing("w0", 5) == [(2, 3)]
    assert ledger.account("w9", 0, 0) == {"started": 0, "finished": 0, "received": 0, "lost": 0}
    assert ledger.missing("w9", 2) == [(0, 1)]


def test_full_disk_counts_nothing_as_received(tmp_path: Path) -> None:
    """What was not written is not acknowledged, so it stays with its worker."""
    (tmp_path / "requests.jsonl").symlink_to("/dev/full")
    ledger = Ledger(tmp_path)
    with pytest.raises(Stop) as caught:
        ledger.take("w0", [(0, b"a")])
    assert caught.value.code is Exit.INCOMPLETE
    assert "No space left on device" in caught.value.message
    assert ledger.account("w0", 1, 1)["received"] == 0


@given(st.lists(st.integers(0, 60)))
def test_received_is_a_set_of_seqs(seqs: list[int]) -> None:
    """In any order and with any repeats it knows the same seqs as a set, and what is missing below a number."""
    received = Received()
    for seq in seqs:
        if seq not in received:
            received.add(seq)
    assert len(received) == len(set(seqs))
    assert [seq for seq in range(61) if seq in received] == sorted(set(seqs))
    missing = [seq for first, last in received.missing(50) for seq in range(first, last + 1)]
    assert missing == [seq for seq in range(50) if seq not in set(seqs)]
    assert received.end == max(seqs, default=-1) + 1


def test_received_keeps_no_more_than_the_holes() -> None:
    """A million records in order are one number."""
    received = Received()
    for seq in range(1000):
        received.add(seq)
    assert (received.upto, received.beyond) == (1000, set())


@pytest.mark.parametrize(
    ("seqs", "words"),
    [([], ""), ([(3, 3)], "3"), ([(118, 120)], "118-120"), ([(1, 1), (3, 4), (9, 9)], "1, 3-4, 9")],
)
def test_ranges_in_words(seqs: list[tuple[int, int]], words: str) -> None:
    """A single seq stands alone."""
    assert ranges(seqs) == words


def test_ranges_end_somewhere() -> None:
    """Eight are enough for a sentence."""
    assert ranges([(seq, seq) for seq in range(0, 100, 2)]) == "0, 2, 4, 6, 8, 10, 12, 14, …"


def test_a_hole_of_any_width_is_one_range() -> None:
    """A seq that was garbled costs no memory."""
    received = Received()
    received.add(10**15)
    assert received.missing(10**15 + 1) == [(0, 10**15 - 1)]


def test_a_run_folder_has_one_writer(tmp_path: Path) -> None:
    """Whoever comes second is told so, until the first one has closed its books."""
    first = Ledger(tmp_path)
    with pytest.raises(Stop) as caught:
        Ledger(tmp_path)
    assert caught.value.message == (
        f"{tmp_path}: this run is still going on: a living process writes into it; wait for its end, or end it"
    )
    first.close()
    Ledger(tmp_path).close()
