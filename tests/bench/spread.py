"""Four worker processes beside one, on one machine, against `llmload simulate`: events a second and CPU of an event.

    python -m tests.bench.spread [SECONDS]

Two loads: one that a single worker can carry (512 streams at 50 events/s), and one that it cannot (1,024 at 100). All
of it shares the machine's cores, the simulator and the master too: on two cores four workers win nothing at the second
load, and pay for it at the first.
"""

import contextlib
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.drive.locusts import locust, scenario
from tests.simulate import child

LOADS = ((512, 50.0), (1024, 100.0))
PROCESSES = (1, 4)
TOKENS = 400
TTFT_MS = 100

CLASS = f"""
[[class]]
name = "stream"
source = "builtin:short"
input_tokens = 60
max_tokens = {TOKENS}
prompts = 10
"""


@dataclass(frozen=True, slots=True)
class Spread:
    """One run."""

    events_per_s: float
    workers_us: float
    """CPU of all workers, for an event."""
    master_share: float
    simulator_share: float
    lag_p99_ms: float


def measure(streams: int, per_stream: float, processes: int, seconds: float) -> Spread:
    """One run of so many seconds."""
    arguments = ("--ttft-ms", str(TTFT_MS), "--itl-ms", str(1000 / per_stream))
    with tempfile.TemporaryDirectory() as name, child.running(*arguments) as server:
        folder = Path(name)
        file = scenario(folder, steps=[streams], window_s=seconds, warmup_requests=1, warmup_s=1.0, drain_limit_s=30)
        head, _, _ = file.read_text().partition("[[class]]")
        file.write_text(head + CLASS)
        words = ["--scenario", str(file), "-H", server.url, "--processes", str(processes), "--metrics-port", "0"]
        with locust(folder, *words) as running:
            running.until(lambda run: run.get("steps") and run["steps"][0]["window_started_at"], 120)
            both = [psutil.Process(pid) for pid in (running.process.pid, server.process.pid)]
            before = [cpu_s(process) for process in both]
            step = running.until(lambda run: run["steps"][0]["window_ended_at"], seconds + 120)["steps"][0]
            master, simulator = (cpu_s(process) - used for process, used in zip(both, before, strict=True))
            left = running.end(180)
        begin, end = step["window_started_at"], step["window_ended_at"]
        inside = [row for row in left.samples if begin + 1 <= row["at"] <= end]
        events = sum(row["events"] for row in inside)
        lags = sorted(lag for row in inside for lag in row["loop_lag_ms"])
    return Spread(
        events_per_s=events / len({int(row["at"] - begin) for row in inside}),
        workers_us=sum(row["cpu"] for row in inside) / events * 1e6,
        master_share=master / (end - begin),
        simulator_share=simulator / (end - begin),
        lag_p99_ms=lags[int(len(lags) * 0.99)],
    )


def cpu_s(process: psutil.Process) -> float:
    """CPU seconds of a process so far."""
    with contextlib.suppress(psutil.Error):
        used = process.cpu_times()
        return float(used.user + used.system)
    return 0.0


def main(seconds: float = 15.0) -> None:
    """Print one row for each load and number of processes."""
    print(f"{os.cpu_count()} cores for simulator, master and workers; load before: {os.getloadavg()[0]:.1f}")
    print("| streams x events/s | workers | events/s | of those due | CPU/event | loop lag p99 | simulator | master |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for streams, per_stream in LOADS:
        # a stream is idle for TTFT and the gap to the next request: what is due is a little under the product
        due = streams * TOKENS / (TTFT_MS / 1000 + (TOKENS - 1) / per_stream)
        for processes in PROCESSES:
            found = measure(streams, per_stream, processes, seconds)
            print(
                f"| {streams:,} x {per_stream:g} | {processes} | {found.events_per_s:,.0f} "
                f"| {found.events_per_s / due:.0%} | {found.workers_us:.1f} µs | {found.lag_p99_ms:.1f} ms "
                f"| {found.simulator_share:.0%} of a core | {found.master_share:.0%} |",
                flush=True,
            )


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
