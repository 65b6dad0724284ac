"""A claim held against two real servers, from `llmload ab` to the verdict: decoding is three times as fast."""

import json
from pathlib import Path

import pytest

from llmload.engines.start import Engine, serving
from tests.cli.commands import QUICK, llmload, quick, runs

SIMULATE = ("-m", "llmload", "simulate", "--ttft-ms", "20")
LONGER = QUICK.replace("steps = [1, 2]", "steps = [2]").replace("max_tokens = 8", "max_tokens = 10")
LONGER = LONGER.replace("window_requests = 2", "window_requests = 4")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_claim_from_its_runs_to_its_verdict(tmp_path: Path) -> None:
    """`3x decode` is supported; of the same runs `14x decode` has its direction alone, and a gate of 1.05 holds.

    Gaps are so long that what a busy machine adds to them is little. On one too busy to measure the code is 5, and the
    words are the same.
    """
    quick(tmp_path, LONGER)
    with (
        serving(Engine("simulator", (*SIMULATE, "--itl-ms", "60"), "demo")) as old,
        serving(Engine("simulator", (*SIMULATE, "--itl-ms", "20"), "demo")) as new,
    ):
        words = ("quick.toml", "--baseline", old, "--candidate", new, "--pause", "0", "--metrics-port", "0")
        ab = llmload("ab", *words, "--claim", "3x decode", "--accept", "generator", cwd=tmp_path)
    (place,) = runs(tmp_path)
    told = json.loads((place / "compare.json").read_text())
    assert (told["verdict"], ab.code) in (("supported", 0), ("supported", 5)), ab.all
    pair = told["pairs"][0]
    assert "decode only" in {kind["key"] for kind in pair["kinds"]}
    assert not [item for item in pair["differences"] if item["standing"] == "undeclared"]
    assert (place / "compare.html").read_text().count("<h1") == 1
    gate = ("--accept", "generator", "--gate", "p95_e2e<=1.05")
    again = llmload("compare", str(place), "--claim", "14x decode", *gate, cwd=tmp_path)
    assert again.code in (1, 5)
    assert "direction confirmed, size not" in again.out
    assert "gate p95_e2e<=1.05: holds" in again.out
