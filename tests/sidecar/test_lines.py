"""The lines of --jsonl, word by word, and what becomes of them on a full disk."""

import json
from pathlib import Path

import pytest

from llmload.exits import Exit, Stop
from llmload.sidecar.backend import Reading
from llmload.sidecar.kept import Look
from llmload.sidecar.lines import Lines


def test_looks_become_lines(tmp_path: Path) -> None:
    """`info` and `migs` stand in the first line and where they changed; a lost GPU has no values; half a line goes."""
    path = tmp_path / "gpu.jsonl"
    path.write_bytes(b'{"whole": 1}\n{"half')
    lines = Lines(path)
    here = Reading("0", "U0", info={"name": "H100"}, values={"power_watts": 400.0})
    lines.look(Look(1000.5, 7.25, 0.0031, (here, Reading("1", "U1", up=False)), {"load1": 0.7}))
    lines.look(Look(1001.5, 8.25, 0.002, (here,), {}))
    migs = ({"mig": "7/0", "mig_uuid": "MIG-1", "profile": "1g.10gb"},)
    lines.look(Look(1002.5, 9.25, 0.002, (Reading("0", "U0", info={"name": "H200"}, migs=migs),), {}))
    lines.failed("the driver went away")
    lines.paused(begins=True)
    lines.paused(begins=False)
    lines.close()
    whole, first, second, third, failed, begins, ends = map(json.loads, path.read_text().splitlines())
    assert whole == {"whole": 1}
    assert first == {
        "source": "sidecar",
        "at": 1000.5,
        "mono_ns": 7_250_000_000,
        "took_ms": 3.1,
        "age_s": 0.0,
        "clock_offset_ms": 0.0,
        "gpus": [
            {"uuid": "U0", "gpu": "0", "up": True, "info": {"name": "H100"}, "values": {"power_watts": 400.0}},
            {"uuid": "U1", "gpu": "1", "up": False},
        ],
        "host": {"load1": 0.7},
    }
    assert second["gpus"] == [{"uuid": "U0", "gpu": "0", "up": True, "values": {"power_watts": 400.0}}]
    assert third["gpus"][0]["info"] == {"name": "H200"}
    assert third["gpus"][0]["migs"] == list(migs)
    assert (failed["error"], failed.keys()) == ("the driver went away", {"source", "at", "mono_ns", "error"})
    assert (begins["paused"], ends["paused"]) == (True, False)


def test_a_full_disk_ends_the_lines_and_nothing_else() -> None:
    """It is kept as one sentence, and nobody who writes on is hurt."""
    lines = Lines(Path("/dev/full"))
    for _ in range(2):
        lines.look(Look(1.0, 1.0, 0.0, (), {}))
    assert lines.failure is not None
    assert lines.failure.message.startswith("/dev/full: cannot be written: No space left on device")
    assert lines.failure.code == Exit.INCOMPLETE
    lines.close()


def test_a_file_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    """Before anything else."""
    with pytest.raises(Stop, match="cannot be opened: Is a directory"):
        Lines(tmp_path)
