"""Engines are started, waited for, and ended, whatever becomes of those who started them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from llmload.engines.start import Engine, serving
from llmload.exits import Exit, Stop

SERVER = """
import http.server, sys
class Models(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[2])), Models).serve_forever()
"""
"""An engine: answers 200 to every GET."""

HOLDER = f"""
import sys, time
from llmload.engines.start import Engine, serving
with serving(Engine("test", ("-c", {SERVER!r}), "demo")) as url:
    print(url, flush=True)
    time.sleep(60)
"""


def listens(url: str) -> bool:
    """Whether anybody accepts connections there."""
    import socket

    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(url.rpartition(":")[2]))) == 0


def gone(url: str) -> bool:
    """Whether nobody listens any more, within five seconds."""
    deadline = time.monotonic() + 5
    while listens(url) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not listens(url)


def test_an_engine_serves_inside_the_block_and_not_behind_it() -> None:
    """The engine answers in the block and has ended behind it."""
    with serving(Engine("test", ("-c", SERVER), "demo")) as url:
        assert listens(url)
    assert not listens(url)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_an_engine_ends_with_its_holder(number: int) -> None:
    """A holder that is killed or interrupted leaves no engine behind."""
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as holder:
        assert holder.stdout is not None
        url = holder.stdout.readline().decode().strip()
        assert listens(url)
        os.kill(holder.pid, number)
        assert gone(url)


def test_an_engine_that_ends_at_once_is_told_in_its_own_words() -> None:
    """The exit code and the last lines of a broken engine are in the sentence."""
    engine = Engine("test", ("-c", "import sys; print('no such model'); sys.exit(7)"), "demo")
    with pytest.raises(Stop, match=r"(?s)ended at once with exit code 7.*no such model") as caught, serving(engine):
        pass
    assert caught.value.code is Exit.UNMEASURABLE


def test_an_engine_that_never_serves_is_given_up(tmp_path: Path) -> None:
    """Behind the limit the engine is ended and the sentence says so."""
    mark = tmp_path / "pid"
    code = f"import os, time; open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    with (
        pytest.raises(Stop, match=r"did not serve within 1\.5 s"),
        serving(Engine("test", ("-c", code), "demo"), ready_s=1.5),
    ):
        pass
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)
