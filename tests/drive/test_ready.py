"""A Locust that is forked from one that has read its packages is as one that was started: what its locustfile finds."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.drive.locusts import locust

FILE = """
import json, os, pathlib, signal, sys, threading
found = {
    "words": sys.argv,
    "path": sys.path,
    "environment": dict(os.environ),
    "folder": os.getcwd(),
    "leads its session": os.getsid(0) == os.getpid(),
    "open": sorted(
        os.path.basename(os.path.realpath(one.path)) for one in os.scandir("/proc/self/fd") if int(one.name) > 2
    ),
    "input": os.stat(0).st_rdev,
    "signals": [str(signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)],
    "threads": threading.active_count(),
    "own": [name for name in sys.modules if name.startswith("llmload")],
}
pathlib.Path("found.json").write_text(json.dumps(found))
if not os.path.exists("stay"):
    sys.exit(7)
while True:
    signal.pause()
"""


def found(folder: Path, *before: str) -> dict[str, Any]:
    """What it finds when it is started in this way; it ends with the exit code of its file."""
    (folder / "file.py").write_text(FILE)
    with locust(folder, "--master-port", "1", file=folder / "file.py", before=before, OPENAI_API_KEY="k") as running:
        assert running.end().code == 7, running.words()
    told: dict[str, Any] = json.loads((folder / "found.json").read_bytes())
    told["words"] = [word for word in told["words"] if not word.isdigit()]  # a free port
    (folder / "found.json").unlink()
    return told


def test_it_finds_what_one_that_was_started_finds(tmp_path: Path) -> None:
    """Words, paths, environment, folder, session, open files, signals; and no module of llmload was read before."""
    forked = found(tmp_path)
    assert forked == found(tmp_path, "env")  # which becomes what stands behind it
    assert (forked["own"], forked["threads"], forked["environment"]["OPENAI_API_KEY"]) == ([], 1, "k")


def test_its_end_by_a_signal_is_told(tmp_path: Path) -> None:
    """As subprocess tells it; until then it is waited for no longer than was said."""
    (tmp_path / "file.py").write_text(FILE)
    (tmp_path / "stay").touch()
    with locust(tmp_path, file=tmp_path / "file.py") as running:
        deadline = time.monotonic() + 60
        while not (tmp_path / "found.json").exists():
            assert time.monotonic() < deadline, running.words()
            time.sleep(0.02)
        with pytest.raises(subprocess.TimeoutExpired):
            running.process.wait(0.01)
        assert running.process.poll() is None
        os.kill(running.process.pid, signal.SIGKILL)
        assert running.end().code == running.process.poll() == -signal.SIGKILL
