"""gpu.jsonl and server.jsonl to series: line by line, and of every value that the report needs one float is kept.

A sample is as old as its source told: it stands at `at - age_s`. Lines come late and twice, are cut or garbled: they
are put in order, told once, or counted. Where several sources tell of the same GPU, the one with more samples counts.
A clock that was set while one process wrote shows in its monotonic clock, and is undone.
"""

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import orjson
from numpy.typing import NDArray

from llmload.record import runfolder, samples
from llmload.report.telemetry.sampled import Gpu, Host, Server, Source, Telemetry
from llmload.report.telemetry.series import Series

SAME_S = 0.1
"""Samples nearer to one another are the same, told twice: nobody samples that often."""
SET_S = 0.5
"""Seconds by which a clock must have jumped between two lines to have been set."""
MOST = 400
"""Different values that are kept of one GPU, host or server: a label that never ends must not fill the memory."""
LATEST = 253_402_300_799.0
LARGEST = 1e15
"""No value of those that are kept is larger: what says so was garbled, and would spoil sums."""

GPU_KEYS = frozenset({
    "energy_joules", "power_watts", "power_instant_watts", "power_limit_watts", "utilization_ratio",
    "memory_used_bytes", "memory_total_bytes", "temperature_celsius", "clock_event_seconds", "xid_errors", "ecc_errors",
})  # fmt: skip
"""Values of a GPU that a figure, a doubt or a picture needs: of others nothing is kept, for hours of them add up."""
HOST_KEYS = frozenset(item.key for item in samples.HOST_FIELDS)
SERVER_KEYS = frozenset(item.key for item in samples.SERVER_FIELDS)
LOG = "log_errors"
"""What is told of a server's log, by a source of its own."""


def read(folder: Path, run: Mapping[str, Any]) -> Telemetry:
    """Everything that the two files of a run folder tell; missing files tell nothing."""
    sources: dict[str, _Source] = {}
    gpus: dict[tuple[str, str], _Rows] = {}
    hosts: dict[str, _Rows] = {}
    servers: dict[str, _Rows] = {}
    bad = 0
    for line in runfolder.lines(folder / samples.GPU):
        look = _look(line, sources)
        bad += look is None
        if look is None or look.row is None:
            continue
        for row in _list(look.row.get("gpus")):
            uuid, up = row.get("uuid"), row.get("up", True)
            if not isinstance(uuid, str) or not isinstance(up, bool) or not isinstance(row.get("values", {}), dict):
                bad += 1
                continue
            mine = gpus.setdefault((uuid, look.source), _Rows(GPU_KEYS))
            mine.tell(row.get("info"), gpu=row.get("gpu"))
            mine.add(look.at, row.get("values", {}) if up else None)
        if isinstance(host := look.row.get("host"), dict):
            hosts.setdefault(look.source, _Rows(HOST_KEYS)).add(look.at, host)
    for line in runfolder.lines(folder / samples.SERVER):
        look = _look(line, sources)
        bad += look is None
        if look is None or look.row is None:
            continue
        mine = servers.setdefault(look.source, _Rows(SERVER_KEYS))
        mine.tell(look.row.get("names"), engine=look.row.get("engine"))
        mine.add(look.at, look.row.get("values"))
    best = {uuid: source for (uuid, source), rows in sorted(gpus.items(), key=lambda item: len(item[1].at))}
    sampling = run.get("sampling") or {}
    idle = sampling.get("idle") or {}
    return Telemetry(
        gpus=tuple(_gpu(uuid, best[uuid], gpus[uuid, best[uuid]]) for uuid in dict.fromkeys(uuid for uuid, _ in gpus)),
        hosts=tuple(Host(source, *rows.series()) for source, rows in hosts.items()),
        server=_server(servers),
        sources=tuple(item.told(name) for name, item in sources.items()),
        passed_over=tuple((uuid, source) for uuid, source in gpus if best[uuid] != source),
        idle=(idle["from_s"], idle["to_s"]) if idle.get("from_s") and idle.get("to_s") else None,
        unreadable=bad,
    )


@dataclass(frozen=True, slots=True)
class _Look:
    """A line: whose it is, of when its values are, and the line; None for one without values (an error, a pause)."""

    source: str
    at: float
    row: dict[str, Any] | None


@dataclass(slots=True)
class _Source:
    """A source as its lines come by."""

    looks: int = 0
    errors: list[tuple[float, str]] = field(default_factory=list)
    failed: int = 0
    pauses: list[tuple[float, float]] = field(default_factory=list)
    offset_ms: float | None = None
    sets: int = 0
    shift: float = 0.0
    asked: "array[float]" = field(default_factory=lambda: array("d"))
    took: "array[float]" = field(default_factory=lambda: array("d"))
    last: tuple[float, float] | None = None
    """Of the line before: its clock less its monotonic clock, and the latter."""

    def steady(self, at: float, mono_ns: Any) -> float:
        """A moment by a clock that is never set: a jump that the monotonic clock did not make is taken back."""
        if not _number(mono_ns):
            return at
        mono = mono_ns / 1e9
        if self.last is not None:
            jump = at - mono - self.last[0]
            if abs(jump) > SET_S and mono >= self.last[1]:  # else it is another boot's clock, or a line that came late
                self.shift -= jump
                self.sets += 1
        self.last = (at - mono, mono)
        return at + self.shift

    def told(self, name: str) -> Source:
        """What is told of it."""
        pauses, asked = tuple(self.pauses), np.array(self.asked)
        order = np.argsort(asked, kind="stable")
        return Source(
            name, self.looks, self.failed, tuple(self.errors), pauses, self.offset_ms, self.sets,
            asked=asked[order], took_s=np.array(self.took)[order],
        )  # fmt: skip


