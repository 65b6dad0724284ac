"""`llmload run` as a user types it: the run, its folder and exit code, and one clear sentence for what is wrong."""

import json
import os
import re
import shlex
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
import trustme

from llmload import ports
from llmload.cli import main, run
from llmload.engines.start import Engine, serving
from llmload.exits import Exit, Stop
from llmload.load import reading
from llmload.send import preflight
from llmload.send.preflight import SendOptions
from tests.cli.commands import QUICK, Ended, check_code, end, llmload, quick, records, run_json, runs, start, until
from tests.send import endpoint
from tests.send.endpoint import Script

pytestmark = pytest.mark.timeout(600)  # whole runs: a machine may be slow, only a hang is a fault

KEY = "sk-one-two-three"

FAST = ("-m", "llmload", "simulate", "--ttft-ms", "5", "--itl-ms", "1")
SLOW = ("-m", "llmload", "simulate", "--ttft-ms", "200", "--itl-ms", "40")


def test_the_command_itself_loads_neither_locust_nor_gevent() -> None:
    """They belong to the processes that it starts; pandas and matplotlib wait for the report."""
    code = "import sys, llmload.cli.run; assert not {'locust', 'gevent', 'pandas'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# What is wrong before anything is sent: exit code 2


def broken(old: str, new: str) -> str:
    """The quick scenario with one thing changed."""
    assert old in QUICK
    return QUICK.replace(old, new)


USAGE: dict[str, tuple[str, tuple[str, ...], str]] = {
    "typo": (broken("[load]", "[load"), (), r"quick\.toml: no valid TOML"),
    "unknown key": (broken("window_s", "windows_s"), (), r"quick\.toml.*windows_s"),
    "step of 0": (broken("[1, 2]", "[1, 0]"), (), r"quick\.toml.*steps"),
    "step of 0 as an option": (QUICK, ("--steps", "0"), r"steps"),
    "no data": (
        broken('"builtin:short"\ninput_tokens = 60\nmax_tokens = 8\nprompts = 10', '"file"\npath = "empty.jsonl"'),
        (),
        r"empty\.jsonl",
    ),
    "unwritable folder": (QUICK, ("--out", "quick.toml"), r"cannot be written.*--out"),
    "full run folder": (QUICK, ("--run-folder", "."), r"not empty.*--run-folder"),
    "no duration": (QUICK, ("--duration", "soon"), r"--duration: expected a duration"),
    "no pair": (QUICK, ("--set", "x"), r"--set: expected KEY=VALUE"),
    "no gate": (QUICK, ("--gate", "ttft<5"), r"--gate"),
    "gate of no step": (QUICK, ("--gate", "success_share>=0.9@99"), r"no step of 99; expected one of: 1, 2"),
    "gate of no class": (QUICK, ("--gate", "nope/ttft_ms.p50<=5"), r"no class 'nope'; expected one of: all, short"),
    "gate of no rate": (
        QUICK,
        ("--rates", "2,5", "--gate", "from_schedule.e2e_ms.p95<=900@3"),
        r"no step of 3; expected one of: 2, 5",
    ),
    "no room for each process": (
        QUICK,
        ("--rates", "2", "--processes", "3", "--set", "load.max_in_flight=2"),
        r"max_in_flight: expected at least 3, one for each process that sends, got 2",
    ),
    "both kinds of load": (QUICK, ("--rates", "2", "--steps", "1"), r"--steps and --rates exclude each other"),
    "gate of no schedule": (QUICK, ("--gate", "from_schedule.e2e_ms.p95<=900"), r"only a load by rate has a schedule"),
    "no page of GPUs": (QUICK, ("--gpu", "ftp://gpu"), r"--gpu: expected a URL as http://gpu-host:9835/metrics"),
    "no step to repeat": (QUICK, ("--observer-check", "4"), r"no step of 4; expected one of: 1, 2"),
    "no share": (QUICK, ("--max-fail-ratio", "7"), r"--max-fail-ratio: expected a share"),
    "no process": (QUICK, ("--processes", "0"), r"--processes: expected 1 or more"),
    "no URL": (QUICK, ("--host", "ftp://x"), r"expected http or https"),
    "key in the URL": (QUICK, ("--host", f"http://u:{KEY}@127.0.0.1:9"), r"--host: holds the value of OPENAI_API_KEY"),
}  # fmt: skip


