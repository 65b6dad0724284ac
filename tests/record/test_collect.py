"""What the spools of lost workers add to a run, each record once, and what is refused."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llmload import cli
from llmload.exits import Exit, Stop
from llmload.record import runfolder
from llmload.record.collect import collect, told
from llmload.record.ledger import Ledger
from llmload.report import building
from tests.report.synthetic import START, lines, record, step, write

RUN = "20261201T000000Z-synthetic"
GONE = "worker w1 went missing in mid-run: not heard for 61 s"
FAR = f"llmload-spool/{RUN}/w2.jsonl on far"
NOTE = "worker w0 was not heard for 6 s; the run waited for it"


def started(seq: int, **more: Any) -> dict[str, Any]:
    """The line before an attempt."""
    facts = {"run": RUN, "worker": "w1", "step": 0, "phase": "measure", "workload": "short", "sent_at": START + seq}
    return {"start": seq} | facts | more


def ended(seq: int, **more: Any) -> dict[str, Any]:
    """The record of an attempt, sent in its own second."""
    return record(seq, sent=float(seq), **({"run": RUN} | more))


def spool(path: Path, begun: int, over: int, **more: Any) -> Path:
    """A spool in which so many attempts were begun, and the first of them ended."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [started(seq, **more) for seq in range(begun)] + [ended(seq, **more) for seq in range(over)]
    lines(path, sorted(rows, key=lambda row: (row.get("start", row.get("seq")), "seq" in row)))
    return path


def run_json(folder: Path) -> dict[str, Any]:
    """What run.json says."""
    return orjson.loads((folder / "run.json").read_bytes())  # type: ignore[no-any-return]


def seqs(folder: Path) -> list[tuple[str, int]]:
    """Worker and seq of each line of requests.jsonl, in its order."""
    rows = [orjson.loads(line) for line in (folder / "requests.jsonl").read_bytes().splitlines()]
    return [(row["worker"], row["seq"]) for row in rows]


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def lost(tmp_path: Path) -> Path:
    """A run whose worker w1 was lost: of its attempts 0 to 2, as far as the master knew, only the first came."""
    return write(
        tmp_path / "run",
        [ended(0), ended(0, worker="w0")],
        accounting={
            "w0": {"started": 1, "finished": 1, "received": 1, "lost": 0},
            "w1": {"started": 3, "finished": 1, "received": 1, "lost": 2},
        },
        verdict="DEGRADED",
        reasons=[GONE, "worker w1: 2 records missing (seq 1-2)", NOTE],
        notes=[NOTE],
    )


def test_a_spool_completes_a_run(lost: Path, tmp_path: Path) -> None:
    """The spool knows of five attempts, the last of which never ended: two records are new, two are missing.

    The worker died, so the verdict stays; its sums and its reason are renewed, and the start without a record is kept.
    """
    path = spool(tmp_path / "there" / "w1.jsonl", 5, 3)
    assert [taken.words for taken in collect(lost, [path])] == ["w1: 2 records taken in, 2 started and never ended"]
    assert seqs(lost) == [("w1", 0), ("w0", 0), ("w1", 1), ("w1", 2)]
    run = run_json(lost)
    assert run["accounting"] == {
        "w0": {"started": 1, "finished": 1, "received": 1, "lost": 0},
        "w1": {"started": 5, "finished": 3, "received": 3, "lost": 2},
    }
    assert run["verdict"] == "DEGRADED"
    assert run["reasons"] == [GONE, "worker w1: 2 records missing (seq 3-4)", NOTE]
    kept = [orjson.loads(line) for line in (lost / "spool" / "w1.jsonl").read_bytes().splitlines()]
    assert kept == [started(3), started(4)]
    row = building.compute(lost).summary["rows"][0]
    assert (row["workload"], row["ok"], row["lost"]) == ("short", 4, 2)


def test_a_second_time_adds_nothing(lost: Path, tmp_path: Path) -> None:
    """File by file the same."""
    path = spool(tmp_path / "there" / "w1.jsonl", 5, 3)
    collect(lost, [path])
    before = contents(lost)
    assert [taken.words for taken in collect(lost, [path])] == ["w1: nothing new, 2 started and never ended"]
    assert contents(lost) == before


