"""The same run through Locust's web page: started, stopped and started again by its buttons' requests."""

import json
import time
from pathlib import Path
from typing import Any

from tests.drive import locusts
from tests.drive.locusts import locust, scenario
from tests.drive.web import page, press, until
from tests.simulate import child


def finished(folder: Path) -> dict[str, Any]:
    """run.json of a run that has a verdict."""
    path = folder / "run.json"
    return dict(until(lambda: path.exists() and (run := json.loads(path.read_bytes()))["verdict"] and run))


def test_start_stop_and_start_again(tmp_path: Path) -> None:
    """The first run ends by itself, the second is stopped: each has a folder, a verdict, and all its records."""
    file = scenario(tmp_path, steps=[1], window_s=0.5)
    port = str(locusts.free_port())
    ui = f"http://127.0.0.1:{port}"
    arguments = ("--scenario", str(file), "--processes", "2", "--web-host", "127.0.0.1", "--web-port", port)
    with (
        child.running("--ttft-ms", "30", "--itl-ms", "10") as server,
        locust(tmp_path, *arguments, headless=False, OPENAI_API_KEY="sk-not-on-the-page") as running,
    ):
        first = page(ui)
        assert "sk-not-on-the-page" not in first
        for name in ("scenario", "model", "steps", "duration"):
            assert f'"{name}"' in first.replace("&#34;", '"'), name
        until(lambda: "2 workers connected" in running.words())
        assert press(f"{ui}/swarm", host=server.url, steps="2")["success"]
        one = finished(running.folder)
        assert (one["verdict"], [step["concurrency"] for step in one["steps"]]) == ("OK", [2])

        def start_again() -> list[Path]:
            # Locust says "stopped" up to a second before it takes a new start, and ignores one until then
            press(f"{ui}/swarm", host=server.url, steps="3", duration="30s")
            time.sleep(0.5)
            return list(tmp_path.glob("*-short/run.json"))

        others = until(start_again)
        second = locusts.Running(running.process, others[0].parent, running.log)
        second.until_measuring()
        assert press(f"{ui}/stop", now="yes")["success"]
        two = finished(second.folder)
        left = locusts.Left(0, second.folder, running.words())
    assert (two["verdict"], two["reasons"]) == ("INCOMPLETE", ["stopped by the user"])
    assert two["steps"][0]["ended_by"] == "stopped"
    assert all(line["lost"] == 0 for line in two["accounting"].values())
    assert len(left.records) == sum(line["started"] for line in two["accounting"].values())


def test_a_wrong_scenario_from_the_form_is_a_sentence_in_the_log(tmp_path: Path) -> None:
    """The page stays, nothing runs, and the Logs tab says what is wrong."""
    port = str(locusts.free_port())
    ui = f"http://127.0.0.1:{port}"
    arguments = ("--scenario", str(scenario(tmp_path)), "--web-host", "127.0.0.1", "--web-port", port)
    with locust(tmp_path, *arguments, headless=False) as running:
        page(ui)
        press(f"{ui}/swarm", host="http://127.0.0.1:9", steps="none")
        until(lambda: "/ERROR/llmload: " in running.words())
        assert any("load.steps" in line for line in press(f"{ui}/logs")["master"])
        assert "'ftp'" in press(f"{ui}/swarm", host="ftp://127.0.0.1")["message"]  # those steps are forgotten
        assert running.process.poll() is None
