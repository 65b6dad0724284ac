"""`llmload sidecar` as a user meets it: options, first words, page, health, pause, lines, table, and its ends."""

import json
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from llmload.cli import main, sidecar
from llmload.exits import Exit
from llmload.sidecar.backend import Gone
from tests.sidecar.child import Child, running
from tests.sidecar.scripted import Made, Scripted


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the shared sidecar writes."""
    return tmp_path_factory.mktemp("sidecar")


@pytest.fixture(scope="module")
def child(folder: Path) -> Iterator[Child]:
    """One sidecar with two fake GPUs for all tests here."""
    with running("--fake", "2", "--interval", "250ms", "--jsonl", str(folder / "gpu.jsonl")) as child:
        yield child


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ("--interval 100ms", 2, "--interval 100ms: expected 250ms to 1h; more often disturbs what is measured"),
        ("--interval 2h", 2, "--interval 2h: expected 250ms to 1h"),
        ("--interval soon", 2, "--interval: expected a duration over 0 such as 20s, 5m or 1h30m, got 'soon'"),
        ("--hang-limit 0.5s", 2, "--hang-limit 0.5s: expected at least 1s"),
        ("--port 70000", 2, "--port 70000: expected a whole number, 0 to 65535"),
        ("--port \N{ARABIC-INDIC DIGIT THREE}", 2, "expected a whole number, 0 to 65535"),
        ("--host=", 2, "--host: names no address; expected 127.0.0.1 for this machine alone, or 0.0.0.0 for all"),
        ("--jsonl=", 2, "--jsonl: names no file; leave it out for none"),
        ("--fake 0", 2, "--fake 0: expected a whole number, 1 to 64"),
        ("--backend fake", 2, "--backend fake: unknown; expected nvml or amd (or --fake N)"),
        ("--gpus ,", 2, "--gpus: names no GPU"),
        ("--fake 2 --gpus 5", 3, "--gpus 5: there is no such GPU; the fake ones are 0 to 1"),
        ("--fake 2 --gpus 0,7", 3, "--gpus 7: there is no such GPU; the fake ones are 0 to 1"),
        ("--fake 1 --jsonl /nowhere/x", 2, "/nowhere/x: cannot be opened: No such file or directory"),
        ("--fake 1 --host 203.0.113.1", 2, "203.0.113.1:9835: cannot assign requested address; name another place"),
        ("--fake 1 --host [2001:db8::1]", 2, "cannot listen on [2001:db8::1]:9835: cannot assign requested address"),
        ("--fake 1 --host \xfc..b", 2, "cannot listen on \xfc..b:9835: that is no name of a host; name another place"),
        ("--backend amd --once", 3, 'pip install "llmload[amd]"'),
    ],
)
def test_what_cannot_be_is_told(words: str, code: int, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence that names the option, and the exit code for it."""
    assert main(["sidecar", *words.split()]) == code
    told = capsys.readouterr().err
    assert sentence in told
    assert told.startswith("llmload sidecar: ")
    assert told.count("\n") == 1


def test_a_port_that_is_taken_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """With what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["sidecar", "--fake", "1", "--port", str(port)]) == Exit.USAGE
    assert f"cannot listen on 127.0.0.1:{port}: address already in use; is another" in capsys.readouterr().err


def test_its_first_words(child: Child) -> None:
    """Where it is, what it sees, how often, and how to use it."""
    at = child.url
    child.until(lambda: "Ctrl-C ends it" in child.said)
    assert child.said[:6] == [
        f"llmload sidecar: 2 GPUs at {at}/metrics, read every 0.25 s",
        "  GPU 0  llmload fake GPU 80GB  GPU-fake-0",
        "  GPU 1  llmload fake GPU 80GB  GPU-fake-1",
        f"in a run:    llmload run SCENARIO --host URL --gpu {at}/metrics",
        f"Prometheus:  job llmload-gpu, target {at.removeprefix('http://')}; boards are in dashboards/",
        "Ctrl-C ends it",
    ]


def test_promtool_finds_nothing_to_say(child: Child) -> None:
    """Names, units and words are as Prometheus wants them, paused and not."""
    child.until(lambda: child.value("up", "1"))
    text = child.ask("/metrics")[1]
    assert "llmload_gpu_energy_joules_total" in text
    assert "llmload_host_tcp_retransmits_total" in text
    found = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


def test_both_formats_are_served(child: Child) -> None:
    """Prometheus' own, and OpenMetrics to whoever asks for it."""
    assert child.ask("/metrics")[2]["Content-Type"].startswith("text/plain; version=")
    _, body, headers = child.ask("/metrics", Accept="application/openmetrics-text;version=1.0.0")
    assert headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    assert body.endswith("# EOF\n")


def test_other_addresses_and_methods_are_refused(child: Child) -> None:
    """With a hint; a web page that is open on the same machine can pause nothing."""
    status, body, _ = child.ask("/metric")
    assert (status, "/metrics for Prometheus" in body) == (404, True)
    status, body, headers = child.ask("/pause?seconds=1")
    assert (status, headers["Allow"], body) == (405, "POST", "/pause takes POST only\n")
    assert child.ask("/metrics", "DELETE")[0] == 405
    assert child.ask("/pause?seconds=1", "POST", Origin="http://evil.example")[0] == 403
    for text in ("", "?seconds=0", "?seconds=3601", "?seconds=nan", "?seconds=x"):
        assert child.ask(f"/pause{text}", "POST")[0] == 400
    assert child.value("paused") == 0
    status, body, headers = child.ask("/metrics", "HEAD")
    assert (status, body, int(headers["Content-Length"]) > 1000) == (200, "", True)
    assert "/pause" in child.ask("/")[1]


