"""The locustfile of simulated workers: the packaged one, with a client that opens no socket and makes its records up.

Everything else is real: Locust's messages, sessions, spools, batches that are sent again until they are acknowledged.
Each request lasts a second and has a hundred gaps. A worker notes in `heartbeats` each moment at which the master
answered a heartbeat; the master is itself, but keeps no live figures where LLMLOAD_BENCH_PLAIN is set.
"""

import os
import random
import time
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import locust
from gevent.event import Event
from locust.runners import WorkerRunner

from llmload.drive import kit
from llmload.drive.feed import Feed
from llmload.drive.locustfile import Mix, Steps
from llmload.load.call import Call
from llmload.record import clock
from llmload.record.record import RequestRecord, Tags
from llmload.send.client import Meter

__all__ = ["Mix", "Steps"]

GAPS = 100
LASTS_S = 1.0
TTFT_MS = 100.0
HEARTBEATS = "heartbeats"
PLAIN = "LLMLOAD_BENCH_PLAIN"


class Made:
    """In place of `llmload.send.client.Client`."""

    def __init__(self, *_: Any) -> None:
        self._flights: set[Event] = set()
        self._events = 0
        self._random = random.Random(1)

    @property
    def in_flight(self) -> int:
        """Attempts that have begun and not ended."""
        return len(self._flights)

    def send(
        self,
        call: Call,
        opening: Callable[[float], Tags],
        finished: Callable[[RequestRecord, str], None],
        **_: Any,
    ) -> RequestRecord:
        """An attempt that ends by itself after its time, or by `cancel`, or by a kill of its greenlet."""
        tags = opening(clock.now())
        record = RequestRecord(
            **{item.name: getattr(tags, item.name) for item in fields(Tags)}, sent_at=clock.now(), outcome="cancelled"
        )
        ended = Event()
        self._flights.add(ended)
        try:
            if not ended.wait(LASTS_S):
                self._fill(record)
        finally:
            self._flights.discard(ended)
            finished(record, "")
        return record

    def _fill(self, record: RequestRecord) -> None:
        mean = (LASTS_S * 1000 - TTFT_MS) / GAPS
        record.outcome, record.http_status, record.finish_reason = "ok", 200, "stop"
        record.ttft_ms = record.ttft_content_ms = record.first_event_ms = TTFT_MS
        record.gaps_ms = [round(mean * self._random.uniform(0.5, 1.5), 3) for _ in range(GAPS)]
        record.last_token_ms = record.end_ms = round(TTFT_MS + sum(record.gaps_ms), 3)
        record.events = record.output_tokens = GAPS + 1
        record.output_tokens_source = record.input_tokens_source = "server"
        record.input_tokens, record.served_model, record.stamp_lag_ms = 60, "simulated", 0.02
        self._events += record.events

    def cancel(self) -> int:
        """End attempts that are in flight."""
        flights = list(self._flights)
        for ended in flights:
            ended.set()
        return len(flights)

    def meter(self) -> Meter:
        """Counts since the last call."""
        events, self._events = self._events, 0
        return Meter(events, 0.02)

    def close(self) -> None:
        """Nothing is open."""
        self.cancel()


@locust.events.init.add_listener
def begin(environment: Any, **_: Any) -> None:
    """Become a simulated worker, or a master that is watched."""
    if not isinstance(environment.runner, WorkerRunner):
        if PLAIN in os.environ:
            Feed._try = lambda *_: None  # type: ignore[method-assign]
        return
    vars(kit)["Client"] = Made
    file = Path(HEARTBEATS).open("a", buffering=1)  # noqa: SIM115  (lasts with the process)

    def heard(**_: Any) -> None:
        file.write(f"{time.monotonic():.6f}\n")

    environment.events.heartbeat_received.add_listener(heard)
