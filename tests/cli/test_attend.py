"""A child that is attended: signals that end it, and one that does not end."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from llmload.cli import attend
from llmload.cli.attend import Interrupts

if TYPE_CHECKING:
    import subprocess


@contextlib.contextmanager
def child(tmp_path: Path, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A command that is attended, and is gone behind the block."""
    found = attend.start(list(words), tmp_path / "log", os.environ)
    try:
        yield found
    finally:
        attend.kill(found)
        found.wait()


def test_a_terminal_that_hangs_up_counts_once(tmp_path: Path) -> None:
    """Its shell says the same a second time; the child gets one SIGINT and ends in its own way."""
    said: list[str] = []
    with Interrupts().counted() as interrupts, child(tmp_path, "sleep", "60") as sleeping:
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGHUP)
        assert interrupts.count == 1
        assert attend.until_end(sleeping, interrupts, said.append) == -signal.SIGINT
    assert [words.split(":")[0] for words in said] == ["stopping"]
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL


def test_nohup_is_respected() -> None:
    """A hang-up that is ignored stays ignored."""
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts().counted() as interrupts:
            signal.raise_signal(signal.SIGHUP)
        assert interrupts.count == 0
    finally:
        signal.signal(signal.SIGHUP, former)


def test_a_child_that_does_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ignores the Ctrl-C; the second sentence says what happens, and all that it forked ends too."""
    monkeypatch.setattr(attend, "GRACE_S", 0.5)
    deaf = "import signal, time; signal.signal(2, signal.SIG_IGN); open('deaf', 'w').close(); time.sleep(60)"
    said: list[str] = []
    monkeypatch.chdir(tmp_path)
    with Interrupts().counted() as interrupts, child(tmp_path, sys.executable, "-c", deaf) as sleeping:

        def interrupt_once() -> None:
            if not interrupts.count and Path("deaf").exists():
                signal.raise_signal(signal.SIGINT)

        assert attend.until_end(sleeping, interrupts, said.append, interrupt_once) == -signal.SIGKILL
    assert [words.split(":")[0] for words in said] == ["stopping", "it has not ended within 0.5 s"]
