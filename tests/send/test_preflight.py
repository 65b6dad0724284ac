"""What the preflight finds out, in at most three requests, and the sentences with which it stops."""

import itertools
import json
import ssl
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trustme

from llmload.exits import Exit, Stop
from llmload.load.scenario import Lengths, Limits, Scenario, WorkloadClass
from llmload.record.record import Tags
from llmload.send import preflight, short
from llmload.send.look import again_in
from llmload.send.preflight import Findings, SendOptions
from llmload.send.settings import Sending
from llmload.stream import judge
from tests.send.endpoint import Script, serving

SCENARIO = Scenario(
    "t",
    (
        WorkloadClass(
            "short",
            source="builtin:short",
            input_tokens=Lengths("fixed", 60),
            max_tokens=Lengths("fixed", 20),
            prompts=5,
        ),
    ),
    ready_timeout_s=10.0,
    limits=Limits(connect_s=2.0, ttft_s=5.0, stall_s=5.0, total_s=10.0),
)

Look = Callable[..., tuple[Sending, Findings]]


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of the machine's own gets into these tests."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def look(
    script: Script, scenario: Scenario = SCENARIO, said: list[str] | None = None, **options: Any
) -> tuple[Sending, Findings]:
    """Run the preflight on a scripted server."""
    with serving(script) as url:
        return preflight.run(scenario, url, SendOptions(**options), (said if said is not None else []).append)


def stopped(script: Script, scenario: Scenario = SCENARIO, **options: Any) -> Stop:
    """The Stop with which the preflight ends on a scripted server."""
    with pytest.raises(Stop) as caught:
        look(script, scenario, **options)
    return caught.value


def test_a_plain_server_takes_three_requests() -> None:
    """Everything that the screen says, against a server without a tokenizer."""
    script, said = Script(), []
    sending, found = look(script, said=said)
    assert (sending.model, sending.limit_field, sending.stream_usage) == ("m", "max_tokens", True)
    assert (found.models, found.streaming, found.usage, found.bursts) == (["m"], True, True, False)
    assert found.kernel_stamps is True
    assert found.first_ttft_ms is not None
    assert found.first_ttft_ms > 0
    assert found.server == "scripted/1"
    assert found.address == sending.base_url.removeprefix("http://").removesuffix("/v1")
    assert (found.count_source, found.overhead_tokens) == ("ratio", pytest.approx(5, abs=1))  # it counts by whole fours
    assert found.chars_per_token == pytest.approx(4, rel=0.01)
    assert set(found.fit)
    assert (found.longest_class, found.longest) == ("short", pytest.approx(60 + 20, abs=3))
    assert [post["max_tokens"] for post in script.posts] == [24, 1, 20]
    assert found.requests == 3
    text = "\n".join(said)
    for words in ("/v1", "scripted/1", "m (the only one it serves)", "token by token", "told by the server",
                  "by the kernel", "characters per token"):  # fmt: skip
        assert words in text
    assert json.loads(json.dumps(found.as_dict()))["fit"] == found.fit


@pytest.mark.parametrize("form", ["vllm", "llama"])
def test_the_servers_tokenizer_counts(form: str) -> None:
    """With /tokenize no request is spent on a ratio, and prompts have their length within 5 % as the server counts."""
    script = Script(tokenize=form)
    _, found = look(script)
    assert (found.count_source, found.overhead_tokens, found.requests) == ("server /tokenize", 5, 2)
    prompt = "".join(message["content"] for message in script.posts[-1]["messages"])
    assert len(prompt) // 4 + 5 == pytest.approx(60, rel=0.05)


def test_the_longest_request_is_left_at_its_first_token() -> None:
    """It is asked with its real limit, and costs no answer."""
    long = replace(SCENARIO.classes[0], max_tokens=Lengths("fixed", 2000))
    script = Script(tokenize="vllm", tokens=2000)
    look(script, replace(SCENARIO, classes=(long,)))
    assert [post["max_tokens"] for post in script.posts] == [24, 2000]
    deadline = time.monotonic() + 5
    while script.left == 0 and time.monotonic() < deadline:
        time.sleep(0.01)  # the server notices at its next write
    assert script.left == 1


