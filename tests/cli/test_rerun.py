"""`llmload ab`, `pack` and `rerun` as users type them: two sides, the archive of a run, the same run elsewhere."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

from llmload.cli import obey, rerun
from llmload.engines.start import Engine, serving
from llmload.record import prompts, rounds
from tests.cli.commands import QUICK, Ended, check_code, llmload, quick, records, run_json, runs

pytestmark = pytest.mark.timeout(600)  # whole runs: a machine may be slow, only a hang is a fault

KEY = "sk-one-two-three"
FAST = ("-m", "llmload", "simulate", "--ttft-ms", "5", "--itl-ms", "1")
OTHER = (*FAST, "--letters-per-token", "3")
"""The same with a tokenizer that makes more tokens of a text."""
WITH_FILE = f"""{QUICK}
[[class]]
name = "own"
path = "own.txt"
max_tokens = 4
""".replace("warmup_requests = 1", "warmup_requests = 2").replace("[1, 2]", "[1]")


@dataclass(frozen=True)
class Done:
    """A round of two sides with answers kept, the archive of the baseline's run, and that run again from there."""

    ab: Ended
    place: Path
    first: Path
    candidate: Path
    packed: Ended
    away: Path
    """Where the archive was unpacked; nothing else of the first run is left there."""
    again: Ended
    second: Path


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """All of it, from the runs to the repetition."""
    here, away = tmp_path_factory.mktemp("here"), tmp_path_factory.mktemp("away")
    quick(here, WITH_FILE)
    (here / "own.txt").write_text("What is a lighthouse?\nAnd why?\n")
    with (
        serving(Engine("simulator", FAST, "demo")) as one,
        serving(Engine("simulator", OTHER, "demo")) as two,
    ):
        words = ("quick.toml", "--baseline", one, "--candidate", two, "--rounds", "1", "--pause", "0.1s")
        more = ("--no-compare", "--metrics-port", "0", "--save-text")
        ab = llmload("ab", *words, *more, cwd=here, OPENAI_API_KEY=KEY)
        (place,) = runs(here)
        first, candidate = (place / item.run for item in rounds.read(place).rounds)
        packed = llmload("pack", str(first), "--with-prompts", cwd=here, OPENAI_API_KEY=KEY)
        assert packed.code == 0, packed.all
        subprocess.run(["tar", "xzf", str(here / f"{first.name}.tar.gz")], cwd=away, check=True)
        (here / "own.txt").unlink()
        again = llmload("rerun", first.name, "--host", two, "--metrics-port", "0", cwd=away)
    (second,) = runs(away)
    return Done(ab, place, first, candidate, packed, away, again, second)


def shas(folder: Path) -> list[str]:
    """The digests of a run's prompts."""
    return [item.sha256 for item in prompts.read(folder) or ()]


def test_both_sides_get_the_same_texts(done: Done) -> None:
    """Whatever their tokenizers are: the first run fits the prompts, the second one takes them over."""
    check_code(done.ab, done.first if rounds.read(done.place).rounds[0].exit_code else done.candidate, 0)
    before, after = run_json(done.first), run_json(done.candidate)
    assert before["sequence"] == after["sequence"]
    assert shas(done.first) == shas(done.candidate)
    assert before["environment"]["server"]["url"] != after["environment"]["server"]["url"]
    assert (before["rerun_of"], after["rerun_of"]) == (None, None)
    fitted = orjson.loads((done.place / "scenario.json").read_bytes())["fitted"]
    assert fitted == before["preflight"]["fit"] == after["preflight"]["fit"]
    assert (done.first / "report.html").exists()


def test_ab_says_one_line_on_each_run(done: Done) -> None:
    """And neither its preflight nor its table."""
    figure = r"1/2  round 1  baseline .*\n(.*\n)*?.*E2E p95 .* ms at 1 in flight  (\d+) of \2 ok"
    assert re.search(figure, done.ab.out), done.ab.all
    assert "Looked at the endpoint" not in done.ab.out
    assert "What users felt" not in done.ab.out
    assert f"llmload compare runs/{done.place.name}" in done.ab.out