def test_a_fuller_copy_adds_the_rest(lost: Path, tmp_path: Path) -> None:
    """What had not ended when the first copy was made has ended in the second, and is lost no more."""
    collect(lost, [spool(tmp_path / "first" / "w1.jsonl", 5, 3)])
    taken = collect(lost, [spool(tmp_path / "second" / "copy of w1.jsonl", 5, 5)])
    assert [item.words for item in taken] == ["w1: 2 records taken in"]
    assert run_json(lost)["accounting"]["w1"] == {"started": 5, "finished": 5, "received": 5, "lost": 0}
    assert run_json(lost)["reasons"] == [GONE, NOTE]
    assert building.compute(lost).summary["rows"][0]["lost"] == 0


def test_a_run_that_only_lacked_records_is_ok(lost: Path, tmp_path: Path) -> None:
    """A worker that did its part and could not hand all of it over has spoiled nothing once its spool is here."""
    reasons = ["worker w1 did not hand over what was left at the end", "worker w1: 2 records missing (seq 1-2)", NOTE]
    runfolder.write_json(lost / "run.json", run_json(lost) | {"reasons": reasons})
    collect(lost, [spool(tmp_path / "there" / "w1.jsonl", 3, 3)])
    assert (run_json(lost)["verdict"], run_json(lost)["reasons"]) == ("OK", [NOTE])
    built = building.compute(lost)
    assert (built.verdict.word, built.verdict.reasons) == ("OK", (NOTE,))


def test_a_run_whose_master_was_killed(tmp_path: Path) -> None:
    """It stays without an end, and has all records of the spools, those in its own folder among them.

    Nobody knew of w2, whose spool is not there but a record is: nothing is claimed of it.
    """
    folder = write(
        tmp_path / "run",
        [ended(0), ended(0, worker="w2")],
        [step(end=None)],
        ended_at=None, verdict=None, workers={"w2": {"host": "far"}},
    )  # fmt: skip
    spool(folder / "spool" / "w0.jsonl", 2, 2, worker="w0")
    taken = collect(folder, [spool(tmp_path / "llmload-spool" / RUN / "w1.jsonl", 3, 2).parents[1]])
    assert [item.words for item in taken] == [
        "w0: 2 records taken in",
        "w1: 1 record taken in, 1 started and never ended",
        "w2: its spool is still to come, so what it began last is not known; look for " + FAR,
    ]
    run = run_json(folder)
    assert sorted(run["accounting"]) == ["w0", "w1"]
    assert (run["verdict"], run["ended_at"]) == ("INCOMPLETE", None)
    assert run["reasons"] == [
        "the run has no end: the process that conducted it was killed",
        "worker w1: 1 record missing (seq 2)",
    ]
    row = building.compute(folder).summary["rows"][-1]
    assert (row["started"], row["ok"], row["lost"]) == (6, 5, 1)


def test_a_whole_run_stays_as_it_is(tmp_path: Path) -> None:
    """Its own spools hold nothing new, and a run of an older llmload does not say which reasons are notes."""
    sums = {"w1": {"started": 2, "finished": 2, "received": 2, "lost": 0}}
    folder = write(tmp_path / "run", [ended(0), ended(1)], accounting=sums, reasons=[NOTE])
    spool(folder / "spool" / "w1.jsonl", 2, 2)
    before = contents(folder)
    assert [taken.words for taken in collect(folder, [])] == ["w1: nothing new"]
    assert contents(folder) == before


