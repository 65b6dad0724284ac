"""prompts.jsonl: which prompts a run had, without a word of them. Written before the clock, one line a prompt.

    {"prompt": "short-017", "workload": "short", "sha256": "…", "characters": 941, "tokens": 217,
     "tokens_source": "server"}

`sha256` and `characters` are of the text without its unique head. `tokens` are counted with a head before it where the
scenario has heads, and without the chat template: the same text has the same number in two runs with the same
tokenizer. `tokens_source` is `server` or `tokenizer`; both are null where nobody counted.
"""

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from llmload.exits import Exit, Stop
from llmload.record import runfolder
from llmload.record.append import Appender

FILE = "prompts.jsonl"
_KINDS: dict[str, tuple[type, ...]] = {
    "prompt": (str,),
    "workload": (str,),
    "sha256": (str,),
    "characters": (int,),
    "tokens": (int, type(None)),
    "tokens_source": (str, type(None)),
}


@dataclass(frozen=True, slots=True)
class Prompt:
    """One line."""

    prompt: str
    workload: str
    sha256: str
    characters: int
    tokens: int | None = None
    tokens_source: str | None = None


def write(folder: Path, prompts: Iterable[Prompt]) -> None:
    """Write the file of a run that begins. Raises Stop(INCOMPLETE) if the disk does not take it: no half stays then."""
    path = folder / FILE
    file = Appender(path)
    try:
        file.append(orjson.dumps(asdict(prompt)) for prompt in prompts)
    except Stop as stop:
        path.unlink(missing_ok=True)
        raise Stop(stop.message.partition(";")[0], stop.code) from None
    finally:
        file.close()


def read(folder: Path) -> tuple[Prompt, ...] | None:
    """The prompts of a run; None if it has no such file (it is older, or sent prompts of its own).

    Members that this version does not know are passed over. Raises Stop(UNJUDGED) for a line that is no prompt.
    """
    path = folder / FILE
    if not path.exists():
        return None
    with closing(runfolder.lines(path)) as rows:  # a line that is none leaves no open file behind
        return tuple(_prompt(f"{path}: line {number}", line) for number, line in enumerate(rows, 1))


def _prompt(where: str, line: bytes) -> Prompt:
    try:
        row: Any = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise Stop(f"{where}: no valid JSON: {error.msg}; expected one prompt a line", Exit.UNJUDGED) from error
    if not isinstance(row, Mapping):
        raise Stop(f"{where}: expected an object, got {type(row).__name__}", Exit.UNJUDGED)
    values: dict[str, Any] = {name: row.get(name) for name in _KINDS}
    for name, value in values.items():
        if type(value) not in _KINDS[name]:
            wanted = " or ".join("null" if kind is type(None) else kind.__name__ for kind in _KINDS[name])
            raise Stop(f"{where}: {name}: expected {wanted}, got {type(value).__name__}", Exit.UNJUDGED)
    return Prompt(**values)
