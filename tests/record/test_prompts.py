"""prompts.jsonl: what is written is read, and what is damaged is named."""

from dataclasses import asdict
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.exits import Exit, Stop
from llmload.record import append, prompts
from llmload.record.prompts import Prompt

LINE = {"prompt": "a-1", "workload": "a", "sha256": "00", "characters": 5, "tokens": 2, "tokens_source": "server"}


@given(st.lists(st.builds(Prompt, st.text(), st.text(), st.text(), st.integers(0, 2**53), st.none() | st.integers(0))))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, wanted: list[Prompt]) -> None:
    """Every prompt once, in order; what nobody counted stays null."""
    folder = tmp_path_factory.mktemp("run")
    wanted = [item for item in wanted if item.tokens is None or item.tokens < 2**53]
    prompts.write(folder, wanted)
    assert prompts.read(folder) == tuple(wanted)


def test_a_run_without_the_file_has_no_list(tmp_path: Path) -> None:
    """None is not an empty list: an older run had prompts."""
    assert prompts.read(tmp_path) is None
    (tmp_path / prompts.FILE).touch()
    assert prompts.read(tmp_path) == ()


def test_a_newer_line_is_read_and_a_cut_one_is_left_out(tmp_path: Path) -> None:
    """Members that are not known are passed over; a last line without its end was cut by a kill."""
    line = orjson.dumps({**LINE, "language": "en"})
    (tmp_path / prompts.FILE).write_bytes(line + b"\n" + line[:20])
    (found,) = prompts.read(tmp_path) or ()
    assert asdict(found) == LINE


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"{", "line 2: no valid JSON"),
        (b"[]", "line 2: expected an object, got list"),
        (orjson.dumps({**LINE, "tokens": "2"}), "line 2: tokens: expected int or null, got str"),
        (orjson.dumps({**LINE, "characters": True}), "line 2: characters: expected int, got bool"),
        (orjson.dumps({"prompt": "a-1"}), "line 2: workload: expected str, got NoneType"),
    ],
)
def test_a_line_that_is_no_prompt_is_named(tmp_path: Path, line: bytes, sentence: str) -> None:
    """File, line and what is wrong; the run cannot be judged by it."""
    (tmp_path / prompts.FILE).write_bytes(orjson.dumps(LINE) + b"\n" + line + b"\n")
    with pytest.raises(Stop, match=sentence) as raised:
        prompts.read(tmp_path)
    assert raised.value.code == Exit.UNJUDGED


def test_half_a_list_does_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that takes no more: the sentence says so, and no file is left of a run that does not begin."""

    def full(_self: object, _lines: object) -> None:
        raise Stop(
            "prompts.jsonl: cannot be written: No space left on device; what was written before is kept",
            Exit.INCOMPLETE,
        )

    monkeypatch.setattr(append.Appender, "append", full)
    with pytest.raises(Stop) as stop:
        prompts.write(tmp_path, ())
    assert (stop.value.message, stop.value.code) == (
        "prompts.jsonl: cannot be written: No space left on device", Exit.INCOMPLETE
    )  # fmt: skip
    assert not list(tmp_path.iterdir())