def test_stream_options_refused() -> None:
    """B08m: it goes on without the field and says so."""
    script, said = Script(refuses=("stream_options",)), []
    sending, found = look(script, said=said)
    assert (sending.stream_usage, found.stream_options_refused, found.usage) == (False, True, False)
    assert len(script.posts) <= 3
    assert ["stream_options" in post for post in script.posts] == [True, False, False]
    assert "stream_options is refused" in "\n".join(said)


def test_max_tokens_refused() -> None:
    """B20m: it switches to max_completion_tokens and says so."""
    script, said = Script(refuses=("max_tokens",)), []
    sending, found = look(script, said=said)
    assert sending.limit_field == found.limit_field == "max_completion_tokens"
    assert script.answers == [400, 200, 200]
    assert "as max_completion_tokens" in "\n".join(said)


def test_both_fields_refused_one_after_the_other() -> None:
    """stream_options and max_tokens cost two tries; the third goes through, and the longest is said to be unknown."""
    script = Script(refuses=("stream_options", "max_tokens"))
    sending, found = look(script)
    assert (sending.stream_usage, sending.limit_field) == (False, "max_completion_tokens")
    assert script.answers == [400, 400, 200]
    assert found.longest is None
    assert any("no try was left" in note for note in found.notes)


def test_both_names_of_the_limit_refused() -> None:
    """B20m: a clear stop that names the option and the server's words; never a run of failures."""
    script = Script(refuses=("max_tokens", "max_completion_tokens"))
    stop = stopped(script)
    assert stop.code is Exit.UNMEASURABLE
    assert "max_tokens_field" in stop.message
    assert "unknown field max_tokens" in stop.message
    assert "unknown field max_completion_tokens" in stop.message
    assert script.answers == [400, 400]


def test_a_nameless_refusal_is_taken_for_stream_options_once() -> None:
    """400 that names nothing: the optional field is left out; if that was not it, the server's words are told."""
    sending, _ = look(Script(refuses=("stream_options",), nameless=True))
    assert sending.stream_usage is False
    stop = stopped(Script(refuses=("messages",), nameless=True))
    assert "refuses a plain request: 400" in stop.message.replace("HTTP ", "")


def test_a_field_the_scenario_insists_on_is_not_dropped() -> None:
    """stream_usage = "on" and a named max_tokens_field are kept, and refused is a stop."""
    assert (
        "stream_options" in stopped(Script(refuses=("stream_options",)), replace(SCENARIO, stream_usage="on")).message
    )
    stop = stopped(Script(refuses=("max_tokens",)), replace(SCENARIO, max_tokens_field="max_tokens"))
    assert "max_tokens_field" in stop.message


def test_a_loading_server_is_waited_for() -> None:
    """F05m: 503 for a while, a countdown, /health asked meanwhile, and the tries are still three."""
    script, said = Script(loading_s=1.5, loading_models=True), []
    _, found = look(script, said=said)
    assert script.answers == [200, 200, 200]
    assert any(line.startswith("waiting for the server") and "Loading model" in line for line in said)
    assert found.requests == 3


def test_a_server_that_loads_behind_a_ready_list_is_asked_again() -> None:
    """503 to completions alone: what was turned away is no try, and what was taken up are three."""
    script = Script(loading_s=1.5, health=False)
    look(script)
    assert script.answers[0] == 503
    assert script.answers[-3:] == [200, 200, 200]
    assert len(script.answers) <= 6


def test_a_server_that_never_loads_is_given_up() -> None:
    """Behind the limit it stops with the server's words."""
    stop = stopped(Script(loading_s=60, loading_models=True), replace(SCENARIO, ready_timeout_s=0.5))
    assert stop.code is Exit.UNMEASURABLE
    assert "not ready after 0.5 s" in stop.message
    assert "Loading model" in stop.message


