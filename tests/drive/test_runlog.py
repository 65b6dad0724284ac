"""A run that `llmload run` did not start has its log in its folder as well."""

import logging
from pathlib import Path

import pytest

from llmload.drive.runlog import RunLog


@pytest.mark.parametrize("propagate", [False, True])
def test_what_is_logged_while_it_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, propagate: bool
) -> None:
    """Of llmload and of Locust, once each, from begin to end; what UTF-8 cannot hold is escaped.

    What pytest would keep of it for its own report it could not send to the process that reports.
    """
    monkeypatch.setattr(type(caplog.handler), "emit", lambda *_: None)
    monkeypatch.setattr(logging.getLogger("locust"), "propagate", propagate)
    locust, ours = logging.getLogger("locust.runners"), logging.getLogger("llmload")
    ours.warning("before")
    log = RunLog(tmp_path)
    ours.warning("half a pair: \ud800")
    locust.error("spawning")
    log.end()
    ours.warning("behind")
    lines = (tmp_path / "locust.log").read_text().splitlines()
    assert [line.split("] ", 1)[1] for line in lines] == [
        "WARNING/llmload: half a pair: \\ud800",
        "ERROR/locust.runners: spawning",
    ]


def test_a_log_that_cannot_be_written_ends_nothing(tmp_path: Path) -> None:
    """A full disk is told by the run itself."""
    (tmp_path / "locust.log").mkdir()
    log = RunLog(tmp_path)
    logging.getLogger("llmload").warning("nobody reads this")
    log.end()
