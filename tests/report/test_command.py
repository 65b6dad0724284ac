"""`llmload report` as people and pipelines call it: what it prints, and its exit codes."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import orjson
import pytest

from llmload import cli
from llmload.exits import Exit, Stop
from llmload.report import files
from tests.report.synthetic import record, step, write


@dataclass
class Done:
    """What a call left."""

    returncode: int
    stdout: str
    stderr: str


class Call(Protocol):
    """Calls the command."""

    def __call__(self, *words: str | Path) -> Done:
        """With these words."""


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """The command in this process, where it takes a tenth of the time."""

    def do(*words: str | Path) -> Done:
        try:
            code = cli.main(["report", *map(str, words)])
        except SystemExit as leaving:  # how argparse ends
            code = int(leaving.code or 0)
        out = capsys.readouterr()
        return Done(code, out.out, out.err)

    return do


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine successes and a failure."""
    rows = [record(n) for n in range(9)] + [record(9, outcome="rate_limited", end=2.0, error="429 slow down")]
    return write(tmp_path_factory.mktemp("runs") / "run", rows)


def test_table_by_default(call: Call, run: Path) -> None:
    """Head, tables, what failed, WARNINGS, verdict; exit code 0."""
    done = call(run)
    assert done.returncode == Exit.OK, done.stderr
    for words in ("What users felt", "All attempts", "429 slow down", "WARNINGS", "verdict: OK"):
        assert words in done.stdout
    assert done.stderr == ""


def test_json_is_alone_on_stdout(call: Call, run: Path) -> None:
    """Programs read it as it comes, and it is the file."""
    done = call(run, "--format", "json")
    assert orjson.loads(done.stdout)["rows"][0]["ok"] == 9
    assert done.stdout == (run / "summary.json").read_text()


@pytest.mark.parametrize(
    ("kind", "begin"), [("csv", "step,concurrency,"), ("markdown", "# "), ("html", "<!doctype html>")]
)
def test_other_formats(call: Call, run: Path, kind: str, begin: str) -> None:
    """Each begins as it should."""
    assert call(run, "--format", kind, "--no-files").stdout.startswith(begin)


def test_gates_and_ratios_set_the_exit_code(call: Call, run: Path) -> None:
    """A gate that does not hold, and too many failures, are 1, with the reason said."""
    done = call(run, "--no-files", "--gate", "ttft_ms.ok.p50<=100", "--gate", "success_share>=0.95@1")
    assert done.returncode == Exit.FAILED
    assert "gate ttft_ms.ok.p50<=100: holds (100 at 1)" in done.stdout
    assert "gate success_share>=0.95@1: does not hold (0.9 at 1)" in done.stdout
    done = call(run, "--no-files", "--max-fail-ratio", "0.05", "--format", "csv")
    assert done.returncode == Exit.FAILED
    assert "10.00 % of the measured attempts failed; --max-fail-ratio allows 5.00 %" in done.stderr
    assert call(run, "--no-files", "--max-fail-ratio", "0.1").returncode == Exit.OK


def test_the_worst_of_several_runs_counts(call: Call, run: Path, tmp_path: Path) -> None:
    """A whole run and a killed one: both are printed, INCOMPLETE wins."""
    killed = write(tmp_path / "killed", [record(0)], [step(end=None)], verdict=None, ended_at=None)
    done = call(run, killed, "--no-files")
    assert done.returncode == Exit.INCOMPLETE
    assert "verdict: OK" in done.stdout
    assert "verdict: INCOMPLETE" in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["/nowhere"], Exit.UNJUDGED, "no run folder"),
        (["/nowhere", "--gate", "ttft<1"], Exit.USAGE, "no figure 'ttft'"),
        (["/nowhere", "--max-fail-ratio", "5"], Exit.USAGE, "from 0 to 1"),
        ([], Exit.USAGE, "RUN"),
    ],
)
def test_wrong_use_is_a_sentence(call: Call, words: list[str], code: Exit, sentence: str) -> None:
    """No traceback, the right code."""
    done = call(*words)
    assert done.returncode == code
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_real_process(run: Path) -> None:
    """The exit code reaches the shell, and neither Locust nor gevent is loaded on the way."""
    code = (
        "import sys; from llmload.cli import main; code = main(sys.argv[1:]); "
        "sys.exit(99 if {'locust', 'gevent'} & set(sys.modules) else code)"
    )
    words = [sys.executable, "-c", code, "report", str(run), "--max-fail-ratio", "0", "--format", "csv", "--no-files"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=150)
    assert done.returncode == Exit.FAILED, done.stderr


def test_a_reader_that_leaves(run: Path) -> None:
    """`llmload report … | head -1` ends quietly."""
    shell = f"{sys.executable} -m llmload report {run} --format html --no-files | head -c 1"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False, timeout=150)
    assert done.stderr == ""


def test_a_file_that_cannot_be_written_leaves_no_half_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence with the file's name; the old one stays, and what was begun is taken away."""
    path = tmp_path / "summary.json"
    path.write_text("old")

    def full(self: Path, _to: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(Stop, match=r"summary\.json: cannot be written: No space left on device"):
        files._replace(path, "new")
    assert (path.read_text(), list(tmp_path.iterdir())) == ("old", [path])
