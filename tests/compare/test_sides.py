"""What the operands of a comparison stand for: runs, rounds, sides, and what finds no counterpart."""

import itertools
import shutil
from pathlib import Path

import orjson
import pytest

from llmload.compare import capable, sides
from llmload.compare.sides import Contest, Level
from llmload.exits import Exit, Stop
from tests.compare.folders import make

SEEDS = itertools.count(1)


def a_run(path: Path, started: float = 0.0, **more: object) -> Path:
    """A small run."""
    return make(path, seed=next(SEEDS), requests=6, started=started, **more)  # type: ignore[arg-type]


def read(*operands: object) -> Contest:
    """As from the command line."""
    return sides.read([str(operand) for operand in operands])


def refused(*operands: object) -> tuple[str, Exit]:
    """The sentence and the code."""
    with pytest.raises(Stop) as stop:
        read(*operands)
    return stop.value.message, stop.value.code


def test_two_runs(tmp_path: Path) -> None:
    """One run a side, with the levels and classes that both have."""
    contest = read(a_run(tmp_path / "a", steps=(1, 4, 8)), a_run(tmp_path / "b", 500, steps=(4, 8, 16)))
    [pair] = contest.pairs
    assert (pair.baseline.name, pair.candidate.name, contest.ab, contest.warnings) == (
        "baseline",
        "candidate",
        None,
        (),
    )
    assert [level.label for level in pair.levels] == ["4", "8"]
    assert [level.label for level in pair.left_out] == ["1", "16"]
    assert pair.workloads == ("short", "all")
    assert pair.interleaved
    row = pair.baseline.row(0, Level(4, None), "all")
    assert row is not None
    assert (row["concurrency"], row["workload"]) == (4, "all")
    assert pair.candidate.row(0, Level(1, None), "all") is None


@pytest.mark.parametrize(
    ("order", "paired"),
    [("abba", True), ("abab", True), ("baba", True), ("abbaab", True), ("aabb", False), ("abbbaa", False)],
)
def test_rounds_are_those_of_a_folder(order: str, paired: bool, tmp_path: Path) -> None:
    """Folders in a folder are rounds, in the order of their begin; they are paired where each two are one of either."""
    for at, side in enumerate(order):
        a_run(tmp_path / side / f"run{9 - at}", started=at * 100.0)
    [pair] = read(tmp_path / "a", tmp_path / "b").pairs
    names = [built.folder.name for built in pair.baseline.rounds]
    assert names == [f"run{9 - at}" for at, side in enumerate(order) if side == "a"]
    assert pair.interleaved is paired


def test_runs_between_commas_and_names(tmp_path: Path) -> None:
    """`NAME=RUN,RUN` names a side; more than two sides are candidates of one baseline."""
    runs = [a_run(tmp_path / f"r{at}", at * 100.0) for at in range(4)]
    contest = read(f"old={runs[0]},{runs[1]}", f"+A={runs[2]}", runs[3])
    assert [(pair.baseline.name, pair.candidate.name) for pair in contest.pairs] == [("old", "+A"), ("old", "r3")]
    assert len(contest.pairs[0].baseline.rounds) == 2


def test_a_folder_of_ab(tmp_path: Path) -> None:
    """It stands alone and has both sides in it."""
    a_run(tmp_path / "x-ab" / "baseline" / "one")
    a_run(tmp_path / "x-ab" / "candidate" / "two", 100)
    (tmp_path / "x-ab" / "ab.json").write_bytes(orjson.dumps({"schema": 1}))
    contest = read(tmp_path / "x-ab")
    assert contest.ab == tmp_path / "x-ab"
    assert (contest.pairs[0].baseline.name, contest.pairs[0].candidate.name) == ("baseline", "candidate")
    words, code = refused(tmp_path / "x-ab", tmp_path / "x-ab" / "candidate")
    assert "it is what llmload ab left: name it alone" in words
    assert code is Exit.UNJUDGED


