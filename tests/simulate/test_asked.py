"""What a body asks for, and the sentence for one that asks wrongly."""

import json

import pytest

from llmload.simulate import asked
from llmload.simulate.asked import Asked, Refused

MESSAGES = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello world"}]


def chat(**changes):
    """Read a chat body with these changes."""
    body = {"model": "m", "messages": MESSAGES, **changes}
    return asked.read(json.dumps(body).encode(), chat=True, model="m", max_context=100)


def text(**changes):
    """Read a completions body with these changes."""
    body = {"model": "m", "prompt": "hello world", **changes}
    return asked.read(json.dumps(body).encode(), chat=False, model="m", max_context=100)


def test_a_chat():
    """4 tokens of text, 11 of the template; 85 are left when no limit is asked for."""
    assert chat() == Asked(True, False, False, 15, 85, False, 0, False, "hello world")
    assert chat(stream=True, stream_options={"include_usage": True}, max_tokens=7, min_tokens=3, ignore_eos=True) == (
        Asked(True, True, True, 15, 7, True, 3, True, "hello world")
    )


def test_limits_by_either_name():
    """The newer name wins where both stand."""
    assert chat(max_completion_tokens=5).limit == 5
    assert chat(max_completion_tokens=5, max_tokens=9).limit == 5
    assert chat(max_completion_tokens=None, max_tokens=9).limit == 9


def test_prompts():
    """A text, a list with one text, token ids; no template."""
    assert text().prompt_tokens == 2
    assert text(prompt=["hello world"]).prompt_tokens == 2
    assert text(prompt=[1, 2, 3]).prompt_tokens == 3
    assert text(prompt="").prompt_tokens == 0


def test_heads():
    """80 characters of the last user message, wherever it stands."""
    assert (
        chat(messages=[{"role": "user", "content": "x" * 90}, {"role": "assistant", "content": "y"}]).head == "x" * 80
    )
    assert chat(messages=[{"role": "system", "content": "s"}]).head == "s"
    assert text(prompt="first words").head == "first words"


def test_tools_count():
    """Tools are a part of the prompt, as chat templates write them into it."""
    assert chat(tools=[{"type": "function", "function": {"name": "f"}}]).prompt_tokens > 15


@pytest.mark.parametrize(
    ("changes", "status", "param", "says"),
    [
        ({"model": "other"}, 404, "model", "The model `other` does not exist"),
        ({"model": None}, 400, "model", "you must name a model"),
        ({"n": 2}, 400, "n", "n must be 1"),
        ({"stream": "yes"}, 400, "stream", "stream must be true or false"),
        ({"stream_options": {}}, 400, "stream_options", "only allowed with stream"),
        ({"stream": True, "stream_options": 1}, 400, "stream_options", "must be an object"),
        ({"stream": True, "stream_options": {"include_usage": 1}}, 400, "include_usage", "must be true or false"),
        ({"messages": []}, 400, "messages", "at least one message"),
        ({"messages": ["hi"]}, 400, "messages", "messages[0] must be an object with a role"),
        ({"messages": [{"role": "user", "content": 1}]}, 400, "messages", "messages[0].content must be a text"),
        ({"max_tokens": 0}, 400, "max_tokens", "at least 1, got 0"),
        ({"max_tokens": "7"}, 400, "max_tokens", "whole number"),
        ({"max_completion_tokens": True}, 400, "max_completion_tokens", "whole number"),
        ({"max_tokens": 3, "min_tokens": 4}, 400, "min_tokens", "must not exceed"),
        ({"max_tokens": 86}, 400, "messages", "maximum context length is 100 tokens. However, you requested 101"),
        ({"messages": [{"role": "user", "content": "a " * 99 + "a"}]}, 400, "messages", "(107 in the prompt"),
    ],
)
def test_wrong_chats(changes, status, param, says):
    """Each mistake gets its status, the field and a sentence."""
    with pytest.raises(Refused) as raised:
        chat(**changes)
    error = raised.value.as_dict()["error"]
    assert (raised.value.status, error["param"]) == (status, param)
    assert says in error["message"]


def test_codes():
    """The two errors that clients look for by code."""
    with pytest.raises(Refused) as raised:
        chat(max_tokens=99)
    assert raised.value.as_dict()["error"]["code"] == "context_length_exceeded"
    with pytest.raises(Refused) as raised:
        chat(model="x")
    assert raised.value.as_dict()["error"]["code"] == "model_not_found"


@pytest.mark.parametrize("prompt", [None, ["a", "b"], [], [1.5], {"a": 1}])
def test_wrong_prompts(prompt):
    """Anything but one prompt is refused."""
    with pytest.raises(Refused, match="prompt must be"):
        text(prompt=prompt)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"[1]", b'"text"', b"null"])
def test_no_json_object(body):
    """A body that is no JSON object is a 400."""
    with pytest.raises(Refused) as raised:
        asked.read(body, chat=True, model="m", max_context=100)
    assert raised.value.status == 400
