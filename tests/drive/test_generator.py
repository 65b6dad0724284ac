"""What one process says of itself, once a second."""

import json
from types import SimpleNamespace
from typing import Any

import gevent
import psutil
import pytest

from llmload.drive.apart import Apart
from llmload.drive.generator import LINE_S, Sampler


def test_lines_go_on_where_memory_cannot_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file descriptor is left for /proc: the line comes all the same, with the memory that was told last."""
    lines: list[bytes] = []
    meter: Any = SimpleNamespace(events=3, stamp_lag_ms=None)
    sampler = Sampler("w0", lambda: meter, lambda: 1, lines.append, Apart())

    def refused(_: psutil.Process) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(psutil.Process, "memory_info", refused)
    with gevent.Timeout(60):
        while not lines:
            gevent.sleep(LINE_S / 10)
    sampler.close()
    row, *_ = map(json.loads, lines)
    assert row["events"] == 3
    assert row["clock_offset_ms"] is None
    assert row["rss_bytes"] > 1 << 20
