"""The archive of a run: what is in it, what is not, and that equal runs give equal bytes."""

import tarfile
from pathlib import Path

import orjson
import pytest

from llmload.exits import Stop
from llmload.record import pack

RECORD = {"schema": 1, "worker": "w0", "seq": 0, "gaps_ms": [1.5]}


def run(folder: Path) -> Path:
    """A run folder with an answer, a cut record, and something that is nobody's business."""
    (folder / "spool").mkdir(parents=True)
    (folder / "run.json").write_text("{}\n")
    records = orjson.dumps({**RECORD, "text": "an answer"}) + b"\n" + orjson.dumps(RECORD) + b"\n"
    (folder / "requests.jsonl").write_bytes(records + b'{"text": "half an ans')
    (folder / "spool" / "w0.jsonl").write_bytes(records)
    (folder / "notes.txt").write_text("mine")
    return folder


def files(folder: Path, *, spools: bool = False) -> dict[str, Path | bytes]:
    """What would be packed of it."""
    return {path.relative_to(folder).as_posix(): path for path in pack.members(folder, spools=spools)}


def unpacked(archive: Path) -> dict[str, bytes]:
    """Names and contents."""
    with tarfile.open(archive) as tar:
        return {item.name: (tar.extractfile(item) or pytest.fail(item.name)).read() for item in tar.getmembers()}


@pytest.mark.parametrize("spools", [False, True])
def test_answers_stay_here(tmp_path: Path, spools: bool) -> None:
    """Records come without their answers, a record that was cut comes not at all, and what is unknown stays out."""
    folder = run(tmp_path / "run")
    archive = tmp_path / "x.tar.gz"
    told = pack.write(archive, "run", files(folder, spools=spools), 7, {})
    record = orjson.dumps(RECORD) + b"\n"
    wanted = {"run/requests.jsonl": 2 * record, "run/run.json": b"{}\n"} | (
        {"run/spool/w0.jsonl": 2 * record} if spools else {}
    )
    assert unpacked(archive) == wanted
    assert {item.name: (item.bytes, item.answers) for item in told} == {
        name.removeprefix("run/"): (len(text), int(text == 2 * record)) for name, text in wanted.items()
    }


def test_equal_runs_give_equal_archives(tmp_path: Path) -> None:
    """Whoever packed it, whenever, and under whatever name."""
    first, second = tmp_path / "a.tar.gz", tmp_path / "b" / "c.tar.gz"
    second.parent.mkdir()
    for archive, place in ((first, "one"), (second, "two")):
        pack.write(archive, "run", files(run(tmp_path / place)), 7, {})
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as tar:
        headers = [(item.name, item.mtime, item.uid, item.gid, item.uname, item.mode) for item in tar.getmembers()]
    assert headers == [(f"run/{name}", 7, 0, 0, "", 0o644) for name in ("requests.jsonl", "run.json")]


def test_a_secret_is_refused_by_line_and_not_shown(tmp_path: Path) -> None:
    """Nothing is left behind. In an answer, which stays here, it does no harm."""
    folder = run(tmp_path / "run")
    archive = tmp_path / "x.tar.gz"
    (folder / "locust.log").write_text("fine\nBearer abcdef12\n" + "my-own-value\n" * 12)
    with pytest.raises(Stop) as raised:
        pack.write(archive, "run", files(folder), 0, {"MINE": b"my-own-value"})
    assert "locust.log, line 2: a bearer token\n  locust.log, line 3: the value of MINE" in raised.value.message
    assert "and 3 more" in raised.value.message
    assert "abcdef12" not in raised.value.message
    assert "my-own-value" not in raised.value.message
    assert list(tmp_path.iterdir()) == [folder]
    (folder / "locust.log").unlink()
    pack.write(archive, "run", files(folder), 0, {"MINE": b"an answer"})
    assert archive.exists()


def test_an_archive_that_cannot_be_written(tmp_path: Path) -> None:
    """One sentence, and what to do."""
    with pytest.raises(Stop, match=r"cannot be written: No such file or directory; name another file with --out"):
        pack.write(tmp_path / "not" / "x.tar.gz", "run", files(run(tmp_path / "run")), 0, {})
    for place, words in ((Path(), "Is a directory"), (Path("x" * 300), "File name too long")):
        with pytest.raises(Stop, match=f"cannot be written: {words}"):
            pack.write(place, "run", files(tmp_path / "run"), 0, {})


def test_a_link_that_leads_elsewhere_is_not_followed(tmp_path: Path) -> None:
    """What lies outside of the folder stays out, be the file a link or its folder; a link within is the run's."""
    folder, elsewhere = run(tmp_path / "run"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x.jsonl").write_text("private\n")
    (folder / "locust.log").symlink_to(elsewhere / "x.jsonl")
    (folder / "prompts").symlink_to(elsewhere)
    (folder / "report.md").symlink_to(folder / "run.json")
    assert set(files(folder, spools=True)) == {"run.json", "requests.jsonl", "report.md", "spool/w0.jsonl"}
