"""Questions outside of measuring: which model, and places beside the API."""

import json

import pytest

from llmload.exits import Exit, Stop
from llmload.send import models
from llmload.send.asking import Asker, UnansweredError
from llmload.send.settings import Sending
from tests.send.scripted import Answer, plain, serving


def listing(*names: str) -> Answer:
    """An answer of /v1/models."""
    return plain("200 OK", json.dumps({"object": "list", "data": [{"id": name} for name in names]}))


@pytest.mark.parametrize(
    ("answer", "wanted", "expected"),
    [
        (listing("m"), None, ("m", ["m"])), (listing("m", "n"), "n", ("n", ["m", "n"])), (listing(), "x", ("x", [])),
        (plain("404 Not Found"), "x", ("x", [])), (plain("200 OK", "<html>"), "x", ("x", [])),
    ],
)  # fmt: skip
def test_the_model_that_is_used(answer: Answer, wanted: str | None, expected: tuple[str, list[str]]) -> None:
    """The named one, where nothing speaks against it, or the only one."""
    with serving(answer) as server:
        assert models.pick(Sending(server.url, ""), None, wanted) == expected
        assert server.log()[0]["head"].startswith("GET /v1/models HTTP/1.1")


@pytest.mark.parametrize(
    ("answer", "wanted", "says"),
    [
        (listing("m", "n"), None, "2 models, name one with --model; on offer: m, n"),
        (listing("m", "n"), "x", "no model 'x' there; on offer: m, n"),
        (plain("404 Not Found"), None, "HTTP 404"),
        (plain("401 Unauthorized", '{"error": {"message": "no key"}}'), None, "HTTP 401: no key.*OPENAI_API_KEY"),
        (plain("200 OK", "<html>"), None, "no list of models"),
        (Answer([], "close"), None, "before any byte"),
    ],
)
def test_no_model_is_a_clear_stop(answer: Answer, wanted: str | None, says: str) -> None:
    """F10m: the name asked for and the names on offer; a path that does not exist is told apart."""
    with serving(answer) as server, pytest.raises(Stop, match=says) as stop:
        models.pick(Sending(server.url, ""), None, wanted)
    assert stop.value.code == Exit.UNMEASURABLE


def test_places_over_one_connection() -> None:
    """GET and POST, below the base URL and beside it; a refusal is an answer, silence is not."""
    with serving(
        plain("200 OK", '{"count": 3}'), plain("404 No", "gone"), plain("200 OK", "a 1\n"), Answer([], "hang")
    ) as server:
        with Asker(Sending(server.url, "m"), None, limit_s=0.3) as asker:
            assert asker.ask("/tokenize", {"prompt": "a"}).json() == {"count": 3}
            assert asker.ask("models").json() is None
            reply = asker.ask("/metrics")
            assert (reply.status, reply.body, reply.json()) == (200, b"a 1\n", None)
            with pytest.raises(UnansweredError, match=r"within 0\.3 s"):
                asker.ask("models")
        seen = server.log()
    assert [row["head"].split(" HTTP")[0] for row in seen] == [
        "POST /tokenize",
        "GET /v1/models",
        "GET /metrics",
        "GET /v1/models",
    ]
    assert {row["connection"] for row in seen} == {1}
    assert json.loads(seen[0]["body"]) == {"prompt": "a"}


def test_settings_survive_json() -> None:
    """They go into run.json and to every worker; members of another version are passed over."""
    sending = Sending("http://h/v1", "m", headers={"a": "b"}, extra_body={"x": [1]}, temperature=0.5)
    assert Sending.from_dict(json.loads(json.dumps(sending.as_dict())) | {"later": 1}) == sending
