"""`llmload demo`: an endpoint of its own, a run, a report, and nothing left behind."""

import signal
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.cli.commands import Ended, check_code, end, records, run_json, runs, start, until

pytestmark = pytest.mark.timeout(600)  # whole runs: a machine may be slow, only a hang is a fault

SHORT = ("--steps", "1,2", "--duration", "1s", "--set", "load.warmup_s=0")
BRIEF = tuple(f"--set=class.{name}.max_tokens=5" for name in ("short", "medium", "long"))


def engines() -> list[psutil.Process]:
    """Simulators that a demo started."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if process.info["cmdline"] and "simulate" in process.info["cmdline"] and "429=0.02" in process.info["cmdline"]
    ]


@dataclass
class Demos:
    """Demos that were started together: `whole` runs to its end, the others are ended by a signal in mid-run."""

    before: set[int]
    """Engines that were there already."""
    whole: Ended
    folder: Path
    ended: dict[int, Ended]


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Demos:
    """All of them; most of each is Locust's start."""
    before = {process.pid for process in engines()}
    folder = tmp_path_factory.mktemp("whole")
    whole = start("demo", *SHORT, *BRIEF, cwd=folder)
    cut = {}
    for number in (signal.SIGINT, signal.SIGKILL):
        where = tmp_path_factory.mktemp("cut")
        cut[number] = (start("demo", "--steps", "1,2", "--duration", "5m", cwd=where), where)
    ended: dict[int, Ended] = {}
    for number, (child, where) in cut.items():
        until(lambda child=child, at=where: child.poll() is not None or (runs(at) and records(runs(at)[0])), 120)
        child.send_signal(number)
        ended[number] = end(child)
    return Demos(before, end(whole), runs(folder)[0], ended)


def test_a_demo_runs_and_reports(demos: Demos) -> None:
    """Code 0, the table, all files."""
    found, folder = demos.whole, demos.folder
    check_code(found, folder, 0)
    for words in ("starting an endpoint with known timing", "simulated", "verdict: ", f"{folder.name}/report.html"):
        assert words in found.out
    assert (folder / "report.html").exists()
    assert run_json(folder)["command"][:2] == ["llmload", "demo"]


def test_the_engine_ends_with_the_demo(demos: Demos) -> None:
    """At its end, interrupted or killed, no engine is left; interrupted, what was recorded is reported."""
    until(lambda: {process.pid for process in engines()} <= demos.before)
    assert demos.ended[signal.SIGINT].code == 6, demos.ended[signal.SIGINT].all
    assert "verdict: INCOMPLETE" in demos.ended[signal.SIGINT].out
    assert demos.ended[signal.SIGKILL].code == -signal.SIGKILL
