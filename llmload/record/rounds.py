"""ab.json: which runs of two sides belong together, in the order in which they were run."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from llmload.exits import Exit, Stop
from llmload.record import runfolder

FILE = "ab.json"
SCHEMA = 1
BASELINE, CANDIDATE = SIDES = ("baseline", "candidate")
"""The two sides, and the folders in which their runs lie."""
STOPPED = "stopped"
"""The folder of runs that did not come to their end, and were run again."""
GONE = (Exit.USAGE, Exit.UNMEASURABLE, Exit.INCOMPLETE)
"""Exit codes of runs that are no round."""


@dataclass(frozen=True, slots=True)
class Round:
    """A run of one side."""

    side: str
    round: int
    """From 0; both sides have each."""
    run: str
    """The run folder, as `baseline/<name>`."""
    started_at: float
    exit_code: int

    @property
    def whole(self) -> bool:
        """Whether it came to its end."""
        return self.exit_code not in GONE


@dataclass(slots=True)
class Rounds:
    """What ab.json holds. `about` has its other members (scenario, pause_s, baseline, candidate, command)."""

    about: dict[str, Any]
    started_at: float
    rounds: list[Round] = field(default_factory=list)
    ended_at: float | None = None

    def write(self, folder: Path) -> None:
        """Replace ab.json. Raises Stop(INCOMPLETE) if the disk takes no more."""
        value = {
            "schema": SCHEMA,
            **self.about,
            "started_at": self.started_at,
            "ended_at": self.ended_at,
            "rounds": [asdict(item) for item in self.rounds],
        }
        try:
            runfolder.write_json(folder / FILE, value)
        except OSError as error:
            raise Stop(f"{folder / FILE}: cannot be written: {error.strerror}", Exit.INCOMPLETE) from error


def order(rounds: int) -> Iterator[tuple[str, int]]:
    """Side and round of each run: A B B A A B …, so that what drifts with time weighs on both alike."""
    for number in range(rounds):
        for side in SIDES if number % 2 == 0 else SIDES[::-1]:
            yield side, number


def read(folder: Path) -> Rounds:
    """ab.json of a folder. Raises Stop(USAGE) if there is none, none that is whole, or one of a newer format."""
    path = folder / FILE
    try:
        value = orjson.loads(path.read_bytes())
        if type(value["schema"]) is int and value["schema"] > SCHEMA:
            raise Stop(f"{path}: written in format {value['schema']}, and this llmload reads {SCHEMA}; update llmload")
        rows = value["rounds"]
        found = [Round(**{name: row[name] for name in Round.__slots__}) for row in rows]
        about = {name: item for name, item in value.items() if name not in ("schema", "rounds")}
        started_at, ended_at = about.pop("started_at"), about.pop("ended_at")
    except OSError as error:
        raise Stop(f"{path}: cannot be read: {error.strerror}; expected a folder of llmload ab") from error
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise Stop(f"{path}: is not what llmload ab wrote: {error!r}") from error
    if type(started_at) not in (int, float) or any(
        item.side not in SIDES or not (type(item.round) is type(item.exit_code) is int) or type(item.run) is not str
        for item in found
    ):
        raise Stop(f"{path}: is not what llmload ab wrote: rounds of baseline and candidate were expected")
    return Rounds(about, started_at, found, ended_at)
