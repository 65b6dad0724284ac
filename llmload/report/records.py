"""requests.jsonl and spools to one table: a million records in columns, their gaps in one flat array.

Each attempt counts once, by worker and seq, however often a batch was delivered. A last line that was cut, a line
that is no record, a record with a value of the wrong kind: counted, never fatal.
"""

import gc
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pandas as pd
from numpy.typing import NDArray

from llmload.exits import Exit, Stop
from llmload.record import runfolder
from llmload.record.ledger import Received
from llmload.record.record import FLAGS, SCHEMA
from llmload.report.kinds import ALL, FLOATS, INTS, LARGEST, WORDS, Right

Values = tuple[Any, ...]
"""A record as its values, in the order of `kinds.ALL`."""
_all = itemgetter(*ALL)
_WORKER, _SEQ = ALL.index("worker"), ALL.index("seq")


def _values(row: dict[str, Any]) -> Values:
    """The values of a record; None for what it does not have."""
    try:
        values: Values = _all(row)
    except KeyError:
        values = tuple(map(row.get, ALL))
    return values


START: dict[str, frozenset[type]] = {
    "start": frozenset({int}),
    "worker": frozenset({str}),
    "step": frozenset({int}),
    "phase": frozenset({str}),
    "workload": frozenset({str}),
    "sent_at": frozenset({int, float}),
}
"""The line of a spool before a request, and which types its values have."""

CHUNK = 1_000
"""Records turned into columns at a time; as dictionaries they take many times the memory."""
FLAG_BITS = 63
"""Different flags that fit into a column; further ones, which no llmload writes, are left out."""
DIFFERENT_WORDS = 100_000
"""More different texts than this in one column (errors with an id in each, say) are not told apart."""


@dataclass(frozen=True, slots=True)
class Table:
    """All attempts of a run.

    `frame` has FLOATS, INTS, WORDS (categories), `new_connection` and `flags` (bits, named in `flags` here, because
    pandas would copy what it keeps with the frame at every look at a column); the gaps of row i are
    `gaps_ms[offsets[i]:offsets[i + 1]]`. `starts` holds what a spool says was started and no record tells of, by
    (worker, seq).
    """

    frame: pd.DataFrame
    flags: tuple[str, ...]
    gaps_ms: NDArray[np.float64]
    offsets: NDArray[np.int64]
    starts: dict[tuple[str, int], dict[str, Any]]
    unreadable: int


class _Codes:
    """Small whole numbers for words, in order of first sight; None is -1."""

    def __init__(self, words: tuple[str, ...] = ()) -> None:
        self.codes: dict[str, int] = {word: code for code, word in enumerate(words)}

    def all_of(self, words: tuple[Any, ...]) -> NDArray[np.int32]:
        """The numbers of a column of words."""
        known = self.codes | {None: -1}
        try:
            return np.fromiter(map(known.__getitem__, words), dtype=np.int32, count=len(words))
        except (KeyError, TypeError):  # a word that is new, or none
            return np.fromiter(map(self.of, words), dtype=np.int32, count=len(words))

    def of(self, word: Any) -> int:
        """The number of a word."""
        if word is None:
            return -1
        known = self.codes.get(word) if isinstance(word, str) else None
        if known is not None:
            return known
        return self.codes.setdefault(
            str(word) if len(self.codes) < DIFFERENT_WORDS else "(further texts are not told apart)", len(self.codes)
        )


