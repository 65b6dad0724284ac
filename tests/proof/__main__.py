"""`python -m tests.proof [CASE…]`: run the cases and say of each whether the comparison found what is true.

Minutes: three rounds a side of each. Run folders stay under runs/proof.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.proof.cases import CASES, USUAL, Case
from tests.simulate import child

ROOT = Path("runs/proof")
SCENARIO = """
[load]
warmup_requests = 1
warmup_s = 0.5
window_s = 3
window_requests = 8
drain_limit_s = 20

[[class]]
name = "short"
source = "builtin:short"
input_tokens = 60
max_tokens = {tokens}
prompts = 20
"""


def run(name: str, case: Case) -> list[str]:
    """Run a case; gives what was wrong, nothing if all is right."""
    folder = ROOT / name
    folder.mkdir(parents=True, exist_ok=True)
    scenario = folder / f"{name}.toml"
    scenario.write_text(SCENARIO.format(tokens=case.tokens))
    with (
        child.running(*USUAL, *case.baseline, "--seed", "1") as old,
        child.running(*USUAL, *case.candidate, "--seed", "2") as new,
    ):
        words = [sys.executable, "-m", "llmload", "ab", str(scenario), "--baseline", old.url, "--candidate", new.url]
        words += ["--steps", case.steps, "--rounds", "3", "--pause", "0.5s", "--out", str(folder), *case.asked]
        ended = subprocess.run(words, capture_output=True, text=True, check=False)
    made = max(folder.glob("*-ab"))
    (made / "terminal.txt").write_text(ended.stdout + ended.stderr)
    told = json.loads((made / "compare.json").read_text())
    said = (made / "compare.md").read_text().lower()
    # 5: the generator was the bottleneck somewhere, on a machine with other work; the word has to be right all the same
    wrong = [f"exit code {ended.returncode}, not {case.code}"] if ended.returncode not in (case.code, 5) else []
    wrong += [f"{told['verdict']!r}, not {case.word!r}"] if told["verdict"] != case.word else []
    if ended.returncode == 5:
        print(f"{name:12} (DEGRADED: see {made / 'terminal.txt'})")
    return wrong + [f"nothing of {text!r}" for text in case.says if text not in said]


def main(names: list[str]) -> int:
    """Run the named cases, or all; 1 if any was wrong."""
    unknown = [name for name in names if name not in CASES]
    if unknown:
        print(f"unknown case {unknown[0]!r}; expected some of: {', '.join(CASES)}", file=sys.stderr)
        return 2
    print(f"{os.cpu_count()} cores, load before: {os.getloadavg()[0]:.1f}", flush=True)
    failed = 0
    for name in names or CASES:
        began = time.monotonic()
        wrong = run(name, CASES[name])
        failed += bool(wrong)
        print(f"{name:12} {'; '.join(wrong) or CASES[name].word}  ({time.monotonic() - began:.0f} s)", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
