"""`llmload simulate` as a process: its first line, how it ends, and what wrong options get."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from llmload.cli import main
from llmload.exits import Stop
from tests.bench import simulate as bench
from tests.simulate import child
from tests.simulate.talk import Talk, chat, events

CHAT = "/v1/chat/completions"


def address(running):
    """Host and port of a running simulator."""
    parts = urlsplit(running.url)
    return parts.hostname, parts.port


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(number, tmp_path):
    """Exit code 0, and the request in the works has its line of truth."""
    truth = tmp_path / "truth.jsonl"
    options = ("--itl-ms", "60000", "--ttft-ms", "1", "--truth", str(truth))
    with child.running(*options) as running, Talk(address(running)) as talk:
        talk.send(CHAT, chat())
        talk.receive()
        running.process.send_signal(number)
        assert running.process.wait(10) == 0
    assert truth.read_bytes().count(b'"outcome":"server_stopped"') == 1


def test_options_arrive():
    """Model, port, slots, failures and the rest are what was asked for."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = [
        "--port", str(port), "--model", "m", "--ttft-ms", "1", "--itl-ms", "0.5", "--distribution", "lognormal",
        "--spread", "0.5", "--prefill-tokens-per-s", "1e6", "--slots", "3", "--slowdown", "0.01", "--failures",
        "abort=1", "--seed", "7", "--max-context", "150", "--tokens-per-event", "2", "--answer-tokens", "uniform:30,40",
        "--letters-per-token", "2", "--cliff", "5:2",
    ]  # fmt: skip
    with child.running(*options) as running:
        assert running.url == f"http://127.0.0.1:{port}"
        with Talk(address(running)) as talk:
            assert talk.ask("/v1/models")[1]["data"][0]["max_model_len"] == 150
            assert talk.ask("/tokenize", {"prompt": "order"})[1]["count"] == 3
            talk.send(CHAT, chat(40, model="m"))
            assert events(talk.receive())[-2]["choices"][0]["finish_reason"] == "abort"


def test_the_key_comes_from_the_environment():
    """With the variable set, a request without the key is refused."""
    environment = {**os.environ, "LLMLOAD_SIMULATE_KEY": "s3cret"}
    with child.running(environment=environment) as running, Talk(address(running)) as talk:
        assert talk.ask("/v1/models")[0] == 401
        assert talk.ask("/v1/models", authorization="Bearer s3cret")[0] == 200


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--port", "70000"], "--port 70000: expected a whole number, 0 to 65535"),
        (["--port", "http"], "--port http: expected a whole number"),
        (["--ttft-ms", "-1"], "--ttft-ms -1: expected a number of at least 0"),
        (["--itl-ms", "nan"], "--itl-ms nan: expected a number"),
        (["--itl-ms", "fast"], "--itl-ms fast: expected a number"),
        (["--distribution", "pareto"], "expected one of: fixed, normal, lognormal, exponential"),
        (["--spread", "0.2"], "--spread: fixed times have none; use --distribution normal or lognormal"),
        (["--slots", "0"], "--slots 0: expected a whole number, at least 1"),
        (["--prefill-tokens-per-s", "0"], "expected a number above 0"),
        (["--failures", "cot=0.1"], "--failures cot=0.1: unknown failure 'cot'"),
        (["--answer-tokens", "many"], "--answer-tokens many: unknown kind 'many'"),
        (["--tokens-per-event", "1.5"], "expected a whole number"),
        (["--max-context", "1"], "at least 2"),
        (["--letters-per-token", "0"], "--letters-per-token 0: expected a whole number"),
        (["--cliff", "many:2"], "--cliff many: expected a whole number"),
        (["--cliff", "200"], "--cliff : expected a number"),
        (["--model", ""], "--model ''"),
        (["--host", "no.such.host.invalid"], "--host no.such.host.invalid: no such address"),
        (["--truth", "/no/such/folder/truth"], "--truth /no/such/folder/truth: cannot be written"),
    ],
)
def test_wrong_options(options, says, capsys):
    """One sentence that names the option, exit code 2."""
    assert main(["simulate", *options]) == 2
    told = capsys.readouterr()
    assert says in told.err
    assert told.err.count("\n") == 1
    assert told.out == ""


def test_a_taken_port(capsys, tmp_path):
    """The sentence says which port and what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["simulate", "--port", port]) == 2
        assert f"port {port} on 127.0.0.1 is taken" in capsys.readouterr().err
        truth = tmp_path / "truth.jsonl"
        truth.write_text("of the one that listens there")
        with pytest.raises(Stop, match="code 2"), child.running("--port", port, "--truth", str(truth)):
            pass
        assert truth.read_text() == "of the one that listens there"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_ends_it():
    """A truth that cannot be written is worth a stop with a sentence, not a traceback."""
    command = [sys.executable, "-m", "llmload", "simulate", "--truth", "/dev/full", "--ttft-ms", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        url = urlsplit(process.stdout.readline().split()[-1])
        with Talk((url.hostname, url.port)) as talk:
            talk.send(CHAT, chat(1))
            assert process.wait(10) == 1
        told = process.stderr.read()
    assert "--truth /dev/full: cannot be written any more: No space left on device" in told
    assert "Traceback" not in told


def test_out_of_descriptors():
    """With few descriptors it stops accepting, spins not, and goes on when connections end."""
    command = ["sh", "-c", 'ulimit -n 40; exec "$0" -m llmload simulate --ttft-ms 1 --itl-ms 1', sys.executable]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        url = urlsplit(process.stdout.readline().split()[-1])
        talks = [Talk((url.hostname, url.port)) for _ in range(60)]
        assert talks[0].ask("/health")[0] == 200
        for talk in talks[:40]:
            talk.sock.close()
        assert talks[-1].ask("/health")[0] == 200
        for talk in talks:
            talk.sock.close()
        process.terminate()
        assert process.wait(10) == 0


def test_imports_neither_locust_nor_gevent():
    """The simulator must not share what it is there to check."""
    code = (
        "import sys, llmload.cli.simulate;"
        "print([name for name in ('locust', 'gevent', 'greenlet', 'asyncio', 'openai') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.slow
def test_thirty_thousand_events_a_second():
    """512 streams of 60 events/s are sent, at less CPU for each event than the 33 us that 30,000/s leave."""
    rate = bench.measure(512, 60.0, seconds=2.0)
    assert rate.events_per_s > 0.9 * rate.asked_per_s
    assert rate.cpu_us_per_event < 33
