"""Both sides are asked the same by a real process; the options of answers are read; a team's scorer is run."""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil
import pytest

from llmload import ports
from llmload.answers import known
from llmload.answers.judging import Answer, Asked
from llmload.cli import asking, questioning, scorer
from llmload.compare.answering import answering, quality
from llmload.exits import Exit, Stop
from llmload.load import reading
from llmload.load.scenario import Scenario
from llmload.record import answers
from tests.cli import commands

SCENARIO = """
name = "asked"
model = "m"
stream = false
temperature = 0.7
extra_body = {top_k = 40}

[[class]]
name = "short"
input_tokens = 60
max_tokens = 8
prompts = 5
ignore_eos = true

[[class]]
name = "medium"
source = "builtin:medium"
input_tokens = 90
max_tokens = 9
prompts = 3
"""


def told(answer: str, finish: str = "stop") -> dict[str, Any]:
    """A whole answer, as the API gives it."""
    choice = {"index": 0, "message": {"role": "assistant", "content": answer}, "finish_reason": finish}
    return {"object": "chat.completion", "model": "m", "choices": [choice],
            "usage": {"prompt_tokens": 9, "completion_tokens": 3}}  # fmt: skip


@contextmanager
def serving(wrong: bool) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """An endpoint that knows all sums, or none; prompts of the scenario get their own first words back."""
    bodies: list[dict[str, Any]] = []
    sums = {one.prompt: one.expected["number"] for one in known.shipped() if "number" in one.expected}
    busy = set(list(sums)[:2])

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.say(200, {"object": "list", "data": [{"id": "m", "object": "model"}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            bodies.append(body)
            prompt = body["messages"][0]["content"]
            if prompt in busy:  # once
                busy.discard(prompt)
                self.say(429, {"error": {"message": "not now"}}, ("Retry-After", "0.01"))
            elif prompt in sums:
                self.say(200, told(f"It is {0.125 if wrong else sums[prompt]}"))
            elif wrong and "weekday" in prompt:
                self.say(500, {"error": {"message": "broken"}})
            else:
                self.say(200, told(prompt[:40], "length"))

        def say(self, status: int, value: Any, *headers: tuple[str, str]) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            for name, text in (*headers, ("Content-Type", "application/json"), ("Content-Length", str(len(data)))):
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *words: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", bodies
    finally:
        server.shutdown()
        server.server_close()


def options(*words: str) -> argparse.Namespace:
    """The options of `llmload ab` that are about answers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--baseline")
    parser.add_argument("--candidate")
    asking.add_judging(parser)
    asking.add_asking(parser)
    return parser.parse_args(words)


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    """A scenario of two classes."""
    path = tmp_path / "asked.toml"
    path.write_text(SCENARIO)
    return reading.load(str(path))


def test_both_sides_are_asked_the_same(
    scenario: Scenario, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Same texts in the same order, at temperature 0, with failures as rows; and the loss is found."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    facts = tmp_path / "facts.jsonl"
    facts.write_text(
        '{"id": "capital", "prompt": "The weekday of the capital?", "must_contain": "weekday"}\n'
        '{"id": "short-004", "must_contain": "no such words"}\n'
    )
    with serving(wrong=False) as (first, asked), serving(wrong=True) as (second, asked_too):
        args = options("--baseline", first, "--candidate", second, "--check-answers", "--answer-prompts", "2",
                       "--facts", str(facts))  # fmt: skip
        asking.check(args, scenario)
        path = asking.ask(tmp_path, args, scenario, scenario)
    rows = answers.read(path)
    sides = [[(row.id, row.workload, row.prompt) for row in rows if row.side == side] for side in answers.SIDES]
    assert sides[0] == sides[1] == sides[2]
    assert len(sides[0]) == len(known.shipped()) + 1 + 2 + 2 + (
        "short-004" not in {id_ for id_, _, _ in sides[0][-5:-2]}
    )
    assert [row.outcome for row in rows if row.id == "capital"] == ["ok", "http_error", "ok"]
    assert all(row.outcome == "ok" for row in rows if row.id != "capital")  # those turned away came again
    for body in (*asked, *asked_too):
        assert body["temperature"] == 0
        assert body["top_k"] == 40
        assert "ignore_eos" not in body
        assert not body["messages"][0]["content"].startswith("Case ")
    out = capfd.readouterr().out
    assert f"baseline: {len(sides[0])} of {len(sides[0])} answers in " in out
    assert "1 failed, capital first: http_error" in out
    found = answering.asked(path, asking.facts(args))
    assert found is not None
    classes = {one.workload: one for one in quality.classes([answering.judge(one) for one in found.pairs], {}, {})}
    assert classes["sums"].correct == (1.0, 0.0)
    assert classes["sums"].lost[0].shown
    assert classes["facts"].correct == (1.0, 0.0)
    assert (classes["short"].identical, classes["short"].checked, classes["short"].correct) == (1.0, 1, (0.0, 0.0))
    assert classes["medium"].troubles == (("cut", 2, 2),)


def test_nobody_there_is_a_sentence(scenario: Scenario, tmp_path: Path) -> None:
    """Code 3, no traceback."""
    url = f"http://127.0.0.1:{ports.free()}"
    with pytest.raises(Stop) as caught:
        asking.ask(tmp_path, options("--baseline", url, "--candidate", url), scenario, scenario)
    assert caught.value.code is Exit.UNMEASURABLE


def test_prompts_of_the_mix_are_those_of_each_class(scenario: Scenario) -> None:
    """As many as there are, in an order that stays; a fact about none of them is refused."""
    found = questioning.mixed(scenario, 4, set())
    assert [call.workload for call in found] == ["short"] * 4 + ["medium"] * 3
    assert len({call.prompt for call in found}) == 7
    assert found == questioning.mixed(scenario, 4, set())
    assert questioning.mixed(scenario, 0, set()) == []
    assert [call.prompt for call in questioning.mixed(scenario, 0, {"short-004"})] == ["short-004"]
    with pytest.raises(Stop, match="the scenario asked has no prompt 'short-999'"):
        questioning.mixed(scenario, 1, {"short-999"})


def test_a_scorer_is_run() -> None:
    """Lines in, lines out."""
    run = scorer.command(f"{sys.executable} -c 'import sys; print(sys.stdin.read().upper())'")
    assert run(b"lines\n") == b"LINES\n\n"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("no-such-program-at-all", "there is no program 'no-such-program-at-all'"),
        ("'unclosed", "no command: No closing quotation"),
        (" ", "expected a command"),
        (f"{sys.executable} -c 'raise SystemExit(\"no model\")'", "ended with exit code 1: no model"),
        (f"{sys.executable} -c 'import time; time.sleep(60)'", "not finished within 0.5 s; allow more with --score-"),
    ],
)
def test_a_scorer_that_fails_is_a_sentence(command: str, words: str) -> None:
    """Code 2."""
    with pytest.raises(Stop) as caught:
        scorer.command(command, 0.5)(b"1\n")
    assert words in caught.value.message
    assert caught.value.code is Exit.USAGE


def test_a_scorer_that_prints_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """It neither fills the memory nor takes all the time it may take."""
    monkeypatch.setattr(scorer, "LARGEST", 1 << 20)
    with pytest.raises(Stop, match="printed more than 1 MiB"):
        scorer.command("yes 2", 60.0)(b"1\n")


def test_a_scorer_that_reads_nothing_and_leaves_something_behind() -> None:
    """Lines that it does not read do not hold it up, nor does what it has started and not ended."""
    assert scorer.command("sh -c 'sleep 60 & echo 1; echo warned >&2'", 30.0)(b"x" * (1 << 20)) == b"1\n"


def test_who_stops_the_command_stops_the_scorer(tmp_path: Path) -> None:
    """SIGTERM is a Ctrl-C here: it is not left behind."""
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
    with pytest.raises(KeyboardInterrupt):
        scorer.command(f"sh -c 'echo $$ > {tmp_path / 'pid'}; exec sleep 60'", 60.0)(b"1\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_who_asks_ends_with_who_wanted_to_know(tmp_path: Path) -> None:
    """An answer that never comes is not waited for by a process whose parent was killed."""
    script = tmp_path / "parent.py"
    script.write_text(
        "import multiprocessing, time\n"
        "from llmload.cli import aside\n"
        "def child(): \n"
        "    import threading\n"
        "    threading.Thread(target=aside.leave_with_parent, daemon=True).start()\n"
        "    time.sleep(60)\n"
        "if __name__ == '__main__':\n"
        "    one = multiprocessing.get_context('spawn').Process(target=child)\n"
        "    one.start()\n"
        "    print(one.pid, flush=True)\n"
        "    time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent:
        pid = int(parent.stdout.readline())
        time.sleep(2)
        os.kill(pid, 0)
        parent.kill()
    commands.until(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == "zombie")


def test_options_of_judging(tmp_path: Path) -> None:
    """Files are read at once, and what is wrong with them is a sentence."""
    assert asking.judging(options()) == answering.Wanted()
    for words, sentence in (
        (("--facts", str(tmp_path / "none")), "none: cannot be read: No such file"),
        (("--review", str(tmp_path / "none")), "none: cannot be read"),
        (("--facts", str(tmp_path)), "cannot be read: Is a directory"),
        (("--score", ""), "expected a command"),
    ):
        with pytest.raises(Stop, match=sentence):
            asking.judging(options(*words))
    (tmp_path / "latin.jsonl").write_bytes(b"\xe9\n")
    with pytest.raises(Stop, match="no UTF-8 text"):
        asking.judging(options("--facts", str(tmp_path / "latin.jsonl")))


def test_what_needs_answers_says_so_beforehand(scenario: Scenario) -> None:
    """Not after hours of runs."""
    with pytest.raises(Stop, match="--review-sheet: needs answers; add --check-answers, or --save-text"):
        asking.check(options("--review-sheet", "5"), scenario)
    asking.check(options("--review-sheet", "5", "--check-answers"), scenario)
    asking.check(options(), scenario)


def test_a_review_sheet_is_written_once_and_read_back(tmp_path: Path) -> None:
    """A sheet that is there is not written over: it may be filled."""
    pairs = tuple(Asked(f"q{n}", "short", "What?", Answer(f"a{n}"), Answer(f"b{n}")) for n in range(3))
    found = quality.Answers((), (), loss=False, words=(), sheet=pairs, seed=3)
    files = asking.write_sheet(found, tmp_path)
    assert [path.name for path in files] == ["review.csv", "review.html", "review-key.csv"]
    sheet = tmp_path / "review.csv"
    lines = sheet.read_text("utf-8-sig").splitlines()
    sheet.write_text("\n".join([lines[0], f"{lines[1]}A", f"{lines[2]}=", lines[3]]))
    reviewed = asking.judging(options("--review", str(sheet))).reviewed
    assert reviewed is not None
    assert (reviewed.baseline + reviewed.candidate, reviewed.ties, reviewed.left) == (1, 1, 1)
    with pytest.raises(Stop, match=r"review\.csv: is there already"):
        asking.write_sheet(found, tmp_path)
    assert asking.write_sheet(None, tmp_path) == []
