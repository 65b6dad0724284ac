"""`llmload sidecar`: reads its options, starts the sampler and the page, and ends the process when that is right.

It alone may end it: on a signal, when nothing can heal the driver, and when a call into the driver hangs too long.
"""

import argparse
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from rich.console import Console

from llmload.exits import Exit, Stop
from llmload.here import EVERYWHERE, is_here
from llmload.load import options
from llmload.load.spans import span
from llmload.plain import one_line
from llmload.sidecar import host
from llmload.sidecar.backend import BACKENDS, Absent, backend
from llmload.sidecar.kept import Kept
from llmload.sidecar.lines import Lines
from llmload.sidecar.page import Page
from llmload.sidecar.sampler import Sampler
from llmload.sidecar.serve import Server
from llmload.sidecar.table import table

PORT = 9835
LEAST_S, MOST_S = 0.25, 3600.0
"""More often than this the driver's own lock would be felt by what is measured."""
ONCE_S = 0.5
"""Between the two looks of --once: what is a rate needs two."""
CHECK_S = 0.1
VENDORS = tuple(kind for kind in BACKENDS if kind != "fake")
HANGS_S = 3.0
"""A call into the driver that takes so long is told."""
GRACE_S = 3.0
"""A driver has so long to let go at the end."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The checked options."""

    kind: str
    gpus: tuple[str, ...]
    count: int
    host: str
    port: int
    every_s: float
    hang_limit_s: float
    jsonl: Path | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options. All values are read as text here and checked in `settings`, one sentence each."""
    parser.epilog = (
        "Ends with 0 on Ctrl-C and SIGTERM; with 3 when there is no driver, when it cannot heal within this process or "
        "hangs: let a supervisor start it again."
    )
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 for all (default: %(default)s)")
    add("--port", default=str(PORT), help="port to listen on; 0 takes a free one (default: %(default)s)")
    add("--interval", default="1s", help="time between looks, 250ms to 1h (default: %(default)s)")
    add("--gpus", help="only these: numbers or UUIDs, as in 0,1 (default: all)")
    add("--jsonl", metavar="FILE", help="append each look to this file too, as a JSON line")
    add("--backend", default="nvml", help=f"{' or '.join(VENDORS)}: by which library (default: %(default)s)")
    add("--fake", metavar="N", help="play N GPUs that are not there, for trying out boards")
    add("--once", action="store_true", help="print what is seen and end; nothing is served")
    add("--wait", action="store_true", help="if there is no driver or GPU yet, wait for it")
    add("--processes", action="store_true", help="GPU memory by process too; a slow call on some drivers")
    add("--hang-limit", default="30s", help="end when a call into the driver takes longer (default: %(default)s)")


def settings(args: argparse.Namespace) -> Settings:
    """The checked settings. Raises Stop(USAGE) with a sentence that names the option."""
    if args.backend not in VENDORS:
        raise Stop(f"--backend {args.backend}: unknown; expected {' or '.join(VENDORS)} (or --fake N)")
    every_s = options.seconds(args.interval, "--interval")
    limit_s = options.seconds(args.hang_limit, "--hang-limit")
    if not LEAST_S <= every_s <= MOST_S:
        raise Stop(f"--interval {args.interval}: expected 250ms to 1h; more often disturbs what is measured")
    if limit_s < 1:
        raise Stop(f"--hang-limit {args.hang_limit}: expected at least 1s")
    host = args.host.strip().removeprefix("[").removesuffix("]")
    if not host:
        raise Stop("--host: names no address; expected 127.0.0.1 for this machine alone, or 0.0.0.0 for all addresses")
    if args.jsonl == "":
        raise Stop("--jsonl: names no file; leave it out for none")
    gpus = tuple(dict.fromkeys(name.strip() for name in (args.gpus or "").split(",") if name.strip()))
    if args.gpus is not None and not gpus:
        raise Stop("--gpus: names no GPU; expected numbers or UUIDs, as in --gpus 0,1")
    return Settings(
        kind=args.backend if args.fake is None else "fake",
        gpus=gpus,
        count=1 if args.fake is None else _whole("--fake", args.fake, 1, 64),
        host=host,
        port=_whole("--port", args.port, 0, 65_535),
        every_s=ONCE_S if args.once else every_s,
        hang_limit_s=limit_s,
        jsonl=None if args.jsonl is None else Path(args.jsonl),
    )


def main(args: argparse.Namespace) -> int:
    """Serve until a signal, or show one look."""
    wanted = settings(args)
    try:
        source = backend(wanted.kind, wanted.gpus, processes=args.processes, count=wanted.count)
    except Absent as error:
        raise Stop(str(error), Exit.UNMEASURABLE) from None
    lines = None if wanted.jsonl is None else Lines(wanted.jsonl)
    sampler = Sampler(source, every_s=wanted.every_s, say=_say, host=host.read, sink=lines, wait=args.wait)
    asked = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked.set())
    watch = Watch(sampler, asked, wanted.hang_limit_s, lines)
    if args.once:
        sampler.start()
        whole = watch.until(lambda: _seen(sampler.kept, patient=args.wait))
        watch.end()
        if not whole:
            return Exit.INCOMPLETE
        if sampler.kept.look is None:
            raise Stop(sampler.kept.fault, Exit.UNMEASURABLE)
        Console(highlight=False, soft_wrap=True).print(table(sampler.kept.look))
    else:
        with Server(wanted.host, wanted.port, sampler, Page(sampler, source.library)) as server:
            sampler.start()
            if watch.until(lambda: any(sampler.kept.outcomes.values())):
                _greet(wanted, server.server_port, sampler)
                watch.until(lambda: False)
            watch.end()
    if lines is not None and lines.failure is not None:
        raise lines.failure
    return Exit.OK


class Watch:
    """What the main thread does while the sampler works."""

    def __init__(self, sampler: Sampler, asked: threading.Event, limit_s: float, lines: Lines | None) -> None:
        self._sampler, self._asked, self._limit_s, self._lines = sampler, asked, limit_s, lines
        self._told_lines = self._told_hang = self._over_limit = False

    def until(self, enough: Callable[[], bool]) -> bool:
        """Wait for it; False: a signal came first. Raises Stop if the sampler ended by itself, exits if it hangs."""
        while not self._asked.is_set():
            if self._sampler.ended.is_set():
                raise Stop(str(self._sampler.failure), Exit.UNMEASURABLE)
            self._tell(self._sampler.hanging_s())
            if enough():
                return True
            self._asked.wait(CHECK_S)
        return False

    def end(self) -> None:
        """Let the sampler let go of the driver."""
        self._sampler.stop()
        if not self._sampler.ended.wait(GRACE_S):
            _exit(f"the driver did not let go within {span(GRACE_S)}: a call into it hangs")
        if self._lines is not None:
            self._lines.close()

    def _tell(self, hanging_s: float) -> None:
        if self._lines is not None and self._lines.failure is not None and not self._told_lines:
            self._told_lines = True
            _say(f"{self._lines.failure.message}; the page goes on")
        was_over, self._over_limit = self._over_limit, hanging_s > self._limit_s
        if was_over and self._over_limit:  # seen twice: a process that was stopped meanwhile finds its call returning
            _exit(
                f"a call into the driver has not returned for {span(self._limit_s)} (--hang-limit), and a thread that "
                "hangs there cannot be ended: this process ends, to be started again"
            )
        if hanging_s < HANGS_S:
            self._told_hang = False
        elif not self._told_hang:
            self._told_hang = True
            _say(f"a call into the driver has not returned for {span(HANGS_S)}; after {span(self._limit_s)} this ends")


def _seen(kept: Kept, *, patient: bool) -> bool:
    """Whether there were two looks, or, unless one is patient, one that failed."""
    return kept.outcomes["ok"] >= 2 or (not patient and kept.look is None and any(kept.outcomes.values()))


def _exit(sentence: str) -> NoReturn:
    """At once, without waiting for a thread that hangs."""
    print(f"llmload sidecar: {sentence}", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(Exit.UNMEASURABLE)


def _greet(wanted: Settings, port: int, sampler: Sampler) -> None:
    """The first words: where it is, what it sees, how it is used."""
    here = socket.gethostname() if wanted.host in EVERYWHERE else wanted.host
    at = f"{f'[{here}]' if ':' in here else here}:{port}"
    look = sampler.kept.look
    count = "no GPU yet" if look is None else f"{len(look.gpus)} GPU{'' if len(look.gpus) == 1 else 's'}"
    print(f"llmload sidecar: {count} at http://{at}/metrics, read every {span(wanted.every_s)}")
    for gpu in () if look is None else look.gpus:
        print(f"  GPU {gpu.gpu}  {one_line(gpu.info.get('name', ''))}  {gpu.uuid}")
    print(f"in a run:    llmload run SCENARIO --host URL --gpu http://{at}/metrics")
    print(f"Prometheus:  job llmload-gpu, target {at}; boards are in dashboards/")
    if not is_here(wanted.host):
        print("whoever reaches this port can read it, and pause it for a while")
    print("Ctrl-C ends it", flush=True)


def _say(sentence: str) -> None:
    """A line with its time."""
    print(f"{time.strftime('%H:%M:%S')}  {one_line(sentence)}", flush=True)


def _whole(option: str, text: str, least: int, most: int) -> int:
    value = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else least - 1
    if not least <= value <= most:
        raise Stop(f"{option} {text}: expected a whole number, {least} to {most}")
    return value
