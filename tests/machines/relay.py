"""A small TCP relay: what lies between two machines, with a delay, and with an account of what went through.

    python -m tests.machines.relay LISTEN TARGET DELAY_S TAPE      (addresses as HOST:PORT)

Says `listening on HOST:PORT` once it does. Everything that goes from the one who connects to the target is also
appended to the file TAPE.
"""

import contextlib
import queue
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

CHUNK = 65536
MARK = b"llmload_records"
"""The name of the message that carries a batch."""
NAME = 70
"""Bytes behind it that hold worker, run and number of the batch, and no record yet."""


class Pump:
    """One direction of one connection: every chunk goes on so long after it came."""

    def __init__(self, source: socket.socket, sink: socket.socket, delay_s: float, tape: BinaryIO | None) -> None:
        self.source, self.sink, self.delay_s, self.tape = source, sink, delay_s, tape
        self.waiting: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
        for work in (self.read, self.write):
            threading.Thread(target=work, daemon=True).start()

    def read(self) -> None:
        """Take what comes; an end and a reset are the same here."""
        data = b"-"
        while data:
            try:
                data = self.source.recv(CHUNK)
            except OSError:
                data = b""
            if self.tape is not None:
                self.tape.write(data)
                self.tape.flush()
            self.waiting.put((time.monotonic() + self.delay_s, data))

    def write(self) -> None:
        """Pass it on; behind the last byte the connection is closed."""
        with contextlib.suppress(OSError):
            while True:
                due, data = self.waiting.get()
                time.sleep(max(0.0, due - time.monotonic()))
                if not data:
                    break
                self.sink.sendall(data)
        for end in (self.source, self.sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def address(text: str) -> tuple[str, int]:
    """HOST:PORT."""
    host, _, port = text.rpartition(":")
    return host, int(port)


def serve(listen: str, target: str, delay_s: float, tape: Path) -> None:
    """Relay until the process is ended."""
    with socket.create_server(address(listen)) as server, tape.open("ab") as file:
        print(f"listening on {listen}", flush=True)
        while True:
            near, _ = server.accept()
            try:
                far = socket.create_connection(address(target))
            except OSError:
                near.close()
                continue
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            Pump(near, far, delay_s, file)
            Pump(far, near, delay_s, None)


@contextlib.contextmanager
def running(
    listen: str, target: str, tape: Path, *, delay_s: float = 0.0, before: Sequence[str] = ()
) -> Iterator[None]:
    """A relay as a process of its own while the block runs."""
    command = [*before, sys.executable, "-m", "tests.machines.relay", listen, target, str(delay_s), str(tape)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"listening on "), process.wait(5)
        yield
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def batches(tape: Path) -> Counter[bytes]:
    """How often each batch of records went through."""
    data = tape.read_bytes()
    found: Counter[bytes] = Counter()
    at = data.find(MARK)
    while at >= 0:
        found[data[at : at + len(MARK) + NAME].partition(b"rows")[0]] += 1
        at = data.find(MARK, at + 1)
    return found


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], float(sys.argv[3]), Path(sys.argv[4]))
