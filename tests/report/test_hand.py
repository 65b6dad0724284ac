"""A run whose levels a person set on the web page: rows of those that were held, one note on the others."""

from pathlib import Path
from typing import Any

import pytest

from llmload.record.record import CUT_BY_STEP_END, CUT_BY_USER
from llmload.report import building, files, gates, head
from llmload.report.building import Built
from llmload.report.plots import PLOTS
from tests.report.synthetic import START, record, second, step
from tests.report.worked import built_of

LOAD = {"kind": "hand", "steps": [], "rates": [], "warmup_requests": 3, "warmup_s": 1.0, "window_s": 60.0}


def level(index: int, users: int, begin: float, seconds: float, *, held: bool | None = True, **more: Any) -> Any:
    """A level whose window is as long as it was held; one that was not held never had any."""
    window = {} if held else {"window_started_at": None, "window_ended_at": None}
    times = {"started_at": START + begin, "ended_at": START + begin + seconds, "ended_by": "level", "held": held}
    return step(index, users, begin, begin + seconds, **(times | window | more))


def attempts(index: int, users: int, begin: float, n: int, first: int, **more: Any) -> list[dict[str, Any]]:
    """So many a level, 0.1 s apart."""
    return [record(first + k, sent=begin + k / 10, step=index, concurrency=users, **more) for k in range(n)]


@pytest.fixture
def built(tmp_path: Path) -> Built:
    """1, 2 for 3 s, 4, 4 once more, 9 for 1.4 s, stopped at 4; what was cut at a change of level says so."""
    steps = [
        level(0, 1, 0, 20),
        level(1, 2, 30, 3, held=False),
        level(2, 4, 40, 20),
        level(3, 4, 70, 20),
        level(4, 9, 100, 1.4, held=False),
        level(5, 1, 110, 15, ended_by="stopped"),
    ]
    records = attempts(0, 1, 0, 100, 0)
    records += attempts(1, 2, 30, 20, 100, phase="warmup", outcome="overloaded", end=5.0)
    records += attempts(1, 2, 32, 1, 120, outcome="http_error", end=5.0, error="500 only here")
    records += attempts(2, 4, 40, 100, 121)
    records += attempts(2, 4, 60, 3, 221, phase="drain", outcome="cancelled", error=CUT_BY_STEP_END, end=5.0)
    records += attempts(3, 4, 70, 100, 224, ttft=300.0)
    records += attempts(4, 9, 100, 5, 324, phase="warmup")
    records += attempts(5, 1, 110, 100, 329)
    records += attempts(5, 1, 124, 1, 429, outcome="cancelled", error=CUT_BY_USER, end=5.0)
    watched = [second(at) for at in range(130)]
    return built_of(tmp_path, records, steps, generator=watched, load=LOAD)


def test_levels_that_were_held_are_rows(built: Built) -> None:
    """Those held too short are not; a level set twice is two rows; a change of level and the stop are proper ends."""
    rows = [row for row in built.summary["rows"] if row["workload"] == "all"]
    assert [(row["step"], row["concurrency"], row["ok"]) for row in rows] == [
        (0, 1, 100), (2, 4, 100), (3, 4, 100), (5, 1, 100)
    ]  # fmt: skip
    assert [row["window_s"] for row in rows] == [20, 20, 20, 15]
    assert [row["failed"] for row in rows] == [0, 0, 0, 0]
    assert rows[-1]["cancelled"] == 1
    assert (built.verdict.word, built.exit_code) == ("OK", 0)


def test_the_others_are_told_in_one_note(built: Built) -> None:
    """How many, which and for how long, in every format for people; their failures are nobody's figures."""
    what = dict(head.what(built.facts))
    assert head.load(built.facts) == "closed loop, set by hand: 1, 4, 4, 1 in flight"
    assert what["left out"] == "2 levels were held too short for a row: 2 in flight for 3 s, 9 in flight for 1 s"
    assert dict(head.settings(built.facts))["window"] == "for as long as the level was held"
    for kind, render in files.FORMATS.items():
        text = render(built)
        assert ("held too short" in text) is (kind not in ("csv", "json")), kind
        assert "only here" not in text
        assert "overloaded" not in text


def test_nothing_is_said_of_proper_ends(built: Built) -> None:
    """No window was cut; the same level twice is named once."""
    assert not [words for words in built.warnings if words.startswith("the window")]
    (p99,) = (words for words in built.warnings if words.startswith("the p99 at"))
    assert p99.startswith("the p99 at 1 and 4 in flight stands on fewer than 500")


def test_gates_and_pictures_of_levels(built: Built) -> None:
    """@4 is about both rows; the pictures have all four."""
    judged = gates.judge(gates.parse("ttft_ms.p50<=200@4"), built.summary["rows"])
    assert (judged.holds, judged.words) == (False, "300 at 4")
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert PLOTS["Time to first token"][0](axes, built) is not None
    lines = {str(line.get_label()): line for line in axes.lines}
    assert [float(x) for x in lines["p50"].get_xdata()] == [1, 1, 4, 4]


def test_a_level_that_was_killed_is_a_row(tmp_path: Path) -> None:
    """Nobody said whether it was held: it is shown, cut at its last record, and the run has no end."""
    killed = level(0, 1, 0, 20, held=None, ended_at=None, ended_by=None, window_ended_at=None)
    built = built_of(tmp_path, attempts(0, 1, 0, 10, 0), [killed], {"verdict": None, "ended_at": None}, load=LOAD)
    assert built.summary["rows"][-1]["ok"] == 10
    assert built.verdict.word == "INCOMPLETE"


def test_a_run_by_hand_in_which_nothing_was_held(tmp_path: Path) -> None:
    """No row, and every format says so."""
    built = built_of(tmp_path, attempts(0, 2, 0, 5, 0), [level(0, 2, 0, 3, held=False)], load=LOAD)
    assert built.summary["rows"] == []
    for render in files.FORMATS.values():
        render(built)
    assert dict(head.what(building.compute(tmp_path).facts))["left out"].startswith("1 level was held too short")
