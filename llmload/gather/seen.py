"""What a page told: its samples, and the GPUs that were made of them. Pure; knows neither HTTP nor any exporter."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Unread(Exception):
    """A source told nothing that can be used: one sentence why."""


class Sample(NamedTuple):
    """One series of a page with its value, which is finite."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(slots=True)
class Gpu:
    """One GPU; `values` has the keys of `record.samples.GPU_FIELDS`."""

    uuid: str
    gpu: str = ""
    up: bool = True
    info: dict[str, str] = field(default_factory=dict)
    migs: list[dict[str, str]] = field(default_factory=list)
    values: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Seen:
    """All GPUs of one page at one moment."""

    kind: str
    """Whose page it is: llmload, dcgm, nvidia_gpu_exporter."""
    gpus: list[Gpu]
    host: dict[str, float] = field(default_factory=dict)
    age_s: float | None = None
    """How old the values were when the page was made; None: it does not tell."""
    stamp: float | None = None
    """When the values were read, by the clock of their machine."""
    remarks: tuple[str, ...] = ()
    """What a reader of these values has to know."""


class Gpus(dict[str, Gpu]):
    """GPUs by UUID, made when first named."""

    def __missing__(self, uuid: str) -> Gpu:
        made = self[uuid] = Gpu(uuid)
        return made
