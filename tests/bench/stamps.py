"""How true the stamps are and what an event costs, beside two other ways of reading, in one run on this machine.

Each row is one worker process that reads streams of 50 events/s from one server process (`source.py`), with nothing
else to do and with both cores kept busy by other processes. The reader's stamp minus the server's own clock is the
error; the CPU of the whole worker process over its events is the cost. Figures of a shared machine: look at the rows
of one run beside each other.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from tests.bench.reader import READERS

STREAMS = (32, 512)
WARM_S = {32: 4.5, 512: 5.0}
WINDOW_S = 5.0
FULL = 0.97
"""Share of the events that were due below which a reader (or the server) did not keep up."""


@dataclass(frozen=True, slots=True)
class Row:
    """One reader under one load."""

    reader: str
    streams: int
    busy: bool
    cpu_us: float
    p50_us: float
    p99_us: float
    max_us: float
    kept_up: float
    """Events read over events due."""


@contextlib.contextmanager
def serving() -> Iterator[int]:
    """The port of a server process."""
    with subprocess.Popen([sys.executable, "-m", "tests.bench.source"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


@contextlib.contextmanager
def both_cores_busy(busy: bool) -> Iterator[None]:
    """One process that does nothing but compute for each core, if asked for."""
    burners = (
        [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 2)]
        if busy
        else []
    )
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def measured(reader: str, streams: int, busy: bool) -> Row | None:
    """Run one worker against a server of its own; None if it failed."""
    with serving() as port, both_cores_busy(busy):
        command = [sys.executable, "-m", "tests.bench.reader", reader, str(port), str(streams)]
        command += ["--warm-s", str(WARM_S[streams]), "--window-s", str(WINDOW_S)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != 0 or not done.stdout:
        print(f"{reader} at {streams} streams failed: {done.stderr.strip()[-300:]}", file=sys.stderr)
        return None
    told = json.loads(done.stdout)
    due = (
        streams * 50 * told["window_s"] * 200 / 201
    )  # behind 200 tokens each stream sends its end in a turn of its own
    return Row(
        reader, streams, busy, told["cpu_s"] / max(told["events"], 1) * 1e6, told["p50"] * 1e3, told["p99"] * 1e3,
        told["max"] * 1e3, told["events"] / due,
    )  # fmt: skip


def us(value: float) -> str:
    """Microseconds, or milliseconds where they are many."""
    return f"{value:.0f} µs" if value < 1000 else f"{value / 1000:.1f} ms"


def table_of(rows: list[Row]) -> Table:
    """All rows, for people."""
    table = Table(title="stamp error and CPU per event, 50 events/s a stream, 200 tokens a request")
    for name in ("reader", "streams", "cores", "CPU/event", "error p50", "p99", "max", "kept up"):
        table.add_column(name, justify="left" if name in {"reader", "cores"} else "right")
    for row in rows:
        kept = f"{row.kept_up:.0%}" + ("" if row.kept_up >= FULL else " !")
        cores = "both busy" if row.busy else "idle"
        figures = (f"{row.cpu_us:.1f} µs", us(row.p50_us), us(row.p99_us), us(row.max_us), kept)
        table.add_row(row.reader, str(row.streams), cores, *figures)
    return table


def goals(rows: list[Row]) -> list[str]:
    """Which goals are met, in words."""
    found = {(row.reader, row.streams, row.busy): row for row in rows}
    told = []

    def judge(row: Row, what: str, value: float, limit: float, unit: str = "µs") -> None:
        verdict = "met   " if value <= limit else f"MISSED by {value / limit - 1:.0%}"
        if row.kept_up < FULL:
            verdict = f"NOT JUDGED ({row.kept_up:.0%} of the events)"
        told.append(f"{verdict}  {what}: {value:.3g} {unit}, goal at most {limit:g} {unit}")

    for streams, limit in ((32, 45.0), (512, 25.0)):
        if row := found.get(("llmload", streams, False)):
            judge(row, f"CPU per event, {streams} streams", row.cpu_us, limit)
    ours, stock = found.get(("llmload", 32, False)), found.get(("openai", 32, False))
    if ours and stock:
        judge(
            ours, "CPU per event over that of the stock SDK loop, 32 streams", ours.cpu_us / stock.cpu_us, 0.2, "times"
        )
    for streams in STREAMS:
        for busy, limit in ((False, 100.0), (True, 300.0)):
            if row := found.get(("llmload", streams, busy)):
                judge(
                    row,
                    f"stamp error p99, {streams} streams, {'both cores busy' if busy else 'idle'}",
                    row.p99_us,
                    limit,
                )
    return told


def main() -> None:
    """Measure everything once, in under three minutes, and print it."""
    rows = []
    for busy in (False, True):
        for streams in STREAMS:
            for reader in READERS:
                if (row := measured(reader, streams, busy)) is not None:
                    rows.append(row)
                    print(
                        f"{reader} {streams}{' busy' if busy else ''}: {row.cpu_us:.1f} µs", file=sys.stderr, flush=True
                    )
    console = Console(width=110)
    console.print(table_of(rows))
    console.print("kept up: events read over events due; under 97 % (!) the reader or the server was at its end, and")
    console.print("errors are then those of a queue. 'Busy' takes both cores away from reader and server alike.")
    for line in goals(rows):
        console.print(line, highlight=False)


if __name__ == "__main__":
    main()