@pytest.mark.parametrize("everywhere", [True, False])
def test_401_without_a_key(everywhere: bool) -> None:
    """F09m: no authorization header at all, and a stop that names the variable, whoever says 401 first."""
    script = Script(key="k-secret", key_everywhere=everywhere)
    stop = stopped(script)
    assert stop.code is Exit.UNMEASURABLE
    assert "no key was sent; put it in the environment variable OPENAI_API_KEY" in stop.message
    assert set(script.authorizations) == {None}


def test_a_key_goes_out_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """The right key goes out; a wrong one is refused and is not in the sentence, though the server repeats it."""
    monkeypatch.setenv("OPENAI_API_KEY", "k-secret-1")
    script, said = Script(key="k-secret-1"), []
    sending, found = look(script, said=said)
    assert set(script.authorizations) == {"Bearer k-secret-1"}
    assert "k-secret-1" not in json.dumps([sending.as_dict(), found.as_dict(), said])
    for everywhere in (True, False):
        stop = stopped(Script(key="another", key_everywhere=everywhere))
        assert "not accepted" in stop.message
        assert "k-secret-1" not in stop.message


def test_a_key_over_http_to_another_machine_needs_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stops before anything is sent, and names the option."""
    monkeypatch.setenv("OPENAI_API_KEY", "k-secret-1")
    with pytest.raises(Stop, match="--allow-http-key") as caught:
        preflight.run(SCENARIO, "http://192.0.2.1", SendOptions(), print)
    assert caught.value.code is Exit.USAGE


def test_an_unknown_model() -> None:
    """F10m: the names asked for and on offer; a path that is not there is told apart."""
    stop = stopped(Script(models=[{"id": "a"}, {"id": "b"}]), model="x")
    assert stop.code is Exit.UNMEASURABLE
    assert "'x' is not served" in stop.message
    assert "on offer: a, b" in stop.message
    with serving(Script(models=None)) as url, pytest.raises(Stop, match="neither /models nor the endpoint") as caught:
        preflight.run(SCENARIO, f"{url}/nowhere/v1", SendOptions(model="x"), print)
    assert caught.value.code is Exit.UNMEASURABLE


def test_the_model_is_taken_if_there_is_one_and_only_one() -> None:
    """Two or none are a stop that lists them; a named one needs no list."""
    assert "a, b" in stopped(Script(models=[{"id": "a"}, {"id": "b"}])).message
    assert "--model" in stopped(Script(models=[])).message
    assert "--model" in stopped(Script(models=None)).message
    sending, found = look(Script(models=None), model="m")
    assert sending.model == "m"
    assert any("lists no models" in note for note in found.notes)


def test_an_unlisted_or_another_model_that_answers_is_noted() -> None:
    """Gateways know aliases; the report must not be silent about them."""
    _, found = look(Script(served="other"), model="x")
    assert any("not on the list: m" in note for note in found.notes)
    assert any("names another model: other" in note for note in found.notes)


def test_the_longest_request_does_not_fit() -> None:
    """F08m: the server's words, the class and the sizes; told from the list's max_model_len it costs no request."""
    big = replace(SCENARIO.classes[0], name="big", max_tokens=Lengths("fixed", 500))
    scenario = replace(SCENARIO, classes=(SCENARIO.classes[0], big))
    script = Script(context=400, tokenize="vllm")
    stop = stopped(script, scenario)
    assert stop.code is Exit.UNMEASURABLE
    for words in ("class big", "500 answer tokens", "maximum context length is 400 tokens"):
        assert words in stop.message
    script = Script(context=400, tokenize="vllm", models=[{"id": "m", "max_model_len": 400}])
    assert "tells a context of 400 tokens" in stopped(script, scenario).message
    assert script.answers == [200]


@pytest.mark.parametrize("refuses", [("ignore_eos",), ("min_tokens",), ("min_tokens", "ignore_eos")])
def test_wishes_that_the_server_refuses_are_left_out(refuses: tuple[str, ...]) -> None:
    """Also those of a class that is not the longest; the note has the server's words, and the run goes without."""
    wishing = replace(SCENARIO.classes[0], name="w", max_tokens=Lengths("fixed", 9), ignore_eos=True, min_tokens=4)
    script, said = Script(refuses=refuses, tokenize="vllm"), []
    sending, found = look(script, replace(SCENARIO, classes=(SCENARIO.classes[0], wishing)), said)
    assert set(sending.left_out) == set(refuses)
    assert {name for name in ("ignore_eos", "min_tokens") if name in script.posts[1]} == {"ignore_eos", "min_tokens"}
    left = {name for name in ("ignore_eos", "min_tokens") if name in script.posts[-1]}
    if len(refuses) == 1:
        assert script.answers == [200, 400, 200]
        assert found.longest is not None
        assert left == {"ignore_eos", "min_tokens"} - set(refuses)
    else:
        assert script.answers == [200, 400, 400]
        assert any("no try was left" in note for note in found.notes)
    for name in refuses:
        assert f"{name} is refused, so requests go without it" in "\n".join(said)
        assert f"unknown field {name}" in "\n".join(said)


