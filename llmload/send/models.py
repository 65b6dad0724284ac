"""Which models an endpoint lists, and which one is asked for: the one that was named, or the only one there is."""

from dataclasses import dataclass
from typing import Any

from llmload.send import advice
from llmload.send.asking import Asker, Reply, UnansweredError
from llmload.send.settings import Sending


@dataclass(frozen=True, slots=True)
class Model:
    """One model of a list. `context`: tokens of context of one request, where the endpoint tells them."""

    name: str
    context: int | None = None


def listed(reply: Reply) -> list[Model] | None:
    """The models in an answer to GET /models, in its order; None if it is no list of models."""
    value: Any = reply.json()
    rows = value.get("data") if isinstance(value, dict) else value
    if not isinstance(rows, list):
        return None
    found = [(row, row.get("id")) for row in rows if isinstance(row, dict)]
    return [Model(reply.quote(name), context_of(row)) for row, name in found if isinstance(name, str) and name]


def context_of(row: dict[str, Any]) -> int | None:
    """Tokens of context of one request: `max_model_len` of vLLM and SGLang, `meta.n_ctx` of llama.cpp."""
    meta = row.get("meta")
    for value in (row.get("max_model_len"), meta.get("n_ctx") if isinstance(meta, dict) else None):
        if isinstance(value, int) and value > 0:
            return value
    return None


def choose(sending: Sending, reply: Reply, named: str | None, *, key: bool) -> tuple[str, list[Model] | None]:
    """The model to ask for, and those that an answer to GET /models lists; None if it lists none.

    A list that is not there, or that the key may not read, is no obstacle if the model was named. `key`: whether one
    was sent. Raises Stop(UNMEASURABLE).
    """
    url, offer = sending.base_url, listed(reply)
    if reply.status == 200 and offer is None:
        raise advice.no_api(url, reply.body, reply.words)
    if reply.status == 401 or (reply.status == 403 and not named):
        raise advice.unauthorized(sending, reply.status, reply.words, key=key)
    if named:
        return named, offer
    if offer is None or len(offer) != 1:
        status = f"HTTP {reply.status}: " if reply.status else ""
        why = f"{status}{reply.words}" if offer is None else "an empty list"
        raise advice.no_model_named(url, [model.name for model in offer or ()], why)
    return offer[0].name, offer


def only(sending: Sending, key: str | None) -> str:
    """The only model that an endpoint lists; asks it. Raises Stop(UNMEASURABLE)."""
    with Asker(sending, key) as asker:
        try:
            reply = asker.ask("models")
        except UnansweredError as error:
            if error.outcome == "connect_error":
                raise advice.unreachable(sending.base_url, str(error)) from None
            raise advice.no_model_named(sending.base_url, [], str(error)) from None
    return choose(sending, reply, None, key=key is not None)[0]
