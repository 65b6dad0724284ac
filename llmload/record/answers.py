"""Answers as they are kept: answers.jsonl of a comparison, and the texts in the records of a run. Judges nothing."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import orjson

from llmload.exits import Exit, Stop
from llmload.record import runfolder
from llmload.record.append import Appender

ANSWERS = "answers.jsonl"

Side = Literal["baseline", "candidate", "baseline again"]
SIDES: tuple[Side, ...] = get_args(Side)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of answers.jsonl: one prompt, as one side answered it, or failed to."""

    side: Side
    id: str
    workload: str
    prompt: str
    answer: str
    finish_reason: str | None
    outcome: str
    """As of a record."""
    output_tokens: int | None
    expected: dict[str, Any] | None = None
    """What a right answer keeps to, as a line of questions states it; None: not known."""

    def to_json(self) -> bytes:
        """The line, without its end."""
        return orjson.dumps(asdict(self))


def write(path: Path, rows: Iterable[Row]) -> None:
    """Append rows as they come. Raises Stop(INCOMPLETE) if the disk takes no more."""
    file = Appender(path)
    try:
        for row in rows:
            file.append([row.to_json()])
    finally:
        file.close()


def read(path: Path) -> list[Row]:
    """All rows; none if there is no such file. Raises Stop(UNJUDGED) for a line that is none, with its number."""
    with closing(runfolder.lines(path)) as rows:
        return [_row(line, f"{path}: line {number}") for number, line in enumerate(rows, 1)]


KINDS: dict[str, tuple[type, ...]] = {
    "side": (str,),
    "id": (str,),
    "workload": (str,),
    "prompt": (str,),
    "answer": (str,),
    "finish_reason": (str, type(None)),
    "outcome": (str,),
    "output_tokens": (int, type(None)),
    "expected": (dict, type(None)),
}


def _row(line: bytes, place: str) -> Row:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise Stop(f"{place}: no JSON: {error}; ask again with llmload ab --check-answers", Exit.UNJUDGED) from None
    if not isinstance(value, dict):
        raise Stop(f"{place}: expected a JSON object, got {type(value).__name__}", Exit.UNJUDGED)
    members = {name: value.get(name) for name in KINDS}
    for name, kinds in KINDS.items():
        if type(members[name]) not in kinds:
            raise Stop(f"{place}: {name}: expected {kinds[0].__name__}, got {members[name]!r:.60}", Exit.UNJUDGED)
    if members["side"] not in SIDES:
        raise Stop(f"{place}: side: expected one of {', '.join(SIDES)}, got {members['side']!r}", Exit.UNJUDGED)
    row: dict[str, Any] = members
    return Row(**row)


@dataclass(frozen=True, slots=True)
class Said:
    """A measured attempt in requests.jsonl whose text can be fetched. Its place among its like is `key`."""

    key: tuple[float, float, str, str, int]
    """Requests in flight (-1: none asked for), arrivals per second (likewise), class, prompt, and the how manieth
    attempt with this prompt in this step it was, by the time it was sent."""
    step: int
    asked: int | None
    """Output tokens that were asked for."""
    outcome: str
    finish_reason: str | None
    at: int
    """Where its line begins in the file."""


def said(folder: Path) -> list[Said]:
    """The measured attempts of a run, in the order of their sending; attempts of the drain count, but are left out.

    Lines that are no record are passed over, as the report does, which counts them. Texts are not kept in memory.
    """
    found: list[tuple[float, dict[str, Any], int]] = []
    for row, at in _rows(folder / runfolder.REQUESTS):
        needed = {name: row.get(name) for name in _NEEDED}
        if needed["phase"] in {"measure", "drain"} and all(
            type(needed[name]) in kinds for name, kinds in _RIGHT.items()
        ):
            found.append((float(needed["sent_at"] or 0), needed, at))
    found.sort(key=lambda one: (one[1]["step"], one[0]))
    counts: dict[tuple[int, str, str], int] = {}
    kept = []
    for _, row, at in found:
        place = (row["step"], row["workload"], row["prompt"])
        count = counts[place] = counts.get(place, -1) + 1
        if row["phase"] == "measure":
            levels = (_number(row["concurrency"]), _number(row["rate"]))
            asked = row["requested_output_tokens"]
            kept.append(
                Said(
                    key=(*levels, row["workload"], row["prompt"], count),
                    step=row["step"],
                    asked=asked if type(asked) is int else None,
                    outcome=str(row["outcome"]),
                    finish_reason=row["finish_reason"] if isinstance(row["finish_reason"], str) else None,
                    at=at,
                )
            )
    return kept


_NEEDED = (
    "phase", "sent_at", "workload", "prompt", "step", "concurrency", "rate", "requested_output_tokens", "outcome",
    "finish_reason",
)  # fmt: skip
_RIGHT: dict[str, tuple[type, ...]] = {"sent_at": (int, float), "workload": (str,), "prompt": (str,), "step": (int,)}


def texts(folder: Path, places: Iterable[int]) -> dict[int, str | None]:
    """The text of the records that begin at these places of requests.jsonl; None where none was kept."""
    found: dict[int, str | None] = {}
    with (folder / runfolder.REQUESTS).open("rb") as file:
        for at in sorted(places):
            file.seek(at)
            text = orjson.loads(file.readline()).get("text")
            found[at] = text if isinstance(text, str) else None
    return found


def keeps_texts(folder: Path) -> bool:
    """Whether the run kept its answers (--save-text), by the first records that have some."""
    for number, (row, _) in enumerate(_rows(folder / runfolder.REQUESTS)):
        if isinstance(row.get("text"), str):
            return True
        if number > _LOOKED_AT:
            break
    return False


_LOOKED_AT = 200


def _rows(path: Path) -> Iterator[tuple[dict[str, Any], int]]:
    """Records with the places where they begin."""
    if not path.exists():
        return
    at = 0
    with path.open("rb") as file:
        for line in file:
            begin, at = at, at + len(line)
            if line.endswith(b"\n"):
                try:
                    row = orjson.loads(line)
                except orjson.JSONDecodeError:
                    continue
                if isinstance(row, dict):
                    yield row, begin


def _number(value: Any) -> float:
    return float(value) if type(value) in (int, float) else -1.0
