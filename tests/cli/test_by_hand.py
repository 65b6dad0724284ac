"""`llmload run --web --by-hand`: the page is there until Ctrl-C, and every run is reported on the terminal."""

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from llmload.cli import launch, run
from llmload.exits import Exit, Stop
from tests.drive.locusts import free_port, scenario
from tests.drive.web import page, press, until
from tests.simulate import child


def parsed(*words: str) -> argparse.Namespace:
    """The options of `llmload run`."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    run.add_arguments(parser)
    return parser.parse_args(words)


def test_the_page_stays_until_ctrl_c(tmp_path: Path) -> None:
    """A run comes to its end, its table is printed, and the page waits for the next; Ctrl-C ends all, with a code."""
    file = scenario(tmp_path, window_s=0.5, warmup_s=0.1)
    port = str(free_port())
    ui = f"http://127.0.0.1:{port}"
    log = tmp_path / "said.txt"
    with child.running("--ttft-ms", "30", "--itl-ms", "5") as server, log.open("wb") as out:
        command = [
            sys.executable, "-m", "llmload", "run", str(file), "--host", server.url, "--web", "--by-hand",
            "--web-port", port, "--metrics-port", "0", "--out", "runs",
        ]  # fmt: skip
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=tmp_path, start_new_session=True)
        try:
            assert "llmload: live figures" in page(f"{ui}/")
            until(lambda: press(f"{ui}/swarm", user_count="2", spawn_rate="1", load="by hand")["success"])
            path = next((tmp_path / "runs").glob("*/run.json"))
            until(lambda: [step for step in json.loads(path.read_bytes())["steps"] if step["window_started_at"]])
            until(lambda: press(f"{ui}/llmload/live")["state"] == "running")
            time.sleep(0.7)
            press(f"{ui}/swarm", user_count="0", spawn_rate="1")
            until(lambda: "llmload: run folder: " in log.read_text(), 60.0)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            code = process.wait(60)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    said = log.read_text()
    ended = json.loads(path.read_bytes())
    assert ended["command"][:2] == ["llmload", "run"]
    assert code in {Exit.OK, Exit.DEGRADED}, said  # on a busy machine the generator may be the limit
    assert f"Set users at {ui}, watch at {ui}/llmload" in said
    assert "What users felt: successes only" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--by-hand",), '--load "by hand" needs --web'),
        (("--by-hand", "--web", "--dry-run"), "--dry-run does not go with"),
        (("--by-hand", "--web", "--gate", "ok>1"), "--gate does not go with"),
        (("--by-hand", "--web", "--max-fail-ratio", "0.1"), "--max-fail-ratio does not go with"),
        (("--web-port", "80"), "--web-host and --web-port belong to --web"),
        (("--web-host", "0.0.0.0"), "--web-host and --web-port belong to --web"),
    ],
)
def test_what_does_not_go_together_is_said(words: tuple[str, ...], sentence: str) -> None:
    """Before anything is started."""
    with pytest.raises(Stop, match=re.escape(sentence)) as caught:
        launch.check(parsed("mixed", *words))
    assert caught.value.code is Exit.USAGE


@pytest.mark.parametrize(
    ("words", "address"),
    [
        ((), "http://127.0.0.1:8089"),
        (("--web-port", "90"), "http://127.0.0.1:90"),
        (("--web-host", "0.0.0.0"), "http://127.0.0.1:8089"),
        (("--web-host", "::1"), "http://[::1]:8089"),
        (("--web-host", "box"), "http://box:8089"),
    ],
)
def test_the_address_that_is_printed_can_be_opened_here(words: tuple[str, ...], address: str) -> None:
    """By a browser on this machine."""
    assert launch.page(parsed("mixed", *words)) == address


@pytest.mark.parametrize("hand", [(), ("--by-hand",)])
def test_a_page_that_cannot_be_served_is_said_before_anything_else(hand: tuple[str, ...], tmp_path: Path) -> None:
    """Somebody listens there: one sentence, and neither an address that leads nowhere nor a run folder."""
    words = ("mixed", "--host", "http://127.0.0.1:9", "--web", "--out", str(tmp_path), *hand)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with pytest.raises(Stop, match=f"the web page cannot be on port {port} of 127.0.0.1: Address already in use"):
            run.main(parsed(*words, "--web-port", port))
    assert not list(tmp_path.iterdir())


def test_only_a_plan_starts_by_itself() -> None:
    """And ends the process with it; the words for the page are in the command that is shown."""
    plan = launch.started(parsed("mixed", "--web", "--web-port", "90"), "http://x", None, None)
    hand = launch.started(parsed("mixed", "--web", "--by-hand"), "http://x", None, None)
    assert plan[-3:] == ["--autostart", "--autoquit", "0"]
    assert plan[plan.index("--web-port") + 1] == "90"
    assert "--autostart" not in hand
    assert hand[hand.index("--load") + 1] == "by hand"
