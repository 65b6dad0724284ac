"""A backend that does what a test wants next, and a sampler over it whose clock the test sets."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from llmload.sidecar.backend import Reading
from llmload.sidecar.sampler import Sampler


@dataclass
class Scripted:
    """Tells `gpus`, unless `fault` is set: then opening, or reading, fails so."""

    gpus: list[Reading]
    library: str = ""
    fault: Exception | None = None
    opening: Exception | None = None
    calls: int = 0
    errors: Mapping[tuple[str, str], int] = field(default_factory=dict)
    did: list[str] = field(default_factory=list)
    """open, read, slow and close, in order."""

    def open(self) -> None:
        """As told."""
        self.did.append("open")
        if self.opening is not None:
            raise self.opening

    def read(self, *, slow: bool) -> list[Reading]:
        """As told."""
        self.calls += 1
        self.did.append("slow" if slow else "read")
        if self.fault is not None:
            raise self.fault
        return self.gpus

    def close(self) -> None:
        """Noted."""
        self.did.append("close")


def gpu(number: int = 0, **values: float) -> Reading:
    """An H100 with some values."""
    info = {"name": "H100", "pci_bus_id": "0:1", "driver_version": "575", "cuda_version": "12.9"}
    return Reading(str(number), f"U{number}", info=info, values=values or {"power_watts": 400.0})


class Made(Sampler):
    """A sampler whose looks a test takes, one by one, at times of its own."""

    def __init__(self, source: Any, host: Callable[[], Mapping[str, float]] = dict, **more: Any) -> None:
        self.now, self.said = 100.0, list[str]()
        super().__init__(source, say=self.said.append, every_s=1.0, host=host, clock=lambda: self.now, **more)

    def look(self, at: float = math.nan) -> None:
        """One, at a moment."""
        self.now = self.now if math.isnan(at) else at
        self._look()
