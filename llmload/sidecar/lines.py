"""`--jsonl FILE`: each look as a line of gpu.jsonl (record/samples.py), so that a report needs no Prometheus.

A disk that takes no more ends the lines, never the sidecar. Knows no GPU and no thread.
"""

import contextlib
import math
import time
from pathlib import Path
from typing import Any

import orjson

from llmload.exits import Stop
from llmload.record.append import Appender, drop_half_line
from llmload.sidecar.kept import Look

SOURCE = "sidecar"


class Lines:
    """One file. Raises Stop if it cannot be opened."""

    def __init__(self, path: Path) -> None:
        with contextlib.suppress(OSError):  # opening it tells why
            drop_half_line(path)
        self._file = Appender(path)
        self._told: dict[str, object] = {}
        self.failure: Stop | None = None
        """Why lines are missing, if any are."""

    def look(self, look: Look) -> None:
        """One that went well."""
        gpus = []
        for reading in look.gpus:
            row: dict[str, Any] = {"uuid": reading.uuid, "gpu": reading.gpu, "up": reading.up}
            if reading.up:
                known = (reading.info, reading.migs)
                if self._told.get(reading.uuid) != known:
                    self._told[reading.uuid] = known
                    row["info"] = dict(reading.info)
                    row |= {"migs": list(reading.migs)} if reading.migs else {}
                row["values"] = dict(reading.values)
            gpus.append(row)
        self._append(
            at=look.at,
            mono_ns=math.floor(look.mono_s * 1e9),
            took_ms=round(look.took_s * 1e3, 3),
            age_s=0.0,
            clock_offset_ms=0.0,
            gpus=gpus,
            host=dict(look.host),
        )

    def failed(self, sentence: str) -> None:
        """One that failed."""
        self._append(at=time.time(), mono_ns=time.perf_counter_ns(), error=sentence)

    def paused(self, *, begins: bool) -> None:
        """Nothing is looked at from here on, or again."""
        self._append(at=time.time(), mono_ns=time.perf_counter_ns(), paused=begins)

    def close(self) -> None:
        """The last line is written."""
        self._file.close()

    def _append(self, **line: Any) -> None:
        if self.failure is not None:
            return
        try:
            self._file.append([orjson.dumps({"source": SOURCE, **line})])
        except Stop as stop:
            self.failure = stop
