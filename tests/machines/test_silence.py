"""What is left of three runs whose machines heard nothing of each other for a while: see silence.py."""

import itertools
from collections.abc import Iterator

import pytest

from tests.drive import locusts
from tests.machines import machines, relay, silence
from tests.machines.machines import kept, spools
from tests.machines.silence import PARTED_S, STOPPED_S, Seen

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Seen]]:
    """All three, at their end."""
    with silence.begun(tmp_path_factory.mktemp("silence")) as ended:
        yield ended()


def test_the_master_stands_still_for_20_seconds(seen: dict[str, Seen]) -> None:
    """Workers go on, and send their batches again until they are heard: nothing is lost, OK, with a note on each."""
    run = seen["stopped"]
    left = run.left
    assert (left.code, left.run["verdict"], run.codes) == (0, "OK", {"taped": 0, "other": 0}), left.words
    assert len(left.run["reasons"]) == 2
    for worker in ("w0", "w1"):
        note = next(
            reason for reason in left.run["reasons"] if reason.startswith(f"worker {worker} was not heard for ")
        )
        assert STOPPED_S - 1 <= float(note.split()[6]) < 60
    machines.whole(left)
    locusts.agree(run.truth, left.records)
    assert went_on([line["received_at"] for line in run.truth()], run.at, run.at + STOPPED_S)
    sent = relay.batches(run.tape)
    assert max(sent.values()) > 1, sent
    assert sum(sent.values()) > len(sent)


def test_a_slow_way_that_loses_packets_and_is_broken_for_30_seconds(seen: dict[str, Seen]) -> None:
    """The worker behind it goes on meanwhile; nothing is lost, OK, with a note."""
    run = seen["parted"]
    left = run.left
    assert (left.code, left.run["verdict"], run.codes) == (0, "OK", {"far": 0, "near": 0}), left.words
    assert [step["ended_by"] for step in left.run["steps"]] == ["window", "window"]
    assert all(facts["clock_error_ms"] >= 100 for facts in left.run["workers"].values())
    assert all(lost > 0 for lost in run.lost)
    far = run.worker("far")
    note = next(reason for reason in left.run["reasons"] if reason.startswith(f"worker {far} was not heard for "))
    assert 30 <= float(note.split()[6]) <= 60
    machines.whole(left)
    locusts.agree(run.truth, left.records)
    sent = [row["sent_at"] for row in left.records if row["worker"] == far]
    assert went_on(sent, run.at, run.at + PARTED_S)


def test_a_way_that_stays_broken(seen: dict[str, Seen]) -> None:
    """After a minute both give up: the master ends the run without the worker, DEGRADED; the worker stops its load.

    It keeps its spool and ends by itself with exit code 6. `collect` makes the run whole: the server's own count.
    """
    run = seen["gone"]
    left = run.left
    assert (left.code, left.run["verdict"], run.codes) == (5, "DEGRADED", {"far": 6, "near": 0}), left.words
    far, near = run.worker("far"), run.worker("near")
    assert any(
        reason.startswith(f"worker {far} went missing in mid-run: not heard for 6") for reason in left.run["reasons"]
    )
    assert left.run["accounting"][near]["lost"] == 0
    assert left.run["steps"][0]["ended_by"] == "window"
    _, _, spooled = kept(run.workers["far"])
    assert max(row["sent_at"] for row in spooled) < run.at + 75
    assert went_on([row["sent_at"] for row in spooled], run.at, run.at + 55)
    assert len(left.records) < len(run.truth())
    assert "Traceback" not in run.workers["far"].words()  # Locust's own, of a way that takes no more
    whole = machines.collected(left.folder, *spools(run.workers["far"]))
    assert (whole.code, whole.run["verdict"]) == (5, "DEGRADED"), whole.words
    machines.whole(whole)
    locusts.agree(run.truth, whole.records)


def went_on(moments: list[float], begin: float, end: float) -> bool:
    """Whether something was sent in every five seconds between two moments."""
    all_of_them = sorted([begin, *(at for at in moments if begin < at < end), end])
    return max(after - before for before, after in itertools.pairwise(all_of_them)) < 5
