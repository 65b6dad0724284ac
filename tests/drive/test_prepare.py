"""What is looked at before a run is written anywhere."""

from argparse import Namespace
from pathlib import Path

import pytest

from llmload.drive import prepare
from llmload.exits import Exit, Stop
from llmload.load import reading

KEY = "sk-secret-XYZ"


def test_a_key_in_the_url_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 2, a sentence without the key, and no folder."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    given = Namespace(run_folder=None, out=str(tmp_path / "runs"), environment=None)
    wanted = prepare.Wanted(given, f"http://127.0.0.1:9/v1?api_key={KEY}")
    with pytest.raises(Stop) as stopped:
        prepare.ready(reading.load("smoke"), wanted, print)
    assert stopped.value.code == Exit.USAGE
    assert stopped.value.message.startswith("--host: holds the value of OPENAI_API_KEY")
    assert KEY not in stopped.value.message
    assert not (tmp_path / "runs").exists()


def test_a_file_that_is_no_environment_leaves_nothing_behind(tmp_path: Path) -> None:
    """Exit code 2 and a sentence, before a folder is made or anything is asked."""
    (tmp_path / "x.json").write_text("{}")
    given = Namespace(run_folder=None, out=str(tmp_path / "runs"), environment=str(tmp_path / "x.json"))
    with pytest.raises(Stop, match=r"--environment .*x\.json: expected a JSON object of kind 'llmload env'") as stopped:
        prepare.ready(reading.load("smoke"), prepare.Wanted(given, "http://127.0.0.1:9"), print)
    assert stopped.value.code is Exit.USAGE
    assert not (tmp_path / "runs").exists()