def test_the_archive_holds_the_run_and_no_answer(done: Done) -> None:
    """Everything that makes the run but the answers; the key is nowhere, the log is there."""
    assert any(row.get("text") for row in records(done.first))
    folder = done.away / done.first.name
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert there >= {
        "run.json", "requests.jsonl", "server.jsonl", "generator.jsonl", "prompts.jsonl", "locust.log", "report.html",
        "prompts/short.jsonl", "prompts/own.txt",
    }  # fmt: skip
    assert not any(name.startswith("spool") for name in there)
    assert [row | {"text": None} for row in records(folder)] == [row | {"text": None} for row in records(done.first)]
    assert not any("text" in row for row in records(folder))
    assert not any(KEY.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert re.search(r"requests\.jsonl .* without [\d,]+ answers", done.packed.out)
    assert "Left out: spool/." in done.packed.out


def test_an_unpacked_run_is_reported_as_before(done: Done, capsys: pytest.CaptureFixture[str]) -> None:
    """The same rows come out of it."""
    assert obey(["report", str(done.away / done.first.name), "--no-files", "--format", "csv"]) in (0, 5)
    assert capsys.readouterr().out == (done.first / "table.csv").read_bytes().decode()


def test_a_run_is_repeated_with_the_same_prompts_in_the_same_order(done: Done) -> None:
    """From the archive alone, on a server with another tokenizer, which counts other tokens of the same texts."""
    check_code(done.again, done.second, 0)
    before, after = run_json(done.first), run_json(done.second)
    assert before["rerun_of"] is None
    assert after["rerun_of"] == done.first.name == before["run"]
    assert after["sequence"] == before["sequence"]
    assert after["preflight"]["fit"] == before["preflight"]["fit"]
    assert f"The same 12 prompts in the same order as in {done.first.name} (order_sha256 " in done.again.out
    assert "another tokenizer: they have" in done.again.out
    assert "cut as in the run before" in done.again.out
    old, new = prompts.read(done.first) or (), prompts.read(done.second) or ()
    assert [item.sha256 for item in old] == [item.sha256 for item in new]
    assert all((a.tokens or 0) < (b.tokens or 0) for a, b in zip(old, new, strict=True))
    measured = [
        [(row["step"], row["prompt"], row["requested_output_tokens"]) for row in records(folder)[:5]]
        for folder in (done.first, done.second)
    ]
    assert measured[0] == measured[1]


def test_prompts_are_listed_without_a_word_of_them(done: Done) -> None:
    """Every prompt of every class once, counted by the server, and no text."""
    listed = prompts.read(done.first) or ()
    assert [item.prompt for item in listed] == [f"short-{at:03d}" for at in range(10)] + ["own-1", "own-2"]
    assert {item.tokens_source for item in listed} == {"server"}
    assert [item.characters for item in listed[-2:]] == [21, 8]
    assert b"lighthouse" not in (done.first / prompts.FILE).read_bytes()


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The present folder, with nothing in it, and a command line without a key in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["llmload"])
    return tmp_path


