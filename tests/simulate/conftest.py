"""A served simulator in a thread of the test's own process, and its truth."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from llmload.simulate.hub import listen
from llmload.simulate.server import Server
from llmload.simulate.settings import Settings
from llmload.simulate.timing import Timing
from llmload.simulate.truth import TruthFile
from tests.simulate.talk import until


class Served:
    """A simulator that serves until the test ends."""

    def __init__(self, server: Server, path: Path) -> None:
        self.server = server
        self.path = path
        host, port = server.url.removeprefix("http://").rsplit(":", 1)
        self.address = (host.strip("[]"), int(port))

    def truth(self, count: int = 1) -> list[dict[str, Any]]:
        """The lines by request, once there are so many: one is written right after its answer's last byte."""
        until(lambda: self.path.read_bytes().count(b"\n") >= count)
        lines = [json.loads(line) for line in self.path.read_bytes().splitlines()]
        assert len(lines) == count
        return sorted(lines, key=lambda line: line["request"])


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Start a simulator: `serve(ttft_s=…, itl_s=…, key=…, any field of Settings)`."""
    with contextlib.ExitStack() as stack:

        def start(*, key: str | None = None, **changes: Any) -> Served:
            timing = {name: changes.pop(name) for name in list(changes) if name in Timing.__slots__}
            path = tmp_path / f"truth-{threading.active_count()}.jsonl"
            settings = Settings(timing=Timing(**{"ttft_s": 0.02, "itl_s": 0.005, **timing}), truth=path, **changes)
            truth = stack.enter_context(TruthFile(path))
            server = Server(settings, listen(settings.host, settings.port), truth, key=key)
            thread = threading.Thread(target=server.serve)
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.stop)
            return Served(server, path)

        yield start
