"""How long an answer is and why it ends."""

import pytest

from llmload.simulate import failures, lengths, plan
from llmload.simulate.asked import Asked
from llmload.simulate.settings import Settings
from llmload.simulate.wire import Request


def asked(limit, *, limited=True, min_tokens=0, ignore_eos=False, stream=True):
    """A chat with these wishes."""
    return Asked(True, stream, False, 10, limit, limited, min_tokens, ignore_eos, "head")


@pytest.mark.parametrize(
    ("own", "wanted", "expected"),
    [
        (None, asked(50), (50, "length")),
        (None, asked(9000, limited=False), (256, "stop")),
        (None, asked(100, limited=False), (100, "length")),
        (None, asked(9000, limited=False, min_tokens=300), (300, "stop")),
        (None, asked(9000, limited=False, ignore_eos=True), (9000, "length")),
        ("fixed:20", asked(50), (20, "stop")),
        ("fixed:50", asked(50), (50, "length")),
        ("fixed:80", asked(50), (50, "length")),
        ("fixed:20", asked(50, min_tokens=30), (30, "stop")),
        ("fixed:20", asked(50, ignore_eos=True), (50, "length")),
    ],
)
def test_lengths(own, wanted, expected):
    """The limit, the answer's own length, min_tokens and ignore_eos, each against the others."""
    settings = Settings(answer_tokens=own and lengths.parse(own))
    assert plan.length(settings, 0, wanted) == expected


def test_what_takes_no_slot():
    """Statuses and closed connections are answered at once; a stream that breaks off is in service till then."""

    def made(kind):
        return plan.make(Settings(failures=failures.parse(f"{kind}=1")), 0, asked(5), Request(), created=1)

    assert made("429").at_once
    assert made("close").at_once
    assert not made("cut").at_once
    assert not made("silent").at_once


def test_an_unchunked_stream_ends_with_its_connection():
    """HTTP/1.0 can keep a connection for a body of known length only."""
    request = Request(keep_alive=True, chunked=False)
    assert not plan.make(Settings(), 0, asked(5), request, created=1).answer.keep_alive
    assert plan.make(Settings(), 0, asked(5, stream=False), request, created=1).answer.keep_alive


def test_a_function_of_seed_and_number():
    """The same request number gets the same answer again."""
    settings = Settings(answer_tokens=lengths.parse("uniform:1,1000"), failures=failures.parse("cut=0.5"))
    rows = [
        [(made.answer.tokens, made.failure, made.script.count) for made in plans]
        for plans in ([plan.make(settings, n, asked(2000), Request(), created=1) for n in range(30)] for _ in range(2))
    ]
    assert rows[0] == rows[1]
    assert len(set(rows[0])) > 20
