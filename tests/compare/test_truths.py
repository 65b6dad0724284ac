"""What is true of a candidate, and what `llmload compare` has to say of it: the word, the exit code, the kind.

The same eight as `make proof`, whose runs are real; here on made-up folders, so that they are asked at every change.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from llmload.cli import main
from llmload.exits import Exit
from tests.compare import folders


@dataclass(frozen=True)
class Truth:
    """One candidate against one baseline, with options of the command."""

    baseline: dict[str, Any] = field(default_factory=dict)
    candidate: dict[str, Any] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    word: str = ""
    code: Exit = Exit.OK
    kinds: frozenset[str] = frozenset()
    """Some of those that have to be among the kinds of faster."""
    differs: frozenset[str] = frozenset()
    """All differences that nobody declared."""
    steps: tuple[int, ...] = (1, 8, 32)


EVEN: dict[str, Any] = {"prompt_spread": 0.02, "requests": 200}
"""Answers of nearly one length: with two slots 32 in flight wait for some 15 others."""

TRUTHS = {
    "decode": Truth(
        {"itl_ms": 15},
        {"itl_ms": 10},
        ("--claim", "1.5x decode"),
        "supported",
        Exit.OK,
        frozenset({"decode only"}),
    ),
    "throughput": Truth(
        {"slots": 4},
        {},
        ("--claim", "7x tokens@32"),
        "supported",
        Exit.OK,
        frozenset({"throughput only"}),
    ),
    "failing": Truth(
        {},
        {"fail_share": 0.3},
        ("--claim", "1.2x e2e_p95"),
        "not supported",
        Exit.FAILED,
        frozenset({"failing fast"}),
    ),
    "shorter": Truth(
        {},
        {"answer": 0.5},
        (),
        "not comparable",
        Exit.UNJUDGED,
        frozenset({"shorter answers"}),
        frozenset({"output_lengths"}),
    ),
    "tokenizer": Truth(
        {},
        {"probe_tokens": 190, "chars_per_token": 2.1, "itl_ms": 5, "input_tokens": 400},
        ("--accept", "output_lengths"),
        "not comparable",
        Exit.UNJUDGED,
        frozenset({"smaller tokens"}),
        frozenset({"tokenizer", "prompts"}),
    ),
    "equal": Truth({}, {}, ("--claim", "14x e2e_p95"), "not supported", Exit.FAILED, frozenset({"nothing"})),
    "cliff": Truth(
        {"tokens": 400, "prompt_spread": 0.05},
        {"tokens": 400, "prompt_spread": 0.05, "itl_ms": 8, "cliff": (200, 3.0)},
        ("--claim", "1.2x e2e_p95"),
        "not supported",
        Exit.FAILED,
        frozenset({"short outputs only"}),
        steps=(1, 8),
    ),
    "only at 32": Truth(
        {"slots": 2, **EVEN},
        EVEN,
        ("--claim", "14x e2e_p95"),
        "partly",
        Exit.FAILED,
    ),
}


def play(folder: Path, truth: Truth) -> list[str]:
    """Three rounds a side, A B A B A B, with 1 % of noise between runs: the folders of both sides."""
    for side, seed, how in (("baseline", 10, truth.baseline), ("candidate", 20, truth.candidate)):
        first = int(side == "candidate")
        folders.rounds(folder / side, 3, seed=seed, every=2, first=first, steps=truth.steps, noise=0.01, **how)
    return [str(folder / "baseline"), str(folder / "candidate")]


@pytest.mark.parametrize("name", [name for name in TRUTHS if name != "only at 32"])
def test_what_is_true_is_said(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On sides as `play` makes them."""
    said(TRUTHS[name], play(tmp_path, TRUTHS[name]), capsys)


def said(truth: Truth, sides: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The word, the exit code, the kinds and the differences are those of the truth."""
    code = main(["compare", *sides, *truth.options, "--format", "json"])
    told = json.loads(capsys.readouterr().out)
    pair = told["pairs"][0]
    assert (told["verdict"], code) == (truth.word, truth.code)
    assert truth.kinds <= {kind["key"] for kind in pair["kinds"]}
    assert {item["name"] for item in pair["differences"] if item["standing"] == "undeclared"} == truth.differs


def test_where_a_claim_holds_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """14 times at 32 in flight, where the baseline has a queue, and nowhere else."""
    truth = TRUTHS["only at 32"]
    sides = play(tmp_path, truth)
    said(truth, sides, capsys)
    assert main(["compare", *sides, *truth.options]) == Exit.FAILED
    words = " ".join(capsys.readouterr().out.split())
    assert "holds at 32 in flight" in words
    assert "not at 1 in flight" in words
    assert main(["compare", *sides, *truth.options, "--concurrency", "32"]) == Exit.OK
    assert "verdict: supported" in capsys.readouterr().out