class _Rows:
    """Samples of one GPU, host or server as they come: a column for each value, NaN where it was not told."""

    def __init__(self, keys: frozenset[str]) -> None:
        self.keys = keys
        self.at = array("d")
        self.down = array("d")
        self.values: dict[str, array[float]] = {}
        self.passed: set[str] = set()
        self.info: dict[str, str] = {}

    def tell(self, info: Any, **more: Any) -> None:
        """What was said of it in words; the last word counts."""
        said = {**(info if isinstance(info, dict) else {}), **more}
        self.info |= {name: word for name, word in list(said.items())[:MOST] if isinstance(word, str)}

    def add(self, at: float, values: Any) -> None:
        """A sample; None: it was known to be down."""
        if values is None:
            self.down.append(at)
            return
        n = len(self.at)
        self.at.append(at)
        for key, value in values.items() if isinstance(values, dict) else ():
            column = self.values.get(key)
            if column is None:
                if key in self.passed or not self._wanted(key):
                    continue
                column = self.values[key] = array("d")
            if _number(value) and abs(value) <= LARGEST:
                if len(column) < n:
                    column.extend([math.nan] * (n - len(column)))
                column.append(value)

    def _wanted(self, key: str) -> bool:
        """Whether a value that comes for the first time is kept."""
        wanted = key.partition(".")[0] in self.keys and len(self.values) < MOST
        if not wanted and len(self.passed) < MOST:
            self.passed.add(key)
        return wanted

    def series(self) -> tuple[NDArray[np.float64], dict[str, Series]]:
        """Times, ascending, and the values over time; what was told twice is there once."""
        at = np.array(self.at)
        order = np.argsort(at, kind="stable")
        at = at[order]
        once = np.concatenate(([True], np.diff(at) >= SAME_S)) if len(at) else np.zeros(0, dtype=bool)
        kept = order[once]
        at, found = at[once], {}
        for key, column in self.values.items():
            whole = np.full(len(order), np.nan)
            whole[: len(column)] = column
            values = whole[kept]
            known = ~np.isnan(values)
            found[key] = Series(at, values) if known.all() else Series(at[known], values[known])
        return at, found


def _gpu(uuid: str, source: str, rows: _Rows) -> Gpu:
    at, values = rows.series()
    if "energy_joules" in values:  # a GPU that is there uses some: energy that did not rise was told again
        energy = values["energy_joules"]
        new = np.concatenate(([True], np.diff(energy.values) != 0))[: len(energy.at)]
        values["energy_joules"] = Series(energy.at[new], energy.values[new])
    return Gpu(uuid, rows.info.get("gpu", ""), rows.info.get("name"), source, at, values, np.sort(rows.down))


def _server(told: dict[str, _Rows]) -> Server | None:
    """The server as the fullest source tells it, with the errors that another one counted in its log."""
    if not told:
        return None
    source, rows = max(told.items(), key=lambda item: (bool(item[1].values.keys() - {LOG}), len(item[1].at)))
    names = {key: word for key, word in rows.info.items() if key != "engine"}
    at, values = rows.series()
    for other in told.values():
        if other is not rows and LOG in other.values:
            values[LOG] = other.series()[1][LOG]
    return Server(source, rows.info.get("engine"), names, at, values)


def _look(line: bytes, sources: dict[str, _Source]) -> _Look | None:
    """A line, read; None if it is none of ours."""
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(row, dict) or not _moment(at := row.get("at")) or not isinstance(row.get("source", ""), str):
        return None
    name = row.get("source", "")
    source = sources.setdefault(name, _Source())
    at = source.steady(float(at), row.get("mono_ns"))
    if isinstance(paused := row.get("paused"), bool):
        if paused:
            source.pauses.append((at, math.inf))
        elif source.pauses:
            source.pauses[-1] = (source.pauses[-1][0], at)
        return _Look(name, at, None)
    source.looks += 1
    took = row.get("took_ms")
    source.asked.append(at)
    source.took.append(took / 1000 if _number(took) and took > 0 else 0.0)
    if isinstance(error := row.get("error"), str):
        source.failed += 1
        if len(source.errors) < MOST:
            source.errors.append((at, error))
        return _Look(name, at, None)
    if _number(offset := row.get("clock_offset_ms")) and abs(offset) <= LARGEST:
        source.offset_ms = float(offset)
    age = row.get("age_s")
    return _Look(name, at - age if _number(age) and 0 <= age <= at else at, row)


def _list(value: Any) -> Iterator[dict[str, Any]]:
    """The objects of a list."""
    items: Iterable[Any] = value if isinstance(value, list) else ()
    return (item for item in items if isinstance(item, dict))


def _number(value: Any) -> TypeGuard[float]:
    return type(value) in (int, float) and math.isfinite(value)


def _moment(value: Any) -> TypeGuard[float]:
    return _number(value) and 0 <= value <= LATEST
