"""Good and failing answers, step by step."""

import json

import pytest

from llmload.simulate import failures, script
from llmload.simulate.answers import Answer


def answer(**changes):
    """An answer with four tokens."""
    facts = {"number": 0, "chat": True, "model": "m", "created": 1, "prompt_tokens": 9, "tokens": 4}
    return Answer(**{**facts, **changes})


def played(what):
    """All steps of a script; there are as many as it says."""
    steps = list(what.steps)
    assert len(steps) == what.count
    return steps


def test_a_good_stream_ends_with_its_last_token():
    """Finish reason, end mark and end of the body go out in the write of the last token."""
    said = answer()
    what = script.good(said, "stop", stream=True)
    steps = played(what)
    events = list(said.stream())
    assert steps == [*events[:3], events[3] + said.closing("stop", 4)]
    assert (what.bearing, what.ending, what.finish, what.status, what.sse) == (4, "keep", "stop", 200, True)


def test_no_stream_is_one_late_write():
    """Nothing is sent until the last token would be, then everything; the tokens are generated all the while."""
    what = script.good(answer(), "length", stream=False)
    steps = played(what)
    assert what.opening == b""
    assert steps[:3] == [b"", b"", b""]
    head, _, body = steps[3].partition(b"\r\n\r\n")
    assert f"content-length: {len(body)}".encode() in head
    assert json.loads(body)["usage"]["completion_tokens"] == 4
    assert (what.bearing, what.sse) == (4, False)


@pytest.mark.parametrize(("kind", "ending"), [("cut", "close"), ("reset", "reset"), ("stall", "hang")])
def test_streams_that_break_off(kind, ending):
    """Two tokens, and when the third is due the connection is closed, reset, or silent for ever."""
    said = answer()
    what = script.failing(said, "stop", kind, 2, stream=True)
    assert played(what) == [*list(said.stream())[:2], b""]
    assert (what.count, what.bearing, what.ending, what.finish) == (3, 2, ending, None)


def test_error_event():
    """Two tokens, then an error object in the stream and a proper end of the body."""
    last = played(script.failing(answer(chunked=False), "stop", "error-event", 2, stream=True))[-1]
    error, done = last.split(b"\n\n")[:2]
    assert json.loads(error.removeprefix(b"data: "))["error"]["code"] == "500"
    assert done == b"data: [DONE]"


def test_garbage():
    """Two tokens, then an event that is no JSON."""
    last = played(script.failing(answer(chunked=False), "stop", "garbage", 2, stream=True))[-1]
    with pytest.raises(json.JSONDecodeError):
        json.loads(last.split(b"\n\n")[0].removeprefix(b"data: "))


@pytest.mark.parametrize(("kind", "finish"), [("abort", "abort"), ("filter", "content_filter")])
@pytest.mark.parametrize("stream", [True, False])
def test_early_ends(kind, finish, stream):
    """Two tokens and a finish reason that says why there are no more; usage counts two."""
    what = script.failing(answer(include_usage=True), "stop", kind, 2, stream=stream)
    steps = played(what)
    assert len(steps) == 2
    assert f'"finish_reason":"{finish}"'.encode() in steps[-1]
    assert b'"completion_tokens":2' in steps[-1]
    assert what.finish == finish


def test_answers_of_another_shape():
    """JSON though a stream was asked for; a stream with no token; one without its end mark; nothing at all."""
    assert script.failing(answer(), "stop", "json", 2, stream=True).sse is False
    empty = script.failing(answer(), "stop", "empty", 2, stream=True)
    assert (empty.count, empty.bearing) == (1, 0)
    assert b"content" not in played(empty)[0]
    assert b"[DONE]" not in b"".join(played(script.failing(answer(), "stop", "no-done", 2, stream=True)))
    silent = script.failing(answer(), "stop", "silent", 2, stream=True)
    assert (silent.count, silent.ending) == (0, "hang")
    assert silent.opening == answer().opening()
    closed = script.failing(answer(), "stop", "close", 2, stream=True)
    assert (closed.opening, closed.count, closed.ending, closed.status) == (b"", 0, "close", None)


@pytest.mark.parametrize(
    ("status", "line", "header"),
    [
        (429, b"429 Too Many Requests", b"\r\nretry-after: 1\r\n"),
        (503, b"503 Service Unavailable", b"\r\nretry-after: 1\r\n"),
        (500, b"500 Internal Server Error", b""),
        (529, b"529 Overloaded", b""),
        (524, b"524 Error", b""),
        (307, b"307 Temporary Redirect", b"\r\nlocation: /moved\r\n"),
    ],
)
def test_statuses(status, line, header):
    """An error status has an error object for a body, and says when to come back where that is usual."""
    what = script.failing(answer(), "stop", str(status), 2, stream=True)
    head, _, body = what.opening.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 " + line)
    assert header in head + b"\r\n"
    assert json.loads(body)["error"]["code"] == str(status)
    assert (what.count, what.status, what.sse) == (0, status, False)


@pytest.mark.parametrize("kind", ["cut", "reset", "stall"])
def test_half_a_json_body(kind):
    """Without a stream a broken answer is the head and a part of the body that it promised."""
    data = played(script.failing(answer(), "stop", kind, 2, stream=False))[-1]
    head, _, body = data.partition(b"\r\n\r\n")
    promised = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
    assert 0 < len(body) < promised


@pytest.mark.parametrize("kind", failures.KINDS)
@pytest.mark.parametrize("stream", [True, False])
def test_every_kind_has_a_script(kind, stream):
    """Each kind can be played wherever it can be drawn."""
    if stream or kind not in failures.STREAMS_ONLY:
        played(script.failing(answer(), "stop", kind, 1, stream=stream))
