"""How long the reporter takes and how much memory it needs, over a made-up run of many records.

    python -m tests.bench.report [RECORDS [STEP…]]

The run is written first, which is not timed; the report is built in a process of its own, so that its peak memory is
its own. Five steps, three classes, about 130 tokens an answer. Wanted: a million records in 60 s and 4 GB.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.report.synthetic import believable

BUILD = """
import os, resource, sys, time
from pathlib import Path
began = time.perf_counter()
from llmload import report
from llmload.report import building, files
imported = time.perf_counter()
built = building.compute(Path(sys.argv[1]))
computed = time.perf_counter()
files.write(built)
written = time.perf_counter()
used = resource.getrusage(resource.RUSAGE_SELF)
peak = used.ru_maxrss * 1024 / 1e9
print(f"import {imported - began:.1f} s, figures {computed - imported:.1f} s, files {written - computed:.1f} s")
print(f"time: {written - began:.1f} s wall, {used.ru_utime:.1f} s user, {used.ru_stime:.1f} s system CPU; "
      f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
print(f"memory: {peak:.2f} GB at the most")
"""

SECONDS, GIGABYTES = 60, 4
"""Limits, for a million records."""


def main(wanted: int = 100_000, levels: Sequence[int] = (1, 4, 8, 16, 32)) -> None:
    """Write a run of so many records and time its report."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        path = believable(Path(folder) / "run", levels, window_s=1e9, most=wanted // len(levels))
        took = time.perf_counter() - began
        size = (path / "requests.jsonl").stat().st_size
        with (path / "requests.jsonl").open("rb") as file:
            records = sum(1 for _ in file)
        print(f"{records:,} records, {size / 2**20:,.0f} MiB, written in {took:.0f} s", flush=True)
        subprocess.run([sys.executable, "-c", BUILD, os.fspath(path)], check=True)
        print(f"limits for a million records: {SECONDS} s, {GIGABYTES} GB")


def soak() -> None:
    """One step held for days, in hours: each compared with the first."""
    main(510_000, (8,))


def million() -> None:
    """The size that the limits are for."""
    main(1_000_000)


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    main(*numbers[:1], *([numbers[1:]] if numbers[1:] else []))
