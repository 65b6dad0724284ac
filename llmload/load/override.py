"""Values from the command line, put into the raw tables of a scenario file before these are checked.

`--set load.steps=1,4` is the key `load.steps` and the text `1,4`. What a text means depends on its key, which this file
does not know: it keeps the text, and offers it read as TOML.
"""

import difflib
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from llmload.exits import Stop

_FREE = {"headers", "labels", "extra_body"}
"""Tables whose keys are a user's own and may hold dots themselves."""


@dataclass(frozen=True, slots=True)
class Given:
    """A value from the command line: still a text, and its key as it was typed."""

    text: str
    key: str


def put(shown: str, raw: dict[str, Any], key: str, text: str) -> None:
    """Put one value into the tables `raw` of the file `shown`; a key of a class is `class.NAME.key`.

    Raises Stop(USAGE) if there is no such class, or if a part of the key is no table.
    """
    where, parts = raw, key.split(".")
    if parts[0] == "class":
        rows = raw.get("class", [])
        classes = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        names = [str(row.get("name")) for row in classes]
        if len(parts) < 3 or parts[1] not in names:
            raise Stop(
                f"{shown}: {key} (from the command line): expected class.NAME.KEY with one of the classes "
                f"{', '.join(names)}{guess(parts[1] if len(parts) > 1 else '', names)}"
            )
        where, parts = classes[names.index(parts[1])], parts[2:]
    free = next((at for at, part in enumerate(parts[:-1]) if part in _FREE), None)
    if free is not None:
        parts = [*parts[: free + 1], ".".join(parts[free + 1 :])]
    for part in parts[:-1]:
        where = where.setdefault(part, {})
        if not isinstance(where, dict):
            raise Stop(f"{shown}: {key} (from the command line): {part} is no table")
    where[parts[-1]] = Given(text, key)


def plain(value: Any) -> Any:
    """A value with everything in it that came from the command line read as TOML; texts that are none stay texts."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return _toml(value.text) if isinstance(value, Given) else value


def _toml(text: str) -> Any:
    for form in (f"v = {text}", f"v = [{text}]"):  # `1,4` is a list
        try:
            table = tomllib.loads(form)
        except tomllib.TOMLDecodeError:
            continue
        if set(table) == {"v"}:
            return table["v"]
    return text


def guess(word: str, words: Iterable[str]) -> str:
    """The end of a sentence about an unknown word: what was meant, if anything is near."""
    close = difflib.get_close_matches(word, list(words), 1)
    return f"; did you mean {close[0]}?" if close else ""
