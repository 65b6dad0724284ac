"""Machines that hear nothing of each other for a while, or for good; nobody is dead and no port refuses.

Three runs at once in networks of their own, because each spends its time waiting, and by the limits that are shipped:

    stopped   its master stands still for 20 s
    parted    100 ms each way and 5 % of the packets lost; then a worker's way to the master is broken for 30 s
    gone      a worker's way to the master is broken and stays so
"""

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.drive.locusts import Left, Running, scenario
from tests.machines import machines, relay
from tests.machines.machines import Network, Site, inside, kept, spools, truth
from tests.simulate import child

pytestmark = pytest.mark.slow

STOPPED_S = 20.0
PARTED_S = 30.0


@dataclass
class Seen:
    """What became of one of the three."""

    left: Left
    truth: list[dict[str, Any]]
    """The server's own lines about its requests."""
    workers: dict[str, Running]
    codes: dict[str, int]
    """Exit codes of its workers."""
    at: float
    """When it was cut off."""
    tape: Path
    packets: list[int] = field(default_factory=list)
    """Those that were lost on each worker's way."""

    def worker(self, name: str) -> str:
        """The id in records of a worker."""
        pid = self.workers[name].process.pid
        return next(worker for worker, facts in self.left.run["workers"].items() if facts["pid"] == pid)


@dataclass
class Stage:
    """Where the three are set up."""

    folder: Path
    net: Network
    stack: ExitStack
    sites: dict[str, Site] = field(default_factory=dict)
    masters: dict[str, Running] = field(default_factory=dict)
    workers: dict[str, dict[str, Running]] = field(default_factory=dict)

    def run(self, name: str, **load: Any) -> Site:
        """A master of two workers, with a scenario and a server of its own."""
        (home := self.folder / name).mkdir()
        file = scenario(home, warmup_requests=1, warmup_s=0.0, **load)
        timing = ("--ttft-ms", "60", "--itl-ms", "20", "--truth", str(home / "truth.jsonl"))
        served = child.running("--host", self.net.endpoint, *timing, before=inside(self.net.name))
        url = self.stack.enter_context(served).url
        self.sites[name] = site = Site(home, url, file, "0.0.0.0", inside(self.net.name))
        self.masters[name] = self.stack.enter_context(site.master(2))
        self.workers[name] = {}
        return site

    def worker(self, run: str, name: str, where: str, **way: Any) -> None:
        """A worker of it, in that network."""
        going = self.sites[run].worker(name, inside=inside(where), **way)
        self.workers[run][name] = self.stack.enter_context(going)

    def relayed(self, run: str, name: str, where: str, host: str, *, delay_s: float) -> None:
        """A worker of it whose words go through a relay."""
        port, target = 7557, f"{host}:{self.sites[run].port}"  # the network has no other port than ours
        tape = self.folder / run / "tape"
        going = relay.running(f"127.0.0.1:{port}", target, tape, delay_s=delay_s, before=inside(where))
        self.stack.enter_context(going)
        self.worker(run, name, where, port=port)

    def measuring(self, run: str, step: int) -> float:
        """Wait until a window is open; now."""
        self.masters[run].until(
            lambda it: len(it.get("steps", ())) > step and it["steps"][step]["window_started_at"], 90
        )
        return time.time()

    def later(self, seconds: float, work: Callable[..., Any], *of: Any) -> None:
        """Do something so much later."""
        timer = threading.Timer(seconds, work, of)
        timer.start()
        self.stack.callback(timer.cancel)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Seen]]:
    """All three, from their beginning to their end."""
    folder = tmp_path_factory.mktemp("silence")
    with ExitStack() as stack:
        net = stack.enter_context(machines.network(3))
        one, two, three = net.links
        stage = Stage(folder, net, stack)

        stage.run("gone", steps=[12], window_s=10.0)
        stage.worker("gone", "far", three.name, host=three.master, called="far-away")
        stage.worker("gone", "near", net.name)
        at = {"gone": stage.measuring("gone", 0)}
        three.cut()

        stage.run("stopped", steps=[2], window_s=10.0)
        stage.relayed("stopped", "taped", net.name, "127.0.0.1", delay_s=0.0)
        stage.worker("stopped", "other", net.name)
        stage.run("parted", steps=[2, 2], window_s=3.0)
        for name, link in (("far", one), ("near", two)):
            link.lose(5)
            stage.relayed("parted", name, link.name, link.master, delay_s=0.1)
        at["stopped"] = stage.measuring("stopped", 0)
        master = stage.masters["stopped"].process.pid
        os.kill(master, signal.SIGSTOP)
        stage.later(STOPPED_S, os.kill, master, signal.SIGCONT)
        at["parted"] = stage.measuring("parted", 1)
        one.cut()
        stage.later(PARTED_S, one.mend)

        found = {}
        for run in ("stopped", "parted", "gone"):
            left = stage.masters[run].end(120)
            workers = stage.workers[run]
            codes = {name: worker.end(30).code for name, worker in workers.items()}
            served = truth(folder / run / "truth.jsonl", left.run)
            found[run] = Seen(left, served, workers, codes, at[run], folder / run / "tape")
        found["parted"].packets = [one.lost(), two.lost()]
        yield found


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
        assert 19 <= float(note.split()[6]) <= 24
    machines.whole(left)
    assert len(left.records) == len(run.truth)
    assert went_on([line["received_at"] for line in run.truth], run.at, run.at + STOPPED_S)
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
    assert all(lost > 0 for lost in run.packets)
    far = run.worker("far")
    note = next(reason for reason in left.run["reasons"] if reason.startswith(f"worker {far} was not heard for "))
    assert 30 <= float(note.split()[6]) <= 60
    machines.whole(left)
    assert len(left.records) == len(run.truth)
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
    assert max(row["sent_at"] for row in spooled) < run.at + 66
    assert went_on([row["sent_at"] for row in spooled], run.at, run.at + 58)
    assert len(left.records) < len(run.truth)
    assert "Traceback" not in run.workers["far"].words()  # Locust's own, of a way that takes no more
    whole = machines.collected(left.folder, *spools(run.workers["far"]))
    assert (whole.code, whole.run["verdict"]) == (5, "DEGRADED"), whole.words
    machines.whole(whole)
    assert len(whole.records) == len(run.truth)


def went_on(moments: list[float], begin: float, end: float) -> bool:
    """Whether something was sent in every five seconds between two moments."""
    all_of_them = sorted([begin, *(at for at in moments if begin < at < end), end])
    return max(after - before for before, after in itertools.pairwise(all_of_them)) < 5
