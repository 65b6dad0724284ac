"""The live figures of a real run: what the page is given agrees with what the reporter says afterwards."""

import contextlib
import json
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gevent
import pytest

from llmload.drive import steprows
from llmload.report import building
from tests.drive import locusts
from tests.drive.locusts import locust, scenario
from tests.report.synthetic import believable
from tests.simulate import child


def test_rows_are_the_reporters(tmp_path: Path) -> None:
    """Made in a process of its own, equal to summary.json, and nothing is written for it."""
    folder = believable(tmp_path / "run", (1, 4), window_s=5.0)
    before = sorted(folder.iterdir())
    summary = steprows.made(folder)
    assert summary == json.loads(json.dumps(building.compute(folder).summary))
    assert len(summary["rows"]) == 8
    assert sorted(folder.iterdir()) == before


def test_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not before the records are there; steps that end meanwhile are served together by one more, and not by this."""
    begun: list[Path] = []
    made: list[Path] = []
    there: list[bool] = []
    first, second, third = (tmp_path / name for name in ("1", "2", "3"))

    def slowly(folder: Path) -> dict[str, Any]:
        begun.append(folder)
        gevent.sleep(0.05)
        made.append(folder)
        if folder == first:
            raise ValueError("no JSON")
        return {"rows": [{"step": 0}, {"step": 1}], "verdict": "OK", "reasons": []}

    monkeypatch.setattr(steprows, "made", slowly)
    got: list[Any] = []
    rows = steprows.StepRows(lambda *given: got.append(given))
    rows.want(first, frozenset({0}), lambda: bool(there))
    gevent.sleep(0.2)
    assert made == []
    there.append(True)
    until(lambda: begun)  # a look, and the first is on its way
    for folder in (second, third):
        rows.want(folder, frozenset({0}), lambda: True)
    until(lambda: got)
    assert made == [first, third]
    assert got == [(third, {"rows": [{"step": 0}]})]
    rows.want(third, None, lambda: True)  # the run is over
    until(lambda: len(got) > 1)
    assert got[1:] == [(third, {"rows": [{"step": 0}, {"step": 1}], "verdict": "OK", "reasons": []})]
    rows.want(first, None, lambda: True)  # this one has no report, and the page is told so
    until(lambda: len(got) > 2)
    assert got[2][0] == first
    assert got[2][1]["failure"].startswith("the report could not be made for the page: no JSON; llmload report ")


def until(done: Callable[[], Any]) -> None:
    """Let others do something until something is true."""
    with gevent.Timeout(60):
        while not done():
            gevent.sleep(0.005)


def test_what_the_page_is_given(tmp_path: Path) -> None:
    """A step comes and goes, and history with it; at the end its rows are the report's, to the last digit."""
    file, port = scenario(tmp_path, steps=[4], window_s=2.0), str(locusts.free_port())
    given = ("--scenario", str(file), "--processes", "2", "--web-host", "127.0.0.1", "--web-port", port, "--autostart")
    url, seen, finished = f"http://127.0.0.1:{port}/llmload/live", [], {}
    with (
        child.running("--ttft-ms", "30", "--itl-ms", "5") as server,
        locust(tmp_path, *given, "--host", server.url, "--metrics-port", "0", headless=False) as running,
    ):
        deadline = time.monotonic() + 120
        rows: dict[tuple[int, str], dict[str, Any]] = {}
        while not rows or seen[-1]["verdict"] is None or keyed(seen[-1]) != rows:
            assert time.monotonic() < deadline, running.words()
            with contextlib.suppress(OSError), urllib.request.urlopen(url) as answer:
                seen.append(json.loads(answer.read()))
            time.sleep(0.25)
            for told in seen[-1:]:
                if told["step"] and told["step"]["phase"] == "done":
                    finished[told["step"]["index"]] = told["step_so_far"]
            if not rows and seen and seen[-1]["state"] == "ended":
                summary = building.compute(running.folder).summary
                rows = keyed(summary)
    last = seen[-1]
    assert (last["verdict"], last["reasons"]) == (summary["verdict"], summary["reasons"])
    assert (last["kind"], last["classes"]) == ("steps", ["short", "medium"])
    assert {"measure", "done"} <= {told["step"]["phase"] for told in seen if told["step"]}
    assert max(told["users"] for told in seen) == 4
    assert 0 < max(told["in_flight"] for told in seen) <= 4
    assert [mark["concurrency"] for mark in last["marks"]] == [4]
    history = last["history"]
    assert len(history["t"]) >= 2
    assert history["t"] == sorted(history["t"])
    assert max(value or 0 for value in history["classes"]["all"]["tokens_per_s"]) > 0
    assert {worker["worker"] for worker in last["workers"]} == {"w0", "w1"}
    assert all(worker["cpu"] is not None for worker in last["workers"])
    for name in ("all", "short", "medium"):
        agrees(finished[0][name], rows[0, name])


def keyed(told: dict[str, Any]) -> dict[tuple[int, str], dict[str, Any]]:
    """Rows by step and class."""
    return {(row["step"], row["workload"]): row for row in told["rows"]}


def agrees(live: dict[str, Any], row: dict[str, Any]) -> None:
    """A step that is over, as the page last told it, is its row."""
    for figure in ("ttft_ms", "itl_ms", "tpot_ms", "e2e_ms"):
        truth = {key: row[figure]["ok"][key] for key in ("n", "p50", "p95", "p99")}
        assert live[figure] == pytest.approx(truth), figure
    assert live["outcomes"] == row["outcomes"]
    assert live["requests_per_s"] == pytest.approx(row["requests_per_s"])
    assert live["output_tokens_per_s"] == pytest.approx(row["output_tokens_per_s"], rel=0.02)
