"""`llmload probe` as its user runs it: what stands on standard output, what on standard error, and the exit code."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from llmload.cli import timeline
from llmload.record.record import FIELDS, RequestRecord
from tests.send.scripted import END, HEAD, Answer, data, plain, serving, stream, token


def probe(*words: str, key: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    if key is not None:
        environment["OPENAI_API_KEY"] = key
    command = [sys.executable, "-m", "llmload", "probe", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=60)


def test_json_is_the_record_with_its_text_and_nothing_else() -> None:
    """One line, all fields in the order of the contract, then the text."""
    with serving(stream(3)) as server:
        done = probe("--host", server.url, "--model", "m", "--json", "--prompt", "hi", "--max-tokens", "3")
        sent = json.loads(server.log()[0]["body"])
    row = json.loads(done.stdout)
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", 1)
    assert list(row) == [*FIELDS, "text"]
    assert (row["text"], row["run"], row["worker"], row["phase"], row["step"]) == (
        "t0 t1 t2 ",
        "probe",
        "probe",
        "measure",
        0,
    )
    assert (row["workload"], row["seq"], row["requested_output_tokens"], row["outcome"]) == ("probe", 0, 3, "ok")
    assert sent == {
        "model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 3, "temperature": 0.0,
        "stream": True, "stream_options": {"include_usage": True},
    }  # fmt: skip


def test_a_picture_and_the_only_model_there_is() -> None:
    """Without --json a person sees the timeline; the model is asked for first."""
    listing = plain("200 OK", '{"data": [{"id": "tiny"}]}')
    stalled = Answer(
        [(0, HEAD), (20, data(token("A"))), (260, data(token("B"))), (270, data(token("", "stop"), "[DONE]") + END)]
    )
    with serving(listing, stalled) as server:
        done = probe("--host", server.url.removesuffix("/v1"), "--prompt", "hi")
        assert json.loads(server.log()[1]["body"])["model"] == "tiny"
    assert done.returncode == 0
    for words in (
        "headers",
        "HTTP 200",
        "first token",
        "STALL",
        "end",
        "outcome   ok",
        "2 out (events)",
        "usage_missing",
    ):
        assert words in done.stdout


def test_a_failure_has_its_record_and_its_code() -> None:
    """The record is printed all the same; the code says that this endpoint could not be measured."""
    with serving(plain("500 Oh", '{"error": "worker died"}')) as server:
        done = probe("--host", server.url, "--model", "m", "--json")
    assert done.returncode == 3
    assert json.loads(done.stdout)["error"] == "HTTP 500 Oh: worker died"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--host", "ftp://h"), "scheme 'ftp'"),
        (("--host", "http://h", "--prompt-file", "/no/such/file"), "/no/such/file: cannot be read"),
        (("--host", "http://h", "--extra-body", "{"), "no JSON"),
        (("--host", "http://h", "--extra-body", "[1]"), "expected a JSON object"),
        (("--host", "http://h", "--max-tokens", "0"), "0 is not above 0"),
        (("--host", "http://h", "--timeout", "soon"), "soon"),
        (("--host", "https://h", "--model", "m", "--ca", "/no/such/ca"), "/no/such/ca: no such file"),
        (("--host", "http://h", "--model", "m", "--proxy", "https://p"), "expected http://HOST:PORT"),
        ((), "--host"),
    ],
)
def test_wrong_use_is_one_sentence(words: tuple[str, ...], says: str) -> None:
    """Exit code 2, nothing on standard output, no traceback."""
    done = probe(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_key_goes_to_another_machine_in_the_clear_only_if_allowed() -> None:
    """And is not repeated."""
    done = probe("--host", "http://192.0.2.1", "--model", "m", key="sk-secret")
    assert (done.returncode, "--allow-http-key" in done.stderr, "secret" in done.stderr) == (2, True, False)


def test_no_model_and_no_server() -> None:
    """The names on offer, or what went wrong on the way."""
    with serving(plain("200 OK", '{"data": [{"id": "a"}, {"id": "b"}]}')) as server:
        done = probe("--host", server.url)
    assert (done.returncode, done.stdout) == (3, "")
    assert "serves 2 models; name one with --model: a, b" in done.stderr
    done = probe("--host", server.url)
    assert done.returncode == 3
    assert "connection refused" in done.stderr


def test_the_prompt_comes_from_a_file_or_standard_input(tmp_path: Path) -> None:
    """Byte for byte."""
    (tmp_path / "p.txt").write_text("eins\nzwei — drei\n", encoding="utf-8")
    with serving(stream(1)) as server:
        done = probe(
            "--host",
            server.url,
            "--model",
            "m",
            "--api",
            "completions",
            "--prompt-file",
            str(tmp_path / "p.txt"),
            "--json",
        )
        assert json.loads(server.log()[0]["body"])["prompt"] == "eins\nzwei — drei\n"
    assert json.loads(done.stdout)["outcome"] == "ok"


def test_interrupted_it_still_shows_what_it_saw() -> None:
    """Ctrl-C ends the attempt as `cancelled`, with its partial facts, and says so by its exit code."""
    with serving(stream(100, 20, 100)) as server:
        command = [sys.executable, "-m", "llmload", "probe", "--host", server.url, "--model", "m", "--json"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not server.log() or len(server.log()[0]["writes"]) < 4:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=20)
    row = json.loads(out)
    assert (process.returncode, row["outcome"], error) == (6, "cancelled", "")
    assert row["events"] >= 2


def record(gaps_ms: list[float]) -> RequestRecord:
    """A record with these gaps."""
    row = RequestRecord("probe", "probe", 0, 0, 1, "measure", "probe", "probe", 1.0, "ok")
    row.http_status, row.headers_ms, row.ttft_ms, row.gaps_ms = 200, 1.0, 10.0, gaps_ms
    row.last_token_ms = row.end_ms = 10.0 + sum(gaps_ms)
    row.events = len(gaps_ms) + 1
    return row


def test_many_gaps_are_drawn_together_and_no_stall_is_lost() -> None:
    """500 gaps take 40 rows at most; each row stands for its longest gap and counts its stalls."""
    gaps = [10.0] * 500
    gaps[250] = 900.0
    rows = timeline.rows_of(10.0, gaps)
    assert len(rows) == 39
    assert (rows[0].first, rows[0].last, rows[0].at_ms) == (2, 14, 140.0)
    assert (rows[-1].last, rows[-1].at_ms) == (501, 10.0 + sum(gaps))
    assert sum(row.stalls for row in rows) == 1
    assert max(row.longest_ms for row in rows) == 900.0
    console = Console(width=100, record=True, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123  (nothing is kept there)
    timeline.show(record(gaps), console)
    console.file.close()
    assert "tokens 249-261" in console.export_text()


def test_bars() -> None:
    """Full, half, an eighth, never empty for what is above 0."""
    assert timeline.bar(8, 8, 4) == "████"
    assert timeline.bar(4, 8, 4) == "██"
    assert timeline.bar(0.25, 8, 4) == "▏"
    assert timeline.bar(0.0001, 8, 4) == "▏"
    assert timeline.bar(0, 8, 4) == ""


def test_it_starts_without_locust() -> None:
    """A probe needs gevent and the SDK, and none of the load generator."""
    code = "import sys, llmload.cli.probe, llmload.send.client; sys.exit('locust' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[" * 60000, "nested too deeply"),
        ('{"a":' * 300 + "1" + "}" * 300, "cannot be sent"),
        ('{"seed": 1000000000000000000000000000000}', "cannot be sent"),
        ("[1]", "expected a JSON object"),
    ],
)
def test_a_body_that_cannot_be_sent_is_wrong_usage(text: str, sentence: str) -> None:
    """It is told as argparse tells its own, with no traceback."""
    done = probe("--host", "http://127.0.0.1:9", "--extra-body", text)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
