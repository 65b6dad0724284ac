"""Situations in which somebody else than the server counts tokens, and those in which a count would lie."""

import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import gevent
import pytest
import tokenizers
from tokenizers import models, pre_tokenizers, processors

from llmload.load.scenario import Scenario, WorkloadClass
from llmload.send import preflight
from llmload.send.preflight import SendOptions
from tests.report.synthetic import record
from tests.report.worked import built_of
from tests.send import endpoint
from tests.send.conftest import Sender, sender
from tests.send.scripted import END, HEAD, Answer, data, serving, stream, token, usage

__all__ = ["sender"]

Make = Callable[..., Sender]
NOISE_MS = 30


@pytest.fixture
def tokenizer(tmp_path: Path) -> str:
    """A tokenizer.json of whole words that puts a start token before every text."""
    made = tokenizers.Tokenizer(models.WordLevel({"Hello": 0, "world": 1, "?": 2, "[S]": 3}, unk_token="?"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(single="[S] $A", special_tokens=[("[S]", 3)])
    path = tmp_path / "tokenizer.json"
    made.save(str(path))
    assert len(made.encode("Hello world").ids) == 3
    return str(path)


PIECES = Answer(
    [
        (0, HEAD),
        *((40 + 20 * n, data(token(text))) for n, text in enumerate(("Hel", "lo", " wor", "ld"))),
        (120, data(token("", "stop"), "[DONE]") + END),
    ]
)


def test_pieces_and_the_tokenizer(sender: Make, tokenizer: str) -> None:
    """B14: the joined text is counted once and without the start token: two, and not four, five or eight."""
    with serving(PIECES) as server:
        row = sender(server.url, tokenizer=tokenizer).send()
    assert (row.outcome, row.events) == ("ok", 4)
    assert (row.output_tokens, row.output_tokens_source) == (2, "tokenizer")
    assert "usage_missing" in row.flags


def test_the_servers_count_goes_first(sender: Make, tokenizer: str) -> None:
    """B14: what the server tells is never replaced; reasoning, whose text is not kept, is estimated as before."""
    told = Answer([*PIECES.steps[:-1], (120, data(token("", "stop"), usage(5, 7), "[DONE]") + END)])
    thought = {"id": "c1", "choices": [{"index": 0, "delta": {"reasoning_content": "so"}, "finish_reason": None}]}
    thinking = Answer([(0, HEAD), (20, data(thought)), *PIECES.steps[1:]])
    with serving(told, thinking) as server:
        book = sender(server.url, tokenizer=tokenizer)
        rows = [book.send() for _ in range(2)]
    assert [(row.output_tokens, row.output_tokens_source) for row in rows] == [(7, "server"), (5, "events")]


def test_counts_are_not_mixed_without_a_mark(tmp_path: Path) -> None:
    """B14: answers counted by the server and by a tokenizer: the sum carries a mark, and a warning names both."""
    rows = [record(n, output_tokens_source="tokenizer" if n % 2 else "server") for n in range(4)]
    built = built_of(tmp_path, rows)
    assert built.summary["rows"][-1]["token_source"] == "mixed"
    assert any("counted in different ways (server, tokenizer)" in warning for warning in built.warnings)


def test_the_scenarios_tokenizer_reaches_the_sender(tokenizer: str) -> None:
    """B14: the preflight says who will count, and every worker gets the file's name with the settings."""
    said: list[str] = []
    scenario = Scenario("s", (WorkloadClass("short", prompts=2),), tokenizer=tokenizer)
    with endpoint.serving(endpoint.Script(usage=False)) as url:
        sending, found = preflight.run(scenario, url, SendOptions(), said.append)
    assert sending.tokenizer == tokenizer
    assert found.usage is False
    assert "not told; output tokens are counted by tokenizer tokenizer.json" in "\n".join(said)


def test_counting_after_the_clock(sender: Make, tokenizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """I03: 50 streams and a tokenizer that takes 5 ms a text: gaps and stamps are those of the server's writes."""
    pace = Answer([*stream(12, 60, 30).steps[:-1], (420, data(token("", "stop"), "[DONE]") + END)])
    with serving(pace) as server:
        book = sender(server.url, tokenizer=tokenizer)
        count = book.client._count

        def slow(texts: list[str]) -> list[int]:
            time.sleep(0.005)
            assert count is not None
            return count(texts)

        monkeypatch.setattr(book.client, "_count", slow)
        gevent.joinall([gevent.spawn(book.send) for _ in range(50)], raise_error=True)
        seen = server.log()
    true = sorted((b - a) / 1e6 for row in seen for a, b in pairwise(row["writes"][1:13]))
    gaps = sorted(gap for row, _ in book.finished for gap in row.gaps_ms)
    assert {row.output_tokens_source for row, _ in book.finished} == {"tokenizer"}
    assert gaps[len(gaps) // 2] == pytest.approx(true[len(true) // 2], abs=2)
    assert sum(gaps) / len(gaps) == pytest.approx(sum(true) / len(true), abs=1)


def test_a_kill_while_counting_leaves_a_record(sender: Make, tokenizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """I03: the answer was whole, so its record is; it has the estimate instead of the count."""
    with serving(PIECES) as server:
        book = sender(server.url, tokenizer=tokenizer)
        begun: list[float] = []

        def slow(texts: list[str]) -> list[int]:
            begun.append(time.monotonic())
            time.sleep(0.3)
            return [99]

        monkeypatch.setattr(book.client, "_count", slow)
        run = gevent.spawn(book.send)
        while not begun:
            gevent.sleep(0.01)
        run.kill()
    ((row, text),) = book.finished
    assert (row.outcome, row.output_tokens, row.output_tokens_source, text) == ("ok", 4, "events", "Hello world")


OWN = """
import locust
from llmload.drive.user import Chat
for extra in ({"n": 2}, {"best_of": 2}, {"stream": False}):
    try:
        Chat(None, None).chat([{"role": "user", "content": "hi"}], extra_body=extra)
    except ValueError as error:
        print(error)
"""


def test_several_choices_are_refused() -> None:
    """B17: one usage for two choices makes no time per token: a locustfile is told so, as a scenario is."""
    done = subprocess.run([sys.executable, "-c", OWN], capture_output=True, text=True, check=True)
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == ["n", "best_of", "stream"]
    assert "several choices share one usage" in done.stdout
