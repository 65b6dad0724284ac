"""Whether a master can take the records of 100,000 events a second, from workers that make them up, for two minutes.

    python -m tests.bench.intake [SECONDS]

A real master and four real worker processes whose client sends nothing (`made.py`): 1,200 requests in flight, each a
little over a second long with a hundred gaps. Once with nothing else, and once with live figures, the live page asked
for every 2 s and /metrics every 5 s. Wanted: as many events, under 500 MB of memory that does not grow on, every
heartbeat answered, no record lost.
"""

import contextlib
import os
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import psutil

from tests.bench import made
from tests.drive.locusts import Running, free_port, locust, scenario
from tests.simulate import child

WORKERS = 4
IN_FLIGHT = 1200
FILE = Path(made.__file__)
EVENTS_PER_S = 100_000
LIMIT_MB = 500
MISSED_S = 2.0
"""A worker's heartbeats are a second apart: between two answers there is no more than this unless one was missed."""
PAGE_S, SCRAPE_S = 2, 5


@dataclass(frozen=True, slots=True)
class Taken:
    """One run."""

    name: str
    records: int
    lost: int
    window_s: float
    events: int
    cpu_share: float
    """Of one core, over the window."""
    rss_mb: tuple[float, float, float]
    """At the window's begin, at its end, and the most."""
    answers_s: Sequence[float]
    """Times between two answers to a worker's heartbeats, of all workers."""
    slowest_s: float
    """The longest that the page or /metrics took."""
    verdict: str


def measure(name: str, seconds: float, *, live: bool) -> Taken:
    """One run of so many seconds."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(child.running())
        file = scenario(
            folder, steps=[IN_FLIGHT], window_s=seconds, warmup_requests=1, warmup_s=0.0, window_cap_s=seconds + 60
        )
        port, web, metrics = str(free_port()), free_port(), free_port()
        words = ["--scenario", str(file), "-H", server.url, "--master", "--master-bind-port", port]
        words += ["--expect-workers", str(WORKERS), "--metrics-port", str(metrics if live else 0)]
        words += ["--autostart", "--autoquit", "0", "--web-port", str(web), "--web-host", "127.0.0.1"] if live else []
        names = {} if live else {made.PLAIN: "1"}
        master = stack.enter_context(locust(folder, *words, file=FILE, headless=not live, **names))
        for number in range(WORKERS):
            (place := folder / f"worker{number}").mkdir()
            stack.enter_context(locust(place, "--worker", "--master-port", port, file=FILE, headless=False))
        pages = {f"http://127.0.0.1:{web}/llmload/live": PAGE_S, f"http://127.0.0.1:{metrics}/metrics": SCRAPE_S}
        seen, slowest = watch(master, pages if live else {})
        left = master.end(180)
        if left.code not in {0, 5}:
            raise RuntimeError(left.words)
        step = left.run["steps"][0]
        begin, end = step["window_started_at"], step["window_ended_at"]
        inside = [row for row in seen if begin <= row[0] <= end]
        rows = [row for row in left.records if row["phase"] == "measure"]
        return Taken(
            name=name,
            records=len(rows),
            lost=sum(line["lost"] for line in left.run["accounting"].values()),
            window_s=end - begin,
            events=sum(row["events"] for row in rows),
            cpu_share=(inside[-1][1] - inside[0][1]) / (inside[-1][0] - inside[0][0]),
            rss_mb=(inside[0][2], inside[-1][2], max(row[2] for row in seen)),
            answers_s=sorted(answers(folder)),
            slowest_s=slowest,
            verdict=" ".join([left.run["verdict"], *left.run["reasons"]]),
        )


def watch(master: Running, pages: dict[str, int]) -> tuple[list[tuple[float, float, float]], float]:
    """Time, CPU seconds and memory of the master once a second until it ends; the longest that a page took."""
    process = psutil.Process(master.process.pid)
    seen: list[tuple[float, float, float]] = []
    slowest = 0.0
    while master.process.poll() is None:
        with contextlib.suppress(psutil.Error):
            used = process.cpu_times()
            seen.append((time.time(), used.user + used.system, process.memory_info().rss / 1e6))
        for page, every_s in pages.items():
            if len(seen) % every_s == 0 and master.run().get("steps"):
                began = time.monotonic()
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(page, timeout=30).read()
                    slowest = max(slowest, time.monotonic() - began)
        time.sleep(1.0)
    return seen, slowest


def answers(folder: Path) -> Iterator[float]:
    """Times between two answers to heartbeats."""
    for path in folder.glob(f"*/{made.HEARTBEATS}"):
        yield from (after - before for before, after in pairwise(map(float, path.read_text().split())))


def main(seconds: float = 120.0) -> None:
    """Print both runs and what became of the goals."""
    print(f"{WORKERS} workers, {os.cpu_count()} cores, load before: {os.getloadavg()[0]:.1f}", flush=True)
    print("| master | records/s | events/s | CPU | memory begin, end, most | heartbeats p50, max | page | lost |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for name, live in (("records alone", False), ("with live page and metrics", True)):
        taken = measure(name, seconds, live=live)
        begin, end, most = taken.rss_mb
        middle = taken.answers_s[len(taken.answers_s) // 2]
        print(
            f"| {name} | {taken.records / taken.window_s:,.0f} | {taken.events / taken.window_s:,.0f} "
            f"| {taken.cpu_share:.0%} of a core | {begin:.0f}, {end:.0f}, {most:.0f} MB "
            f"| {middle:.2f}, {taken.answers_s[-1]:.2f} s | {taken.slowest_s * 1000:.0f} ms at most | {taken.lost} |"
        )
        missed = sum(span > MISSED_S for span in taken.answers_s)
        good = taken.events / taken.window_s >= EVENTS_PER_S and most < LIMIT_MB and not missed and not taken.lost
        print(
            f"{'met' if good else 'MISSED'}: {most:.0f} MB (goal: under {LIMIT_MB}), {missed} heartbeats missed, "
            f"{taken.lost} records lost; verdict: {taken.verdict}",
            flush=True,
        )


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
