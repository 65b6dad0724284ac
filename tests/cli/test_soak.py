"""A soak with the real command, scaled to seconds, and killed with all its processes."""

from pathlib import Path

import orjson
import psutil
import pytest

from tests.cli.commands import llmload, run_json, start, until
from tests.simulate import child

pytestmark = pytest.mark.timeout(600)  # whole runs: a machine may be slow, only a hang is a fault


def test_a_soak_holds_its_largest_step_and_survives_being_killed(tmp_path: Path) -> None:
    """Half a second, three seconds and half a second; then every process dies, and the seconds are reported."""
    folder = tmp_path / "run"
    with child.running("--ttft-ms", "5", "--itl-ms", "1") as server:
        words = [
            "run",
            "soak",
            "--host",
            server.url,
            "--duration",
            "3s",
            "--steps",
            "1,2,1",
            "--run-folder",
            str(folder),
        ]
        words += ["--set", "load.window_s=0.5", "--set", "load.warmup_s=0.1", "--set", "load.warmup_requests=3"]
        words += ["--set", "class.long.input_tokens=100", "--metrics-port", "0", "--server-metrics", "off"]
        run = start(*words, cwd=tmp_path)
        until(lambda: len(run_json(folder).get("steps", ())) == 3, 120)
        processes = [*psutil.Process(run.pid).children(recursive=True), psutil.Process(run.pid)]
        for process in processes:
            process.kill()
        run.communicate()
    windows = [row["window_ended_at"] - row["window_started_at"] for row in run_json(folder)["steps"][:2]]
    assert 0.5 <= windows[0] < 3 <= windows[1]
    found = llmload("report", str(folder), "--bucket", "1s", cwd=tmp_path)
    assert found.code == 6, found.all
    assert "The soak, 1 s by 1 s" in found.out
    summary = orjson.loads((folder / "summary.json").read_bytes())
    assert (summary["verdict"], summary["soak"]["step"]) == ("INCOMPLETE", 1)
    buckets = summary["soak"]["buckets"]
    assert [row["whole"] for row in buckets[:3]] == [True] * 3
    assert sum(row["started"] for row in buckets) == summary["rows"][7]["started"] > 20
    assert (folder / "soak.csv").read_text().count("\n") == 1 + len(buckets)
