"""Options of `llmload compare` that are refused before a run is read, which in `llmload ab` is before hours of load."""

import pytest

from llmload.cli import obey
from llmload.exits import Exit


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