def test_scenarios_are_compared_each_by_itself(tmp_path: Path) -> None:
    """Runs of both sides are put together by their scenario; one that only one side has is told."""
    for at, (side, name) in enumerate([("a", "mixed"), ("a", "short"), ("b", "short"), ("b", "mixed"), ("b", "long")]):
        a_run(tmp_path / side / f"{name}{at}", at * 100.0, name=name)
    contest = read(tmp_path / "a", tmp_path / "b")
    assert [pair.scenario for pair in contest.pairs] == ["mixed", "short"]
    assert contest.warnings == ("scenario long: only candidate has runs of it, so it is not compared",)
    contest = read(tmp_path / "b", tmp_path / "a")
    assert contest.warnings == ("scenario long: candidate has no run of it, so it is not compared there",)


def test_one_scenario_each_is_meant_whatever_its_name(tmp_path: Path) -> None:
    """Two runs of scenarios with different names are compared; what differs in them is for `differences` to tell."""
    contest = read(a_run(tmp_path / "a", name="mixed"), a_run(tmp_path / "b", 100, name="mixed-new"))
    assert [pair.scenario for pair in contest.pairs] == ["mixed"]


def test_what_cannot_be_compared(tmp_path: Path) -> None:
    """A sentence and a code for each."""
    one, two = a_run(tmp_path / "one", steps=(1,)), a_run(tmp_path / "two", 100, steps=(2,))
    (tmp_path / "empty").mkdir()
    copy = tmp_path / "copy"
    shutil.copytree(one, copy)
    words, code = refused(one)
    assert "one side alone cannot be compared" in words
    assert code is Exit.USAGE
    words, code = refused(one, one)
    assert "this run is named twice" in words
    assert code is Exit.USAGE
    assert refused(one, tmp_path / "no")[0].endswith(
        "no: no such folder; expected a run folder, or a folder in which run folders lie"
    )
    assert refused(one, tmp_path / "empty")[1] is Exit.UNJUDGED
    assert refused(one, ",")[0].startswith("',': names no folder")
    assert refused(one, "")[0].startswith("'': names no folder")
    assert refused(one, "x=")[0].startswith("'x=': names no folder")
    words, code = refused(one, "n" * 300)
    assert words == f"{'n' * 200}: cannot be read: File name too long"
    assert code is Exit.UNJUDGED
    assert refused(one, f"x={two}", f"x={copy}")[0].startswith("two sides are called 'x'")
    words, code = refused(one, two)
    assert words.endswith("no step stands in every run, so there is nothing to compare; steps are one: 1; two: 2")
    assert code is Exit.UNJUDGED


def test_a_run_without_a_step(tmp_path: Path) -> None:
    """A run that was killed before its first window has nothing to compare."""
    run = make(tmp_path / "cut", seed=1, requests=2, run={"steps": []})
    (run / "requests.jsonl").write_bytes(b"")
    words, code = refused(a_run(tmp_path / "a"), run)
    assert "this run has no step that was measured" in words
    assert code is Exit.UNJUDGED


def test_capabilities_stand_beside_one_another(tmp_path: Path) -> None:
    """What was stated and what a request showed, in words; what one side does not tell is `not said`."""
    told = {
        "tools": {"stated": True, "seen": True, "words": "the tool was called"},
        "json_mode": {"stated": True, "seen": False, "words": "no JSON came"},
        "context": {"stated": 8192, "seen": None, "words": ""},
    }
    other = {"languages": {"stated": ["de", "en"], "seen": True, "words": ""}}
    one = a_run(tmp_path / "a", run={"capabilities": told})
    two = a_run(tmp_path / "b", 100, run={"capabilities": other})
    assert capable.beside(read(one, two).pairs[0]) == (
        ("tool calls", "yes (seen: the tool was called)", "not said"),
        ("JSON mode", "yes (NOT seen: no JSON came)", "not said"),
        ("context", "8,192 tokens (not checked)", "not said"),
        ("languages", "not said", "de, en (seen)"),
    )
