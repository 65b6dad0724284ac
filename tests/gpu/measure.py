"""How long each call into NVML takes, and what this GPU does not support: a table, and the same as JSON.

Calls that the sidecar avoids are measured too, so that the reasons can be seen. Knows of llmload the backend alone.
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import pynvml as nvml

from llmload.sidecar.backend import backend
from llmload.sidecar.nvml.calls import name_of, words

MOST = 200
MOST_S = 0.5
"""A call is repeated so often, or for so long."""

FIELDS = (3, 4, 74, 76, 82, 94, 138, 139, 186, 197, 198, 202, 204, 251, 252, 253, 269, 270, 271)
LINKS = {138, 139, 202, 204}
ALL_LINKS = 0xFFFFFFFF

AVOIDED = {"FanSpeed", "PcieThroughput", "ComputeRunningProcesses", "GraphicsRunningProcesses"}
"""What the sidecar does not call by itself."""


def calls(handle: Any) -> dict[str, Callable[[], Any]]:
    """What is measured, by name."""
    found: dict[str, Callable[[], Any]] = {
        "Count": nvml.nvmlDeviceGetCount,
        "TotalEnergyConsumption": lambda: nvml.nvmlDeviceGetTotalEnergyConsumption(handle),
        "PowerUsage": lambda: nvml.nvmlDeviceGetPowerUsage(handle),
        "EnforcedPowerLimit": lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle),
        "UtilizationRates": lambda: nvml.nvmlDeviceGetUtilizationRates(handle),
        "Samples": lambda: nvml.nvmlDeviceGetSamples(handle, nvml.NVML_GPU_UTILIZATION_SAMPLES, 0),
        "MemoryInfo": lambda: nvml.nvmlDeviceGetMemoryInfo(handle),
        "MemoryInfo_v2": lambda: nvml.nvmlDeviceGetMemoryInfo(handle, nvml.nvmlMemory_v2),
        "ClockInfo": lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
        "MaxClockInfo": lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM),
        "ClocksEventReasons": lambda: nvml.nvmlDeviceGetCurrentClocksEventReasons(handle),
        "Temperature": lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
        "TemperatureThreshold": lambda: nvml.nvmlDeviceGetTemperatureThreshold(
            handle, nvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN
        ),
        "MarginTemperature": lambda: nvml.nvmlDeviceGetMarginTemperature(handle),
        "ComputeMode": lambda: nvml.nvmlDeviceGetComputeMode(handle),
        "MigMode": lambda: nvml.nvmlDeviceGetMigMode(handle),
        "GpmQueryDeviceSupport": lambda: nvml.nvmlGpmQueryDeviceSupport(handle),
        "FanSpeed": lambda: nvml.nvmlDeviceGetFanSpeed(handle),
        "PcieThroughput": lambda: nvml.nvmlDeviceGetPcieThroughput(handle, nvml.NVML_PCIE_UTIL_TX_BYTES),
        "ComputeRunningProcesses": lambda: nvml.nvmlDeviceGetComputeRunningProcesses(handle),
        "GraphicsRunningProcesses": lambda: nvml.nvmlDeviceGetGraphicsRunningProcesses(handle),
    }
    return found | {f"field {number}": field(handle, number) for number in FIELDS}


def field(handle: Any, number: int) -> Callable[[], Any]:
    """A call for one field, which fails where the field does."""

    def call() -> int:
        (one,) = nvml.nvmlDeviceGetFieldValues(handle, [(number, ALL_LINKS if number in LINKS else 0)])
        if one.nvmlReturn:
            raise nvml.NVMLError(one.nvmlReturn)
        return int(one.valueType)

    return call


def timed(call: Callable[[], Any]) -> dict[str, Any]:
    """How long it takes, in microseconds, and the error that it ends with."""
    took: list[float] = []
    error, kind = None, None
    end = time.perf_counter() + MOST_S
    while len(took) < MOST and (not took or time.perf_counter() < end):
        begun = time.perf_counter()
        try:
            kind = call()
        except nvml.NVMLError as refused:
            error = name_of(refused.value)
        took.append((time.perf_counter() - begun) * 1e6)
    return {
        "calls": len(took),
        "median_us": median(took),
        "max_us": max(took),
        "error": error,
        "value_type": kind if isinstance(kind, int) else None,
    }


def measured() -> dict[str, Any]:
    """All of it, of GPU 0."""
    nvml.nvmlInit()
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(0)
        found: dict[str, Any] = {
            "gpu": words(nvml.nvmlDeviceGetName(handle)),
            "driver": words(nvml.nvmlSystemGetDriverVersion()),
            "python": platform.python_version(),
            "calls": {name: timed(call) for name, call in calls(handle).items()},
        }
    finally:
        nvml.nvmlShutdown()
    return found | {"looks": looks()}


def looks() -> dict[str, Any]:
    """What a whole look of the sidecar costs, and what the backend met."""
    it = backend("nvml", ["0"])
    it.open()
    try:
        took: dict[str, list[float]] = {"fast": [], "slow": []}
        before, looked = it.calls, 0
        for turn in range(20):
            begun = time.perf_counter()
            (reading,) = it.read(slow=turn % 10 == 0)
            took["fast" if turn % 10 else "slow"].append((time.perf_counter() - begun) * 1e3)
            looked += 1
            time.sleep(0.25)
        return {
            "fast_median_ms": median(took["fast"]),
            "fast_max_ms": max(took["fast"]),
            "slow_max_ms": max(took["slow"]),
            "calls_per_look": (it.calls - before) / looked,
            "values": dict(reading.values),
            "errors": {f"{operation}: {error}": n for (operation, error), n in it.errors.items()},
        }
    finally:
        it.close()


def table(found: dict[str, Any], title: str) -> str:
    """For people."""
    lines = [
        f"{title}: {found['gpu']}, driver {found['driver']}",
        f"{'call':<26}{'calls':>7}{'median us':>12}{'max us':>12}  {'error':<20}",
    ]
    for name, one in found["calls"].items():
        note = (one["error"] or "") + (" (the sidecar does not call it)" if name in AVOIDED else "")
        lines.append(f"{name:<26}{one['calls']:>7}{one['median_us']:>12.1f}{one['max_us']:>12.1f}  {note}".rstrip())
    whole = found["looks"]
    lines.append(
        f"a look: {whole['fast_median_ms']:.2f} ms (median), {whole['fast_max_ms']:.2f} ms (max); with what is read"
        f" seldom at most {whole['slow_max_ms']:.2f} ms; {whole['calls_per_look']:.1f} calls"
    )
    lines += [f"not to be had: {what}" for what in whole["errors"]]
    return "\n".join(lines)


@contextmanager
def kernel(seconds: float) -> Iterator[None]:
    """Meanwhile a kernel keeps GPU 0 busy, in another process."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.gpu.busy", str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert child.stdout
    with child, child.stdout:
        try:
            if (said := child.stdout.readline()) != "busy\n":
                child.kill()
                raise RuntimeError(f"no kernel could be started: {said}{child.stdout.read()}")
            yield
        finally:
            child.kill()


def main() -> None:
    """The table on the terminal; JSON where it is wanted."""
    parser = argparse.ArgumentParser(description="Times of calls into NVML.")
    parser.add_argument("--busy", action="store_true", help="beside a kernel that keeps the GPU busy")
    parser.add_argument("--json", type=Path, help="write the same here")
    asked = parser.parse_args()
    if asked.busy:
        with kernel(300):
            found = measured()
    else:
        found = measured()
    print(table(found, "busy" if asked.busy else "as it is"))
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
