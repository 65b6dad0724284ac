"""The master's disk is full, while the workers have room: the run ends with a sentence, and their spools hold all."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drive import locusts
from tests.drive.locusts import scenario
from tests.machines import machines
from tests.machines.machines import Site, kept, truth
from tests.simulate import child


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A simulator: its URL, and its truth file."""
    path = tmp_path_factory.mktemp("truth") / "truth.jsonl"
    with child.running("--ttft-ms", "20", "--itl-ms", "5", "--truth", str(path)) as running:
        yield running.url, path


def test_the_disk_fills_up_in_mid_run(server: tuple[str, Path], tmp_path: Path) -> None:
    """INCOMPLETE, by a sentence that names the file, in run.json as well; workers end in order with their spools."""
    url, path = server
    site = Site(tmp_path, url, scenario(tmp_path, steps=[4], window_s=60.0, warmup_requests=1, warmup_s=0.0))
    with machines.disk(site.home / "run", "128k"), site.master(2) as master, site.worker("one") as one, \
            site.worker("two") as two:  # fmt: skip
        left = master.end(60)
        codes = one.end(60).code, two.end(60).code
        run, records = left.run, left.records
    assert (left.code, codes) == (6, (0, 0)), left.words
    sentence = left.complaint()
    which, _, why = sentence.removeprefix(f"{left.folder}/").partition(": ")
    assert which in {"requests.jsonl", "generator.jsonl"}
    assert why == "cannot be written: No space left on device; what was written before is kept"
    assert "Traceback" not in left.words
    assert (run["verdict"], run["reasons"]) == ("INCOMPLETE", [sentence, *run["reasons"][1:]])
    assert run["ended_at"] is not None
    assert run["steps"][0]["ended_by"] == "fault"
    begun, ended, spooled = zip(kept(one), kept(two), strict=True)
    assert sum(begun) == sum(ended)
    locusts.agree(lambda: truth(path, run), [row for rows in spooled for row in rows])
    assert 0 < len(records) < sum(ended)
    assert {(row["worker"], row["seq"]) for row in records} < {
        (r["worker"], r["seq"]) for rows in spooled for r in rows
    }


def test_the_disk_is_full_from_the_start(server: tuple[str, Path], tmp_path: Path) -> None:
    """There is no room for a run's own books: nothing is sent, and one sentence says why. Nobody hangs."""
    site = Site(tmp_path, server[0], scenario(tmp_path, steps=[4], window_s=60.0))
    folder = site.home / "run"
    with machines.disk(folder, "16k"), site.master(1) as master, site.worker("one") as one:
        left = master.end(60)
        worker = one.end(60)
        assert not (folder / "run.json").exists()
    assert left.code == 6, left.words
    sentence = f"{folder}/run.json: cannot be written: No space left on device"
    assert left.complaint() == sentence
    assert (worker.code, worker.complaint()) == (6, f"the run did not begin: {sentence}")
    assert left.words.count("/ERROR/") == 1
    assert kept(one)[0] == 0