def test_wishes_that_the_server_takes_go_out() -> None:
    """min_tokens no higher than what the longest request may have."""
    wishing = replace(SCENARIO.classes[0], name="w", max_tokens=Lengths("fixed", 90), ignore_eos=True, min_tokens=80)
    longest = replace(SCENARIO.classes[0], input_tokens=Lengths("fixed", 600))
    script = Script(tokenize="vllm")
    sending, _ = look(script, replace(SCENARIO, classes=(longest, wishing)))
    assert sending.left_out == ()
    assert [post.get("ignore_eos") for post in script.posts] == [None, True]
    assert script.posts[-1]["min_tokens"] <= script.posts[-1]["max_tokens"]


def test_a_refusal_of_the_longest_request_that_is_not_about_its_length() -> None:
    """It is told in the server's words, and not as a prompt that does not fit."""
    odd = replace(SCENARIO.classes[0], name="odd", max_tokens=Lengths("fixed", 90), extra_body={"top_q": 1})
    stop = stopped(Script(refuses=("top_q",), tokenize="vllm"), replace(SCENARIO, classes=(SCENARIO.classes[0], odd)))
    assert stop.code is Exit.UNMEASURABLE
    assert "the longest request of class odd" in stop.message
    assert "is refused: HTTP 400 Bad Request: unknown field top_q" in stop.message
    assert "fit" not in stop.message


def test_bursts_are_seen() -> None:
    """All tokens in one write: a proxy may be buffering, and the screen says so."""
    said: list[str] = []
    _, found = look(Script(burst=True), said=said)
    assert found.bursts is True
    assert "in bursts" in "\n".join(said)


def test_a_server_that_closes_behind_each_answer() -> None:
    """As llama.cpp does: fresh connections from the start instead of requests that are lost on closed ones."""
    assert look(Script())[0].fresh is False
    sending, found = look(Script(closes=True))
    assert sending.fresh is True
    assert any("closes the connection behind each answer" in note for note in found.notes)


def test_no_usage() -> None:
    """A server that counts nothing: noted, and lengths rest on a usual ratio."""
    _, found = look(Script(usage=False))
    assert (found.usage, found.chars_per_token) == (False, 4.5)
    assert any("counts no tokens" in note for note in found.notes)


def test_what_passes_is_tried_again() -> None:
    """A 429 at first costs a try and no more; three end in the server's words."""
    script = Script(fails=[429], tokenize="vllm")
    _, found = look(script)
    assert script.answers == [429, 200, 200]
    assert found.longest is not None
    script = Script(fails=[429, 500, 502])
    assert "not now" in stopped(script).message
    assert len(script.answers) <= 3


def test_another_try_waits_as_long_as_the_server_asks() -> None:
    """Three 429 within milliseconds say nothing; the wait is told."""
    script, said = Script(fails=[429], tokenize="vllm", retry_after_ms=1300), []
    look(script, said=said)
    assert script.at[1] - script.at[0] >= 1.3
    assert any("not now; trying again in 1.3 s" in line for line in said)
    script = Script(fails=[429, 502, 429], tokenize="vllm")
    stopped(script)
    assert min(b - a for a, b in itertools.pairwise(script.at)) >= 1.0