Command = Callable[..., Ended]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """`llmload` in this process, for commands that end before they start another: what its start takes is saved."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("OPENAI_API_KEY", "LLMLOAD_HOST"):
        monkeypatch.delenv(name, raising=False)

    def command(*words: str, **environment: str) -> Ended:
        monkeypatch.setattr("sys.argv", ["llmload", *words])
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        code = main()
        return Ended(code, *capsys.readouterr())

    return command


def check_wrong_usage(found: Ended, case: str, folder: Path) -> None:
    """One sentence and nothing else."""
    assert found.code == 2, found.all
    assert re.search(USAGE[case][2], found.err), found.err
    assert found.err.startswith("llmload run: ")
    assert "Traceback" not in found.all
    assert KEY not in found.all
    assert not runs(folder)


@pytest.mark.parametrize("case", USAGE)
def test_wrong_usage_is_one_sentence_and_code_2(case: str, tmp_path: Path, here: Command) -> None:
    """What, where, and what to do, before anything is sent; no traceback, no folder, no key."""
    text, words, _ = USAGE[case]
    quick(tmp_path, text)
    (tmp_path / "empty.jsonl").touch()
    found = here("run", "quick.toml", "--host", "http://127.0.0.1:9", *words, OPENAI_API_KEY=KEY)
    check_wrong_usage(found, case, tmp_path)


@pytest.mark.parametrize("case", ["typo", "key in the URL"])
def test_wrong_usage_in_a_shell(case: str, tmp_path: Path) -> None:
    """The same of the command as users start it."""
    text, words, _ = USAGE[case]
    quick(tmp_path, text)
    found = llmload("run", "quick.toml", "--host", "http://127.0.0.1:9", *words, cwd=tmp_path, OPENAI_API_KEY=KEY)
    check_wrong_usage(found, case, tmp_path)


def test_no_endpoint_is_told_and_the_environment_stands_in(tmp_path: Path, here: Command) -> None:
    """Without --host and LLMLOAD_HOST it stops; --dry-run plans and sends nothing, and needs no endpoint for it."""
    quick(tmp_path)
    found = here("run", "quick.toml")
    assert found.code == 2
    assert "--host URL, or set LLMLOAD_HOST" in found.err
    for host in ({}, {"LLMLOAD_HOST": "127.0.0.1:9"}):
        found = here("run", "quick.toml", "--dry-run", "--duration", "1h30m", **host)
        assert found.code == 0, found.all
        assert "A window lasts 1 h 30 min" in found.out
        assert max(map(len, found.out.splitlines())) <= 120
        assert not runs(tmp_path)
    found = here("run", "quick.toml", "--dry-run", "--host", "ftp://x")
    assert found.code == 2, found.all


def test_the_words_of_a_log_come_without_control_characters(tmp_path: Path) -> None:
    """What a server said may stand in Locust's log, and that is shown when Locust ends by itself."""
    log = tmp_path / "locust.log"
    log.write_text("llmload: old\nllmload: the server says: a\x1b[2Jb\rc\nand more\x9b31m\n")
    assert run.stopped(log) == "the server says: a [2Jb c\nand more 31m"
    assert run.died(log, -9).splitlines()[-2:] == ["  llmload: the server says: a [2Jb c", "  and more 31m"]
    log.write_text("")
    assert run.died(log, 3).splitlines()[-1] == "  (nothing)"
    early = run.died(log, -9, "before the load began")
    assert early.startswith("the Locust process was killed by signal 9 before the load began; the end of ")


def test_a_scenario_that_is_not_there(here: Command) -> None:
    """The shipped ones are named."""
    found = here("run", "mixd", "--host", "http://127.0.0.1:9")
    assert found.code == 2
    assert "mixed" in found.err


# What the endpoint refuses, told by the preflight: exit code 3

REFUSED: dict[str, tuple[Script, str]] = {
    "HTML page": (Script(html=True), r"HTML page.*mend --host"),
    "both limits refused": (Script(refuses=("max_tokens", "max_completion_tokens")), r"max_tokens_field"),
    "too long": (Script(context=70), r"class short.*does not fit.*maximum context length is 70"),
}
NOBODY: dict[str, tuple[str, str]] = {
    "wrong host": ("http://no.such.host.invalid:8000", r"no\.such\.host\.invalid.*mend --host"),
    "refused port": ("http://127.0.0.1:9", r"refused.*start the server, or mend --host"),
}


