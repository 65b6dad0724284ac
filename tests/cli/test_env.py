"""`llmload env`, and the way of what it tells into a run: a real run on a real endpoint, and what run.json says."""

import json
import threading
from pathlib import Path

import pytest

from llmload.cli import env, main
from llmload.exits import Exit
from llmload.machine import gpus as machine_gpus
from llmload.machine import snapshot
from llmload.record import environment
from llmload.sidecar.backend import Absent, Gone
from llmload.sidecar.fake import Backend
from tests.cli.commands import QUICK, llmload, quick, run_json, runs
from tests.send.endpoint import Script, serving

STATED = """
[environment]
weights = "made up"

[capabilities]
tools = true
context = 50
"""


def test_a_machine_with_gpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file is what a run reads; the table has all of it."""
    path = tmp_path / "machine.json"
    assert main(["env", "--fake", "2", "--json", "--out", str(path)]) == Exit.OK
    assert f"--environment {path}" in capsys.readouterr().out
    told = snapshot.read(path)
    assert [gpu["name"] for gpu in told["gpus"]] == ["llmload fake GPU 80GB"] * 2
    assert main(["env", "--fake", "1"]) == Exit.OK
    out = capsys.readouterr().out
    assert "llmload" in out
    assert "80 GiB" in out
    assert str(told["cores"]) in out
    assert out.splitlines()[-2:] == [
        " GPU  name                   memory  driver  CUDA  power limit  highest clock  MIG  processes",
        " 0    llmload fake GPU 80GB  80 GiB  fake    fake  400 W        1,980 MHz      no   1",
    ]
    assert not [line for line in out.splitlines() if line != line.rstrip()]


def test_as_json_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    """The same that a file would have; GPUs that nobody looked for are not none."""
    assert main(["env", "--json", "--no-gpu"]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    assert told["kind"] == snapshot.KIND
    assert "gpus" not in told
    assert set(told) <= {"kind", "schema", "llmload", "at", *environment.CLIENT}


def test_no_driver_is_no_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It says that no GPU was found, and why, without the sidecar's own advice."""

    def absent(kind: str, *_: object, **__: object) -> Backend:
        raise Absent(f"there is no {kind} here; say --backend something")

    monkeypatch.setattr(env, "backend", absent)
    assert main(["env"]) == Exit.OK
    out = capsys.readouterr().out
    assert "no GPU found: nvml: there is no nvml here; amd: there is no amd here" in out
    assert "--backend" not in out


def test_why_there_is_no_gpu_is_wrapped(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Between words, indented like the rest."""

    def absent(kind: str, *_: object, **__: object) -> Backend:
        raise Absent(f"{kind} is not here, for a reason that takes a good many words to be told")

    monkeypatch.setattr(env, "backend", absent)
    assert main(["env"]) == Exit.OK
    first, second = capsys.readouterr().out.splitlines()[-2:]
    assert first.startswith(" no GPU found: nvml: nvml is not here")
    assert second.startswith(" ")
    assert max(len(first), len(second)) <= env.WIDTH
    assert f"{first} {second.strip()}".endswith("amd is not here, for a reason that takes a good many words to be told")


def test_a_driver_that_goes_away_or_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither keeps anybody: what there is to say is said."""
    over = threading.Event()

    class Going(Backend):
        def open(self) -> None:
            raise Gone("the driver went away")

    class Hanging(Backend):
        def open(self) -> None:
            over.wait(30)

    kinds = {"nvml": Going((), count=1), "amd": Hanging((), count=1)}
    monkeypatch.setattr(env, "backend", lambda kind, *_, **__: kinds[kind])
    try:
        found, note = env.look(None, limit_s=0.2)
    finally:
        over.set()
    assert found == []
    assert note == "no GPU found: nvml: the driver went away; a driver did not answer within 0.2 s"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--fake", "0"], "--fake 0: expected a whole number, 1 to 64"),
        (["--fake", "many"], "--fake many: expected"),
        (["--fake", "1", "--no-gpu"], "exclude each other"),
        (["--out", ""], "--out: names no file"),
        (["--no-gpu", "--out", "/nowhere/at/all/x.json"], "--out /nowhere/at/all/x.json: cannot be written"),
    ],
)
def test_wrong_words(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2 and a sentence."""
    assert main(["env", *words]) == Exit.USAGE
    assert said in capsys.readouterr().err


def test_a_run_says_what_it_was_measured_on(tmp_path: Path) -> None:
    """Client, way, server, tokenizer, the file of the server's machine, what was told; and a capability not seen."""
    shared = {"gpu": "0", "uuid": "GPU-9", "name": "X", "processes": 2, "shared": True}
    machine = tmp_path / "machine.json"
    machine.write_text(json.dumps(snapshot.make({"host": "gpu-host"}, [shared], None)))
    model = {"id": "m", "owned_by": "vllm", "root": "a/b-AWQ"}
    script = Script(models=[model], tokenize="vllm", pages={"/version": {"version": "0.11"}})
    with serving(script) as url:
        words = (
            "--host",
            url,
            "--environment",
            str(machine),
            "--fact",
            "notes=on a desk",
            "--no-report",
            "--steps",
            "1",
        )
        ended = llmload("run", str(quick(tmp_path, QUICK + STATED)), *words, cwd=tmp_path)
    assert ended.code == Exit.OK, ended.all
    (folder,) = runs(tmp_path)
    run = run_json(folder)
    told = run["environment"]
    assert {"host", "cores", "memory_bytes", "python"} <= set(told["client"])
    assert set(told["client"]) <= set(environment.CLIENT) | {"path"}
    assert told["client"]["path"]["loopback"] is True
    assert told["client"]["path"]["rtt_ms"]["n"] > 0
    assert set(told["server"]) <= set(environment.SERVER) | {"sources"}
    server = {name: told["server"][name] for name in ("engine", "version", "model", "quantization")}
    assert server == {"engine": "vllm", "version": "0.11", "model": "m", "quantization": "awq"}
    assert told["tokenizer"]["probe_tokens"] == len(environment.PROBE) // 4
    assert told["told"] == {"weights": "made up", "notes": "on a desk"}
    assert told["machine"]["host"] == "gpu-host"
    assert (told["gpus"], told["gpus_source"]) == ([shared], "--environment")
    assert run["capabilities"]["context"] == {
        "stated": 50,
        "seen": True,
        "words": run["capabilities"]["context"]["words"],
    }
    assert run["capabilities"]["tools"]["seen"] is False
    assert run["notes"] == [
        *machine_gpus.notes([shared]),
        "[capabilities] states tools, which was not seen: a call was forced, and words were answered",
    ]
    assert {"served", "tokenizing", "capabilities"}.isdisjoint(run["preflight"])


def test_a_file_that_is_none_is_refused_before_anything_is_sent(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, although nobody listens there."""
    assert main(["run", "smoke", "--host", "http://127.0.0.1:9", "--environment", "/no/such/file"]) == 2
    assert "--environment /no/such/file: cannot be read: No such file or directory" in capsys.readouterr().err
