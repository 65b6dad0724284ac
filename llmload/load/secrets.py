"""Keeps the key out of files: looks for it in what a run would write down. Pure; reads no environment, writes nothing.

A key belongs into the environment variable that `key_env` names. One that stands in a URL, a label, a header or a body
as well would come to lie in run.json, in the report, in a log and on the screen.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from llmload.exits import Exit, Stop
from llmload.load import values

SHORTEST = 8
"""Characters; a shorter value (`none`, `EMPTY`, `token`) is a stand-in, and a word that may stand anywhere."""


def check(key_env: str, key: str | None, written: Mapping[str, Any]) -> None:
    """Raise Stop(USAGE) if the key occurs in anything of `written`, JSON values by what they are called.

    `key` is the value of the variable `key_env`, None if it is not set. Says where, never what.
    """
    try:
        values.variable(key_env)
    except ValueError as error:
        raise Stop(f"key_env: {error}", Exit.USAGE) from None
    if key is None or len(key.strip()) < SHORTEST:
        return
    for name, value in written.items():
        for place in places(name, value, key.strip()):
            raise Stop(
                f"{place}: holds the value of {key_env}, and would be written into the run's files; take it out: "
                f"the key is sent as `Authorization: Bearer` already",
                Exit.USAGE,
            )


def places(place: str, value: Any, key: str) -> Iterator[str]:
    """Where in a JSON value the key occurs, as dotted names; `place` is what the value itself is called."""
    if isinstance(value, str):
        if key in value or key in unquote(value):
            yield place
    elif isinstance(value, Mapping):
        for name, item in value.items():
            if key in str(name):
                yield f"{place} (the name of a value in it)"
            else:
                yield from places(f"{place}.{name}", item, key)
    elif isinstance(value, (list, tuple)):
        for at, item in enumerate(value):
            yield from places(f"{place}[{at}]", item, key)
