"""What was sampled of GPUs, their hosts and the server in a run, as series. Computes nothing of a window."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from llmload.report.telemetry.series import NOTHING, Series

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU: when it was seen (`at`, as old as the source told), its values over time, and when it was down.

    Keys are those of `record.samples.GPU_FIELDS`, with a label behind a dot.
    """

    uuid: str
    gpu: str
    """Its number."""
    name: str | None
    source: str
    at: Floats
    values: dict[str, Series]
    down: Floats

    def series(self, key: str) -> Series:
        """A value over time; empty where it was never told."""
        return self.values.get(key, NOTHING)

    def labels(self, key: str) -> list[str]:
        """The labels with which a value was told: the reasons of `clock_event_seconds`, say."""
        return sorted(name.partition(".")[2] for name in self.values if name.startswith(f"{key}."))

    @property
    def label(self) -> str:
        """How it is called in a sentence."""
        return f"GPU {self.gpu}" if self.gpu else f"GPU {self.uuid}"


@dataclass(frozen=True, slots=True)
class Host:
    """The machine that GPUs are in, as its source told; keys of `HOST_FIELDS`."""

    source: str
    at: Floats
    values: dict[str, Series]

    def series(self, key: str) -> Series:
        """A value over time."""
        return self.values.get(key, NOTHING)


@dataclass(frozen=True, slots=True)
class Server:
    """The engine's own metrics; keys of `SERVER_FIELDS`, and the names under which they were found."""

    source: str
    engine: str | None
    names: dict[str, str]
    at: Floats
    values: dict[str, Series]

    def series(self, key: str) -> Series:
        """A value over time."""
        return self.values.get(key, NOTHING)


@dataclass(frozen=True, slots=True)
class Source:
    """Where samples came from: looks in all, those that failed with what was said, and times of no sampling.

    `offset_ms`: its clock less ours, as it was told last (None: not told); nothing is corrected by it, since values
    stand at the moment by our own clock less their age. `sets`: how often the clock of who wrote was set meanwhile.
    """

    name: str
    looks: int
    failed: int
    errors: tuple[tuple[float, str], ...]
    pauses: tuple[tuple[float, float], ...]
    offset_ms: float | None
    sets: int
    asked: Floats = field(default_factory=lambda: np.empty(0))
    """When it was looked at, one after another …"""
    took_s: Floats = field(default_factory=lambda: np.empty(0))
    """… and how long that took."""


@dataclass(frozen=True, slots=True)
class Telemetry:
    """All samples of a run."""

    gpus: tuple[Gpu, ...] = ()
    hosts: tuple[Host, ...] = ()
    server: Server | None = None
    sources: tuple[Source, ...] = ()
    passed_over: tuple[tuple[str, str], ...] = ()
    """UUIDs and sources that told of them too, with fewer samples than the one that counts."""
    idle: tuple[float, float] | None = None
    """A time before the load, by run.json, in which the GPUs had nothing to do."""
    unreadable: int = 0
    """Lines and rows of the files that are none."""
