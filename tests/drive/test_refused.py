"""A worker that cannot open its part of a run: what it says to whom, and how it leaves."""

from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from locust.runners import WorkerRunner

from llmload.drive import messages
from llmload.drive.order import Order
from llmload.drive.worker import Worker
from llmload.exits import Exit


class Runner(WorkerRunner):
    """Locust's worker without sockets."""

    def __init__(self) -> None:
        self.client_id = "node"
        self.greenlet = None  # what Locust's destructor asks for
        self.sent: list[tuple[str, Any]] = []

    def send_message(self, msg_type: str, data: Any = None, client_id: str | None = None) -> None:
        """Remember it."""
        self.sent.append((msg_type, data))


def test_a_spool_that_cannot_be_made_is_told_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence for the master and for this terminal, and exit code 6: nothing was sent from here."""
    runner = Runner()
    order = Order("r", {}, {}, "/nowhere", {"node": "w0"})
    options = Namespace(**{messages.OPTION: order.to_json()})
    made: Any = Worker.__new__(Worker)
    said: list[str] = []
    made.runner, made.session, made._refusal = runner, None, None
    made.environment = SimpleNamespace(parsed_options=options, process_exit_code=None)
    made.candidate = SimpleNamespace(complain=said.append)

    def full(*_: Any) -> None:
        (Path(__file__) / "llmload-spool").mkdir()

    monkeypatch.setattr(Worker, "_session", full)
    monkeypatch.setattr("socket.gethostname", lambda: "east")
    made.open()
    sentence = f"worker w0 on east cannot take part: {Path(__file__) / 'llmload-spool'}: Not a directory"
    assert said == [sentence]
    assert [(kind, data["failure"]) for kind, data in runner.sent] == [(messages.STATUS, sentence)]
    made._on_end(SimpleNamespace(data={"run": "r", "patience_s": 1.0, "code": 0}))
    assert runner.sent[-1][0] == messages.DRAINED
    assert made.environment.process_exit_code == Exit.INCOMPLETE
