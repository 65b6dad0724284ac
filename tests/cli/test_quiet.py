"""Between two runs the server comes to rest, as far as it tells."""

import contextlib
import itertools
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from llmload.cli import quiet

PAGE = """
# HELP vllm:num_requests_running Number of requests.
vllm:num_requests_running{model_name="a b"} 2.0
vllm:num_requests_running{model_name="c"} 1 1700000000000
vllm:num_requests_running_other 9
vllm:num_requests_waiting 4
vllm:num_requests_swapped broken
"""
NAMES = {"running": "vllm:num_requests_running", "waiting": "vllm:num_requests_waiting + vllm:num_requests_swapped"}


def run(folder: Path, server: Any) -> Path:
    """A run folder whose run.json tells of a server's metrics."""
    (folder / "run.json").write_bytes(orjson.dumps({"sampling": {"server": server}}))
    return folder


def test_what_runs_and_waits_is_added(tmp_path: Path) -> None:
    """Over all models: 2 + 1 + 4."""
    folder = run(tmp_path, {"source": "http://x/metrics", "names": NAMES})
    assert quiet.wait(folder, lambda: PAGE, 0.0) == 7


def test_it_waits_until_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at again and again; 0 is told and means at rest."""
    monkeypatch.setattr(quiet, "LOOK_S", 0.001)
    pages = iter([PAGE, PAGE, "vllm:num_requests_running 0\n"])
    folder = run(tmp_path, {"source": "http://x/metrics", "names": NAMES})
    assert quiet.wait(folder, lambda: next(pages), 60.0) == 0
    assert not list(pages)


@pytest.mark.parametrize(
    "server", [None, 3, {"source": "x"}, {"source": "x", "names": {"requests": "a"}}, {"names": 3}]
)
def test_a_server_that_does_not_tell_is_not_waited_for(tmp_path: Path, server: Any) -> None:
    """None is not known."""
    assert quiet.wait(run(tmp_path, server), lambda: pytest.fail("asked")) is None


def test_a_page_that_is_gone_is_not_waited_for(tmp_path: Path) -> None:
    """A server that has ended runs nothing."""
    folder = run(tmp_path, {"source": "http://127.0.0.1:9/metrics", "names": NAMES})
    assert quiet.wait(folder) is None


@pytest.mark.parametrize("page", [b"no HTTP at all\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut"])
def test_a_page_that_is_none_is_not_waited_for(tmp_path: Path, page: bytes) -> None:
    """What now stands at that port need not speak HTTP."""
    with answering([page]) as url:
        assert not quiet.wait(run(tmp_path, {"source": url, "names": NAMES}))


def test_a_page_without_end_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither drips nor floods keep the next run waiting."""
    monkeypatch.setattr(quiet, "ANSWER_S", 0.2)
    monkeypatch.setattr(quiet, "LARGEST", 1 << 18)
    head = b"HTTP/1.1 200 OK\r\n\r\n"
    for rest in (itertools.repeat(b"#"), itertools.repeat(b"x" * 65536)):
        with answering(itertools.chain([head], rest), 0.05) as url:
            assert quiet.wait(run(tmp_path, {"source": url, "names": NAMES})) is None


@contextlib.contextmanager
def answering(pieces: Iterable[bytes], apart_s: float = 0.0) -> Iterator[str]:
    """A server that sends these pieces, whatever it is asked, once; gives the URL of its page."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            peer, _ = server.accept()
            with peer, contextlib.suppress(OSError):
                peer.recv(65536)
                for piece in pieces:
                    peer.sendall(piece)
                    time.sleep(apart_s)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/metrics"
        thread.join(5)
        assert not thread.is_alive()
