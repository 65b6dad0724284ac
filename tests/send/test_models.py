"""Questions outside of measuring: which model, and places beside the API."""

import json

import pytest

from llmload.exits import Exit, Stop
from llmload.send import models
from llmload.send.asking import Asker, Reply, UnansweredError
from llmload.send.settings import Sending
from llmload.send.wire import Whole
from tests.send.scripted import Answer, plain, serving, stream


def listing(*names: str) -> Answer:
    """An answer of /v1/models."""
    return plain("200 OK", json.dumps({"object": "list", "data": [{"id": name} for name in names]}))


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (listing("m", "n"), "serves 2 models; name one with --model: m, n"),
        (listing(), "names no model .an empty list.; name one with --model"),
        (plain("404 Not Found", "gone"), "HTTP 404: gone.; name one with --model, or mend --host if this is not where"),
        (plain("401 Unauthorized", '{"error": {"message": "who?"}}'), "401: who.; no key was sent; .*OPENAI_API_KEY"),
        (plain("200 OK", "<html>"), "an HTML page came back"),
        (Answer([], "close"), "before any byte"),
    ],
)
def test_no_model_is_a_clear_stop(answer: Answer, says: str) -> None:
    """F10m: the names on offer, or why there are none; a probe says it in the preflight's words."""
    with serving(answer) as server, pytest.raises(Stop, match=says) as stop:
        models.only(Sending(server.url, ""), None)
    assert stop.value.code == Exit.UNMEASURABLE


def test_nobody_listens() -> None:
    """No connection is told as such."""
    with serving(stream()) as server:
        url = server.url
    with pytest.raises(Stop, match=r"connection refused.*nobody listens there") as stop:
        models.only(Sending(url, ""), None)
    assert stop.value.code == Exit.UNMEASURABLE


def test_the_only_model_is_used() -> None:
    """It is asked for below the base URL."""
    with serving(listing("m")) as server:
        assert models.only(Sending(server.url, ""), None) == "m"
        assert server.log()[0]["head"].startswith("GET /v1/models HTTP/1.1")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('{"data": [{"id": "m", "max_model_len": 400}, {"id": 7}, {"id": ""}, "x"]}', [models.Model("m", 400)]),
        ('[{"id": "m", "meta": {"n_ctx": 512}}]', [models.Model("m", 512)]),
        ('{"data": []}', []),
        ('{"data": "m"}', None),
        ('"m"', None),
        ("<html>", None),
    ],
)
def test_lists_of_models(body: str, expected: list[models.Model] | None) -> None:
    """The forms in which endpoints list models and tell their context."""
    assert models.listed(Reply(200, {}, body.encode())) == expected


def test_a_servers_names_are_one_line_without_the_key() -> None:
    """Neither escapes for the terminal nor line ends nor the key get from a list or a header into the findings."""
    body = json.dumps({"data": [{"id": "m\x1b]0;owned\x07\nsecond\u202eline sk-very-secret"}]})
    with serving(plain("200 OK", body, "Server: engine sk-very-secret \u009b2Jx\r\n")) as server:
        with Asker(Sending(server.url, "m"), "sk-very-secret") as asker:
            reply = asker.ask("models")
        assert models.only(Sending(server.url, ""), "sk-very-secret") == "m ]0;owned second line [key]"
    assert reply.headers["server"] == "engine [key] \u00c2 2Jx"


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
    sending = Sending(
        "http://h/v1", "m", headers={"a": "b"}, extra_body={"x": [1]}, temperature=0.5, left_out=("min_tokens",)
    )
    assert Sending.from_dict(json.loads(json.dumps(sending.as_dict())) | {"later": 1}) == sending


def test_of_a_body_without_end_no_more_is_kept_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What still comes until the connection is closed is left."""
    monkeypatch.setattr(Whole, "LIMIT", 1000)
    whole = Whole()
    for _ in range(100):
        whole.feed(0, b"x" * 600)
    assert (whole.over, len(whole.body)) == (True, 1200)
