"""`llmload pack` and `rerun` of a run that was changed by hand."""

from pathlib import Path

import orjson
import pytest

from llmload.cli import main
from llmload.exits import Exit
from tests.compare.folders import make


def test_a_name_that_leads_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever unpacks the archive finds all of it in one folder: a class called `../…` is refused."""
    monkeypatch.chdir(tmp_path)
    folder = make(tmp_path / "run", seed=1, requests=2)
    assert main(["pack", "run", "--with-prompts"]) == Exit.OK
    (tmp_path / "run.tar.gz").unlink()
    run = orjson.loads((folder / "run.json").read_bytes())
    run["scenario"]["classes"][0]["name"] = "../../elsewhere"
    (folder / "run.json").write_bytes(orjson.dumps(run))
    assert main(["pack", "run", "--with-prompts"]) == Exit.USAGE
    assert "class '../../elsewhere': expected a name without /" in capsys.readouterr().err
    assert not (tmp_path / "run.tar.gz").exists()


def test_a_damaged_list_of_prompts_is_told_before_anything_is_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not when the run is over, and there is nothing to hold its prompts against."""
    folder = make(tmp_path / "run", seed=1, requests=2)
    (folder / "prompts.jsonl").write_text("[]\n")
    assert main(["rerun", str(folder), "--host", "http://127.0.0.1:9"]) == Exit.UNJUDGED
    shown = capsys.readouterr()
    assert "prompts.jsonl: line 1: expected an object, got list" in shown.err
    assert not shown.out
