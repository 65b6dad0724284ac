"""What is said to the user, where nobody can hear it."""

import os
import pty
import subprocess
import sys
import termios
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from llmload.drive import conductor
from llmload.drive.conductor import Conductor
from llmload.drive.voice import Voice, wrapped
from llmload.exits import Exit, Stop

SPEAK = """
from argparse import Namespace
from llmload.drive.voice import Voice
voice = Voice(Namespace(logfile="some.log"))
voice.say("one")
voice.say("two")
voice.complain("three")
voice.last_words()
"""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_ends_nothing() -> None:
    """Both outputs go to a disk that is full, as locust.log may: no exception, no other exit code."""
    with Path("/dev/full").open("w") as full:
        assert subprocess.run([sys.executable, "-c", SPEAK], stdout=full, stderr=full, check=False).returncode == 0


def test_a_reader_that_left_ends_nothing() -> None:
    """Standard output is a pipe that nobody reads any more; what is said elsewhere is said."""
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run([sys.executable, "-c", SPEAK], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (
        0,
        "three\nllmload: three\n",
    )  # the log's handler of last resort, then the voice


def test_a_closed_output_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process without standard output says nothing."""
    monkeypatch.setattr(sys, "stdout", None)
    Voice(Namespace(logfile="some.log")).say("one")


def test_a_line_is_broken_at_blanks_below_where_its_text_begins() -> None:
    """Never in mid-word, whatever does not fit; one that fits stays, and so does a command, to be copied."""
    row = "  endpoint       http://127.0.0.1:8000/v1  (127.0.0.1:8000, server llmload-simulate)"
    assert wrapped(row, 80).split("\n") == [
        "  endpoint       http://127.0.0.1:8000/v1  (127.0.0.1:8000, server",
        "                 llmload-simulate)",
    ]
    assert wrapped(row, len(row)) == row
    assert (
        wrapped("  answers in en  seen: one two", 22)
        == "  answers in en  seen:\n" + " " * 17 + "one\n" + " " * 17 + "two"
    )
    assert wrapped("waiting for the server, 12 s at most", 24) == "waiting for the server,\n  12 s at most"
    assert wrapped("a/path/of/thirty/characters/it", 10) == "a/path/of/thirty/characters/it"
    command = "1 of 2 workers connected; the others: llmload run --worker --master-host 10.0.0.1"
    assert wrapped(command, 40) == command


TERMINAL = """
from argparse import Namespace
from llmload.drive.voice import Voice
Voice(Namespace(logfile="some.log")).say("one two three\\n  four")
"""


def test_a_terminal_is_as_wide_as_it_is() -> None:
    """Of ten columns, the line takes two; a pipe gets it whole."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 10))
    subprocess.run([sys.executable, "-c", TERMINAL], stdout=theirs, check=True)
    assert os.read(ours, 100) == b"one two\r\n  three\r\n  four\r\n"
    piped = subprocess.run([sys.executable, "-c", TERMINAL], stdout=subprocess.PIPE, check=True)
    assert piped.stdout == b"one two three\n  four\n"
    os.close(ours)
    os.close(theirs)


def test_a_complaint_that_fails_lets_locust_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a handler raises: the shape's greenlet goes on to end Locust, with exit code 6."""
    made: Any = Conductor.__new__(Conductor)
    made.environment = SimpleNamespace(process_exit_code=None, parsed_options=SimpleNamespace(num_users=None))
    made.idle = made.begun = SimpleNamespace(clear=lambda: None, set=lambda: None)
    made.hand, made.feed = SimpleNamespace(), SimpleNamespace(starting=lambda: None)
    made._greenlet, made._again, made.halted = None, False, False

    def broken(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    made.runner, made.muster = SimpleNamespace(state="ready"), SimpleNamespace(wait=broken)
    monkeypatch.setattr(Conductor, "_refuse", broken)
    made.expected = 1
    made.steps()
    assert made.environment.process_exit_code == Exit.INCOMPLETE


def test_a_run_that_was_stopped_before_it_began_waits_for_nobody() -> None:
    """Whoever started this process may be gone before Locust calls: it would wait for workers that never come."""
    made: Any = Conductor.__new__(Conductor)
    made.environment = SimpleNamespace(process_exit_code=None, parsed_options=SimpleNamespace(num_users=None))
    made.idle = made.begun = SimpleNamespace(clear=lambda: None, set=lambda: None)
    made.hand, made.feed = SimpleNamespace(), SimpleNamespace(starting=lambda: None)
    made._greenlet, made._again, made.halted = None, False, False
    refused: list[Stop] = []
    made._refuse = refused.append
    made.halt()
    made.steps()
    assert refused == [conductor.NOT_BEGUN]


def test_nobody_is_taken_in_for_a_step_that_cannot_be_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full before the first step: no worker has the run's order, so none is waited for at the end."""
    made: Any = Conductor.__new__(Conductor)
    made.desk = None
    taken: list[Any] = []
    monkeypatch.setattr(Conductor, "_enlist", lambda _self, run: taken.append(run))
    monkeypatch.setattr(conductor, "Stepping", lambda *_: None)

    def full() -> None:
        raise Stop("run.json: cannot be written", Exit.INCOMPLETE)

    run = SimpleNamespace(levels=((1, None),), sampling=None, book=SimpleNamespace(write=full))
    run.scenario = SimpleNamespace(load=SimpleNamespace(levels=run.levels))
    with pytest.raises(Stop):
        made._all_steps(run)
    assert not taken
