"""Machines for tests: a master and workers that share no folder, and networks of their own between them.

Whatever makes a process one of another machine happens in the process itself, so that a process id and a signal mean
Locust: elsewhere.py, or a program of the system that changes something and then becomes the command that follows.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llmload.record import spool
from tests.drive import locusts
from tests.drive.locusts import Left, Running

ELSEWHERE = Path(__file__).parent / "elsewhere.py"

OWN_SPOOL = "llmload-spool"
"""Where a worker keeps its spools that does not see the run folder, below the folder in which it was started."""

AGAIN = "250ms"
"""TCP says again what nobody acknowledged after so long, then after twice that, and so on: 15.75 s after the first
time, 31.75 s, 63.75 s. By its usual 200 ms it might do so after 29.9 s, and not again until 60 s: where 30 s of silence
are to be survived and 60 s are the limit, that would be left to chance."""

NEED = "these tests make network namespaces: they need root with CAP_NET_ADMIN and the packages iproute2 and nftables"


def apart(folder: Path) -> tuple[str, ...]:
    """Become a command on another machine: it does not see what is in a folder."""
    return ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs "$0" && exec "$@"', str(folder))


def inside(name: str) -> tuple[str, ...]:
    """Become a command in a network of its own."""
    return ("ip", "netns", "exec", name)


def do(*command: str, given: str | None = None) -> str:
    """Run a program of the system; the test fails with its words if it does."""
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise AssertionError(f"{command[0]} is not installed; {NEED}") from None
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr.strip()}; {NEED}"
    return done.stdout


@dataclass(frozen=True)
class Link:
    """A worker's machine: its network, and two ways to the master's.

    One, `control`, is for Locust's messages; over the other it reaches the endpoint, whatever happens to the first.
    """

    name: str
    master: str
    """The master's address on the control way."""

    def cut(self) -> None:
        """The control way is broken: nothing comes through, and nobody is told."""
        do("ip", "-n", self.name, "link", "set", "control", "down")

    def mend(self) -> None:
        """It is there again."""
        do("ip", "-n", self.name, "link", "set", "control", "up")

    def lose(self, percent: int) -> None:
        """So many of a hundred packets are lost on the control way from now on, either way."""
        rule = f'"control" numgen random mod 100 < {percent} counter drop;'
        chains = "".join(
            f"chain {hook} {{ type filter hook {hook} priority 0; {side} {rule} }}\n"
            for hook, side in (("input", "iifname"), ("output", "oifname"))
        )
        do(*inside(self.name), "nft", "-f", "-", given=f"table inet llmload {{\n{chains}}}\n")

    def lose_none(self) -> int:
        """From now on none is lost; how many were."""
        lost = self.lost()
        do(*inside(self.name), "nft", "delete", "table", "inet", "llmload")
        return lost

    def lost(self) -> int:
        """Packets that were lost so far."""
        said = do(*inside(self.name), "nft", "list", "ruleset")
        return sum(int(line.partition("packets ")[2].split()[0]) for line in said.splitlines() if "packets " in line)


@dataclass(frozen=True)
class Network:
    """The master's network, in which the endpoint is too, and those of the workers."""

    name: str
    endpoint: str
    """The address at which everybody reaches the endpoint."""
    links: list[Link]


@contextlib.contextmanager
def network(workers: int) -> Iterator[Network]:
    """So many machines and the master's, joined by nothing but their own wires, while the block runs."""
    master, endpoint = f"llmload-{os.getpid()}-m", "10.77.255.1"
    made: list[str] = []
    try:
        do("ip", "netns", "add", master)
        made.append(master)
        do("ip", "-n", master, "link", "set", "lo", "up")
        do("ip", "-n", master, "address", "add", f"{endpoint}/32", "dev", "lo")
        links = []
        for number in range(1, workers + 1):
            name = f"llmload-{os.getpid()}-w{number}"
            do("ip", "netns", "add", name)
            made.append(name)
            do("ip", "-n", name, "link", "set", "lo", "up")
            for way, net in (("control", f"10.77.{number}"), ("load", f"10.78.{number}")):
                there = f"{way}{number}"
                do("ip", "-n", name, "link", "add", way, "type", "veth", "peer", "name", there, "netns", master)
                for where, wire, host in ((master, there, 1), (name, way, 2)):
                    do("ip", "-n", where, "address", "add", f"{net}.{host}/30", "dev", wire)
                    do("ip", "-n", where, "link", "set", wire, "up")
                    route = (f"{net}.0/30", "dev", wire, "proto", "kernel", "scope", "link", "src", f"{net}.{host}")
                    do("ip", "-n", where, "route", "replace", *route, "rto_min", AGAIN)
            do("ip", "-n", name, "route", "add", endpoint, "via", f"10.78.{number}.1")
            links.append(Link(name, f"10.77.{number}.1"))
        yield Network(master, endpoint, links)
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "delete", name], check=False)


