"""Ctrl-C while Locust is still on its way, in a real process."""

import signal
import subprocess
import sys
from pathlib import Path

from tests.drive.locusts import MIXED, free_port

SENTENCE = "llmload: stopped before it began; nothing was sent\n"


def test_a_ctrl_c_while_locust_is_imported_is_no_traceback() -> None:
    """The signal comes at the first import behind the handler."""
    code = (
        "import builtins, os, signal\n"
        "from llmload.drive import start\n"
        "real = builtins.__import__\n"
        "def hit(name, *rest):\n"
        "    if name == 'locust':\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return real(name, *rest)\n"
        "builtins.__import__ = hit\n"
        "start.main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (6, "", SENTENCE)


def test_a_worker_that_looks_for_its_master_is_ended_by_one_ctrl_c(tmp_path: Path) -> None:
    """Locust's own way to it lasts up to a minute."""
    words = ["-f", str(MIXED), "--worker", "--master-port", str(free_port())]
    with (tmp_path / "log").open("wb") as log, subprocess.Popen(
        [sys.executable, "-m", "llmload.drive.start", *words], stderr=log, stdout=log, cwd=tmp_path
    ) as process:  # fmt: skip
        while b"Starting Locust" not in (tmp_path / "log").read_bytes():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 6
    assert (tmp_path / "log").read_text().endswith(SENTENCE)
