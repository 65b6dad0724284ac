"""The workers: what their conductor knows of them, and their own word on how they do, once a second."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from llmload.live.values import Floats

SECONDS = 10


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker as its conductor knows it."""

    worker: str
    host: str | None
    users: int
    in_flight: int
    started: int
    silent_s: float
    clock_offset_ms: float | None = None
    clock_error_ms: float | None = None


@dataclass(slots=True)
class Said:
    """What a worker said of itself."""

    row: dict[str, Any] = field(default_factory=dict)
    lags_ms: deque[Floats] = field(default_factory=lambda: deque(maxlen=SECONDS))

    @property
    def lag_p99_ms(self) -> float | None:
        """Of its loop, over the last ten seconds."""
        lags = np.concatenate([np.empty(0), *self.lags_ms])
        return round(float(np.percentile(lags, 99)), 3) if len(lags) else None


class Workers:
    """Those that are there."""

    def __init__(self) -> None:
        self.there: Sequence[Worker] = ()
        self.offsets_s: dict[str, float] = {}
        self.errors_s: dict[str, float] = {}
        self.started = 0
        """Attempts that all of them began, those that left included."""
        self._said: dict[str, Said] = {}
        self._gone: dict[str, int] = {}

    def look(self, workers: Sequence[Worker]) -> None:
        """Who is there now. Of those that left, clocks and counts stay known: their records may still come."""
        self.there = workers
        for item in workers:
            if item.clock_offset_ms is not None:
                self.offsets_s[item.worker] = item.clock_offset_ms / 1000
                self.errors_s[item.worker] = (item.clock_error_ms or 0.0) / 1000
            self._gone[item.worker] = item.started
        self.started = sum(self._gone.values())
        here = {item.worker for item in workers}
        for name in [name for name in self._said if name not in here]:
            del self._said[name]

    def rest(self) -> None:
        """Nobody sends any more."""
        self.there = [replace(item, users=0, in_flight=0) for item in self.there]

    def sample(self, row: dict[str, Any], lags_ms: Floats) -> None:
        """A line of generator.jsonl."""
        said = self._said.setdefault(str(row.get("worker")), Said())
        said.row = row
        said.lags_ms.append(lags_ms)

    @property
    def users(self) -> int:
        """Users that are up."""
        return sum(item.users for item in self.there)

    @property
    def in_flight(self) -> int:
        """Requests in flight."""
        return sum(item.in_flight for item in self.there)

    @property
    def cpu_max(self) -> float | None:
        """Share of a core that the busiest uses."""
        return max((said.row["cpu"] for said in self._said.values() if said.row.get("cpu") is not None), default=None)

    @property
    def loop_lag_p99_ms(self) -> float | None:
        """Of the one that is latest."""
        return max((lag for said in self._said.values() if (lag := said.lag_p99_ms) is not None), default=None)

    @property
    def stamp_lag_ms(self) -> float | None:
        """Of the one that read latest."""
        lags = [said.row["stamp_lag_ms"] for said in self._said.values() if said.row.get("stamp_lag_ms") is not None]
        return max(lags, default=None)

    def shown(self) -> list[dict[str, Any]]:
        """One line for each."""
        return [self._shown(item, self._said.get(item.worker, Said())) for item in self.there]

    def cpu(self) -> dict[str, float]:
        """Share of a core that each uses, where it is known."""
        return {name: said.row["cpu"] for name, said in self._said.items() if said.row.get("cpu") is not None}

    def _shown(self, item: Worker, said: Said) -> dict[str, Any]:
        row = said.row
        return {
            "worker": item.worker,
            "host": item.host,
            "cpu": row.get("cpu"),
            "loop_lag_p99_ms": said.lag_p99_ms,
            "stamp_lag_ms": row.get("stamp_lag_ms"),
            "streams": row.get("streams"),
            "events_per_s": row.get("events"),
            "clock_offset_ms": item.clock_offset_ms,
            "clock_error_ms": item.clock_error_ms,
            "silent_s": round(item.silent_s, 1),
        }
