"""Whole lines or nothing, and a spool that tells what a killed worker did."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from llmload.exits import Exit, Stop
from llmload.record import spool
from llmload.record.append import Appender
from llmload.record.record import RequestRecord, Tags


def tags(seq: int) -> Tags:
    """The tags of one attempt."""
    return Tags(run="r", worker="w0", seq=seq, step=1, concurrency=4, phase="measure", workload="short", prompt="p1")


def record(seq: int) -> bytes:
    """The record of one attempt, as a line."""
    return RequestRecord(
        run="r", worker="w0", seq=seq, step=1, concurrency=4, phase="measure", workload="short", prompt="p1",
        sent_at=1000.5, outcome="ok",
    ).to_json()  # fmt: skip


def test_spool_has_a_line_before_and_a_record_after(tmp_path: Path) -> None:
    """Byte by byte what is written down before and after a request."""
    written = spool.Spool(tmp_path / "spool" / "w0.jsonl")
    written.start(tags(0), 1000.5)
    written.finish(record(0))
    written.close()
    first, second = (tmp_path / "spool" / "w0.jsonl").read_bytes().splitlines()
    assert (
        first == b'{"start":0,"run":"r","worker":"w0","step":1,"phase":"measure","workload":"short","sent_at":1000.5}'
    )
    assert second == record(0)


def test_reading_tells_started_and_finished(tmp_path: Path) -> None:
    """A start without a record is an attempt whose end nobody knows; a line cut by a kill is none."""
    written = spool.Spool(tmp_path / "w0.jsonl")
    for seq in (0, 1, 2):
        written.start(tags(seq), 1000.0)
    written.finish(record(1))
    written.close()
    with (tmp_path / "w0.jsonl").open("ab") as file:
        file.write(b'not json\n{"start":3,"st')
    found = spool.read(tmp_path / "w0.jsonl")
    assert found.started == {0, 1, 2}
    assert found.records == {1: record(1)}
    assert spool.read(tmp_path / "nobody.jsonl") == spool.Spooled()


def test_lines_are_there_after_a_kill(tmp_path: Path) -> None:
    """A process that is killed right after a line has lost nothing of it."""
    program = (
        "import sys; from pathlib import Path; from llmload.record.append import Appender\n"
        "Appender(Path(sys.argv[1])).append([b'one', b'two'])\n"
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "f")], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "f").read_bytes() == b"one\ntwo\n"


def limited(size: int) -> None:
    """Files of this process may grow to so many bytes only, as on a disk that is full then."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_full_disk_takes_all_lines_or_none(tmp_path: Path) -> None:
    """Ten bytes fit of twelve: the two that were written are taken back, the lines before stay, and it is said."""
    program = (
        "import sys; from pathlib import Path; from llmload.record.append import Appender\n"
        "from llmload.exits import Stop\n"
        "file = Appender(Path(sys.argv[1]))\n"
        "file.append([b'1234567'])\n"
        "for _ in range(2):\n"
        "    try:\n"
        "        file.append([b'abc'])\n"
        "    except Stop as stop:\n"
        "        print(int(stop.code), stop.message)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "f")],
        check=True, capture_output=True, text=True, preexec_fn=lambda: limited(10),
    )  # fmt: skip
    assert (tmp_path / "f").read_bytes() == b"1234567\n"
    sentence = f"6 {tmp_path}/f: cannot be written: File too large; what was written before is kept"
    assert done.stdout.splitlines() == [sentence, sentence]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
def test_spool_on_a_full_disk_says_so_once_and_hurts_nobody() -> None:
    """The load goes on; who drives the run reads the sentence."""
    written = spool.Spool(Path("/dev/full"))
    written.start(tags(0), 1.0)
    written.finish(record(0))
    assert written.failure == "/dev/full: cannot be written: No space left on device; what was written before is kept"


def test_a_file_that_cannot_be_opened_is_a_stop(tmp_path: Path) -> None:
    """One sentence with the path and the reason."""
    with pytest.raises(Stop) as caught:
        Appender(tmp_path / "none" / "f")
    assert caught.value.message == f"{tmp_path}/none/f: cannot be opened: No such file or directory"
    assert caught.value.code is Exit.USAGE
