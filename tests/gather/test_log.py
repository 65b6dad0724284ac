"""A server's log: what tells an error, and a file that grows, is turned away, is emptied and comes late."""

from pathlib import Path

import pytest

from llmload.gather.log import LONGEST, Log, tells_error
from llmload.gather.seen import Unread


@pytest.mark.parametrize(
    ("line", "is_error"),
    [
        ("ERROR 12-01 10:00:00 [core.py:1] EngineCore failed", True),
        ("2026-12-01 CRITICAL engine died", True),
        ("[ERROR] x", True),
        ("\x1b[2m2026\x1b[0m \x1b[31mERROR\x1b[0m text_generation: x", True),
        ("ERROR:root:x", True),
        ("time=10:00 level=ERROR msg=x", True),
        ('{"level":"ERROR","message":"x"}', True),
        ("FATAL: no memory", True),
        ("Traceback (most recent call last):", True),
        ("RuntimeError: CUDA error: an illegal memory access was encountered", True),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", True),
        ("torch.cuda.OutOfMemoryError: x", True),
        ("kernel: Out of memory: Killed process 12", True),
        ("worker was stopped: OOM", True),
        ("INFO all well", False),
        ("INFO errors=0 error rate 0.0", False),
        ("INFO ERROR_RATE 0", False),
        ("INFO ERROR=0", False),
        ("INFO logging.ERROR is 40", False),
        ("GET /ERROR HTTP/1.1 200", False),
        ("INFO the prompt speaks of an error", False),
        ("INFO ROOM and BLOOM", False),
        ("", False),
    ],
)
def test_what_tells_an_error(line: str, is_error: bool) -> None:
    """Level words in capitals as words of their own, tracebacks, CUDA's errors and lack of memory; no prose."""
    assert tells_error(line.encode()) is is_error


def test_only_what_comes_later_counts(tmp_path: Path) -> None:
    """What stood there before the run is not counted; a line counts once it has its end, and only once."""
    path = tmp_path / "server.log"
    path.write_text("ERROR old\n")
    log = Log(path)
    assert (log.problem, log.look()) == (None, 0)
    with path.open("a") as file:
        file.write("ERROR new\nINFO x\nERR")
    assert log.look() == 1
    with path.open("a") as file:
        file.write("OR another ERROR\n")
    assert log.look() == 2
    assert log.look() == 2


def test_a_log_that_is_turned_away_is_read_to_its_end_and_the_new_one_from_its_beginning(tmp_path: Path) -> None:
    """Rotation by rename, and by emptying the file in its place."""
    path = tmp_path / "server.log"
    path.write_text("")
    log = Log(path)
    path.write_text("ERROR 1\n")
    assert log.look() == 1
    with path.open("a") as file:
        file.write("ERROR 2\n")
    path.rename(tmp_path / "server.log.1")
    path.write_text("ERROR 3\nERROR 4\n")
    assert log.look() == 4
    path.write_text("ERROR 5\n")
    assert log.look() == 5


def test_a_log_that_is_not_there_yet(tmp_path: Path) -> None:
    """It is told, and when it comes it counts from its beginning; gone again, the count is told no more."""
    path = tmp_path / "server.log"
    log = Log(path)
    assert log.problem == "cannot be read: No such file or directory"
    with pytest.raises(Unread, match="No such file"):
        log.look()
    path.write_text("ERROR 1\n")
    assert log.look() == 1
    path.unlink()
    with pytest.raises(Unread, match="No such file"):
        log.look()
    path.write_text("ERROR 2\n")
    assert log.look() == 2


def test_a_line_without_end_does_not_fill_the_memory(tmp_path: Path) -> None:
    """It is looked at in pieces, and what follows it is counted as ever."""
    path = tmp_path / "server.log"
    path.write_text("")
    log = Log(path)
    path.write_bytes(b"x" * 10 * LONGEST + b"\nERROR\n")
    assert log.look() == 1
    assert len(log._rest) <= LONGEST
