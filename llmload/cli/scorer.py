"""A team's own scorer, run as a process: lines in, lines out. What the lines mean is `llmload.answers.scoring`."""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence

from llmload import plain
from llmload.cli import attend
from llmload.exits import Stop

TIMEOUT_S = 600.0
LARGEST = 1 << 26
"""Bytes that a scorer may print: a line for each answer is far less."""
CLOSING_S = 5.0
LAST_WORDS = 1 << 16
"""Bytes that are kept of what it says of itself, from its end."""


def command(text: str, timeout_s: float = TIMEOUT_S) -> Callable[[bytes], bytes]:
    """What runs a scorer. Raises Stop(USAGE) if the command is none; so does a run that fails, or takes too long."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise Stop(f"--score {text!r}: no command: {error}") from None
    if not words:
        raise Stop("--score: expected a command, such as 'python score.py', got nothing")
    if shutil.which(words[0]) is None:
        raise Stop(f"--score {text!r}: there is no program {words[0]!r}, or it cannot be executed")
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
    told, said = bytearray(), bytearray()
    parts = (
        threading.Thread(target=_feed, args=(child, lines), daemon=True),
        threading.Thread(target=_take, args=(child, told), daemon=True),
        threading.Thread(target=_listen, args=(child, said), daemon=True),
    )
    try:
        with attend.ended_as_by_ctrl_c():
            for part in parts:
                part.start()
            child.wait(timeout_s)
    except subprocess.TimeoutExpired:
        raise Stop(f"--score {name!r}: not finished within {timeout_s:g} s; allow more with --score-timeout") from None
    finally:
        _end(child)
        _close(child, parts)
    if len(told) > LARGEST:
        raise Stop(f"--score {name!r}: printed more than {LARGEST >> 20} MiB; expected one line for each answer")
    if child.returncode:
        how = f"exit code {child.returncode}" if child.returncode > 0 else f"signal {-child.returncode}"
        last = said.decode(errors="replace").strip().rsplit("\n", 1)[-1]
        raise Stop(f"--score {name!r}: ended with {how}" + (f": {plain.one_line(last)[:300]}" if last else ""))
    return bytes(told)


def _close(child: "subprocess.Popen[bytes]", parts: Sequence[threading.Thread]) -> None:
    """Take what is still in the pipes, and close them; what has got away from its session may hold them for ever."""
    for part in parts:
        if part.ident is not None:
            part.join(CLOSING_S)
    for pipe in (child.stdin, child.stdout, child.stderr):
        with contextlib.suppress(OSError):
            if pipe is not None:
                pipe.close()


def _feed(child: "subprocess.Popen[bytes]", lines: bytes) -> None:
    """Give it the lines, as far as it reads them."""
    pipe = child.stdin
    assert pipe is not None  # noqa: S101  (for the type checker: it was asked for)
    with contextlib.suppress(OSError):
        pipe.write(lines)
    with contextlib.suppress(OSError):
        pipe.close()


def _take(child: "subprocess.Popen[bytes]", told: bytearray) -> None:
    """Read what it prints; if that is more than can be meant, end it."""
    pipe = child.stdout
    assert pipe is not None  # noqa: S101
    while piece := os.read(pipe.fileno(), 1 << 16):
        told += piece
        if len(told) > LARGEST:
            _end(child)
            return


def _listen(child: "subprocess.Popen[bytes]", said: bytearray) -> None:
    """Read its standard error, and keep the end of it."""
    pipe = child.stderr
    assert pipe is not None  # noqa: S101
    while piece := os.read(pipe.fileno(), 1 << 16):
        said += piece
        del said[:-LAST_WORDS]


def _end(child: "subprocess.Popen[bytes]") -> None:
    """End it with all that it started, as far as that has not ended by itself."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