@pytest.mark.parametrize(("asked", "waited"), [(None, 1.0), (0.0, 1.0), (3.5, 3.5), (600.0, 10.0)])
def test_the_wait_has_bounds(asked: float | None, waited: float) -> None:
    """A second where nothing is asked for, ten at most."""
    record = judge.failed(Tags("r", "w", 0, 0, 1, "warmup", "s", "p"), 0.0, "rate_limited", "not now")
    record.retry_after_s = asked
    assert again_in(record) == waited


def test_a_server_header_that_repeats_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in no finding and on no screen."""
    monkeypatch.setenv("OPENAI_API_KEY", "k-secret-1")
    said: list[str] = []
    sending, found = look(Script(key="k-secret-1", header="engine k-secret-1"), said=said)
    assert found.server == "engine [key]"
    assert "k-secret-1" not in json.dumps([sending.as_dict(), found.as_dict(), said])


def test_names_that_steer_a_terminal() -> None:
    """A list of models with escapes and line ends in it: the screen has one line for the model, without them."""
    said: list[str] = []
    look(Script(models=[{"id": "m\x1b[2J\nnote  all is well"}], served="m"), said=said)
    assert [line.split() for line in said if line.split()[0] == "model"] == [
        ["model", "m", "[2J", "note", "all", "is", "well", "(the", "only", "one", "it", "serves)"]
    ]
    assert all(line.isprintable() for line in said)


def test_html_instead_of_an_api() -> None:
    """A web page: the URL is wrong."""
    stop = stopped(Script(html=True))
    assert stop.code is Exit.UNMEASURABLE
    assert "HTML page" in stop.message


def test_an_endpoint_that_does_not_stream() -> None:
    """JSON for a stream: the hint names the option; with it the endpoint can be measured."""
    assert "stream = false" in stopped(Script(json_only=True)).message
    sending, found = look(Script(json_only=True), replace(SCENARIO, stream=False))
    assert (sending.stream, found.streaming, found.usage, found.first_ttft_ms) == (False, False, True, None)


def test_a_refused_port_stops_at_once() -> None:
    """G01: nobody listens; no waiting for readiness."""
    with serving(Script()) as url:
        pass
    with pytest.raises(Stop, match=r"refused.*start the server, or mend --host") as caught:
        preflight.run(SCENARIO, url, SendOptions(), print)
    assert caught.value.code is Exit.UNMEASURABLE


def test_a_host_that_is_none() -> None:
    """DNS says no: the sentence names the host."""
    with pytest.raises(Stop, match=r"no\.such\.host\.invalid.*mend --host") as caught:
        preflight.run(SCENARIO, "http://no.such.host.invalid:8000", SendOptions(), print)
    assert caught.value.code is Exit.UNMEASURABLE


def test_a_certificate_that_nobody_signed(tmp_path: Path) -> None:
    """G04: TLS at the first try; all well with the authority's file or --insecure."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    with serving(Script(), context) as url:
        with pytest.raises(Stop, match=r"TLS.*--ca FILE.*--insecure") as caught:
            preflight.run(SCENARIO, url, SendOptions(), print)
        assert caught.value.code is Exit.UNMEASURABLE
        for options in (SendOptions(ca=str(tmp_path / "ca.pem")), SendOptions(insecure=True)):
            _, found = preflight.run(SCENARIO, url, options, lambda line: None)
            assert found.kernel_stamps is True
            assert any("not verified" in note for note in found.notes) == options.insecure
    with serving(Script()) as url, pytest.raises(Stop, match="plain http"):
        preflight.run(SCENARIO, url.replace("http://", "https://"), SendOptions(), print)


@pytest.mark.parametrize(("gaps", "burst"), [([], 1), ([5.0, 5.0], 1), ([0.0, 0.0, 5.0, 0.0], 3), ([0.0] * 7, 8)])
def test_largest_burst(gaps: list[float], burst: int) -> None:
    """Events of one read share its stamp."""
    assert short.largest_burst(gaps) == burst
