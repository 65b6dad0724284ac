"""Between two runs the server comes to rest, as far as it tells."""

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