def test_a_pause_begins_at_once_and_ends_when_asked(child: Child) -> None:
    """Meanwhile there are no values, and it is healthy all the same."""
    assert "2 of 2 GPUs answer" in child.ask("/health")[1]
    assert child.ask("/pause?seconds=60", "POST")[0] == 200
    page = child.page()
    assert page["llmload_gpu_paused",] == 1
    assert page["llmload_gpu_collect_success",] == 0
    assert not any(key[0] == "llmload_gpu_power_watts" for key in page)
    status, body, _ = child.ask("/health")
    assert (status, body.startswith("paused on purpose for another ")) == (200, True)
    calls = child.value("backend_calls_total")
    child.until(lambda: any("paused: nothing is sampled" in line for line in child.said))
    assert child.ask("/resume", "POST")[0] == 200
    child.until(lambda: (child.value("backend_calls_total") or 0) > (calls or 0))
    assert child.value("collect_success") == 1


def test_many_askers_at_once_do_not_end_it(child: Child) -> None:
    """Connections that say nothing take up all places: others are sent away, and served when these are gone."""
    port = int(child.url.rsplit(":", 1)[1])
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(16)]
    child.until(lambda: child.ask("/health")[0] == 503)
    for connection in silent:
        connection.close()
    child.until(lambda: child.ask("/health")[0] == 200)


def test_it_ends_on_a_signal_and_its_lines_are_whole(child: Child, folder: Path) -> None:
    """The last test here: exit code 0, and each look is a line, the pause between two of them."""
    assert child.end(signal.SIGTERM) == Exit.OK
    lines = [json.loads(line) for line in (folder / "gpu.jsonl").read_bytes().splitlines()]
    looks = [line for line in lines if "gpus" in line]
    assert len(looks) > 1
    assert "info" in looks[0]["gpus"][0]
    assert "info" not in looks[1]["gpus"][0]
    assert [line["paused"] for line in lines if "paused" in line] == [True, False]
    first, last = looks[0]["gpus"][0], looks[-1]["gpus"][0]
    seconds = (looks[-1]["mono_ns"] - looks[0]["mono_ns"]) / 1e9
    watts = (last["values"]["energy_joules"] - first["values"]["energy_joules"]) / seconds
    assert 79 < watts < 401
    assert "load1" in looks[0]["host"]


def test_once_shows_a_table_and_ends(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Of what it sees, in units for people; nothing listens. Ctrl-C needs no mention: it is over in a second."""
    assert main(["sidecar", "--fake", "1", "--once", "--processes", "--jsonl", str(tmp_path / "x")]) == Exit.OK
    out = capfd.readouterr().out
    assert "llmload fake GPU 80GB" in out
    assert "2,619 MHz" in out
    assert "process memory, 4242" in out
    assert len((tmp_path / "x").read_bytes().splitlines()) == 2


def test_once_tells_a_driver_that_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Instead of trying again for ever: exit code 3."""
    source = Scripted([], fault=Gone("the driver went away"))
    monkeypatch.setattr("llmload.cli.sidecar.backend", lambda *_, **__: source)
    assert main(["sidecar", "--once"]) == Exit.UNMEASURABLE
    assert "llmload sidecar: the driver went away" in capsys.readouterr().err
    assert source.did[-1] == "close"


def test_a_full_disk_is_told_once_and_at_the_end() -> None:
    """The page goes on; the exit code says that lines are missing."""
    with running("--fake", "1", "--interval", "250ms", "--jsonl", "/dev/full") as child:
        child.until(lambda: (child.value("collections_total", "ok") or 0) >= 3)
        assert child.value("collect_success") == 1
        assert child.end(signal.SIGINT) == Exit.INCOMPLETE
    told = [line for line in child.said if "/dev/full" in line]
    assert "No space left on device; what was written before is kept; the page goes on" in told[0]
    assert told[1].startswith("llmload sidecar: /dev/full: cannot be written: No space left on device")
    assert len(told) == 2


def test_a_process_that_was_stopped_is_no_driver_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that seems to hang when the process goes on again has returned a moment later; one that hangs has not."""

    class Left(Exception):
        """In place of the end of the process."""

    def leave(sentence: str) -> None:
        raise Left(sentence)

    monkeypatch.setattr(sidecar, "_exit", leave)
    sampler = Made(Scripted([]))
    hanging_s = iter([40.0, 0.0, 40.0, 41.0])
    monkeypatch.setattr(sampler, "hanging_s", lambda: next(hanging_s))
    watch = sidecar.Watch(sampler, threading.Event(), 30.0, None)
    with pytest.raises(Left, match="has not returned for 30 s"):
        watch.until(lambda: False)
    assert list(hanging_s) == []


def test_open_to_all_is_told() -> None:
    """Only when it is asked for."""
    with running("--fake", "1", "--host", "0.0.0.0") as child:
        child.until(lambda: "whoever reaches this port can read it, and pause it for a while" in child.said)
        assert f"http://{socket.gethostname()}:" in child.said[0]
