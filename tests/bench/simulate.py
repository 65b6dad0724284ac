"""How many events a second one simulator process sustains on one core, and what an event costs it.

The client is a process of its own that only reads and throws away, so that it costs as little as a client can.
"""

import multiprocessing
import selectors
import socket
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import orjson
import psutil
from numpy.typing import NDArray
from prometheus_client.parser import text_string_to_metric_families

from tests.simulate import child

TTFT_S = 0.5
SETTLE_S = 1.0


@dataclass(frozen=True, slots=True)
class Rate:
    """One measurement."""

    streams: int
    asked_per_s: float
    events_per_s: float
    cpu_share: float
    """Of one core, kernel time included."""
    cpu_us_per_event: float
    late_p50_ms: float
    late_p99_ms: float
    late_max_ms: float
    """By how much sends came after they were due, over all events."""


def measure(streams: int = 512, per_stream: float = 60.0, seconds: float = 6.0) -> Rate:
    """Play so many streams at so many events a second each, and look at the middle of it."""
    events = int(per_stream * (seconds + SETTLE_S + 1.0))
    with tempfile.TemporaryDirectory() as folder:
        truth = Path(folder) / "truth.jsonl"
        arguments = ("--ttft-ms", str(TTFT_S * 1e3), "--itl-ms", str(1e3 / per_stream), "--truth", str(truth))
        done, cpu, wall = _run(arguments, streams, events, seconds)
        late_ms = lateness(truth, 1.0 / per_stream)
    p50, p99, most = np.percentile(late_ms, (50, 99, 100))
    return Rate(streams, streams * per_stream, done / wall, cpu / wall, cpu / done * 1e6, p50, p99, most)


def lateness(truth: Path, itl_s: float) -> NDArray[np.float64]:
    """By how many ms each event of a truth file came after it was due."""
    rows = []
    for line in truth.read_bytes().splitlines():
        request = orjson.loads(line)
        due = request["started_at"] + TTFT_S + itl_s * np.arange(len(request["event_at"]))
        rows.append(np.asarray(request["event_at"]) - due)
    return np.concatenate(rows) * 1e3


def _run(arguments: Sequence[str], streams: int, events: int, seconds: float) -> tuple[float, float, float]:
    """Events, CPU seconds and wall seconds of the middle of one run."""
    with child.running(*arguments) as server:
        reader = multiprocessing.get_context("spawn").Process(target=read, args=(server.url, streams, events))
        reader.start()
        process = psutil.Process(server.process.pid)
        _until(server.url, streams)
        time.sleep(TTFT_S + SETTLE_S)
        before = (_generated(server.url), _cpu(process), time.monotonic())
        time.sleep(seconds)
        after = (_generated(server.url), _cpu(process), time.monotonic())
        reader.terminate()
        reader.join()
    return after[0] - before[0], after[1] - before[1], after[2] - before[2]


def read(url: str, streams: int, events: int) -> None:
    """Ask for so many streams of so many events, and read until killed."""
    parts = urlsplit(url)
    body = orjson.dumps({"model": "simulated", "stream": True, "max_tokens": events, "prompt": "read"})
    request = b"POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
    selector = selectors.DefaultSelector()
    for _ in range(streams):
        sock = socket.create_connection((parts.hostname, parts.port))
        sock.sendall(request)
        selector.register(sock, selectors.EVENT_READ, sock.recv)
    while True:
        for key, _ in selector.select():
            key.data(65536)


def main() -> None:
    """Print the goal's load and a higher one."""
    print("streams  asked/s  events/s  share of a core  CPU us/event  late p50 ms  late p99 ms  late max ms")
    for streams, per_stream in ((32, 50.0), (512, 60.0), (512, 100.0)):
        rate = measure(streams, per_stream)
        print(
            f"{rate.streams:7d} {rate.asked_per_s:8.0f} {rate.events_per_s:9.0f} {rate.cpu_share:16.2f}"
            f" {rate.cpu_us_per_event:13.1f} {rate.late_p50_ms:12.2f} {rate.late_p99_ms:12.2f} {rate.late_max_ms:12.2f}"
        )


def _until(url: str, running: int) -> None:
    deadline = time.monotonic() + 30
    while _json(f"{url}/_state")["running"] < running:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{running} streams did not come up")
        time.sleep(0.05)


def _generated(url: str) -> float:
    with urllib.request.urlopen(f"{url}/metrics") as page:
        for family in text_string_to_metric_families(page.read().decode()):
            for sample in family.samples:
                if sample.name == "vllm:generation_tokens_total":
                    return sample.value
    raise LookupError("no vllm:generation_tokens_total on the page")


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def _json(url: str) -> Any:
    with urllib.request.urlopen(url) as page:
        return orjson.loads(page.read())
