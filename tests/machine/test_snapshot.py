"""The file of `llmload env`: what is written is what is read, and what is no such file is a sentence."""

import json
from pathlib import Path
from typing import Any

import pytest

from llmload.exits import Exit, Stop
from llmload.machine import snapshot
from llmload.record import runfolder

GPU = {"gpu": "0", "uuid": "GPU-1", "name": "X"}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """All but what says which file it is."""
    told = snapshot.make({"host": "box", "cores": 8}, [GPU], None)
    path = tmp_path / "machine.json"
    runfolder.write_json(path, told)
    found = snapshot.read(path)
    assert (found["host"], found["cores"], found["gpus"]) == ("box", 8, [GPU])
    assert {"kind", "schema"}.isdisjoint(found)


def test_gpus_that_nobody_looked_for_are_not_none_of_them() -> None:
    """Missing is missing; looked for and not found is an empty list with the reason."""
    assert "gpus" not in snapshot.make({}, None, None)
    assert snapshot.make({}, [], "no GPU found: no driver")["gpus_note"] == "no GPU found: no driver"


GOOD: dict[str, Any] = {"kind": snapshot.KIND, "schema": snapshot.SCHEMA}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("[]", "expected a JSON object of kind 'llmload env'"),
        ('{"host": "x"}', "expected a JSON object of kind 'llmload env'"),
        (json.dumps({**GOOD, "schema": 9}), "schema 9; this llmload reads 1"),
        (json.dumps({**GOOD, "gpus": {}}), "gpus: expected a list"),
        (json.dumps({**GOOD, "gpus": [{"name": "x"}]}), "gpus: expected a list"),
        (json.dumps({**GOOD, "host": ["x"]}), "host: expected a word or a number"),
        ("x" * (snapshot.LARGEST + 1), "expected a JSON object"),
    ],
)
def test_what_is_no_such_file(tmp_path: Path, text: str, words: str) -> None:
    """One sentence with the option, the file, and what to do; exit code 2."""
    path = tmp_path / "f.json"
    path.write_text(text)
    with pytest.raises(Stop) as stopped:
        snapshot.read(path)
    assert stopped.value.code is Exit.USAGE
    assert stopped.value.message.startswith(f"--environment {path}: ")
    assert words in stopped.value.message
    assert "llmload env --json --out FILE" in stopped.value.message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """Says so; a folder is none either."""
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(Stop, match="cannot be read"):
            snapshot.read(path)
