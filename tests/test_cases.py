"""The scripted streams beside the project, each with its right answer, put to `llmload probe`.

They lie in ../shared/cases of a full checkout; a checkout without that folder skips them and keeps the project's own
tests in tests/stream and tests/send, which hold the most telling ones.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CASES = ROOT.parent / "shared" / "cases"
COMMAND = (
    f"{shlex.quote(sys.executable)} -m llmload probe --host {{base}} --model m --json --api {{endpoint}} "
    "--prompt-file {prompt_file} --extra-body {extra_body} --max-tokens {max_tokens} "
    "--ttft-timeout {ttft_s} --stall-timeout {stall_s} --timeout {total_s}"
)


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.skipif(not (CASES / "check.py").is_file(), reason=f"no scripted cases: {CASES} is not in this checkout")
def test_every_scripted_stream_is_measured_right() -> None:
    """All of them: times, counts, outcome, flags, the number of requests.

    Times are right to 25 ms, and the machine may do something else just then: what misses is played again, alone, up to
    three times.
    """
    command = [sys.executable, str(CASES / "check.py"), str(CASES), "--again", "3", "--command", COMMAND]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
