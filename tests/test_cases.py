"""The scripted streams beside the project, each with its right answer, put to `llmload probe`.

They lie in ../shared/cases of a full checkout; a checkout without that folder skips them and keeps the project's own
tests in tests/stream and tests/send, which hold the most telling ones.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forked

ROOT = Path(__file__).parent.parent
CASES = ROOT.parent / "shared" / "cases"
COMMAND = (
    "probe --host {base} --model m --json --api {endpoint} "
    "--prompt-file {prompt_file} --extra-body {extra_body} --max-tokens {max_tokens} "
    "--ttft-timeout {ttft_s} --stall-timeout {stall_s} --timeout {total_s}"
)
PARTS = ("llmload.cli.probe", "llmload.send.asking", "llmload.send.client", "llmload.send.models")
"""What every probe would read before it sends."""
ROUNDS = 6
NOISE = 70
"""More misses than this are no machine's fault: they are not played again."""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not (CASES / "check.py").is_file(), reason=f"no scripted cases: {CASES} is not in this checkout")
def test_every_scripted_stream_is_measured_right(tmp_path: Path) -> None:
    """All of them: times, counts, outcome, flags, the number of requests.

    Times are right to 25 ms, and the machine may do something else just then: what misses is played again, one at a
    time. Each probe is a process of its own, which has read its modules before; that the command as users start it
    gives the same record is for tests/cli/test_probe.py.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    check = [sys.executable, str(CASES / "check.py"), str(CASES), "--again", "0"]
    chosen: tuple[str, ...] = ("--jobs", "6")
    with forked.ready(tmp_path / "socket", *PARTS, env=environment) as llmload:
        for _ in range(ROUNDS):
            command = [*check, *chosen, "--command", f"{shlex.join(llmload)} {COMMAND}"]
            done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
            missed = sorted(set(re.findall(r"^([A-Z]\d+[a-z]?) ", done.stdout, re.MULTILINE)))
            if done.returncode == 0 or not 0 < len(missed) <= NOISE:
                break
            chosen = ("--jobs", "1", "--only", ",".join(missed))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
