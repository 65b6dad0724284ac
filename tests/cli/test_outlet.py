"""What becomes of a command whose output cannot be written or shown, and of one that is interrupted at any moment."""

import argparse
import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from llmload.cli import attend, launch, outlet, run
from llmload.load import reading
from tests.cli.commands import quick


def shell(command: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """A shell command in which $LLMLOAD is the command."""
    return subprocess.run(
        ["bash", "-c", command.replace("$LLMLOAD", f"{sys.executable} -m llmload")],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_ctrl_c_while_a_command_works_is_one_sentence_and_code_6() -> None:
    """Wherever it falls there is no traceback."""
    code = (
        "import signal, sys; from llmload.cli import main, report\n"
        "report.main = lambda _args: signal.raise_signal(signal.SIGINT)\n"
        "sys.exit(main(['report', 'x']))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 6, found.stderr
    assert found.stderr.startswith("llmload report: stopped by Ctrl-C")
    assert found.stderr.count("\n") == 1


@pytest.mark.parametrize(("times", "code"), [(0, 0), (1, 6)])
def test_ctrl_c_while_the_report_is_written(
    times: int, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report is finished, the code is 6 though the run is whole, and that is said; a second one ends it."""
    written: list[int] = []

    def settle(*_args: object, interrupted: bool, brief: bool) -> int:
        assert not interrupted
        assert not brief
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)
        written.append(1)
        return 0

    monkeypatch.setattr(run, "settle", settle)
    monkeypatch.setattr(launch, "started", lambda *_args: ["true"])
    parser = argparse.ArgumentParser()
    run.add_arguments(parser)
    args = parser.parse_args([str(quick(tmp_path)), "--run-folder", str(tmp_path / "x")])
    assert run.perform(args, reading.load(args.scenario), "http://127.0.0.1:9", []) == code
    assert written
    late = "Stopped when the run was over: nothing was cut. Exit code 6 is the command's, not the run's.\n"
    assert (late in capsys.readouterr().out) == (code == 6)
    args.run_folder = str(tmp_path / "of-several")
    interrupts = attend.Interrupts()
    assert run.perform(args, reading.load(args.scenario), "http://127.0.0.1:9", [], interrupts=interrupts) == 0
    assert interrupts.count == times
    assert late not in capsys.readouterr().out
    times = 2
    args.run_folder = str(tmp_path / "y")
    with pytest.raises(KeyboardInterrupt):
        run.perform(args, reading.load(args.scenario), "http://127.0.0.1:9", [])


def test_a_terminal_that_knows_few_characters() -> None:
    """What it cannot show is a question mark; what is UTF-8 by definition stays so."""
    found = shell("$LLMLOAD --help", PYTHONIOENCODING="latin-1")
    assert (found.returncode, found.stderr) == (0, "")
    assert "llmload COMMAND ?" in found.stdout
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding="latin-1", errors="replace")
    former, sys.stdout = sys.stdout, stream
    try:
        outlet.as_utf8()
        print("…", end="", flush=True)
    finally:
        sys.stdout = former
    assert buffer.getvalue() == "…".encode()


@pytest.mark.parametrize("command", ["--help", "run --dry-run"])
def test_no_standard_output(command: str) -> None:
    """Closed, it is nothing to speak of; full, it is told in a sentence, and the code is 6."""
    found = shell(f"$LLMLOAD {command} >&-")
    assert (found.returncode, found.stderr) == (0, "")
    found = shell(f"$LLMLOAD {command} >/dev/full")
    assert (found.returncode, found.stderr) == (6, "llmload: standard output took no more: No space left on device\n")


def test_a_reader_that_leaves() -> None:
    """What is said then goes nowhere, and the command ends as it would have."""
    found = shell("set -o pipefail; $LLMLOAD run --dry-run | true")
    assert (found.returncode, found.stderr) == (0, "")
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", encoding="utf-8") as stream:  # noqa: PTH123  (a descriptor is no path)
        out = outlet.Outlet(stream)
        for _ in range(2):
            print("words", file=out, flush=True)
        assert isinstance(out.failure, BrokenPipeError)
