"""One source and its thread: what nobody foresaw, what does not end, and what each is called."""

import json
import threading
import time
from pathlib import Path

from llmload.gather.lines import Lines, Notes
from llmload.gather.looks import Making
from llmload.gather.sampler import Order, Sampler, named
from llmload.gather.source import Look, Source
from tests.gather.children import ANCHOR_S, until


class Odd:
    """Its first answer cannot be read, the second cannot even be asked for, later ones are well."""

    looks = 0

    def ask(self) -> Making:
        """As said."""
        self.looks += 1
        if self.looks == 2:
            raise RuntimeError("a\nb")
        now = time.perf_counter()
        return now, now, lambda _: {"told": 1 // (self.looks - 1)}


class Endless:
    """Its first look is well, the second does not end."""

    def __init__(self) -> None:
        self.looks, self.over = 0, threading.Event()

    def ask(self) -> Making:
        """As said."""
        self.looks += 1
        if self.looks > 1:
            self.over.wait(20)
        now = time.perf_counter()
        return now, now, lambda _: {}


def source(folder: Path, look: Look, notes: Notes) -> Source:
    """Looked at all the time."""
    return Source("it", look, Lines(folder / "gpu.jsonl", notes), notes, anchor_s=ANCHOR_S, every_s=0.01)


def test_what_nobody_foresaw_costs_one_look(tmp_path: Path) -> None:
    """It is an error in the lines and in the notes, and looking goes on."""
    notes, look = Notes(), Odd()
    one = source(tmp_path, look, notes)
    one.start()
    until(lambda: look.looks >= 4, "looks")
    one.over(last=False)
    one.join(5)
    one.tell()
    lines = [json.loads(line) for line in (tmp_path / "gpu.jsonl").read_text().splitlines()]
    first = "its answer could not be read: ZeroDivisionError: integer division or modulo by zero"
    assert [line.get("error") for line in lines[:3]] == [
        first, "its answer could not be read: RuntimeError: a b", None,
    ]  # fmt: skip
    assert lines[2]["told"] == 0
    assert notes.all() == [f"it: 2 of {one.looks} looks failed; the first said: {first}"]


def test_a_look_that_does_not_end_is_told(tmp_path: Path) -> None:
    """Whoever ends does not wait for it for ever, and says that it is missing."""
    notes, look = Notes(), Endless()
    one = source(tmp_path, look, notes)
    one.start()
    until(lambda: look.looks == 2, "looks")
    one.over(last=True)
    one.join(0.1)
    one.tell()
    assert notes.all() == ["it: it was still being asked when all was over; that look is missing"]
    look.over.set()
    one.join(5)


def test_pages_that_differ_in_what_is_hidden_have_names_of_their_own() -> None:
    """Credentials and queries are not shown, so such names get numbers; the same page twice is one."""
    urls = ("a:1", "http://a:1/metrics?gpu=0", "http://me:pw@a:1/metrics", "b:1/metrics?x", "b:1/metrics?x")
    assert list(named(urls).values()) == [
        "http://a:1/metrics", "http://a:1/metrics (2)", "http://a:1/metrics (3)", "http://b:1/metrics",
    ]  # fmt: skip


def test_a_look_has_ten_seconds_at_most(tmp_path: Path) -> None:
    """However seldom looks are, the first one and the last one are not waited for so long; nor is it under a second."""
    limits = [Sampler(Order(str(tmp_path), ANCHOR_S, every_s=every_s))._limit_s for every_s in (0.25, 5.0, 3600.0)]
    assert limits == [1.0, 5.0, 10.0]