@contextlib.contextmanager
def disk(folder: Path, size: str) -> Iterator[None]:
    """A disk of that size of its own at a folder, while the block runs."""
    folder.mkdir(parents=True, exist_ok=True)
    do("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder))
    try:
        yield
    finally:
        do("umount", "--lazy", str(folder))


@dataclass
class Site:
    """A place for one run: the master's folder, the workers' folders beside it, and the port between them."""

    folder: Path
    url: str
    scenario: Path
    bind: str = "127.0.0.1"
    network: str = ""
    """The master's network, if it has one of its own."""

    def __post_init__(self) -> None:
        self.port = locusts.free_port()
        self.home = self.folder / "master"
        self.home.mkdir(parents=True, exist_ok=True)

    def master(self, workers: int, *more: str, headless: bool = True) -> Any:
        """The master, which waits for so many workers."""
        arguments = ["--scenario", str(self.scenario), "--master", *(["-H", self.url] if self.url else [])]
        if headless:
            arguments += ["--expect-workers", str(workers)]
        bound = ("--master-bind-host", self.bind, "--master-bind-port", str(self.port))
        there = {"file": ELSEWHERE, "ELSEWHERE_NETWORK": self.network} if self.network else {}
        return locusts.locust(self.home, *arguments, *bound, *more, headless=headless, **there)

    def worker(
        self,
        name: str,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        file: Path | None = None,
        network: str = "",
        called: str = "",
    ) -> Any:
        """A worker on another machine: it sees nothing of the master's folder and keeps its spool in its own.

        It is in a network, if one is given; its machine is `called` so, or else like the master's, which can then see
        at once whether its process is dead. A `file` of its own stands for the usual locustfile.
        """
        (folder := self.folder / name).mkdir()
        words = ("--worker", "--master-host", host, "--master-port", str(port or self.port))
        if file is not None:
            return locusts.locust(folder, *words, file=file, headless=False, before=apart(self.home))
        there = {"ELSEWHERE_NETWORK": network, "ELSEWHERE_UNSEEN": str(self.home), "ELSEWHERE_NAME": called}
        return locusts.locust(folder, *words, file=ELSEWHERE, headless=False, **there)


def spools(worker: Running) -> list[Path]:
    """The spools that a worker on another machine keeps."""
    return sorted((worker.log.parent / OWN_SPOOL).glob("*/*.jsonl"))


def kept(worker: Running) -> tuple[int, int, list[dict[str, Any]]]:
    """What a worker's own spools hold: attempts begun, attempts ended, and their records."""
    found = [spool.read(path) for path in spools(worker)]
    records = [json.loads(line) for one in found for line in one.records.values()]
    return sum(len(one.started) for one in found), len(records), records


def truth(path: Path, run: dict[str, Any], until: float = float("inf")) -> list[dict[str, Any]]:
    """What the server itself says about the requests of a run, its preflight left out."""
    since = run["steps"][0]["started_at"]
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    return [line for line in lines if since <= line["received_at"] <= until]


def collected(folder: Path, *spools: Path) -> Left:
    """The run folder after `llmload collect` has taken these spools into it."""
    command = [sys.executable, "-m", "llmload", "collect", str(folder), *map(str, spools)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Left(done.returncode, folder, done.stdout + done.stderr)


def whole(left: Left) -> None:
    """Every worker's attempts are there: started = finished = received, and no seq is missing or there twice."""
    run = left.run
    by_worker: dict[str, list[int]] = {worker: [] for worker in run["accounting"]}
    for row in left.records:
        by_worker[row["worker"]].append(row["seq"])
    for worker, seqs in by_worker.items():
        n = len(seqs)
        assert seqs == list(range(n)), worker
        told = run["accounting"][worker]
        assert (told["started"], told["finished"], told["received"], told["lost"]) == (n, n, n, 0), worker
