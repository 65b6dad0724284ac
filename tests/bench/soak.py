"""Whether anything grows through a soak: 1/50 of the time at 50 times the rate, with all that runs in a real one.

    python -m tests.bench soak
    python -m tests.bench.soak [SECONDS]

A real `llmload run soak` (its display, the master, a worker, the sampler of GPUs and server), `llmload sidecar` with
two made-up GPUs and the simulator: eight in flight, an answer in some 50 ms, six minutes, so as many requests as a
server answers in five hours. The memory of each process is taken every second. Its slope is that of the second half,
by Theil and Sen: in the first, tables and the live figures' raw values (a million at the most) fill up. What grows with
the time and not with the requests, sampler and sidecar, samples four times a second.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import orjson
import psutil

from llmload import ports
from llmload.report.soak import growth
from tests.simulate import child

SECONDS = 360.0
TOKENS = 40
FLAT_MB, FLAT_SHARE = 4.0, 0.03
"""A process that grew in the second half by no more than the larger of these is flat."""
ROLES = (("simulator", "llmload simulate"), ("sidecar", "llmload sidecar"), ("sampler", "llmload.gather"),
         ("display", "llmload run"), ("master", "llmload.drive.start"))  # fmt: skip

Seen = dict[str, list[tuple[float, float]]]


def role(process: psutil.Process) -> str:
    """What a process is, by its command; workers are forks of the master and have its command."""
    words = " ".join(process.cmdline())
    name = next((name for name, part in ROLES if part in words), "other")
    parent = process.parent()
    return "worker" if name == "master" and parent and "llmload.drive.start" in " ".join(parent.cmdline()) else name


def measure(seconds: float, folder: Path) -> Seen:
    """One soak with its run folder in `folder`; the memory of each process in MB over time."""
    seen: Seen = {}
    port = ports.free()
    program = [sys.executable, "-m", "llmload"]
    sidecar = [*program, "sidecar", "--fake", "2", "--port", str(port), "--interval", "250ms"]
    with child.running("--ttft-ms", "5", "--itl-ms", "1", "--answer-tokens", f"fixed:{TOKENS}") as server:
        command = [*program, "run", "soak", "--host", server.url, "--duration", f"{seconds:g}", "--steps", "1,8,1"]
        command += ["--set", "load.window_s=5", "--set", "load.warmup_s=1", "--bucket", f"{seconds / 6:g}"]
        command += ["--run-folder", str(folder / "run"), "--metrics-port", "0", "--sample-every", "250ms"]
        command += ["--gpu", f"http://127.0.0.1:{port}/metrics"]
        with subprocess.Popen(sidecar, stdout=subprocess.DEVNULL) as beside:
            time.sleep(2)
            with (folder / "said").open("wb") as said, subprocess.Popen(command, stdout=said) as run:
                watch(run, [beside.pid, server.process.pid], seen, folder / "run" / "run.json")
            beside.terminate()
    return seen


def watch(run: "subprocess.Popen[bytes]", others: list[int], seen: Seen, file: Path) -> None:
    """Look at every process once a second while the long window is open."""
    while run.poll() is None:
        time.sleep(1)
        try:
            steps = orjson.loads(file.read_bytes())["steps"]
            row = steps[1]
        except (OSError, orjson.JSONDecodeError, LookupError):
            continue
        if row["window_started_at"] is None or row["window_ended_at"] is not None:
            continue
        for pid in [*others, run.pid, *(item.pid for item in psutil.Process(run.pid).children(recursive=True))]:
            try:
                process = psutil.Process(pid)
                seen.setdefault(role(process), []).append((time.monotonic(), process.memory_info().rss / 1e6))
            except psutil.Error:
                continue


def main(seconds: float = SECONDS) -> None:
    """Print a line for each process; ends with 1 if any grows."""
    print(f"{os.cpu_count()} cores, load before: {os.getloadavg()[0]:.1f}; {seconds:g} s", flush=True)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        seen = measure(seconds, folder)
        with (folder / "run" / "requests.jsonl").open("rb") as file:
            records = sum(1 for _ in file)
        size = sum(path.stat().st_size for path in (folder / "run").rglob("*") if path.is_file())
        verdicts = ",".join(re.findall(r"^ (?:soak|verdict): .*$", (folder / "said").read_text(), re.MULTILINE))
    print(f"{records:,} records, {records / seconds:.0f} a second; run folder {size / 1e6:,.0f} MB;{verdicts}")
    print("| process | MB at the begin, half, end | growth in the second half | |")
    print("| --- | --- | --- | --- |")
    grows = []
    for name, points in seen.items():
        at, rss = np.array([t for t, _ in points]), np.array([mb for _, mb in points])
        late = at >= at[0] + (at[-1] - at[0]) / 2
        slope = growth.slope(at[late], rss[late])
        if slope is None:
            print(f"| {name} | too few looks | | |")
            grows.append(name)
            continue
        grew = slope.per_hour * (at[-1] - at[0]) / 2 / 3600
        flat = grew <= max(FLAT_MB, FLAT_SHARE * rss[-1])
        grows += [] if flat else [name]
        half = rss[np.argmax(late)]
        print(f"| {name} | {rss[0]:.0f}, {half:.0f}, {rss[-1]:.0f} | {grew:+.2f} MB | {'flat' if flat else 'GROWS'} |")
    if missing := {name for name, _ in ROLES} - seen.keys() | ({"worker"} - seen.keys()):
        print(f"never seen: {', '.join(sorted(missing))}")
        grows += missing
    if grows:
        raise SystemExit(1)


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
