"""A simulator as a process of its own, for tests and benches.

A process rather than a thread, so that its work never shares an interpreter with what is being measured.
"""

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from llmload.exits import Exit, Stop

STOP_S = 10.0
LISTENING = "listening on "


@dataclass(frozen=True, slots=True)
class Child:
    """A running simulator."""

    url: str
    """Where it listens, without /v1."""
    process: subprocess.Popen[str]


@contextlib.contextmanager
def running(
    *arguments: str, environment: Mapping[str, str] | None = None, before: Sequence[str] = ()
) -> Iterator[Child]:
    """Run `llmload simulate` with these arguments while the block runs; it takes a free port unless told otherwise.

    `before` are words that stand before the command: a program that changes something and then becomes it.
    Raises Stop if it does not come up; what it says goes to this process's standard error.
    """
    command = [*before, sys.executable, "-m", "llmload", "simulate", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith(LISTENING):
            code = process.wait(STOP_S)
            raise Stop(f"the simulator did not start: it ended with exit code {code}; see above", Exit.UNMEASURABLE)
        yield Child(line.removeprefix(LISTENING).strip(), process)
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
