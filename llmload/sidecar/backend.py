"""What a kind of GPU has to tell the sidecar. Adding a kind is adding a module like amd.py and its entry in BACKENDS.

Knows no library of any vendor, no page and no thread: one thread calls a backend, and nobody else does.
"""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

BACKENDS = {"nvml": "llmload.sidecar.nvml", "amd": "llmload.sidecar.amd", "fake": "llmload.sidecar.fake"}
"""Where the class `Backend` of each kind is; a vendor's library is imported when it is chosen."""


class Absent(Exception):
    """There is no driver, no library or no such GPU: one sentence (what, what to do)."""


class Gone(Exception):
    """The driver went away; it may come back: close, wait, open again."""


class Hopeless(Exception):
    """Nothing can heal this within this process: end it, and let whoever supervises it start it anew."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One GPU at one moment. `values` has the keys of `record.samples.GPU_FIELDS`; what is not known is not there."""

    gpu: str
    """Its number."""
    uuid: str
    up: bool = True
    """False: it was there and is lost; then nothing else is told of it."""
    info: Mapping[str, str] = field(default_factory=dict)
    """By the words of `GPU_INFO`."""
    migs: tuple[Mapping[str, str], ...] = ()
    """Its MIG instances, each by the words of `MIG_INFO`."""
    values: Mapping[str, float] = field(default_factory=dict)


class Backend(Protocol):
    """A kind of GPU."""

    library: str
    """What the vendor's library is called in the name of its errors; empty: there is none."""
    calls: int
    """Calls into the vendor's library so far."""
    errors: Mapping[tuple[str, str], int]
    """Errors so far, by operation and error; what is not supported counts once per operation and GPU."""

    def open(self) -> None:
        """Reach the driver. Raises Absent, Gone, Hopeless."""

    def read(self, *, slow: bool) -> Sequence[Reading]:
        """All GPUs now; with `slow` also what is read seldom, else its last values again. Raises Gone, Hopeless."""

    def close(self) -> None:
        """Let go of the driver. Raises nothing."""


def backend(kind: str, gpus: Sequence[str], *, processes: bool = False, count: int = 1) -> Backend:
    """The backend of a kind: for the GPUs with these numbers or UUIDs (none: all).

    `processes`: tell memory per process too. `count`: how many the fake one plays. Raises Absent where the vendor's
    package is missing.
    """
    module = importlib.import_module(BACKENDS[kind])
    return cast("Backend", module.Backend(gpus, processes=processes, count=count))