@pytest.mark.parametrize("case", [*REFUSED, *NOBODY])
def test_what_an_endpoint_refuses_is_a_stop(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence with what to do, and the code; how a run tells it is for the next test."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    if case != "wrong host":  # to another machine it would not go
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
    scenario = reading.load(str(quick(tmp_path)))
    with ExitStack() as stack:
        if case in REFUSED:
            script, sentence = REFUSED[case]
            host = stack.enter_context(endpoint.serving(script))
        else:
            host, sentence = NOBODY[case]
        with pytest.raises(Stop, match=sentence) as caught:
            preflight.run(scenario, host, SendOptions(), lambda _line: None)
    assert caught.value.code is Exit.UNMEASURABLE
    assert "\n" not in caught.value.message
    assert KEY not in caught.value.message


TOLD = {
    "401 without a key": r"401.*no key was sent.*OPENAI_API_KEY",
    "unknown model": r"'x' is not served.*a, b",
    "TLS failure": r"TLS.*--ca FILE.*--insecure",
}


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Ended, Path]]:
    """Commands that an endpoint refuses, run at the same time: each takes Locust's start."""
    started: dict[str, tuple[Any, Path]] = {}
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    with ExitStack() as stack:
        servers = {
            "401 without a key": endpoint.serving(Script(key="k")),
            "unknown model": endpoint.serving(Script(models=[{"id": "a"}, {"id": "b"}])),
            "TLS failure": endpoint.serving(Script(), context),
        }
        for name, server in servers.items():
            folder = tmp_path_factory.mktemp("refused")
            words = ("--model", "x") if name == "unknown model" else ()
            environment = {} if name == "401 without a key" else {"OPENAI_API_KEY": KEY}
            host = stack.enter_context(server)
            child = start("run", str(quick(folder)), "--host", host, *words, cwd=folder, **environment)
            started[name] = (child, folder)
        return {name: (end(child), folder) for name, (child, folder) in started.items()}


@pytest.mark.parametrize("case", TOLD)
def test_what_an_endpoint_refuses_is_one_sentence_and_code_3(case: str, refused: dict[str, tuple[Ended, Path]]) -> None:
    """One sentence with what to do; no traceback, no load, no folder left, no key anywhere."""
    found, folder = refused[case]
    assert found.code == 3, found.all
    assert re.search(TOLD[case], found.err), found.err
    assert found.err.startswith("llmload run: ")
    assert found.err.count("\n") == 1
    assert "Traceback" not in found.all
    assert KEY not in found.all
    assert not runs(folder)


# A run


@dataclass
class Done:
    """A whole run, its folder, and where it was made."""

    ended: Ended
    folder: Path
    where: Path


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Path]]:
    """A run against a server of which two answers in five fail, begun before others to save time."""
    folder = tmp_path_factory.mktemp("failing")
    conditions = ("--gate", "ttft_ms.ok.p50<=0.001@2", "--max-fail-ratio", "0.01", "--set", "load.window_requests=10")
    with serving(Engine("simulator", (*FAST, "--failures", "500=0.4"), "demo")) as url:
        yield start("run", str(quick(folder)), "--host", url, *conditions, cwd=folder), folder


