"""Machines that hear nothing of each other for a while, or for good; nobody is dead and no port refuses.

Three runs at once in networks of their own, because each spends its time waiting, and by the limits that are shipped:

    stopped   its master stands still for 20 s
    parted    100 ms each way and 5 % of the packets lost; then a worker's way to the master is broken for 30 s
    gone      a worker's way to the master is broken and stays so

They take more than a minute and next to nothing of the machine. They are a process of its own, so that threads may
play them side by side; test_silence.py looks at what they have left.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.drive.locusts import Left, Running, scenario
from tests.machines import machines, relay
from tests.machines.machines import Network, Site, inside, truth
from tests.simulate import child

STOPPED_S = 20.0
PARTED_S = 30.0
LIMIT_S = 240.0
"""They take a third of it."""
FOUND = "found.json"


@dataclass(frozen=True)
class Worker:
    """A worker that has ended."""

    log: Path
    pid: int
    code: int

    def words(self) -> str:
        """What it has said."""
        return self.log.read_text(errors="replace")


@dataclass(frozen=True)
class Seen:
    """What became of one of the three."""

    home: Path
    code: int
    """Its master's exit code."""
    workers: dict[str, Worker]
    at: float
    """When it was cut off."""
    lost: list[int]
    """Packets that were lost on each worker's way."""

    @property
    def left(self) -> Left:
        """What its master left."""
        master = self.home / "master"
        return Left(self.code, master / "run", (master / "locust.log").read_text(errors="replace"))

    @property
    def tape(self) -> Path:
        """What a worker sent to the master."""
        return self.home / "tape"

    @property
    def codes(self) -> dict[str, int]:
        """Exit codes of its workers."""
        return {name: worker.code for name, worker in self.workers.items()}

    def truth(self) -> list[dict[str, Any]]:
        """The server's own lines about its requests."""
        return truth(self.home / "truth.jsonl", self.left.run)

    def worker(self, name: str) -> str:
        """The id in records of a worker."""
        pid = self.workers[name].pid
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
        self.sites[name] = site = Site(home, url, file, "0.0.0.0", self.net.name)
        self.masters[name] = self.stack.enter_context(site.master(2))
        self.workers[name] = {}
        return site

    def worker(self, run: str, name: str, where: str, **way: Any) -> None:
        """A worker of it, in that network."""
        going = self.sites[run].worker(name, network=where, **way)
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


def play(folder: Path) -> None:
    """All three, from their beginning to their end; what was found is a file then."""
    with ExitStack() as stack:
        net = stack.enter_context(machines.network(3))
        one, two, three = net.links
        stage = Stage(folder, net, stack)

        stage.run("gone", steps=[12], window_s=10.0)  # with four the way is never as full as it can be
        stage.worker("gone", "far", three.name, host=three.master, called="far-away")
        stage.worker("gone", "near", net.name)
        at = {"gone": stage.measuring("gone", 0)}
        three.cut()

        stage.run("stopped", steps=[2], window_s=10.0)
        stage.relayed("stopped", "taped", net.name, "127.0.0.1", delay_s=0.0)
        stage.worker("stopped", "other", net.name)
        stage.run("parted", steps=[2, 2], window_s=5.0)
        for name, link in (("far", one), ("near", two)):
            link.lose(5)
            stage.relayed("parted", name, link.name, link.master, delay_s=0.1)
        at["stopped"] = stage.measuring("stopped", 0)
        master = stage.masters["stopped"].process.pid
        os.kill(master, signal.SIGSTOP)
        stage.later(STOPPED_S, os.kill, master, signal.SIGCONT)
        at["parted"] = stage.measuring("parted", 1)
        one.cut()
        lost = one.lose_none()  # if what is said again after 31.75 s were lost, the next time would be too late
        stage.later(PARTED_S, one.mend)

        found: dict[str, dict[str, Any]] = {}
        for run in ("stopped", "parted", "gone"):
            code, workers = stage.masters[run].end(120).code, stage.workers[run].items()
            ended = {name: (str(one.log), one.process.pid, one.end(30).code) for name, one in workers}
            found[run] = {"code": code, "workers": ended, "at": at[run], "lost": []}
        found["parted"]["lost"] = [lost, two.lost()]
        (folder / FOUND).write_text(json.dumps(found))


@contextlib.contextmanager
def begun(folder: Path) -> Iterator[Callable[[], dict[str, Seen]]]:
    """They go on while the block runs; what is given waits for their end and tells what became of them."""
    with (log := folder / "words").open("wb") as out:
        command = [sys.executable, "-m", "tests.machines.silence", str(folder)]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def seen() -> dict[str, Seen]:
        assert process.wait(LIMIT_S) == 0, log.read_text(errors="replace")
        found = json.loads((folder / FOUND).read_text()).items()
        return {run: as_seen(folder / run, **one) for run, one in found}

    try:
        yield seen
    finally:
        process.terminate()  # it ends what it has started
        process.wait(30)


def as_seen(home: Path, workers: dict[str, tuple[str, int, int]], **rest: Any) -> Seen:
    """What was found of a run."""
    return Seen(
        home, workers={name: Worker(Path(log), pid, code) for name, (log, pid, code) in workers.items()}, **rest
    )


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended before its time"))
    play(Path(sys.argv[1]))
