"""Runs over machines that come to an end in order, and what the server itself counted meanwhile."""

import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drive import locusts, test_web
from tests.drive.locusts import Left, scenario
from tests.machines import machines, relay
from tests.machines.machines import Site, truth
from tests.simulate import child

COUNTING = """
from locust import argument_parser, events
from llmload.drive.locustfile import Mix, Steps

@events.quit.add_listener
def tell(**_):
    print("parsers:", argument_parser.default_args_dict.cache_info())
"""
"""Locust asks for its default options once for each option that comes with a spawn message, and builds a parser."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A simulator whose longer answers take 1.6 s: its URL, and its truth file."""
    path = tmp_path_factory.mktemp("truth") / "truth.jsonl"
    with child.running("--ttft-ms", "60", "--itl-ms", "40", "--truth", str(path)) as running:
        yield running.url, path


def test_streams_longer_than_the_step_and_a_worker_that_joins_late(server: tuple[str, Path], tmp_path: Path) -> None:
    """Answers of 1.6 s, windows of 1.2 s; a second worker reaches the master in the first window.

    It waits for the next step, in which it takes its share. Nobody's stream is touched when it comes, nothing is
    missing at the end, and the server counted as many requests as there are records.
    """
    url, path = server
    file = scenario(tmp_path, steps=[2, 3], window_s=1.2, warmup_requests=1, warmup_s=0.0)
    site = Site(tmp_path, url, file)
    way = locusts.free_port()
    with site.master(1) as master, site.worker("early") as early, site.worker("late", port=way) as late:
        master.until_measuring()
        with relay.running(f"127.0.0.1:{way}", f"127.0.0.1:{site.port}", tmp_path / "tape"):
            left = master.end(60)
            codes = early.end(60).code, late.end(60).code
    run = left.run
    assert (left.code, run["verdict"], run["reasons"], codes) == (0, "OK", [], (0, 0)), left.words
    machines.whole(left)
    locusts.agree(lambda: truth(path, run), left.records)
    assert {row["outcome"] for row in left.records if row["phase"] == "measure"} == {"ok"}
    assert {row["error"] for row in left.records if row["outcome"] == "cancelled"} <= {"cut at the end of the step"}
    for step, workers, n in ((0, {"w0"}, 2), (1, {"w0", "w1"}, 3)):
        row = run["steps"][step]
        sent = [one for one in left.records if one["step"] == step]
        assert {one["worker"] for one in sent} == workers
        assert row["window_ended_at"] < max(one["sent_at"] + one["end_ms"] / 1000 for one in sent if one["end_ms"])
        peak, _ = locusts.in_flight(truth(path, run), row["started_at"], row["ended_at"])
        _, mean = locusts.in_flight(truth(path, run), row["window_started_at"], row["window_ended_at"])
        assert peak == n
        assert mean > 0.7 * n  # with a user less it would be two thirds of three, or half of two


def test_two_runs_on_the_same_workers_and_ctrl_c_on_the_master(server: tuple[str, Path], tmp_path: Path) -> None:
    """The page starts one run, which ends by itself, and a second; Ctrl-C at the master ends that one and everybody.

    The same two processes worked for both. What was in flight at the stop is recorded as cancelled by the user. No
    worker's loop stood still at a spawn message: of the parsers that Locust would have built then, one was built.
    """
    (counting := tmp_path / "counting.py").write_text(COUNTING)
    url, path = server
    file = scenario(tmp_path, steps=[3], window_s=0.5, warmup_requests=1, warmup_s=0.0)
    site = Site(tmp_path, "", file)
    port = str(locusts.free_port())
    ui = f"http://127.0.0.1:{port}"
    page = ("--web-host", "127.0.0.1", "--web-port", port)
    with (
        site.master(2, *page, headless=False) as master,
        site.worker("one", file=counting) as one,
        site.worker("two") as two,
    ):
        test_web.page(ui)
        test_web.until(lambda: "2 workers connected" in master.words())
        assert test_web.press(f"{ui}/swarm", host=url)["success"]
        first = test_web.finished(master.folder)
        others = test_web.until(lambda: again(ui, url, site.home))
        second = locusts.Running(master.process, others[0].parent, master.log)
        second.until_measuring()
        master.process.send_signal(signal.SIGINT)
        left = second.end(60)
        codes = one.end(60).code, two.end(60).code
    assert (first["verdict"], first["reasons"]) == ("OK", []), left.words
    machines.whole(Left(0, master.folder, ""))
    run = left.run
    assert (left.code, run["verdict"], run["reasons"]) == (6, "INCOMPLETE", ["stopped by the user"]), left.words
    assert codes == (0, 0)
    machines.whole(left)
    cut = [row for row in left.records if row["error"] == "stopped by the user"]
    assert {row["outcome"] for row in cut} == {"cancelled"}
    assert 1 <= len(cut) <= 3
    locusts.agree(lambda: truth(path, run), left.records)
    hits, misses = re.search(r"parsers: CacheInfo\(hits=(\d+), misses=(\d+)", one.words()).groups()  # type: ignore[union-attr]
    assert int(hits) > 100
    assert int(misses) == 1
    pids = [{facts["pid"] for facts in each["workers"].values()} for each in (first, run)]
    assert pids[0] == pids[1] == {one.process.pid, two.process.pid}


def again(ui: str, url: str, home: Path) -> list[Path]:
    """Ask for another run; Locust takes a new start up to a second after it said that it stopped."""
    test_web.press(f"{ui}/swarm", host=url, duration="30s")
    time.sleep(0.5)
    return list(home.glob("*-short/run.json"))
