"""A team's own scorer, run as a process: lines in, lines out. What the lines mean is `llmload.answers.scoring`."""

import os
import shlex
import signal
import subprocess
from collections.abc import Callable

from llmload import plain
from llmload.exits import Stop

TIMEOUT_S = 600.0


def command(text: str, timeout_s: float = TIMEOUT_S) -> Callable[[bytes], bytes]:
    """What runs a scorer. Raises Stop(USAGE) if the command is none; so does a run that fails, or takes too long."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise Stop(f"--score {text!r}: no command: {error}") from None
    if not words:
        raise Stop("--score: expected a command, such as 'python score.py', got nothing")
    return lambda lines: run(words, lines, timeout_s)


def run(words: list[str], lines: bytes, timeout_s: float) -> bytes:
    """Give it the lines, take what it prints. Raises Stop(USAGE)."""
    name = shlex.join(words)
    try:
        child = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    except OSError as error:
        raise Stop(f"--score {name!r}: cannot be started: {error.strerror}") from error
    try:
        told, said = child.communicate(lines, timeout_s)
    except subprocess.TimeoutExpired:
        raise Stop(f"--score {name!r}: not finished within {timeout_s:g} s; allow more with --score-timeout") from None
    finally:
        _end(child)
    if child.returncode:
        how = f"exit code {child.returncode}" if child.returncode > 0 else f"signal {-child.returncode}"
        last = said.decode(errors="replace").strip().rsplit("\n", 1)[-1]
        raise Stop(f"--score {name!r}: ended with {how}" + (f": {plain.one_line(last)[:300]}" if last else ""))
    return told


def _end(child: "subprocess.Popen[bytes]") -> None:
    """End it with all that it started, if it has not ended by itself."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
