"""Files that a worker has from its master: part by part, asked for again where one is lost, and checked as a whole."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from llmload.drive import kit, parcels
from llmload.drive.parcels import PART_BYTES, Parcels
from llmload.exits import Stop
from llmload.load.scenario import Scenario, WorkloadClass
from llmload.send.settings import Sending


class Way:
    """Between a worker that has no file and a master that has it; `lose` tells which messages never come."""

    def __init__(self, file: dict[str, Any], lose: Callable[[int], bool] = lambda count: False) -> None:
        self.file = {**file, "path": "/nowhere/on/this/machine.jsonl"}
        self.there = file["path"]
        self.lose = lose
        self.now = 0.0
        self.asked: list[int] = []
        self.largest = 0
        self.parcels = Parcels(self.ask, self.clock)

    def clock(self) -> float:
        """Every look at it takes a second."""
        self.now += 1.0
        return self.now

    def ask(self, digest: str, number: int) -> None:
        """The worker asks; the master answers, unless the message is lost."""
        self.asked.append(number)
        if not self.lose(len(self.asked)):
            data = parcels.part(self.there, number)
            self.largest = max(self.largest, len(data))
            self.parcels.arrived({"digest": digest, "part": number, "data": data})


@pytest.fixture
def file(tmp_path: Path) -> dict[str, Any]:
    """Nine parts and a half that nothing can compress."""
    path = tmp_path / "data.jsonl"
    path.write_bytes(os.urandom(int(9.5 * PART_BYTES)))
    return parcels.described(str(path))


def test_parts_that_are_lost_are_asked_for_again(file: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every third message is lost: the file comes whole, no part twice but those that were lost, none over 256 KiB."""
    monkeypatch.setattr(parcels, "AGAIN_S", 0.05)
    way = Way(file, lambda count: count % 3 == 0)
    place = Path(way.parcels.place(way.file))
    assert place.read_bytes() == Path(file["path"]).read_bytes()
    assert place.suffix == ".jsonl"
    assert set(way.asked) == set(range(10))
    assert len(way.asked) == 10 + len(way.asked) // 3
    assert way.largest <= 256 * 1024
    assert way.parcels.place(way.file) == str(place)  # it is there now: nothing is asked for
    assert len(way.asked) == 10 + len(way.asked) // 3


def test_the_same_file_at_the_same_path_is_used(file: dict[str, Any]) -> None:
    """Nothing is asked for; a file of that name that is another one is not taken."""
    way = Way(file)
    assert way.parcels.place(file) == file["path"]
    assert way.asked == []
    whole = Path(file["path"]).read_bytes()
    other = Path(file["path"]).with_name("kept")
    other.write_bytes(whole)
    Path(file["path"]).write_bytes(b"another")
    way.there = str(other)
    assert Path(way.parcels.place(file)).read_bytes() == whole


def test_a_file_that_does_not_come_is_a_sentence(file: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing comes for so long; or the master says that it has none; or it became another one meanwhile."""
    monkeypatch.setattr(parcels, "AGAIN_S", 0.01)
    with pytest.raises(Stop, match="10 of its 10 parts did not come from the master within 30 s"):
        (way := Way(file, lambda _: True)).parcels.place(way.file)
    way = Way(file, lambda _: True)
    way.ask = lambda *_: way.parcels.arrived({"failure": "gone"})  # type: ignore[method-assign]
    way.parcels = Parcels(way.ask)
    with pytest.raises(Stop, match="the master cannot send it: gone"):
        way.parcels.place(way.file)
    way = Way(file)
    way.file["digest"] = "0" * 64
    with pytest.raises(Stop, match="not the file that the run began with"):
        way.parcels.place(way.file)


def test_all_files_are_taken_from_where_they_lie() -> None:
    """Data sets, the tokenizer of both sides, and the authorities of the endpoint."""
    scenario = Scenario("s", (WorkloadClass("a", source="file", path="/m/a"), WorkloadClass("b")), tokenizer="/m/t")
    sending = Sending("http://h/v1", "m", tokenizer="/m/t", ca="/m/ca")
    moved, sent = kit.moved(scenario, sending, {"/m/a": "/w/a", "/m/t": "/w/t", "/m/ca": "/w/ca"})
    assert [item.path for item in moved.classes] == ["/w/a", None]
    assert (moved.tokenizer, sent.tokenizer, sent.ca) == ("/w/t", "/w/t", "/w/ca")