def test_the_plan_of_a_repetition_sends_nothing(done: Done, empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nor does it need an endpoint; it makes no folder."""
    assert obey(["rerun", str(done.away / done.first.name), "--dry-run", "--round", "3"]) == 0
    out = capsys.readouterr().out
    assert f"Again: {done.first.name}, seed 1, prompts cut as they were there." in out
    assert "time at least" in out
    assert not list(empty.iterdir())


@pytest.mark.usefixtures("empty")
def test_without_its_data_file_a_run_is_refused(done: Done, capsys: pytest.CaptureFixture[str]) -> None:
    """The first run's file is gone, and its folder holds no prompts."""
    assert obey(["rerun", str(done.first), "--host", "http://127.0.0.1:9"]) == 2
    sentence = r"llmload rerun: .*\[\[class\]\] own path: no such file: .*own\.txt"
    assert re.search(sentence, capsys.readouterr().err)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("rerun", "RUN", "--worker", "--master-host", "x"), "--worker: a worker has everything from its master"),
        (("rerun", "RUN", "--web", "--by-hand", "--host", "http://127.0.0.1:9"), "--by-hand: a run is repeated by"),
        (("rerun", "RUN", "--round", "256", "--host", "http://127.0.0.1:9"), "round (from the command line): expected"),
        (("pack", "RUN", "--without", "nothing"), "--without nothing: expected one of: generator.jsonl"),
        (("pack", "RUN", "--without", "run.json"), "--without run.json: expected one of"),
        (("pack", "RUN", "--out", "no/folder.tar.gz"), "cannot be written"),
    ],
)
def test_wrong_usage_is_one_sentence_and_code_2(
    done: Done, empty: Path, words: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback, nothing sent, nothing left."""
    folder = str(done.away / done.first.name)
    assert obey([folder if word == "RUN" else word for word in words]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(empty.iterdir())


def test_what_is_no_run_folder(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Data that is missing is code 4, as of report, compare and pack."""
    for words in (("rerun", "mixed", "--host", "http://127.0.0.1:9"), ("pack", "mixed"), ("report", "mixed")):
        assert obey(list(words)) == 4
        assert f"llmload {words[0]}: mixed: no " in capsys.readouterr().err
    assert not list(empty.iterdir())


def test_the_archive_tells_of_what_is_in_it(done: Done, empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which of its files name hosts; one that was left out is none of them."""
    folder = str(done.away / done.first.name)
    assert obey(["pack", folder, "--without", "locust.log", "--without", "report.html"]) == 0
    out = capsys.readouterr().out
    assert "It names hosts, addresses and paths: report.md, run.json, server.jsonl.\n" in out
    assert "Left out: locust.log, prompts/, report.html." in out
    (archive,) = empty.iterdir()
    archive.unlink()


def test_a_secret_in_a_run_is_refused_and_can_be_left_out(
    done: Done, empty: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the value of a variable that is called like a key; the file goes without, or nothing goes."""
    folder = empty / "run"
    shutil.copytree(done.first, folder)
    monkeypatch.setenv("VENDOR_TOKEN", "abcdefgh-ijkl")
    (folder / "locust.log").write_text("one\nthe server said: abcdefgh-ijkl\n")
    assert obey(["pack", "run"]) == 2
    found = capsys.readouterr().err
    assert "locust.log, line 2: the value of VENDOR_TOKEN" in found
    assert "abcdefgh-ijkl" not in found
    assert [path.name for path in empty.iterdir()] == ["run"]
    assert obey(["pack", "run", "--without", "locust.log"]) == 0
    assert (empty / "run.tar.gz").exists()


def test_what_is_said_of_another_sequence(done: Done) -> None:
    """Other prompts are counted, another order is told, and a run that wrote nothing down cannot be judged."""
    now = run_json(done.second)["sequence"]
    words: dict[str, dict[str, object]] = {
        "cannot be said: that run did not write it down": {"sequence": None},
        "Not the prompts of r: 0 differ, 0 are new, 0 are missing": {"sequence": {**now, "prompts_sha256": "x"}},
        "in another order or with other output limits": {"sequence": {**now, "order_sha256": "x"}},
    }
    for sentence, before in words.items():
        text, same = rerun.compared(done.first, {"run": "r", **before}, done.second)
        assert sentence in text
        assert not same
    moved = {**now, "round": 4, "order_sha256": rerun.order_in_round(done.second, 4)}
    text, same = rerun.compared(done.first, {"run": "r", "sequence": moved}, done.second)
    assert "in the same order as in r, behind new heads (round 0)" in text
    assert same


def test_the_same_server_may_remember(done: Done) -> None:
    """Said where the endpoint and the heads are those of the first run, and only there."""
    before = run_json(done.first)
    url = before["environment"]["server"]["url"]
    assert "--round 1 makes the heads new" in rerun.same_heads(before, 0, url)
    assert rerun.same_heads(before, 1, url) == ""
    assert rerun.same_heads(before, 0, "http://127.0.0.1:9") == ""
    assert rerun.same_heads({}, 0, url) == ""
