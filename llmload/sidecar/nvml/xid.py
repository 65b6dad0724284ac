"""XID errors: what the driver says went wrong with a GPU. They are told once, to who waits for them.

A thread of its own waits, half a second at a time, so that closing never takes long. It knows no other value and
counts its own calls. What it has seen outlives a driver that is loaded anew.
"""

import ctypes
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pynvml as nvml

from llmload.sidecar.backend import Gone, Hopeless
from llmload.sidecar.nvml.calls import Calls, Lost, Refused, words

WAIT_MS = 500
PATIENCE_S = 30.0


class Xids:
    """The watcher. `watch` names a GPU to it, `start` begins, `stop` ends it."""

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self.calls = Calls()
        self._wall = wall
        self._seen: Counter[tuple[str, int]] = Counter()
        self._last: dict[tuple[str, int], float] = {}
        self._lock = threading.Lock()
        self._new: list[tuple[str, Any]] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, uuid: str, handle: Any) -> None:
        """Watch this GPU too."""
        with self._lock:
            self._new.append((uuid, handle))

    def start(self) -> None:
        """Begin, unless it is under way."""
        if self._thread is None:
            self._stop = threading.Event()
            self._thread = threading.Thread(target=self._run, args=(self._stop,), name="xid", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread; before NVML is shut down."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(WAIT_MS / 1000 + 1)
        self._thread = None
        self._new = []

    def values(self, uuid: str) -> dict[str, float]:
        """What was seen of this GPU."""
        with self._lock:
            values = {f"xid_errors.{xid}": float(n) for (whose, xid), n in self._seen.items() if whose == uuid}
            for (whose, xid), at in self._last.items():
                if whose == uuid:
                    values[f"xid_last_timestamp_seconds.{xid}"] = at
        return values

    def _run(self, stop: threading.Event) -> None:
        with suppress(Gone, Hopeless, Lost, Refused):  # the sampler meets the same and says so
            events = self.calls.must(nvml.nvmlEventSetCreate)
            try:
                self._listen(events, stop)
            finally:
                self.calls.must(nvml.nvmlEventSetFree, events)

    def _listen(self, events: Any, stop: threading.Event) -> None:
        uuids: dict[int, str] = {}
        pause_s = 1.0
        while not stop.is_set():
            with self._lock:
                new, self._new = self._new, []
            for uuid, handle in new:
                uuids[address(handle)] = uuid
                with suppress(Lost):
                    self.calls.ask(
                        nvml.nvmlDeviceRegisterEvents, handle, nvml.nvmlEventTypeXidCriticalError, events, gpu=uuid
                    )
            begun = time.monotonic()
            try:
                event = self.calls.must(nvml.nvmlEventSetWait_v2, events, WAIT_MS, nothing=nvml.NVML_ERROR_TIMEOUT)
                uuid = uuids.get(address(event.device)) or words(self.calls.must(nvml.nvmlDeviceGetUUID, event.device))
                pause_s = 1.0
            except (Refused, Lost) as refused:
                if isinstance(refused, Refused) and refused.code == nvml.NVML_ERROR_TIMEOUT:
                    left_s = begun + WAIT_MS / 1000 - time.monotonic()
                    stop.wait(left_s)  # a driver that does not wait is no reason to spin
                else:
                    stop.wait(pause_s)
                    pause_s = min(2 * pause_s, PATIENCE_S)
                continue
            if event.eventType == nvml.nvmlEventTypeXidCriticalError:
                with self._lock:
                    self._seen[uuid, event.eventData] += 1
                    self._last[uuid, event.eventData] = self._wall()


def address(handle: Any) -> int:
    """Where the handle points: two of them are of one GPU if they point to the same place."""
    return ctypes.cast(handle, ctypes.c_void_p).value or 0