@dataclass(slots=True)
class _Gaps:
    """All gaps in one array that grows in its place, so that they are never there twice."""

    values: NDArray[np.float64] = field(default_factory=lambda: np.empty(1024))
    n: int = 0

    def add(self, lists: list[list[float]], count: int) -> None:
        """Append the numbers of these lists, of which there are so many."""
        end = self.n + count
        if end > len(self.values):
            self.values.resize(end + end // 8, refcheck=False)
        self.values[self.n : end] = np.fromiter(chain.from_iterable(lists), dtype=np.float64, count=count)
        self.n = end

    def whole(self) -> NDArray[np.float64]:
        """The array, of which nothing is left here."""
        values, self.values = self.values, np.empty(0)
        values.resize(self.n, refcheck=False)
        return values


@dataclass(slots=True)
class _Columns:
    """Columns as they grow, chunk by chunk."""

    parts: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    gaps: _Gaps = field(default_factory=_Gaps)
    words: dict[str, _Codes] = field(default_factory=lambda: {name: _Codes() for name in WORDS})
    flags: _Codes = field(default_factory=lambda: _Codes(FLAGS))

    def add(self, rows: list[Values]) -> None:
        """Turn records into columns; their values are of the right kinds."""
        values = dict(zip(ALL, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(ALL, ())
        new: dict[str, NDArray[Any]] = {}
        for name in FLOATS:  # numpy makes NaN of None
            new[name] = np.array(values[name], dtype=np.float64)
        for name in INTS:
            new[name] = np.array([value or 0 for value in values[name]], dtype=np.int64)
        for name, codes in self.words.items():
            new[name] = codes.all_of(values[name])
        new["new_connection"] = np.array([bool(value) for value in values["new_connection"]], dtype=bool)
        bits = self.flags.of
        new["flags"] = np.array(
            [
                sum({1 << place for flag in flags if (place := bits(flag)) < FLAG_BITS}) if flags else 0
                for flags in values["flags"]
            ],
            dtype=np.int64,
        )
        lists = [gaps or [] for gaps in values["gaps_ms"]]
        new["gaps"] = np.array([len(gaps) for gaps in lists], dtype=np.int64)
        self.gaps.add(lists, int(new["gaps"].sum()))
        for name, column in new.items():
            self.parts.setdefault(name, []).append(column)

    def joined(self, name: str) -> NDArray[Any]:
        """One whole column; its parts are let go."""
        return np.concatenate(self.parts.pop(name))


def read(folder: Path) -> Table:
    """The table of a run folder. Raises Stop(UNJUDGED) for records of a newer format.

    The collector of cycles is off meanwhile: it would search the records over and over, and they hold none.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _read(folder)
    finally:
        if collecting:
            gc.enable()


def _read(folder: Path) -> Table:
    columns = _Columns()
    seen: dict[str, Received] = {}
    starts: dict[tuple[str, int], dict[str, Any]] = {}
    bad = [0]
    rows: list[Values] = []
    right = Right()
    for row in chain(_records(folder / runfolder.REQUESTS, right, seen, bad), _spools(folder, right, seen, starts)):
        rows.append(row)
        if len(rows) == CHUNK:
            columns.add(rows)
            rows = []
    columns.add(rows)  # at least one part, so that a run without records has its columns
    offsets = np.concatenate(([0], np.cumsum(columns.joined("gaps")))).astype(np.int64)
    gaps = columns.gaps.whole()
    data: dict[str, Any] = {name: columns.joined(name) for name in (*INTS, *FLOATS, "new_connection", "flags")}
    for name, codes in columns.words.items():
        data[name] = pd.Categorical.from_codes(
            columns.joined(name), categories=pd.Index(list(codes.codes), dtype=object)
        )
    return Table(pd.DataFrame(data), tuple(columns.flags.codes), gaps, offsets, starts, bad[0])


def _records(path: Path, right: Right, seen: dict[str, Received], bad: list[int]) -> Iterator[Values]:
    """Records of a file, each once."""
    for line in runfolder.lines(path):
        row = _parse(line)
        values = None if row is None else _record(row, right, path)
        if values is None:
            bad[0] += 1
        elif _first(values, seen):
            yield values


def _spools(
    folder: Path, right: Right, seen: dict[str, Received], starts: dict[tuple[str, int], dict[str, Any]]
) -> Iterator[Values]:
    """Records that only a spool holds; what was started and never recorded is left in `starts`."""
    for path in sorted((folder / runfolder.SPOOL).glob("*.jsonl")):
        for line in runfolder.lines(path):
            row = _parse(line)
            if row is None:
                continue
            if "start" in row:
                _begun(row, path.stem, seen, starts)
            elif (values := _record(row, right, path)) is not None and _first(values, seen):
                starts.pop((values[_WORKER], values[_SEQ]), None)
                yield values


def _begun(
    row: dict[str, Any], stem: str, seen: dict[str, Received], starts: dict[tuple[str, int], dict[str, Any]]
) -> None:
    """Keep the start of an attempt of which no record came so far; values of a wrong kind are as if unsaid."""
    told = {name: value if type(value := row.get(name)) in kinds else None for name, kinds in START.items()}
    worker, start = told["worker"] or stem, told["start"]
    if start is not None and 0 <= start < LARGEST and start not in seen.setdefault(worker, Received()):
        starts[worker, start] = told


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return row if isinstance(row, dict) else None


def _record(row: dict[str, Any], right: Right, path: Path) -> Values | None:
    """The values of a record; None if it is none."""
    schema = row.get("schema", SCHEMA)
    if schema != SCHEMA:
        if isinstance(schema, int) and schema > SCHEMA:
            raise Stop(
                f"{path}: holds a record of format {schema}, and this llmload reads formats up to {SCHEMA}; "
                "update llmload",
                Exit.UNJUDGED,
            )
        return None
    values = _values(row)
    return values if right(values) else None


def _first(values: Values, seen: dict[str, Received]) -> bool:
    worker, seq = values[_WORKER], values[_SEQ]
    have = seen.get(worker)
    if have is None:
        have = seen[worker] = Received()
    if seq in have:
        return False
    have.add(seq)
    return True
