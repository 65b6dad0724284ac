"""What is stated in [capabilities], asked of servers that can and cannot."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from llmload.load.scenario import Capabilities
from llmload.send import capable, preflight
from llmload.send.asking import Asker
from llmload.send.findings import Findings, screen
from llmload.send.look import Look
from llmload.send.preflight import SendOptions
from llmload.send.target import resolve
from tests.send.endpoint import Script, serving
from tests.send.test_preflight import SCENARIO, look

Answer = Callable[[dict[str, Any]], list[dict[str, Any]] | int | None]

GERMAN = (
    "Ein Regenbogen entsteht, wenn Sonnenlicht in Regentropfen gebrochen und zurückgeworfen wird. "
    "Dabei wird das weiße Licht in seine Farben zerlegt."
)


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of the machine's own gets into these tests."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def found(answer: Answer | None, finish: str = "stop", script: Script | None = None, **stated: Any) -> Findings:
    """What the preflight finds out about what is stated."""
    script = script or Script()
    script.answer, script.finish = answer, finish
    return look(script, replace(SCENARIO, capabilities=Capabilities(**stated)))[1]


def checked(answer: Answer | None, finish: str = "stop", api: Any = "chat", **stated: Any) -> Findings:
    """The same of the checks alone, without the rest of a preflight."""
    scenario = replace(SCENARIO, model="m", api=api, capabilities=Capabilities(**stated))
    with serving(Script(answer=answer, finish=finish)) as url:
        target = resolve(url)
        sending = preflight.first_settings(scenario, target, SendOptions())
        with Asker(sending, None) as asker:
            at = Look(scenario, target, sending, None, asker, lambda _: None, Findings(url, "m"), 0.0)
            capable.check(at)
            return at.found


def called(name: str, arguments: str) -> list[dict[str, Any]]:
    """A tool call as it is streamed: the name first, then the arguments in pieces."""
    half = len(arguments) // 2
    return [
        {"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": name, "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": arguments[:half]}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": arguments[half:]}}]},
    ]


def tools(deltas: list[dict[str, Any]] | int) -> Answer:
    """An endpoint that answers so when a tool is forced, and otherwise as usual."""
    return lambda body: deltas if body.get("tool_choice") == "required" else None


@pytest.mark.parametrize(
    ("deltas", "finish", "seen", "words"),
    [
        (called("get_time", '{"city": "Paris"}'), "tool_calls", True, "a forced call of get_time came"),
        (called("get_time", ""), "tool_calls", True, "a forced call"),
        (called("get_time", '{"city": '), "tool_calls", False, "no JSON object"),
        (called("get_time", '{"city": '), "length", None, "no JSON object"),
        (called("other", "{}"), "tool_calls", False, "another tool"),
        ([{"content": "It is noon."}], "stop", False, "words were answered"),
        (400, "stop", False, "refused with 400: not here"),
        (429, "stop", None, "HTTP 429: not here"),
        (503, "stop", None, "HTTP 503"),
    ],
)
def test_tools(deltas: list[dict[str, Any]] | int, finish: str, seen: bool | None, words: str) -> None:
    """A forced call has to come in the stream, with its name and arguments put together."""
    told = checked(tools(deltas), finish, tools=True).capabilities
    assert told.keys() == {"tools"}
    assert (told["tools"]["stated"], told["tools"]["seen"]) == (True, seen)
    assert words in told["tools"]["words"]


@pytest.mark.parametrize(
    ("content", "finish", "seen"),
    [
        ('{"city": "Paris", "country": "France"}', "stop", True),
        ('```json\n{"city": "Paris"}\n```', "stop", True),
        ('{"city": "Par', "length", None),
        ("", "length", None),
        ("Paris is in France.", "stop", False),
        ("Paris is in", "length", False),
        ("[1]", "stop", False),
    ],
)
def test_json_mode(content: str, finish: str, seen: bool | None) -> None:
    """An object has to come; one that was cut has shown nothing, and words never become one."""

    def answer(body: dict[str, Any]) -> list[dict[str, Any]] | None:
        return [{"content": content}] if body.get("response_format") == {"type": "json_object"} else None

    assert checked(answer, finish, json_mode=True).capabilities["json_mode"]["seen"] is seen


@pytest.mark.parametrize(
    ("stated", "told", "seen"),
    [(4096, 8192, True), (8192, 8192, True), (8193, 8192, False), (8192, None, None), (70, None, True)],
)
def test_context(stated: int, told: int | None, seen: bool | None) -> None:
    """By what the endpoint tells, or by the longest request that it took, of 80 tokens here; no request is spent."""
    model = {"id": "m"} | ({} if told is None else {"max_model_len": told})
    facts = found(None, script=Script(models=[model]), context=stated)
    assert facts.capabilities["context"]["seen"] is seen
    assert facts.capability_requests == 0


def test_languages() -> None:
    """Each is asked in its own words, and told apart; one that does not come makes the whole not seen."""

    def answer(body: dict[str, Any]) -> list[dict[str, Any]] | None:
        text = body["messages"][-1]["content"]
        if text not in capable.QUESTIONS.values() and "ISO 639" not in text:
            return None
        return [{"content": "Kurz." if text == capable.QUESTIONS["pl"] else GERMAN}]

    facts = checked(answer, languages=("de", "fr", "pl", "eo"))
    told = facts.capabilities["languages"]
    assert {code: item["seen"] for code, item in told["each"].items()} == {
        "de": True,
        "fr": False,
        "pl": None,
        "eo": False,
    }
    assert told["stated"] == ("de", "fr", "pl", "eo")
    assert told["seen"] is False
    assert facts.capability_requests == 4
    assert capable.notes(facts.capabilities) == [
        "[capabilities] states language fr, which was not seen: answered in de",
        "[capabilities] states language eo, which was not seen: answered in de",
    ]


def test_what_is_not_stated_costs_nothing() -> None:
    """Nothing stated, nothing asked; what is stated as not there is kept and not asked for."""
    script = Script()
    assert found(None, script=script).capabilities == {}
    assert len(script.posts) == 3
    script = Script()
    facts = found(None, script=script, tools=False, json_mode=False)
    assert {name: item["seen"] for name, item in facts.capabilities.items()} == {"tools": None, "json_mode": None}
    assert (len(script.posts), facts.requests, facts.capability_requests) == (3, 3, 0)


def test_completions_of_text_are_not_asked_to_call_tools() -> None:
    """A scenario that sends no chats finds nothing out by one, and asks nothing."""
    facts = checked(None, api="completions", tools=True, json_mode=True)
    assert facts.capability_requests == 0
    assert {item["seen"] for item in facts.capabilities.values()} == {None}
    assert "the scenario sends completions" in facts.capabilities["tools"]["words"]


def test_the_screen_says_what_was_asked_besides_and_what_came_of_it() -> None:
    """A line for each, and how many requests it took."""
    facts = found(tools(400), tools=True, context=10)
    lines = screen(facts)
    assert lines[0].startswith("Looked at the endpoint in 3 requests and 1 on [capabilities], before the clock")
    assert "  tools          NOT seen: refused with 400: not here" in lines
    assert any(line.startswith("  context        seen: a request of ") for line in lines)


def test_no_answer_is_kept() -> None:
    """Neither what the model said nor what it called stands in what goes into run.json."""
    facts = checked(tools([{"content": "SECRET-ANSWER"}]), tools=True)
    assert "SECRET-ANSWER" not in json.dumps(facts.capabilities)
    facts = checked(tools(called("SECRET-NAME", "{}")), tools=True)
    assert "SECRET" not in json.dumps(facts.capabilities)


def test_notes_name_what_is_stated() -> None:
    """What was seen, or not found out, is no note."""
    told = {
        "tools": {"stated": True, "seen": True, "words": "a"},
        "json_mode": {"stated": True, "seen": None, "words": "b"},
        "context": {"stated": 8192, "seen": False, "words": "the endpoint tells 4,096 tokens"},
    }
    assert capable.notes(told) == [
        "[capabilities] states a context of 8,192 tokens, which was not seen: the endpoint tells 4,096 tokens"
    ]
