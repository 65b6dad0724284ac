"""`llmload demo`: an endpoint of its own, a run, a report, and nothing left behind."""

import signal
from pathlib import Path

import psutil
import pytest

from tests.cli.commands import end, llmload, records, run_json, runs, start, until

SHORT = ("--steps", "1,2", "--duration", "1s", "--set", "load.warmup_s=0")
BRIEF = tuple(f"--set=class.{name}.max_tokens=5" for name in ("short", "medium", "long"))


def engines() -> list[psutil.Process]:
    """Simulators that a demo started."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if process.info["cmdline"] and "simulate" in process.info["cmdline"] and "429=0.02" in process.info["cmdline"]
    ]


def test_a_demo_runs_and_reports(tmp_path: Path) -> None:
    """Code 0, the table, all files; the engine is gone."""
    before = {process.pid for process in engines()}
    found = llmload("demo", *SHORT, *BRIEF, cwd=tmp_path)
    assert found.code == 0, found.all
    folder = runs(tmp_path)[0]
    for words in ("starting an endpoint with known timing", "simulated", "verdict: OK", f"{folder.name}/report.html"):
        assert words in found.out
    assert (folder / "report.html").exists()
    assert run_json(folder)["command"][:2] == ["llmload", "demo"]
    assert {process.pid for process in engines()} <= before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 6), (signal.SIGKILL, -9)])
def test_the_engine_ends_with_the_demo(number: int, code: int, tmp_path: Path) -> None:
    """Interrupted or killed, no engine is left; interrupted, what was recorded is reported."""
    before = {process.pid for process in engines()}
    child = start("demo", "--steps", "1,2", cwd=tmp_path)
    until(lambda: child.poll() is not None or (runs(tmp_path) and records(runs(tmp_path)[0])), 60)
    child.send_signal(number)
    found = end(child)
    assert found.code == code, found.all
    until(lambda: {process.pid for process in engines()} <= before, 10)
    assert ("verdict: INCOMPLETE" in found.out) == (number == signal.SIGINT)
