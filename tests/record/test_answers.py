"""answers.jsonl there and back, and texts out of requests.jsonl, however damaged it is."""

from pathlib import Path

import orjson
from hypothesis import given
from hypothesis import strategies as st

from llmload.record import answers
from llmload.record.answers import Row, Said

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(TEXT, TEXT, st.none() | TEXT, st.none() | st.integers(0, 10**9))
def test_a_row_comes_back(id_: str, text: str, finish: str | None, tokens: int | None) -> None:
    """Whatever is in it."""
    row = Row("candidate", id_, "short", text, text, finish, "ok", tokens, {"number": 1})
    assert answers._row(row.to_json(), "here") == row


def test_rows_are_appended_and_a_cut_line_is_none(tmp_path: Path) -> None:
    """As of every file of lines."""
    path = tmp_path / "answers.jsonl"
    row = Row("baseline", "q", "short", "What?", "That.", "stop", "ok", 1)
    answers.write(path, [row])
    answers.write(path, [row])
    with path.open("ab") as file:
        file.write(b'{"side": "base')
    assert answers.read(path) == [row, row]
    assert answers.read(tmp_path / "none") == []


def test_damaged_records_are_passed_over(tmp_path: Path) -> None:
    """Only what has a place counts; the place of a text is kept, not the text."""
    good = {
        "phase": "measure", "sent_at": 5.0, "workload": "short", "prompt": "p", "step": 0, "concurrency": 4,
        "rate": None, "requested_output_tokens": 8, "outcome": "ok", "finish_reason": "stop", "text": "That.",
    }  # fmt: skip
    rows = [good | {"sent_at": 9.0, "text": "later"}, good, good | {"sent_at": None}, good | {"workload": 7},
            good | {"phase": "drain", "sent_at": 6.0}, good | {"phase": "warmup"}, [1]]  # fmt: skip
    lines = [orjson.dumps(row) for row in rows]
    (tmp_path / "requests.jsonl").write_bytes(b"\n".join([b"{", *lines, b'{"cut']))
    first, second = answers.said(tmp_path)
    assert first == Said((4.0, -1.0, "short", "p", 0), 0, 8, "ok", "stop", first.at)
    assert second.key == (4.0, -1.0, "short", "p", 2)  # the drain's was the second
    assert answers.texts(tmp_path, [first.at, second.at]) == {first.at: "That.", second.at: "later"}
    assert answers.keeps_texts(tmp_path)
    assert not answers.keeps_texts(tmp_path / "none")
