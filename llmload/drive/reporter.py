"""Has run folders reported: by `llmload report`, in a process without Locust and away from the loop of this one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import gevent.subprocess

from llmload.exits import Exit

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def reported(folder: Path) -> Exit:
    """Report a run that is over, on this process's own output; returns what the report says about the run."""
    code = subprocess.run(command(folder), check=False).returncode
    return Exit(code) if code in set(Exit) else Exit.UNJUDGED


def behind(folder: Path, *words: str) -> "subprocess.CompletedProcess[bytes]":
    """Report a run, perhaps while it goes on: in one thread and behind everything else, for others are sending."""
    nice = shutil.which("nice")
    done: subprocess.CompletedProcess[bytes] = gevent.subprocess.run(
        [*([nice, "-n", "19"] if nice else []), *command(folder.resolve(), *words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **ONE_THREAD},
        check=False,
    )
    return done


def command(folder: Path, *words: str) -> list[str]:
    """The command that reports a run folder."""
    return [sys.executable, "-m", "llmload", "report", str(folder), *words]
