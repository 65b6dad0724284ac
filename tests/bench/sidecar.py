"""What the sidecar costs: CPU, calls into NVML, how long a look takes, and whether its memory stays as it is.

The driver is the tests' stand-in, whose calls read a small file and wait for nothing: most of what is measured is the
sidecar's own work. What a real driver's calls take comes on top; its page tells it (`collect_duration`).
"""

import json
import re
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil

from tests.sidecar import stub
from tests.sidecar.child import Child, running

SECONDS = 20.0
SCRAPES = 3000


def cost(folder: Path, gpus: int, every_s: float) -> str:
    """A row: so many GPUs, read so often, scraped once a second."""
    folder.mkdir()
    driver = stub.build(folder, gpus)
    lines = folder / "gpu.jsonl"
    with running("--interval", f"{every_s}s", "--jsonl", str(lines), env=driver.env()) as child:
        child.first()
        process = psutil.Process(child.process.pid)
        begun, calls, cpu = time.monotonic(), made(child), spent(process)
        while (gone := time.monotonic() - begun) < SECONDS:
            time.sleep(min(1.0, SECONDS - gone))
            child.page()
        calls, cpu, gone = made(child) - calls, spent(process) - cpu, time.monotonic() - begun
    took = [line["took_ms"] for line in map(json.loads, lines.read_bytes().splitlines()) if "gpus" in line]
    p50, p99 = np.percentile(took, (50, 99))
    return f"| {gpus} | {every_s:g} s | {cpu / gone:.2%} | {calls / gone:.0f} | {p50:.2f} | {p99:.2f} | {len(took)} |"


def made(child: Child) -> float:
    """Calls into the library so far."""
    return child.value("backend_calls_total") or 0.0


def spent(process: psutil.Process) -> float:
    """CPU seconds so far."""
    times = process.cpu_times()
    return float(times.user + times.system)


def memory(folder: Path) -> None:
    """Many looks and scrapes of eight GPUs: resident memory along them, and what a scrape costs."""
    folder.mkdir()
    with running("--interval", "250ms", env=stub.build(folder, 8).env()) as child:
        child.first()
        process = psutil.Process(child.process.pid)
        sizes, cpu = [], spent(process)
        for scrape in range(SCRAPES + 1):
            body = child.ask("/metrics")[1]
            if scrape % (SCRAPES // 5) == 0:
                sizes.append(process.memory_info().rss / 2**20)
        each_ms = (spent(process) - cpu) / SCRAPES * 1e3
    sizes_told = ", ".join(f"{size:.1f}" for size in sizes)
    lines = len(re.findall(r"^llmload_", body, re.MULTILINE))
    print(
        f"\n{SCRAPES} scrapes of {len(body) / 1024:.0f} KiB ({lines} series): {each_ms:.2f} ms of CPU each, with looks"
    )
    print(f"resident memory from the first to the last: {sizes_told} MiB")


def main() -> None:
    """Print the table."""
    print("| GPUs | read every | share of a core | calls/s | a look p50 ms | p99 ms | looks |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        for gpus, every_s in ((1, 1.0), (8, 1.0), (1, 0.25), (8, 0.25)):
            print(cost(Path(name) / f"{gpus}-{every_s}", gpus, every_s), flush=True)
        memory(Path(name) / "memory")
