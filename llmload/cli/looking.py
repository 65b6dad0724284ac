"""Looks at both endpoints of an ab before its first run: the process that `contest` starts.

The candidate's turn comes hours later, so a wrong model, a key that is not accepted or a page that is no API is told
now: by the first part of a run's own preflight, the list of models and one short request. It is in no record.
"""

import os
import re
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from llmload.cli import aside
from llmload.exits import Stop
from llmload.load.scenario import Scenario

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from llmload.send.settings import Sending


@dataclass(frozen=True, slots=True)
class Side:
    """One endpoint, and how it is asked."""

    name: str
    """baseline or candidate."""
    host: str
    scenario: Scenario
    options: Mapping[str, Any]
    """Fields of SendOptions."""


def typed(side: str) -> dict[str, str]:
    """Options in the sentences of a run, and what stands for them where each side has its own."""
    return {"--host": f"--{side}", "--model": f"--{side}-model", "--set": f"--{side}-set"}


def renamed(sentence: str, words: Mapping[str, str]) -> str:
    """A sentence with other words: `--host` becomes `--baseline`, and `--metrics-host` stays."""
    for word, other in words.items():
        literal = other.replace("\\", r"\\")  # a key that was typed may hold one
        sentence = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", literal, sentence)
    return sentence


def perform(sides: tuple[Side, ...], told: "Connection[Any, Any]") -> None:
    """The whole process. Ctrl-C ends it at once: nothing is lost, and gevent would tell of it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with aside.telling(told):
        for side in sides:
            look(side, partial(tell, told, side.name))


def tell(told: "Connection[Any, Any]", name: str, line: str) -> None:
    """One line on a side, for the screen."""
    told.send(("say", f"{name}: {line}"))


def look(side: Side, say: Callable[[str], None]) -> "tuple[Sending, str | None]":
    """How to send to a side, and the key. Raises Stop that names the side, and its own options."""
    try:
        return first(side.scenario, side.host, side.options, say)
    except Stop as stop:
        raise Stop(f"the {side.name}: {renamed(stop.message, typed(side.name))}", stop.code) from None


def first(
    scenario: Scenario, host: str, options: Mapping[str, Any], say: Callable[[str], None]
) -> "tuple[Sending, str | None]":
    """The first part of a preflight: the list of models, and a short request. Raises Stop."""
    from llmload.send import preflight
    from llmload.send.asking import Asker
    from llmload.send.findings import Findings
    from llmload.send.look import Look
    from llmload.send.short import ask_short
    from llmload.send.target import resolve

    target, given = resolve(host), preflight.SendOptions(**options)
    sending = preflight.first_settings(scenario, target, given)
    key = os.environ.get(scenario.key_env) or None
    found = Findings(target.base_url, sending.model, streaming=scenario.stream, limit_field=sending.limit_field)
    deadline = time.monotonic() + scenario.ready_timeout_s
    with Asker(sending, key) as asker:
        looked = Look(scenario, target, sending, key, asker, say, found, deadline)
        preflight.choose_model(looked, given.model or scenario.model)
        ask_short(looked, learn=False)
    return looked.sending, key
