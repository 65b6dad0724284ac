"""`llmload env`: what this machine is, and its GPUs; run on the server's machine, and taken into a run from there.

The file that `--out` writes is what `llmload run --environment FILE` reads. Looks once, serves nothing, and waits for
no driver that hangs.
"""

import argparse
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from llmload.exits import Exit, Stop
from llmload.load.spans import span
from llmload.machine import facts, gpus, snapshot
from llmload.plain import one_line
from llmload.record import runfolder
from llmload.record.environment import CLIENT
from llmload.sidecar.backend import BACKENDS, Absent, Gone, Hopeless, backend
from llmload.sidecar.table import human

WIDTH = 120
"""Columns where there is no terminal."""
LOOK_S = 30.0
"""All drivers together have so long to answer."""
VENDORS = tuple(kind for kind in BACKENDS if kind != "fake")

TITLES = {
    "gpu": "GPU", "name": "name", "memory_total_bytes": "memory", "driver_version": "driver", "cuda_version": "CUDA",
    "power_limit_watts": "power limit", "sm_clock_max_hertz": "highest clock", "mig": "MIG", "processes": "processes",
}  # fmt: skip
"""Columns of the table of GPUs."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = "Run it on the server's machine: llmload env --json --out machine.json; then, where the load comes "
    parser.epilog += "from, llmload run … --environment machine.json"
    add = parser.add_argument
    add("--json", action="store_true", help="as JSON, which is what --environment of llmload run reads")
    add("--out", metavar="FILE", help="write it to a file, as JSON")
    add("--no-gpu", action="store_true", help="do not look for GPUs")
    add("--fake", metavar="N", help="play N GPUs that are not there, for trying it out")


def main(args: argparse.Namespace) -> int:
    """Look, and print or write what was found."""
    if args.fake is not None and not (args.fake.isascii() and args.fake.isdigit() and 1 <= int(args.fake) <= 64):
        raise Stop(f"--fake {args.fake}: expected a whole number, 1 to 64")
    if args.fake is not None and args.no_gpu:
        raise Stop("--fake and --no-gpu exclude each other")
    if args.out == "":
        raise Stop("--out: names no file; leave it out to print")
    found, note = (None, None) if args.no_gpu else look(None if args.fake is None else int(args.fake))
    told = snapshot.make(facts.client(), found, note)
    if args.out is not None:
        write(Path(args.out), told)
        print(f"written to {args.out}; in a run: llmload run SCENARIO --host URL --environment {args.out}")
    elif args.json:
        print(orjson.dumps(told, option=orjson.OPT_INDENT_2).decode())
    else:
        console = Console(highlight=False)
        if not console.is_terminal:
            console.width = WIDTH
        with console.capture() as capture:
            show(told, console)
        sys.stdout.writelines(f"{line.rstrip()}\n" for line in capture.get().splitlines())
    return Exit.OK


def look(fake: int | None, limit_s: float = LOOK_S) -> tuple[list[dict[str, Any]], str | None]:
    """The GPUs of this machine, and why there are none: no driver is no error here.

    A driver that hangs cannot be ended: it is left to its thread, which ends with this process.
    """
    rows: list[dict[str, Any]] = []
    reasons: list[str] = []

    def ask() -> None:
        for kind in VENDORS if fake is None else ("fake",):
            try:
                source = backend(kind, (), processes=True, count=fake or 1)
                source.open()
                try:
                    rows.extend(gpus.of_look(source.read(slow=True)))
                finally:
                    source.close()
            except (Absent, Gone, Hopeless) as error:
                reasons.append(f"{kind}: {one_line(str(error)).partition('; ')[0]}")  # its advice is the sidecar's

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(limit_s)
    if thread.is_alive():
        reasons.append(f"a driver did not answer within {span(limit_s)}")
    seen = list(rows)
    return seen, None if seen else f"no GPU found: {'; '.join(reasons) or 'the driver tells of none'}"


def write(path: Path, told: Mapping[str, Any]) -> None:
    """Write the file, whole or not at all. Raises Stop(USAGE)."""
    try:
        runfolder.write_json(path, told)
    except OSError as error:
        raise Stop(f"--out {path}: cannot be written: {error.strerror}") from None


def show(told: Mapping[str, Any], console: Console) -> None:
    """The same for people; what is not known says so."""
    table = Table(box=None, show_header=False)
    for name in CLIENT:
        value = told.get(name)
        words = name.removesuffix("_bytes").replace("_", " ")
        known = "no" if name == "cpu_limit" else "unknown"  # no limit was found
        table.add_row(Text(words), Text(known if value is None else readable(name, value)))
    console.print(table)
    rows = told.get("gpus") or []
    if rows:
        table = Table(box=None, header_style="bold", title="")
        for title in TITLES.values():
            table.add_column(title, overflow="fold", no_wrap=title != TITLES["name"])
        for gpu in rows:
            table.add_row(*(Text(readable(name, gpu[name]) if name in gpu else "unknown") for name in TITLES))
        console.print(table)
    for line in gpus.notes(rows):
        console.print(Text(line))
    if "gpus_note" in told:
        console.print(Padding(Text(str(told["gpus_note"])), (0, 0, 0, 1)))


def readable(name: str, value: Any) -> str:
    """A value with its unit."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return human(name, value) if isinstance(value, (int, float)) else one_line(str(value))
