"""Memory through a soak: how fast it grew, and how much of it was left. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from llmload.load.spans import span
from llmload.report.soak import growth
from llmload.report.soak.growth import Slope
from llmload.report.telemetry.sampled import Telemetry
from llmload.report.telemetry.series import Series

HEADROOM = 0.2
"""Share of the memory that should be left at the fullest moment."""
MATTERS = 0.01
"""Growth over the whole window under this share of the memory is none."""
GIB = 2**30


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory: of a GPU, of the engine's process, of the machine that the GPUs are in."""

    name: str
    slope: Slope
    first: float
    most: float
    total: float | None
    hours: float

    @property
    def grows(self) -> bool:
        """Whether it grew for certain, and by an amount that matters."""
        return self.slope.low > 0 and self.slope.per_hour * self.hours > MATTERS * (self.total or self.first)

    @property
    def headroom(self) -> float | None:
        """Share that was left at the fullest moment."""
        return None if not self.total else 1 - self.most / self.total

    def as_dict(self) -> dict[str, Any]:
        """As summary.json holds it."""
        return {
            "name": self.name,
            "grows": self.grows,
            "bytes_per_hour": self.slope.per_hour,
            "bytes_per_hour_low": self.slope.low,
            "bytes_per_hour_high": self.slope.high,
            "most_bytes": self.most,
            "total_bytes": self.total,
            "headroom_share": self.headroom,
        }


def find(telemetry: Telemetry, begin: float, end: float) -> list[Memory]:
    """Every memory that was sampled often enough to tell a slope."""
    return [found for name, used, total in _sampled(telemetry) if (found := _one(name, used, total, begin, end))]


def _sampled(telemetry: Telemetry) -> Iterator[tuple[str, Series, Series | None]]:
    for gpu in telemetry.gpus:
        yield f"the memory of {gpu.label}", gpu.series("memory_used_bytes"), gpu.series("memory_total_bytes")
    if telemetry.server is not None:
        yield "the memory of the engine's process", telemetry.server.series("resident_memory_bytes"), None
    for host in telemetry.hosts:
        total, free = host.series("memory_total_bytes"), host.series("memory_available_bytes")
        if len(total.at) and len(free.at):
            used = Series(free.at, total.values[-1] - free.values)
            yield "the memory of the GPUs' machine", used, total


def _one(name: str, used: Series, total: Series | None, begin: float, end: float) -> Memory | None:
    inside = (used.at >= begin) & (used.at <= end)
    values = used.values[inside]
    slope = growth.slope(used.at[inside], values)
    if slope is None:
        return None
    whole = float(total.values[-1]) if total is not None and len(total.at) else None
    return Memory(name, slope, float(np.median(values[:10])), float(values.max()), whole, (end - begin) / 3600)


def warnings(found: Sequence[Memory]) -> Iterator[str]:
    """One sentence for all memory that grew, and one for all of which too little was left."""
    grown = [
        f"{item.name} by {item.slope.per_hour / GIB:.3g} GiB an hour (95 %: {item.slope.low / GIB:.3g} to "
        f"{item.slope.high / GIB:.3g}{_full(item)})"
        for item in found
        if item.grows
    ]
    if grown:
        yield f"memory grew through the soak: {', '.join(grown)}"
    little = [
        f"of {item.name} {item.headroom * 100:.0f} % ({item.most / GIB:.1f} of {(item.total or 0) / GIB:.1f} GiB used)"
        for item in found
        if item.headroom is not None and item.headroom < HEADROOM
    ]
    if little:
        yield (
            f"under {HEADROOM * 100:.0f} % was left at the fullest moment: {', '.join(little)}; an engine that takes "
            "its cache beforehand leaves so little on purpose"
        )


def _full(item: Memory) -> str:
    if item.total is None:
        return ""
    left_s = (item.total - item.most) / item.slope.per_hour * 3600
    return f"; full in about {span(left_s)} at this pace"
