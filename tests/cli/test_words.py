"""What `llmload run` says of words that it cannot keep or does not read, without a process of its own."""

import os
import sys
from typing import Any

import pytest

from llmload.cli import joining, main
from llmload.exits import Exit


def test_a_word_that_is_no_text_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """No record could hold it."""
    monkeypatch.setattr(sys, "argv", ["llmload", "run", "--server-log", "a\udcff.log"])
    assert main(sys.argv[1:]) == Exit.USAGE
    told = "llmload run: 'a\\udcff.log': expected UTF-8; rename what it names\n"
    assert capsys.readouterr().err == told


@pytest.mark.parametrize(
    ("words", "is_told"),
    [((), False), (("--gpu", "gpu-host"), True), (("other",), True), (("--host", "http://a"), True)],
)
def test_a_worker_says_what_it_does_not_read(
    words: tuple[str, ...], is_told: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Options of the run are the master's; nothing is said where none was typed."""

    class Became(Exception):
        """In place of the process that it becomes."""

    def become(*_: Any) -> None:
        raise Became

    monkeypatch.setattr(joining, "wait", lambda *_: None)
    monkeypatch.setattr(os, "execve", become)
    with pytest.raises(Became):
        main(["run", "--worker", "--master-host", "127.0.0.1", *words])
    sentence = "scenario, endpoint and options come from the master: what was typed here is not read\n"
    assert capsys.readouterr().out == (sentence if is_told else "")
