"""Which model to ask for: the one that was named, or the only one that the endpoint offers."""

from typing import Any

from llmload.exits import Exit, Stop
from llmload.send.asking import Asker, Reply, UnansweredError
from llmload.send.settings import Sending


def names(reply: Reply) -> list[str] | None:
    """Models in an answer of /v1/models, in its order; None if it is no list of models."""
    value: Any = reply.json()
    rows = value.get("data") if isinstance(value, dict) else value
    if not isinstance(rows, list):
        return None
    found = [row.get("id") for row in rows if isinstance(row, dict)]
    return [name for name in found if isinstance(name, str) and name]


def pick(sending: Sending, key: str | None, wanted: str | None) -> tuple[str, list[str]]:
    """The model to use and all that the endpoint lists (none, if it does not list them).

    Raises Stop(UNMEASURABLE) if the endpoint cannot be reached, does not list the wanted model, or lists none or
    several while none was named.
    """
    place = f"{sending.base_url.partition('?')[0]}/models"
    with Asker(sending, key) as asker:
        try:
            reply = asker.ask("models")
        except UnansweredError as error:
            raise Stop(f"{place}: {error}", Exit.UNMEASURABLE) from None
    listed = names(reply)
    offer = f"on offer: {', '.join(listed[:20])}{' …' if len(listed) > 20 else ''}" if listed else ""
    if wanted is not None:
        if listed and wanted not in listed:
            raise Stop(f"{place}: no model {wanted!r} there; {offer}", Exit.UNMEASURABLE)
        return wanted, listed or []
    if listed is not None and len(listed) == 1:
        return listed[0], listed
    if listed:
        raise Stop(f"{place}: {len(listed)} models, name one with --model; {offer}", Exit.UNMEASURABLE)
    if reply.status in {401, 403}:
        hint = f"is the key in {sending.key_env} set and right?"
    else:
        hint = "name the model with --model, and look at the URL"
    said = f": {reply.words}" if reply.words else ""
    raise Stop(f"{place}: no list of models (HTTP {reply.status}{said}); {hint}", Exit.UNMEASURABLE)
