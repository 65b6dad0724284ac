"""The short answers beside the completions: models, tokenize, health, version. Pure: body in, JSON out.

The dictionary at the end says which there are; `/metrics` and `/_state` need the server's own counts and are its.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llmload import __version__
from llmload.simulate import asked, tokens
from llmload.simulate.asked import Refused


@dataclass(frozen=True, slots=True)
class Facts:
    """What the pages tell about the server."""

    model: str
    max_context: int
    started_at: int
    letters: int = tokens.LETTERS
    """Of a token, at most."""


def _models(facts: Facts, _body: bytes) -> Any:
    model = {
        "id": facts.model,
        "object": "model",
        "created": facts.started_at,
        "owned_by": "llmload",
        "max_model_len": facts.max_context,
    }
    return {"object": "list", "data": [model]}


def _tokenize(facts: Facts, body: bytes) -> Any:
    """Both forms: vLLM's `prompt` or `messages` (template included), and llama.cpp's `content`."""
    value = asked.body_of(body)
    if isinstance(value.get("content"), str):
        return {"tokens": tokens.ids(value["content"], facts.letters)}
    if isinstance(value.get("prompt"), str):
        found = tokens.ids(value["prompt"], facts.letters)
    elif "messages" in value:
        try:
            texts = tokens.texts_of(value["messages"])
        except ValueError as error:
            raise Refused(str(error), param="messages") from None
        found = [0] * tokens.overhead(len(texts))
        for text in texts:
            found += tokens.ids(text, facts.letters)
        found += [0] * asked.count_tools(value, facts.letters)
    else:
        raise Refused("expected prompt or messages (as vLLM has it) or content (as llama.cpp has it)")
    return {"count": len(found), "max_model_len": facts.max_context, "tokens": found}


def _health(_facts: Facts, _body: bytes) -> Any:
    return {"status": "ok"}


def _version(_facts: Facts, _body: bytes) -> Any:
    return {"version": __version__}


PAGES: dict[str, tuple[str, Callable[[Facts, bytes], Any]]] = {
    "/v1/models": ("GET", _models),
    "/tokenize": ("POST", _tokenize),
    "/health": ("GET", _health),
    "/version": ("GET", _version),
}
"""Path: method, and what makes the JSON; it may raise Refused."""
