"""A run whose master is killed for real, and what `llmload collect` makes of it."""

import json
import time
from pathlib import Path

import pytest

from llmload import cli
from llmload.exits import Exit
from tests.drive import locusts
from tests.drive.locusts import locust, scenario
from tests.simulate import child


def test_a_killed_master_and_a_spool_that_was_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One worker's spool lies in the run folder, the other's where its machine has it: both belong to the run.

    While the master lives its run is its own. Behind it every request that the server saw is a record, once, in the
    folder; the run has no end, so it is INCOMPLETE, and it has its row. A second time adds nothing.
    """
    truth = tmp_path / "truth.jsonl"
    file = scenario(tmp_path, steps=[4], window_s=300.0)
    with (
        child.running("--ttft-ms", "60", "--itl-ms", "10", "--truth", str(truth)) as server,
        locust(tmp_path, "--scenario", str(file), "-H", server.url, "--processes", "2") as running,
    ):
        running.until_measuring()
        run_id = running.run()["run"]
        assert cli.main(["collect", str(running.folder)]) == Exit.USAGE
        assert "this run is still going on" in capsys.readouterr().err
        time.sleep(0.5)
        workers = running.workers()
        running.process.kill()
        left = running.end()
        assert locusts.gone(workers)
    elsewhere = tmp_path / "elsewhere" / "llmload-spool" / run_id
    elsewhere.mkdir(parents=True)
    (left.folder / "spool" / "w1.jsonl").rename(elsewhere / "w1.jsonl")
    spooled = [json.loads(line) for line in (elsewhere / "w1.jsonl").read_bytes().splitlines()]
    before = {(row["worker"], row["seq"]) for row in left.records}
    new = {(row["worker"], row["seq"]) for row in spooled if "outcome" in row} - before
    assert new

    assert cli.main(["collect", str(left.folder), str(elsewhere)]) == Exit.INCOMPLETE
    said = capsys.readouterr().out
    assert f"w1: {len(new)} record{'s' * (len(new) > 1)} taken in\n" in said
    since = left.run["steps"][0]["started_at"]
    seen = [row for row in map(json.loads, truth.read_bytes().splitlines()) if row["received_at"] >= since]
    assert len(left.records) == len({(row["worker"], row["seq"]) for row in left.records}) == len(seen)
    assert left.run["verdict"] == "INCOMPLETE"
    for line in left.run["accounting"].values():
        assert line["started"] == line["finished"] == line["received"] > 0
    summary = json.loads((left.folder / "summary.json").read_text())
    row = summary["rows"][-1]
    assert (row["ok"], row["lost"]) == (left.count("phase", "outcome")[("measure", "ok")], 0)
    assert row["ok"] > 0

    records = (left.folder / "requests.jsonl").read_bytes()
    assert cli.main(["collect", str(left.folder), str(elsewhere)]) == Exit.INCOMPLETE
    assert "w1: nothing new\n" in capsys.readouterr().out
    assert (left.folder / "requests.jsonl").read_bytes() == records
