"""`llmload demo`: an endpoint of its own, a run, a report, and nothing left behind."""

import signal
from pathlib import Path

import psutil
import pytest

from tests.cli.commands import check_code, end, llmload, records, run_json, runs, start, until

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
    folder = runs(tmp_path)[0]
    check_code(found, folder, 0)
    for words in ("starting an endpoint with known timing", "simulated", "verdict: ", f"{folder.name}/report.html"):
        assert words in found.out
    assert (folder / "report.html").exists()
    assert run_json(folder)["command"][:2] == ["llmload", "demo"]
    assert {process.pid for process in engines()} <= before


def test_the_engine_ends_with_the_demo(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Interrupted or killed, no engine is left; interrupted, what was recorded is reported."""
    before = {process.pid for process in engines()}
    started = []
    for number in (signal.SIGINT, signal.SIGKILL):
        folder = tmp_path_factory.mktemp("demo")
        started.append((number, start("demo", "--steps", "1,2", cwd=folder), folder))
    found = {}
    for number, child, folder in started:
        until(lambda child=child, at=folder: child.poll() is not None or (runs(at) and records(runs(at)[0])), 60)
        child.send_signal(number)
        found[number] = end(child)
    until(lambda: {process.pid for process in engines()} <= before, 10)
    assert found[signal.SIGINT].code == 6, found[signal.SIGINT].all
    assert "verdict: INCOMPLETE" in found[signal.SIGINT].out
    assert found[signal.SIGKILL].code == -signal.SIGKILL
