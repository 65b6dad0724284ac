"""A key that was typed where it does not belong: refused before anything is written or shown."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

KEY = "sk-secret-XYZ"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--host", f"http://127.0.0.1:9/v1?api_key={KEY}"), "--host: holds the value of OPENAI_API_KEY"),
        (("--host", "http://127.0.0.1:9", "--label", f"a={KEY}"), "scenario.labels.a: holds the value of"),
        (("--host", "http://127.0.0.1:9", "--set", f"key_env={KEY}"), "expected the name of an environment variable"),
    ],
)
def test_a_misplaced_key_is_refused_unseen(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    """Exit code 2, where it stands, no word of it on the screen, and no file."""
    command = [sys.executable, "-m", "llmload", "run", "smoke", *arguments, "--out", str(tmp_path / "runs")]
    environment = {**os.environ, "OPENAI_API_KEY": KEY}
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=60)
    assert ended.returncode == 2, ended.stderr
    assert words in ended.stderr
    assert KEY not in ended.stdout + ended.stderr
    assert not (tmp_path / "runs").exists()