def test_the_command(lost: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says what it did, prints the tables, writes the files, and ends as `llmload report` does."""
    path = spool(tmp_path / "there" / "w1.jsonl", 4, 3)
    assert cli.main(["collect", str(lost), str(path)]) == Exit.DEGRADED
    out = capsys.readouterr().out
    assert out.startswith("w1: 2 records taken in, 1 started and never ended\n")
    assert "What users felt" in out
    assert "verdict: DEGRADED" in out
    assert json.loads((lost / "summary.json").read_text())["rows"][-1]["started"] == 5


def test_lines_that_tell_nothing_are_counted(lost: Path, tmp_path: Path) -> None:
    """A garbled line, one that is no object and one of an absurd seq hide no other; a cut last line is no line."""
    path = spool(tmp_path / "there" / "w1.jsonl", 3, 3)
    with path.open("ab") as file:
        file.write(b"\x00garbled\n[1]\n" + orjson.dumps(started(10**12)) + b'\n{"start":3,"ru')
    assert [taken.words for taken in collect(lost, [path])] == [
        "w1: 2 records taken in, 3 lines of its spool could not be read"
    ]


def written(text: bytes) -> Callable[[Path], Path]:
    """A file w1.jsonl with this in it."""

    def make(folder: Path) -> Path:
        path = folder / "w1.jsonl"
        path.write_bytes(text)
        return path

    return make


def pipe(folder: Path) -> Path:
    """A file that nobody writes: who read it would wait for ever."""
    os.mkfifo(folder / "w1.jsonl")
    return folder / "w1.jsonl"


def of(*rows: dict[str, Any]) -> Callable[[Path], Path]:
    """A spool of these lines."""
    return written(b"".join(orjson.dumps(row) + b"\n" for row in rows))


REFUSED: dict[str, tuple[Callable[[Path], Path], Exit, str]] = {
    "another run's": (
        of(started(0, run="20200101T000000Z-other")), Exit.USAGE,
        "{path}: is the spool of another run: it tells of 20200101T000000Z-other, and this run is " + RUN,
    ),
    "partly another run's": (
        of(ended(0), ended(1, run="20200101T000000Z-other")), Exit.USAGE,
        "{path}: is the spool of another run: it tells of 20200101T000000Z-other, and this run is " + RUN,
    ),
    "several workers'": (
        of(ended(0), ended(0, worker="w2")), Exit.USAGE, "{path}: is no spool: it tells of several workers (w1, w2)",
    ),
    "nobody's": (
        of({"start": 0, "step": 0}), Exit.USAGE,
        "{path}: does not say to which run and worker it belongs; put it into the run's own spool folder",
    ),
    "no spool": (
        written(b"hello\nworld\n"), Exit.USAGE, "{path}: is no spool: none of its 2 lines tells of a request",
    ),
    "of a newer llmload": (
        of(ended(0) | {"schema": 2}), Exit.UNJUDGED,
        "{path}: holds a record of format 2, and this llmload reads formats up to 1; update llmload",
    ),
    "not there": (
        lambda folder: folder / "w1.jsonl", Exit.USAGE,
        "{path}: no such file or folder; expected a worker's spool, as llmload-spool/" + RUN + "/w0.jsonl",
    ),
    "of a worker whose name leads elsewhere": (
        of(started(0, worker="../../w1")), Exit.USAGE, "{path}: is no spool: no worker is called '../../w1'",
    ),
    "a pipe": (pipe, Exit.USAGE, "{path}: is neither a file nor a folder; expected a worker's spool"),
    "an empty folder": (
        lambda folder: folder, Exit.USAGE, "{path}: holds no spool; expected w0.jsonl or the like in it",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_what_does_not_belong_is_refused(kind: str, lost: Path, tmp_path: Path) -> None:
    """In a sentence, also beside a spool that does belong, and nothing is changed."""
    make, code, words = REFUSED[kind]
    (tmp_path / "bad").mkdir()
    path = make(tmp_path / "bad")
    good = spool(tmp_path / "good" / "w1.jsonl", 3, 3)
    before = contents(lost)
    with pytest.raises(Stop) as caught:
        collect(lost, [good, path])
    assert (caught.value.message, caught.value.code) == (words.format(path=path), code)
    assert contents(lost) == before


def test_a_run_that_goes_on_is_left_alone(lost: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The process that conducts it holds its folder."""
    path = spool(tmp_path / "there" / "w1.jsonl", 3, 3)
    master = Ledger(lost)
    before = contents(lost)
    assert cli.main(["collect", str(lost), str(path)]) == Exit.USAGE
    assert "this run is still going on" in capsys.readouterr().err
    assert contents(lost) == before
    master.close()
    assert cli.main(["collect", str(lost), str(path)]) == Exit.DEGRADED


def test_no_place_for_starts(tmp_path: Path) -> None:
    """In a sentence; the records are taken in by then, and stay."""
    run = write(tmp_path / "run", [])
    (run / "spool").write_text("no folder")
    with pytest.raises(Stop) as caught:
        collect(run, [spool(tmp_path / "w1.jsonl", 2, 1)])
    assert caught.value.message == f"{run / 'spool'}: cannot be written: File exists"
    assert seqs(run) == [("w1", 0)]


def test_nothing_to_collect(lost: Path, tmp_path: Path) -> None:
    """No spool anywhere, and no run folder."""
    with pytest.raises(Stop, match="there is no spool in it, and none was named"):
        collect(lost, [])
    (tmp_path / "empty").mkdir()
    with pytest.raises(Stop, match="no run folder"):
        collect(tmp_path / "empty", [])
    assert contents(tmp_path / "empty") == {}


def test_an_empty_spool_is_no_fault(lost: Path, tmp_path: Path) -> None:
    """A worker that was lost before it sent anything."""
    (tmp_path / "w5.jsonl").touch()
    assert [taken.worker for taken in collect(lost, [tmp_path / "w5.jsonl"])] == ["w1"]


def test_killed_before_run_json_was_renewed(lost: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder can be reported, and collecting again completes it."""
    path = spool(tmp_path / "there" / "w1.jsonl", 4, 3)
    with monkeypatch.context() as patch:
        patch.setattr(runfolder, "write_json", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            collect(lost, [path])
    assert building.compute(lost).summary["rows"][-1]["ok"] == 4
    collect(lost, [path])
    assert run_json(lost)["accounting"]["w1"] == {"started": 4, "finished": 3, "received": 3, "lost": 1}


def test_killed_while_starts_were_kept(lost: Path, tmp_path: Path) -> None:
    """A start that was written in part is written anew."""
    path = spool(tmp_path / "there" / "w1.jsonl", 5, 3)
    collect(lost, [path])
    kept = lost / "spool" / "w1.jsonl"
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-10])
    collect(lost, [path])
    assert kept.read_bytes() == whole


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 5_000))
def test_killed_at_any_byte(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    """However far the records were written, they are all there once after collecting again."""
    folder = write(tmp_path_factory.mktemp("killed") / "run", [ended(0)], verdict=None)
    path = spool(folder.parent / "w1.jsonl", 5, 5)
    collect(folder, [path])
    whole = (folder / "requests.jsonl").read_bytes()
    (folder / "requests.jsonl").write_bytes(whole[: min(cut, len(whole))])
    collect(folder, [path])
    assert (folder / "requests.jsonl").read_bytes() == whole


VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4)
ROWS = st.fixed_dictionaries(
    {},
    optional={
        "start": VALUES, "seq": st.integers(0, 6) | VALUES, "run": st.just(RUN) | VALUES,
        "worker": st.just("w1") | VALUES, "schema": st.just(1) | st.just(0) | VALUES,
    },
)  # fmt: skip


@given(st.binary(max_size=30) | ROWS.map(json.dumps).map(str.encode))
def test_any_line_is_a_start_a_record_or_nothing(line: bytes) -> None:
    """Whatever stands in it: what is told has the right kinds, and only a newer format stops."""
    try:
        found = told(line)
    except Stop:
        found = None
        newer = json.loads(line)["schema"]
        assert newer > 1
    if found is None:
        return
    row = json.loads(line)
    assert found.start == ("start" in row)
    assert found.seq == row["start" if found.start else "seq"] >= 0
    assert found.run in {row.get("run"), None}
    assert found.start or (isinstance(found.run, str) and isinstance(found.worker, str))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    order=st.permutations([*(("start", seq) for seq in range(6)), *(("seq", seq) for seq in range(6))]),
    upto=st.integers(0, 12), known=st.sets(st.integers(0, 5)),
)  # fmt: skip
def test_any_order_of_lines_gives_the_same_sums(
    tmp_path_factory: pytest.TempPathFactory, order: list[tuple[str, int]], upto: int, known: set[int]
) -> None:
    """Received is what either has, started reaches to the highest seq that either tells of."""
    folder = write(tmp_path_factory.mktemp("sums") / "run", [ended(seq) for seq in known], verdict=None)
    rows = [started(seq) if kind == "start" else ended(seq) for kind, seq in order[:upto]]
    path = folder.parent / "w1.jsonl"
    lines(path, [*rows, started(0)])
    collect(folder, [path])
    have = known | {seq for kind, seq in order[:upto] if kind == "seq"}
    begun = max([0, *have, *(seq for _, seq in order[:upto])]) + 1
    line = run_json(folder)["accounting"]["w1"]
    assert line == {"started": begun, "finished": len(have), "received": len(have), "lost": begun - len(have)}
    assert sorted(seqs(folder)) == [("w1", seq) for seq in sorted(have)]