@pytest.fixture(scope="module")
def done(failing: tuple[Any, Path], tmp_path_factory: pytest.TempPathFactory) -> Done:
    """A run with a key, a gate that holds and a proxy variable that leads nowhere, and its Locust command again."""
    folder = tmp_path_factory.mktemp("run")
    quick(folder)
    words = ("run", "quick.toml", "--gate", "success_share>=1", "--label", "engine=sim", "--host")
    proxies = {"HTTP_PROXY": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LLMLOAD_SIMULATE_KEY", KEY)
        with serving(Engine("simulator", FAST, "demo")) as url:
            found = llmload(*words, f"{url}/v1/", cwd=folder, OPENAI_API_KEY=KEY, **proxies)
            command = re.search(r"^\$ (.*)$", found.out, re.MULTILINE)
            assert command, found.all
            port = str(ports.free())  # the usual one may be in use on this machine
            again = subprocess.run(
                [*shlex.split(command[1]), "--out", "again", "--master-bind-port", port, "--master-port", port],
                cwd=folder,
                env={
                    **os.environ,
                    "OPENAI_API_KEY": KEY,
                    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                },
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
    check_code(found, runs(folder)[0], 0)
    (folder / "again.txt").write_text(f"{again.returncode}\n{again.stdout}\n{again.stderr}")
    return Done(found, runs(folder)[0], folder)


def test_a_run_prints_what_it_is_and_where_it_lies(done: Done) -> None:
    """Resolved URL, the preflight's screen, progress lines, the table, gate, verdict and files."""
    found, folder = done.ended, done.folder
    host = run_json(folder)["sending"]["base_url"]
    assert host.endswith("/v1")
    words = (
        *(f"quick: {host}", "simulated (the only one it serves)", "by the kernel", "What users felt"),
        *("gate success_share>=1: holds", "verdict: ", str(folder.relative_to(folder.parents[1]))),
    )
    for word in words:
        assert word in found.out
    assert found.err == ""


def test_a_run_folder_holds_everything(done: Done) -> None:
    """Files, steps, accounting; the records are those the accounting knows, of both steps."""
    folder = done.folder
    for name in (
        "run.json",
        "requests.jsonl",
        "generator.jsonl",
        "summary.json",
        "report.html",
        "report.md",
        "table.csv",
    ):
        assert (folder / name).stat().st_size > 0, name
    run = run_json(folder)
    assert run["command"][:3] == ["llmload", "run", "quick.toml"]
    assert (run["verdict"], run["labels"], [step["concurrency"] for step in run["steps"]]) == (
        "OK",
        {"engine": "sim"},
        [1, 2],
    )
    assert sum(line["received"] for line in run["accounting"].values()) == len(records(folder))
    assert {(record["step"], record["outcome"]) for record in records(folder)} >= {(0, "ok"), (1, "ok")}


def test_the_key_is_nowhere(done: Done) -> None:
    """Not in any file of the run, not in the log, not on the screen; neither by the printed Locust command."""
    found, where = done.ended, done.where
    files = [path for path in where.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
    assert KEY not in found.all


def test_the_printed_locust_command_works(done: Done) -> None:
    """Pasted into a shell it makes the same run."""
    folder, where = done.folder, done.where
    said = (where / "again.txt").read_text()
    again = sorted((where / "again").glob("*"))
    assert len(again) == 1, said
    assert said.startswith("0\n"), said
    one, other = run_json(folder), run_json(again[0])
    assert (other["verdict"], other["scenario"]) == (one["verdict"], one["scenario"])


def test_a_gate_or_too_many_failures_is_code_1(failing: tuple[Any, Path]) -> None:
    """The table is there all the same, and the words say what did not hold."""
    child, where = failing
    found = end(child)
    check_code(found, runs(where)[0], 1)
    assert "does not hold" in found.out
    assert "--max-fail-ratio allows 1.00 %" in found.out
    assert "http_error" in found.out
    assert (runs(where)[0] / "report.html").exists()


# Ends that nobody planned


LONG = QUICK.replace("[1, 2]", str([1, 2] * 150))
"""Three hundred steps of some two seconds: there is always one that goes on."""

FULL = QUICK.replace("[1, 2]", str([1, 2] * 15))
"""Its run.json is small, so that it is the records for which there is no room."""


@dataclass
class Cut:
    """A run that was ended in mid-run."""

    child: Any
    where: Path
    ended: Ended | None = None

    @property
    def folder(self) -> Path:
        """Its run folder."""
        return runs(self.where)[0]

    @property
    def found(self) -> Ended:
        """The command, once it has ended."""
        if self.ended is None:
            self.ended = end(self.child)
        return self.ended


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Cut]]:
    """Runs, each ended in its way as soon as it has come far enough; started together to save time.

    Of `loading` the server still loads, so that its load does not begin.
    """
    script = Script(loading_s=600, loading_models=True)
    with serving(Engine("simulator", SLOW, "demo")) as url, endpoint.serving(script) as loading:
        made = {}
        for name in ("loading", "full", "twice", "kill", "death", "once"):
            folder = tmp_path_factory.mktemp(name)
            file = quick(folder, {"loading": QUICK, "full": FULL}.get(name, LONG))
            full = "ulimit -f 32" if name == "full" else ""  # no file over 32 blocks of 512 or 1,024 bytes
            host = loading if name == "loading" else url
            made[name] = Cut(start("run", str(file), "--host", host, cwd=folder, before=full), folder)
        try:
            until(lambda: script.began is not None)
            made["loading"].child.send_signal(signal.SIGINT)
            for name in ("twice", "kill", "death"):
                wait_for_step(made[name], 2)
            made["twice"].child.send_signal(signal.SIGINT)
            made["kill"].child.kill()
            psutil.Process(made["death"].child.pid).children()[0].kill()
            time.sleep(0.3)  # two signals at the very same moment are one to the system
            made["twice"].child.send_signal(signal.SIGINT)
            wait_for_step(made["once"], 3)
            made["once"].child.send_signal(signal.SIGINT)
            yield made
        finally:
            for one in made.values():
                one.child.kill()
                one.child.communicate()
                for process in [process for folder in runs(one.where) for process in processes(folder)]:
                    process.kill()


def wait_for_step(one: Cut, steps: int) -> None:
    """Wait until a run is in such a step and has records of it."""

    def there() -> bool:
        assert one.child.poll() is None, one.child.communicate()
        return bool(runs(one.where)) and any(record["step"] == steps - 1 for record in records(one.folder))

    until(there, 120)


def processes(folder: Path) -> list[psutil.Process]:
    """Locust processes of a run, by the folder in their command line and the one they run in."""
    return [
        process
        for process in psutil.process_iter(["cmdline", "cwd"])
        if process.info["cwd"] == str(folder.parents[1])
        and any(word.endswith(folder.name) for word in process.info["cmdline"] or ())
    ]


def test_ctrl_c_once_keeps_everything(cut: dict[str, Cut]) -> None:
    """I08: behind two whole steps: they are in the report, what was in flight is cancelled, code 6."""
    found, folder = cut["once"].found, cut["once"].folder
    assert found.code == 6, found.all
    assert "stopping" in found.out
    assert "verdict: INCOMPLETE" in found.out
    assert "Traceback" not in found.all
    run = run_json(folder)
    *whole, last = run["steps"]
    assert len(whole) >= 2  # more, if this machine is busy with something else
    assert [step["ended_by"] for step in run["steps"]] == [*["window"] * len(whole), "stopped"]
    assert run["verdict"] == "INCOMPLETE"
    assert "cancelled" in {record["outcome"] for record in records(folder) if record["step"] == last["step"]}
    rows = json.loads((folder / "summary.json").read_text())["rows"]
    assert all(row["ok"] > 0 for row in rows if row["workload"] == "all" and row["step"] < last["step"])
    assert not processes(folder)


def test_ctrl_c_twice_ends_at_once(cut: dict[str, Cut]) -> None:
    """What was recorded is still readable, no process is left, and the report says INCOMPLETE."""
    found, folder = cut["twice"].found, cut["twice"].folder
    assert found.code == 6, found.all
    assert "verdict: INCOMPLETE" in found.out
    assert "Traceback" not in found.all
    assert records(folder)
    assert not processes(folder)


def test_kill_9_leaves_a_run_that_can_be_reported(cut: dict[str, Cut]) -> None:
    """Nothing goes on behind a killed `llmload run`, and `llmload report` works on the folder."""
    one = cut["kill"]
    assert one.found.code == -signal.SIGKILL
    until(lambda: not processes(one.folder))
    found = llmload("report", str(one.folder), cwd=one.where)
    assert found.code == 6, found.all
    assert "verdict: INCOMPLETE" in found.out


def test_a_locust_that_dies_is_told(cut: dict[str, Cut]) -> None:
    """The master is killed: the sentence says so, the report is there, and the code is 6."""
    found, folder = cut["death"].found, cut["death"].folder
    assert found.code == 6, found.all
    assert "was killed by signal 9" in found.all
    assert "verdict: INCOMPLETE" in found.out
    until(lambda: not processes(folder))


def test_a_disk_that_takes_no_more_ends_the_run(cut: dict[str, Cut]) -> None:
    """Code 6, a sentence with the file's name, no traceback, and what was written before is in the table."""
    found, folder = cut["full"].found, cut["full"].folder
    assert found.code == 6, found.all
    assert re.search(r"cannot be written: File too large", found.all)
    assert "What users felt" in found.out
    assert "verdict: INCOMPLETE" in found.out
    assert "Traceback" not in found.all
    assert records(folder)


def test_ctrl_c_before_the_load(cut: dict[str, Cut]) -> None:
    """While the server loads there is nothing to keep: a sentence, code 6 and no folder."""
    found, where = cut["loading"].found, cut["loading"].where
    assert found.code == 6, found.all
    assert "stopped before the load began" in found.err
    assert not runs(where)
