"""The door to NVML: every call is counted here, and every refusal is told apart.

What a GPU cannot do is no series, what is forbidden is no series and an error that is counted, a GPU that is lost is
lost alone, and a driver that went away ends the collection. Knows no value of any GPU.

Errors of pynvml are never kept, compared or put in a set: they cannot be hashed, and `error == None` raises.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pynvml as nvml

from llmload.sidecar.backend import Gone, Hopeless

UNSUPPORTED = {
    nvml.NVML_ERROR_NOT_SUPPORTED,
    nvml.NVML_ERROR_FUNCTION_NOT_FOUND,
    nvml.NVML_ERROR_VGPU_ECC_NOT_SUPPORTED,
    nvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
    nvml.NVML_ERROR_DEPRECATED,
}
LOST = {nvml.NVML_ERROR_GPU_IS_LOST, nvml.NVML_ERROR_RESET_REQUIRED}
AWAY = {nvml.NVML_ERROR_UNINITIALIZED, nvml.NVML_ERROR_DRIVER_NOT_LOADED}

TWICE = {"DeviceGetSamples", "DeviceGetComputeRunningProcesses"}
"""What pynvml asks twice: how many there are, and which."""


class Lost(Exception):
    """This GPU cannot be reached any more; the others may."""


class Refused(Exception):
    """NVML answered with an error that concerns this call alone."""

    def __init__(self, code: int) -> None:
        super().__init__(name_of(code))
        self.code = code


def name_of(code: int) -> str:
    """NVML's name of an error: `NotSupported`."""
    name = type(nvml.NVMLError(code)).__name__
    return name.removeprefix("NVMLError_") if name != "NVMLError" else f"Code{code}"


def words(text: str | bytes) -> str:
    """A name as text; old versions of the package give bytes."""
    return text.decode(errors="replace") if isinstance(text, bytes) else text


class Calls:
    """Calls of one thread."""

    def __init__(self) -> None:
        self.made = 0
        self.errors: Counter[tuple[str, str]] = Counter()
        self.failed = 0
        """How often a call failed that is supported and permitted."""
        self.unknown = 0
        """How often of these NVML knew no reason (999)."""
        self._told: set[tuple[str, str]] = set()
        self._idle: set[tuple[str, str]] = set()

    def must(
        self, call: Callable[..., Any], *args: Any, gpu: str = "", operation: str = "", nothing: int | None = None
    ) -> Any:
        """The answer. Raises Refused, Lost, Gone or Hopeless."""
        name = call.__name__.removeprefix("nvml")
        self.made += 1
        try:
            answer = call(*args)
        except nvml.NVMLError as error:
            code = error.value
        else:
            self.made += name in TWICE and bool(answer)
            return answer
        raise Refused(code) if code == nothing else self.refusal(operation or name, gpu, code)

    def ask(
        self,
        call: Callable[..., Any],
        *args: Any,
        gpu: str,
        part: str = "",
        nothing: int | None = None,
        empty: Any = None,
    ) -> Any:
        """The answer, or None where there is none; `empty` at the code `nothing`, which is no error then.

        What is not supported is not asked again before `again`. `part` tells two uses of one function apart.
        """
        operation = call.__name__.removeprefix("nvml") + (f"_{part}" if part else "")
        if (gpu, operation) in self._idle:
            return None
        try:
            return self.must(call, *args, gpu=gpu, operation=operation, nothing=nothing)
        except Refused as refused:
            return empty if refused.code == nothing else None

    def again(self, gpu: str) -> None:
        """Ask this GPU everything again: what it can do may have changed."""
        self._idle = {pair for pair in self._idle if pair[0] != gpu}

    def refusal(self, operation: str, gpu: str, code: int) -> Exception:
        """What an error means. It is counted; what is not supported once per operation and GPU."""
        if code not in UNSUPPORTED or (gpu, operation) not in self._told:
            self.errors[operation, name_of(code)] += 1
        if code in UNSUPPORTED:
            self._told.add((gpu, operation))
            self._idle.add((gpu, operation))
        if code in LOST:
            return Lost(name_of(code))
        if code in AWAY:
            return Gone(f"the NVIDIA driver went away ({operation}: {name_of(code)}); it is tried again")
        if code == nvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH:
            return Hopeless(
                "the NVIDIA driver was changed beneath this process: the library that it has loaded is of another"
                " version than the kernel's driver; start the sidecar anew (reboot if that does not help)"
            )
        self.failed += code not in UNSUPPORTED and code != nvml.NVML_ERROR_NO_PERMISSION
        self.unknown += code == nvml.NVML_ERROR_UNKNOWN
        return Refused(code)
