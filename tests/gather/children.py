"""The process that samples, as its parent has it: lines in, lines out."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ANCHOR_S = time.time() - time.perf_counter()


def now() -> float:
    """The run's clock."""
    return ANCHOR_S + time.perf_counter()


class Child:
    """One such process."""

    def __init__(self, folder: Path, **popen: Any) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "llmload.gather"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **popen,
        )

    def do(self, **words: Any) -> Any:
        """Say something and hear the answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def order(self, **more: Any) -> Any:
        """The order, and the answer to it."""
        return self.do(folder=str(self.folder), anchor_s=ANCHOR_S, **more)

    def end(self) -> tuple[int, str]:
        """Wait for its end: its exit code, and what it said on standard error."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        with self.process:
            assert self.process.stderr is not None
            return self.process.wait(60), self.process.stderr.read()

    def lines(self, name: str = "gpu.jsonl", source: str | None = None) -> list[dict[str, Any]]:
        """The lines of a file so far, those of one source if asked for; every line has to be whole."""
        path = self.folder / name
        found = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [line for line in found if source in {None, line["source"]}]


@contextlib.contextmanager
def child(folder: Path, **popen: Any) -> Iterator[Child]:
    """A child that does not outlive its test."""
    folder.mkdir(exist_ok=True)
    made = Child(folder, **popen)
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.process.kill()
            made.end()


def until(holds: Callable[[], object], what: str) -> None:
    """Wait until something holds."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.02)
