"""The NVIDIA driver of this machine: reaching it, which GPUs there are, and what happens when one or all go away.

A GPU is known by its UUID and keeps the number under which it was first seen: NVML gives the later ones other numbers
where one has vanished. Handles are never kept over a loss.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pynvml as nvml

from llmload.sidecar.backend import Absent, Gone, Hopeless, Reading
from llmload.sidecar.nvml.calls import Calls, Lost, Refused, name_of, words
from llmload.sidecar.nvml.card import Card
from llmload.sidecar.nvml.choose import Found, choose
from llmload.sidecar.nvml.xid import Xids

FOR_EVER = 5
"""So many collections in a row that got nothing but "unknown error": it does not heal within this process.

A container gets there when its right to the devices is taken away (`systemctl daemon-reload` on its host).
"""

WHY = {
    nvml.NVML_ERROR_LIBRARY_NOT_FOUND: (
        "there is no NVIDIA driver here (libnvidia-ml.so.1 is not found); install it,"
        " or give the container its GPUs (docker run --gpus all); for AMD's say --backend amd, to try it out --fake 2"
    ),
    nvml.NVML_ERROR_DRIVER_NOT_LOADED: (
        "the NVIDIA driver is not loaded; load it (sudo modprobe nvidia) and start again"
    ),
    nvml.NVML_ERROR_NO_PERMISSION: (
        "the NVIDIA driver does not let this user in; run as a user who may open /dev/nvidiactl and /dev/nvidia*"
    ),
    nvml.NVML_ERROR_FUNCTION_NOT_FOUND: "the NVIDIA driver here is too old to be asked (it lacks nvmlInitWithFlags)",
}
"""Why there is nothing to read."""


@dataclass(slots=True)
class Seat:
    """A GPU that is or was there."""

    number: str
    uuid: str
    card: Card | None = None
    """None: it is lost."""


class Backend:
    """NVIDIA's GPUs. The numbers or UUIDs in `gpus` choose among them."""

    library = "nvml"

    def __init__(self, gpus: Sequence[str], *, processes: bool = False, count: int = 1) -> None:  # noqa: ARG002
        self._asked = tuple(gpus)
        self._processes = processes
        self._calls = Calls()
        self._xids = Xids()
        self._seats: dict[str, Seat] = {}
        self._count = 0
        self._driver: dict[str, str] = {}
        self._open = False
        self._known = False
        """Whether it was reached before: what is not there then went away and may come back."""
        self._unknown = 0
        self._rest = self._pause = 0
        """Reads until lost GPUs are looked for again, and how many these were at first."""

    @property
    def calls(self) -> int:
        """Calls into NVML so far."""
        return self._calls.made + self._xids.calls.made

    @property
    def errors(self) -> Mapping[tuple[str, str], int]:
        """Errors so far, by operation and error."""
        return Counter(self._calls.errors) + Counter(self._xids.calls.errors)

    def open(self) -> None:
        """Reach the driver and see which GPUs there are."""
        try:
            self._reach()
        except BaseException:
            self.close()
            raise

    def _reach(self) -> None:
        try:
            self._calls.must(nvml.nvmlInit)
        except Gone as gone:
            raise gone if self._known else Absent(WHY[nvml.NVML_ERROR_DRIVER_NOT_LOADED]) from None
        except (Refused, Lost) as refused:
            raise self._away(refused) from None
        self._open = True
        self._driver = {}
        version = self._calls.ask(nvml.nvmlSystemGetDriverVersion, gpu="")
        cuda = self._calls.ask(nvml.nvmlSystemGetCudaDriverVersion, gpu="")
        if version is not None:
            self._driver["driver_version"] = words(version)
        if cuda is not None:
            self._driver["cuda_version"] = f"{cuda // 1000}.{cuda % 1000 // 10}"
        self._look(self._there())
        self._known = True

    def _there(self) -> int:
        """How many GPUs there are."""
        try:
            return int(self._calls.must(nvml.nvmlDeviceGetCount))
        except (Refused, Lost) as refused:
            raise self._away(refused) from None

    def _away(self, refused: Refused | Lost) -> Exception:
        """What it means that the driver does not even say how many GPUs there are."""
        code = refused.code if isinstance(refused, Refused) else nvml.NVML_ERROR_GPU_IS_LOST
        if code == nvml.NVML_ERROR_UNKNOWN:
            return self._silent()
        if code in WHY and not self._known:
            return Absent(WHY[code])
        return Gone(f"the NVIDIA driver does not answer ({name_of(code)}); it is tried again")

    def _silent(self) -> Exception:
        """One more time that there was nothing but unknown errors."""
        self._unknown += 1
        if self._unknown < FOR_EVER:
            return Gone("the NVIDIA driver answers everything with `unknown error`; it is tried again")
        return Hopeless(
            f"the NVIDIA driver has answered everything with `unknown error` {self._unknown} times in a row; start"
            " the sidecar anew, and the container with it if it runs in one: it may have lost its right to the GPUs"
        )

    def _look(self, count: int) -> None:
        """Find the GPUs, among so many, and fetch handles of those that are new or were lost."""
        self._count = count
        found, lost = self._find(count)
        if not self._known:
            self._choose(found, lost)
        for uuid, (index, handle) in found.items():
            seat = self._seat(uuid, index)
            if seat is not None and seat.card is None:
                base = Reading(seat.number, uuid, info=self._driver)
                with suppress(Lost):
                    seat.card = Card(self._calls, handle, base, processes=self._processes)
                    self._xids.watch(uuid, handle)
        self._xids.start()
        for seat in self._seats.values():
            if seat.uuid not in found:
                self._lose(seat)

    def _find(self, count: int) -> tuple[dict[str, tuple[int, Any]], list[int]]:
        """Number and handle of each by its UUID, and the numbers of those that cannot be reached."""
        found: dict[str, tuple[int, Any]] = {}
        lost: list[int] = []
        for index in range(count):
            try:
                handle = self._calls.must(nvml.nvmlDeviceGetHandleByIndex, index)
                found[words(self._calls.must(nvml.nvmlDeviceGetUUID, handle))] = index, handle
            except (Lost, Refused) as refused:
                if not (isinstance(refused, Refused) and refused.code == nvml.NVML_ERROR_NO_PERMISSION):
                    lost.append(index)  # else it is a GPU that is not ours to see
        return found, lost

    def _choose(self, found: Mapping[str, tuple[int, Any]], lost: Sequence[int]) -> None:
        """Take those that are wanted, also what is lost from the beginning: that one has no UUID yet."""
        self._seats = {}
        there = [Found(index, nameless(index)) for index in lost]
        for uuid, (index, handle) in found.items():
            name = ""
            with suppress(Lost):
                name = words(self._calls.ask(nvml.nvmlDeviceGetName, handle, gpu=uuid) or "")
            there.append(Found(index, uuid, name))
        if not there:
            raise Absent("the NVIDIA driver is here, but no GPU that it lets this user see; look at `nvidia-smi -L`")
        for one in choose(self._asked, sorted(there, key=lambda one: one.number)):
            self._seats[one.uuid] = Seat(str(one.number), one.uuid)

    def _seat(self, uuid: str, index: int) -> Seat | None:
        """The seat of a GPU, if it is wanted."""
        was_lost = self._seats.get(nameless(index))
        if uuid not in self._seats and (was_lost or not self._asked):
            self._seats.pop(nameless(index), None)
            self._seats[uuid] = Seat(str(index), uuid)
        return self._seats.get(uuid)

    def _lose(self, seat: Seat) -> None:
        if seat.card is not None:
            seat.card.free()
        seat.card = None

    def read(self, *, slow: bool) -> Sequence[Reading]:
        """All GPUs now."""
        before = self._calls.unknown
        count = self._there()
        if count != self._count or self._due(slow=slow):
            self._look(count)
        readings = [self._reading(seat, slow=slow) for seat in self._seats.values()]
        if self._calls.unknown > before and not any(one.up for one in readings):
            raise self._silent()
        self._unknown = 0
        return readings

    def _due(self, *, slow: bool) -> bool:
        """Whether to look for what is lost: at once, then ever more seldom, since looking may stall the driver."""
        if all(seat.card is not None for seat in self._seats.values()):
            self._rest = self._pause = 0
            return False
        if self._rest and not slow:
            self._rest -= 1
            return False
        self._pause = self._rest = 2 * self._pause + 1
        return True

    def _reading(self, seat: Seat, *, slow: bool) -> Reading:
        if seat.card is not None:
            try:
                reading = seat.card.read(slow=slow)
                return replace(reading, values={**reading.values, **self._xids.values(seat.uuid)})
            except Lost:
                self._lose(seat)
        return Reading(seat.number, seat.uuid, up=False)

    def close(self) -> None:
        """Let go of the driver."""
        self._xids.stop()
        for seat in self._seats.values():
            self._lose(seat)
        if self._open:
            self._open = False
            with suppress(Refused, Lost, Gone, Hopeless):
                self._calls.must(nvml.nvmlShutdown)


def nameless(index: int) -> str:
    """What stands for the UUID of a GPU that was lost before it could tell it."""
    return f"lost-{index}"
