"""ab.json: the order of runs, and that what is written is read."""

from pathlib import Path

import orjson
import pytest

from llmload.exits import Stop
from llmload.record import rounds
from llmload.record.rounds import Round, Rounds


def test_the_order_is_a_b_b_a() -> None:
    """Neighbours change places from round to round, so that each side comes first as often."""
    letters = "".join(side[0] + str(round_) for side, round_ in rounds.order(3))
    assert letters == "b0c0c1b1b2c2"


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """In the order of time, with what else is told of both sides."""
    about = {"scenario": "mixed", "pause_s": 5.0, "baseline": {"host": "a"}, "candidate": {"host": "b"}, "command": []}
    wanted = Rounds(
        about, 1.5, [Round("candidate", 1, "candidate/x", 2.5, 5), Round("baseline", 1, "baseline/y", 3, 6)]
    )
    wanted.write(tmp_path)
    found = rounds.read(tmp_path)
    assert found == wanted
    assert [item.whole for item in found.rounds] == [True, False]
    assert set(orjson.loads((tmp_path / rounds.FILE).read_bytes())) == {
        "schema", "scenario", "started_at", "ended_at", "rounds", "pause_s", "baseline", "candidate", "command",
    }  # fmt: skip


def test_a_newer_format_is_not_written_over(tmp_path: Path) -> None:
    """Going on with it would lose what is new in it."""
    (tmp_path / rounds.FILE).write_bytes(orjson.dumps({"schema": 2, "rounds": []}))
    with pytest.raises(Stop, match=r"ab\.json: written in format 2, and this llmload reads 1; update llmload"):
        rounds.read(tmp_path)


ROW = {"side": "baseline", "round": 0, "run": "baseline/x", "started_at": 1, "exit_code": 0}


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"{}",
        orjson.dumps({"rounds": [ROW], "started_at": 1, "ended_at": 1}),
        orjson.dumps({"schema": 1, "rounds": [1], "started_at": 1, "ended_at": 1}),
        orjson.dumps({"schema": 1, "rounds": [{**ROW, "side": "third"}], "started_at": 1, "ended_at": 1}),
        orjson.dumps({"schema": 1, "rounds": [{**ROW, "round": "x"}], "started_at": 1, "ended_at": 1}),
        orjson.dumps({"schema": 1, "rounds": [{**ROW, "exit_code": "x"}], "started_at": 1, "ended_at": 1}),
        orjson.dumps({"schema": 1, "rounds": [{**ROW, "run": 5}], "started_at": 1, "ended_at": 1}),
        orjson.dumps({"schema": 1, "rounds": [ROW], "started_at": "x", "ended_at": 1}),
        orjson.dumps({"schema": 1, "rounds": [ROW], "started_at": 1}),
    ],
)
def test_a_damaged_file_is_one_sentence(tmp_path: Path, text: bytes) -> None:
    """It names the file."""
    (tmp_path / rounds.FILE).write_bytes(text)
    with pytest.raises(Stop, match=r"ab\.json: is not what llmload ab wrote"):
        rounds.read(tmp_path)


def test_no_file_is_one_sentence(tmp_path: Path) -> None:
    """It says what was expected."""
    with pytest.raises(Stop, match="expected a folder of llmload ab"):
        rounds.read(tmp_path)
