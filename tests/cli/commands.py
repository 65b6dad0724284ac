"""The real `llmload` command in processes of its own, for tests: started, watched, interrupted, read."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

QUICK = """
name = "quick"
description = "two steps in a few seconds"

[load]
steps = [1, 2]
warmup_requests = 1
warmup_s = 0.1
window_s = 0.5
window_requests = 2
window_cap_s = 20
drain_limit_s = 10
settle_s = 0.1

[[class]]
name = "short"
source = "builtin:short"
input_tokens = 60
max_tokens = 8
prompts = 10
"""
"""Against an endpoint that takes some 10 ms for an answer: over in about five seconds, Locust's start included."""


@dataclass
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def all(self) -> str:
        """Everything it said."""
        return self.out + self.err


def start(
    *words: str, cwd: Path, before: str = "", own_group: bool = False, **environment: str
) -> "subprocess.Popen[str]":
    """Start `llmload` in a folder, with no key and no proxy but those given; `before` is a shell command.

    In a process group of its own, if that is to get a signal as by a terminal.
    """
    mine = {
        name: value
        for name, value in os.environ.items()
        if not name.lower().endswith("_proxy") and name not in {"OPENAI_API_KEY", "LLMLOAD_HOST"}
    }
    return subprocess.Popen(
        ["sh", "-c", f'{before or ":"}; exec "$@"', "sh", sys.executable, "-m", "llmload", *words],
        cwd=cwd,
        env={**mine, "COLUMNS": "120", **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0 if own_group else None,
    )


def end(child: "subprocess.Popen[str]", timeout_s: float = 280.0) -> Ended:
    """Wait for a command; the limit is for one that hangs, not for one that is slow."""
    try:
        out, err = child.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
        raise AssertionError(f"did not end within {timeout_s} s:\n{out}\n{err}") from None
    return Ended(child.returncode, out, err)


def llmload(*words: str, cwd: Path, **environment: str) -> Ended:
    """Run `llmload` to its end."""
    return end(start(*words, cwd=cwd, **environment))


def quick(folder: Path, text: str = QUICK) -> Path:
    """A scenario file in a folder."""
    path = folder / "quick.toml"
    path.write_text(text)
    return path


def runs(folder: Path) -> list[Path]:
    """The run folders that were made below a folder."""
    return sorted((folder / "runs").glob("*"))


def records(folder: Path) -> list[dict[str, Any]]:
    """The records of a run so far."""
    path = folder / "requests.jsonl"
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]] if path.exists() else []


def run_json(folder: Path) -> dict[str, Any]:
    """run.json of a run, or nothing yet."""
    try:
        value: dict[str, Any] = json.loads((folder / "run.json").read_text())
    except FileNotFoundError:
        return {}
    return value


def check_code(found: Ended, folder: Path, code: int) -> None:
    """The exit code is as expected. Or it is 5, and the one reason is that this machine was too busy to measure."""
    if found.code == 5 != code:
        reasons = json.loads((folder / "summary.json").read_text())["reasons"]
        assert reasons, found.all
        assert all("generator-bound" in reason for reason in reasons), found.all
        return
    assert found.code == code, found.all


def until(true: Callable[[], Any], timeout_s: float = 60.0) -> Any:
    """Wait until something is true, and give it."""
    deadline = time.monotonic() + timeout_s
    while not (value := true()):
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)
    return value
