"""Options of `llmload compare` that are refused before a run is read, which in `llmload ab` is before hours of load."""

import re
from pathlib import Path

import pytest

from llmload.cli import obey
from llmload.exits import Exit
from tests.compare.folders import make


@pytest.mark.parametrize("share", ["nan", "-1", "200%", "x", ""])
def test_a_tolerance_that_is_none(share: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What was expected is said."""
    with pytest.raises(SystemExit) as ended:
        obey(["compare", "a", "b", f"--tolerance={share}"])
    assert ended.value.code == Exit.USAGE
    assert f"expected a share from 0 to under 1, as 0.05 or 5%, got {share!r}" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--concurrency", "--requests-per-month"])
@pytest.mark.parametrize("number", ["nan", "inf", "0", "-3", "x", ""])
def test_a_number_that_is_none(option: str, number: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A level or a demand is above 0, and finite."""
    with pytest.raises(SystemExit) as ended:
        obey(["compare", "a", "b", f"{option}={number}"])
    assert ended.value.code == Exit.USAGE
    assert f"argument {option}: expected a number above 0, as 32 or 3e6, got {number!r}" in capsys.readouterr().err


@pytest.mark.parametrize("number", ["nan", "inf", "-1", "x", ""])
def test_a_limit_of_the_rule_that_is_none(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing would ever be above it."""
    assert obey(["compare", "a", "b", f"--rule=gain={number}"]) == Exit.USAGE
    assert f"--rule: gain: expected a number of 0 or more, got {number!r}" in capsys.readouterr().err


def test_words_that_are_not_understood_are_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    """No page of usage before it."""
    with pytest.raises(SystemExit) as ended:
        obey(["compare", "a", "b", "--nope"])
    assert ended.value.code == Exit.USAGE
    told = "llmload compare: unrecognized arguments: --nope; llmload compare --help tells more\n"
    assert capsys.readouterr().err == told


def test_the_exit_codes_stand_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    """All of them, of both commands that compare."""
    for command in ("ab", "compare"):
        with pytest.raises(SystemExit):
            obey([command, "--help"])
        text = " ".join(capsys.readouterr().out.split())
        codes = [re.search(rf"\b{code} where", text) for code in range(1, 7)]
        assert "Ends with 0 where" in text
        assert all(codes), text


def test_a_sheet_that_is_there_is_told_before_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is compared for nothing; and a sheet is a file, which --no-files wants none of."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        make(tmp_path / name, seed=1, requests=2)
    (tmp_path / "review-key.csv").touch()
    assert obey(["compare", "a", "b", "--review-sheet", "5"]) == Exit.USAGE
    shown = capsys.readouterr()
    assert (
        shown.err
        == "llmload compare: review-key.csv: is there already; it may be filled, so move it before a new one\n"
    )
    assert not shown.out
    assert obey(["compare", "a", "b", "--review-sheet", "5", "--no-files"]) == Exit.USAGE
    assert "--review-sheet writes files, and --no-files wants none" in capsys.readouterr().err


def test_a_page_for_which_there_is_no_folder(capsys: pytest.CaptureFixture[str]) -> None:
    """Told before anything is compared, which in an ab is hours later."""
    assert obey(["compare", "a", "b", "--html", "none/page.html"]) == Exit.USAGE
    assert "--html none/page.html: there is no folder none; make it, or name another" in capsys.readouterr().err


def test_the_key_of_a_sheet_lies_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sheet that was moved without it cannot be read back."""
    sheet = tmp_path / "elsewhere.csv"
    sheet.touch()
    assert obey(["compare", "a", "b", "--review", str(sheet)]) == Exit.USAGE
    told = f"--review {sheet}: its key must lie beside it: {tmp_path / 'review-key.csv'}: cannot be read: No such file"
    assert told in capsys.readouterr().err
