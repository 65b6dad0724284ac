"""What a worker needs for a run, made from its order before any user comes up: files, scenario, prompts, client.

Making it takes up to seconds (prompts are written, certificates loaded), in which no stream may be open; whatever is
wrong with this machine is found here, and so is an endpoint that cannot be reached from it.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from llmload.drive.order import Order
from llmload.exits import Exit, Stop
from llmload.load import reading
from llmload.load.mix import Mix
from llmload.load.scenario import Scenario
from llmload.send import advice
from llmload.send.asking import Asker, UnansweredError
from llmload.send.client import Client
from llmload.send.settings import Sending

LOOK_S = 10.0
"""How long the endpoint may take to say that it is there; one that is silent may be busy."""


@dataclass(frozen=True, slots=True)
class Kit:
    """All of it, for one run."""

    run: str
    client: Client
    plan: Mix | None
    """None if users make their calls themselves."""


def make(order: Order, place: Callable[[dict[str, Any]], str]) -> Kit:
    """Make it; `place` tells where a file of the order lies here. Raises Stop, or OSError."""
    order.check()
    scenario = reading.from_resolved(order.scenario)
    order.check_digest(reading.resolved(scenario))
    sending = Sending.from_dict(order.sending)
    where = {str(file["path"]): place(file) for file in order.files}
    scenario, sending = moved(scenario, sending, where)
    key = os.environ.get(sending.key_env) or None
    look(sending, key)
    return Kit(order.run, Client(sending, key), None if order.free else Mix(scenario, order.fit))


def moved(scenario: Scenario, sending: Sending, where: dict[str, str]) -> tuple[Scenario, Sending]:
    """The same with its files where they lie on this machine."""

    def here(path: str | None) -> str | None:
        return None if path is None else where.get(path, path)

    classes = tuple(replace(item, path=here(item.path)) for item in scenario.classes)
    scenario = replace(scenario, classes=classes, tokenizer=here(scenario.tokenizer))
    return scenario, replace(sending, tokenizer=here(sending.tokenizer), ca=here(sending.ca))


def look(sending: Sending, key: str | None) -> None:
    """One look at the list of models. Raises Stop(UNMEASURABLE) if no way leads there, or if the key is not accepted.

    Anything else, no answer included, is no proof that requests would fail.
    """
    with Asker(sending, key, limit_s=LOOK_S) as asker:
        try:
            reply = asker.ask("models")
        except UnansweredError as error:
            if error.outcome != "connect_error":
                return
            raise Stop(
                f"no way leads from there to the endpoint: {advice.unreachable(sending.base_url, str(error)).message}",
                Exit.UNMEASURABLE,
            ) from None
    if reply.status == 401 and key is None:
        raise Stop(
            f"no {sending.key_env} in its environment, but the endpoint wants one: {reply.words}; set it where the "
            "worker is started",
            Exit.UNMEASURABLE,
        )
    if reply.status == 401:
        raise advice.unauthorized(sending, reply.status, reply.words, key=True)
