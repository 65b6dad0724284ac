"""Workers and masters that die in mid-run, on machines that share no disk."""

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.drive import locusts
from tests.drive.locusts import Left, scenario
from tests.machines import machines, relay
from tests.machines.machines import Site, kept, spools, truth
from tests.simulate import child


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A simulator: its URL, and its truth file."""
    path = tmp_path_factory.mktemp("truth") / "truth.jsonl"
    with child.running("--ttft-ms", "60", "--itl-ms", "20", "--truth", str(path)) as running:
        yield running.url, path


def test_one_of_four_workers_is_killed_and_another_is_told_to_go(server: tuple[str, Path], tmp_path: Path) -> None:
    """J11: `kill -9` in the window of the first step, SIGTERM in that of the second: no hang, and DEGRADED.

    What the killed one had handed over is kept, what it had begun since is lost and said to be; the one that was told
    to go loses nothing. The steps show the load that there really was. When the machine of the killed one is back,
    `collect` completes the run: the server's own count, less an end for the two requests that it was busy with.
    """
    url, path = server
    file = scenario(tmp_path, steps=[8, 6], window_s=2.0, warmup_requests=1, warmup_s=0.0)
    site = Site(tmp_path, url, file)
    with ExitStack() as stack:
        master = stack.enter_context(site.master(4))
        workers = {name: stack.enter_context(site.worker(name)) for name in ("one", "two", "three", "four")}
        master.until_measuring(0)
        time.sleep(1)
        workers["one"].process.kill()
        master.until_measuring(1)
        time.sleep(1)
        workers["two"].process.send_signal(signal.SIGTERM)
        left = master.end(60)
        codes = [workers[name].end(60).code for name in ("two", "three", "four")]
    run = left.run
    assert (left.code, run["verdict"]) == (5, "DEGRADED"), left.words
    assert codes == [6, 0, 0]
    assert [step["ended_by"] for step in run["steps"]] == ["window", "window"]
    names = {facts["pid"]: worker for worker, facts in run["workers"].items()}
    killed, told = names[workers["one"].process.pid], names[workers["two"].process.pid]
    reasons = " | ".join(run["reasons"])
    assert f"worker {killed} went missing in mid-run: its process is dead" in reasons
    assert f"worker {told} left in mid-run" in reasons
    for worker, line in run["accounting"].items():
        assert line["started"] == line["received"] + line["lost"]
        assert line["received"] == sum(row["worker"] == worker for row in left.records)
        assert (line["lost"] > 0) == (worker == killed), line
    gone = [row for row in left.records if row["error"] == "cut because its worker had to leave"]
    assert {(row["worker"], row["outcome"]) for row in gone} == {(told, "cancelled")}

    seen = truth(path, run)
    mine = [line["end_at"] for line in seen if line["client_request"].startswith(f"{run['run']}-{killed}-")]
    most, _ = locusts.in_flight(seen, max(mine), run["steps"][0]["window_ended_at"])
    assert most == 6  # and neither 8 nor 4
    assert 1 <= run["accounting"][killed]["lost"] <= 4

    whole = machines.collected(left.folder, *spools(workers["one"]))
    assert whole.code == 5, whole.words
    begun, _, records = kept(workers["one"])
    told_now, n = whole.run["accounting"][killed], len(records)
    assert told_now == {"started": begun, "finished": n, "received": n, "lost": begun - n}
    assert 1 <= told_now["lost"] <= 2
    locusts.agree(lambda: truth(path, run), whole.records, lost=told_now["lost"])
    assert [row["seq"] for row in whole.records if row["worker"] == killed] == sorted(row["seq"] for row in records)


def test_a_master_that_is_killed(server: tuple[str, Path], tmp_path: Path) -> None:
    """Five seconds later nothing is sent, by the server's own account.

    For one worker nobody listens any more; the other finds a new master at the old address, which knows nothing of
    it. Both end with exit code 6 and keep their spools, and `collect` makes a whole run of them, with as many records
    as the server saw requests.
    """
    url, path = server
    file = scenario(tmp_path, steps=[4], window_s=30.0, warmup_requests=1, warmup_s=0.0)
    site, successor = Site(tmp_path / "first", url, file), Site(tmp_path / "second", url, file)
    way, tape = locusts.free_port(), tmp_path / "tape"
    with ExitStack() as stack:
        old = stack.enter_context(ExitStack())
        master = old.enter_context(site.master(2))
        old.enter_context(relay.running(f"127.0.0.1:{way}", f"127.0.0.1:{site.port}", tape))
        new = stack.enter_context(successor.master(2))
        one, two = stack.enter_context(site.worker("one")), stack.enter_context(site.worker("two", port=way))
        master.until_measuring()
        time.sleep(1)
        killed_at = time.time()
        old.close()
        stack.enter_context(relay.running(f"127.0.0.1:{way}", f"127.0.0.1:{successor.port}", tape))
        codes = one.end(60).code, two.end(60).code
        assert new.process.poll() is None
    assert codes == (6, 6), one.words()
    left = Left(0, master.folder, "")
    sent = truth(path, left.run)
    assert killed_at < max(line["received_at"] for line in sent) < killed_at + 5
    begun, ended, records = zip(kept(one), kept(two), strict=True)
    assert sum(begun) == sum(ended)
    locusts.agree(lambda: truth(path, left.run), [row for rows in records for row in rows])
    cut = [row["error"] for rows in records for row in rows if row["outcome"] == "cancelled"]
    assert set(cut) == {"cut because its worker had to leave"}

    assert left.run["verdict"] is None
    whole = machines.collected(left.folder, *spools(one), *spools(two))
    assert (whole.code, whole.run["verdict"]) == (6, "INCOMPLETE"), whole.words
    assert [line["lost"] for line in whole.run["accounting"].values()] == [0, 0]
    assert len(whole.records) == sum(ended)
    for rows in records:
        seqs = [row["seq"] for row in whole.records if row["worker"] == rows[0]["worker"]]
        assert seqs == sorted(row["seq"] for row in rows) == list(range(len(rows)))
