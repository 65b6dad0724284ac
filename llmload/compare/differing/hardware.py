"""What it runs on: GPUs, the machine, the driver, as a run's environment tells, else as its samples do. Pure."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from llmload.compare.differing.part import Hold, Part, Read, Sort, Texts, apart, number, plain, shown, tables, walk
from llmload.compare.differing.serving import told
from llmload.report.building import Built

MEMORY = 0.02
"""Share by which memory may differ: what a machine keeps for itself differs from boot to boot."""


def gpus(built: Built) -> list[dict[str, Any]]:
    """The GPUs of a run: as its environment tells, else as its samples do."""
    found = tables(walk(built, "environment", "gpus")) or tables(walk(built, "environment", "machine", "gpus"))
    if found:
        return found
    rows = []
    for gpu in built.facts.telemetry.gpus:
        row: dict[str, Any] = {"gpu": gpu.gpu, "uuid": gpu.uuid, "name": gpu.name}
        for key in ("memory_total_bytes", "power_limit_watts"):
            values = gpu.series(key).values
            row[key] = float(values[-1]) if len(values) else None
        rows.append(row)
    return rows


def of_gpus(key: str, size: float = 1.0) -> Read:
    """The different values that the GPUs have, numbers divided by `size`; None where one GPU does not tell."""

    def read(built: Built) -> Any:
        values = {plain(row.get(key)) for row in gpus(built)}
        if not values or None in values:
            return None
        numbers = [value / size for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
        return tuple(sorted(numbers)) if len(numbers) == len(values) else tuple(sorted(map(shown, values)))

    return read


def named(built: Built) -> str | None:
    """How many GPUs of which model: `2 x NVIDIA H100 80GB HBM3`."""
    names = [plain(row.get("name")) for row in gpus(built)]
    kinds = Counter(str(name or "GPU of unknown name") for name in names if any(names))
    return " + ".join(f"{n} x {name}" for name, n in sorted(kinds.items())) or None


def alike(share: float) -> Hold:
    """Holds the values of GPUs against one another: the same where least and most are, up to a share."""

    def hold(one: Sequence[Any], other: Sequence[Any]) -> Texts | None:
        mine, theirs = ([number(value) for value in (values[0], values[-1])] for values in (one, other))
        pairs = zip(mine, theirs, strict=True)
        near = all(a is not None and b is not None and abs(a - b) <= share * max(a, b) for a, b in pairs)
        return None if near else (shown(one), shown(other))

    return hold


def machine(key: str) -> Read:
    """The machine of the server: as `llmload env` told it there, or this very machine where the endpoint is on it."""

    def read(built: Built) -> Any:
        found = plain(walk(built, "environment", "machine", key))
        if found is None and walk(built, "environment", "client", "path", "loopback") is True:
            found = plain(walk(built, "environment", "client", key))
        return found

    return read


def memory(built: Built) -> float | None:
    """Memory of the server's machine in GiB."""
    found = number(machine("memory_bytes")(built))
    return None if found is None else found / 2**30


HARDWARE: tuple[Sort, ...] = (
    Sort(
        "hardware",
        "the server's GPUs (model, number, memory, MIG, power limit) and its machine (CPU, cores, memory)",
        (
            Part("gpus", "GPUs", named),
            Part("gpu_memory", "GiB of a GPU", of_gpus("memory_total_bytes", 2**30), alike(MEMORY)),
            Part("mig", "MIG", of_gpus("mig")),
            Part("power_limit", "power limit in W", of_gpus("power_limit_watts"), alike(0.01)),
            Part("gpu_clock", "highest SM clock in MHz", of_gpus("sm_clock_max_hertz", 1e6), alike(0.01)),
            Part("cpu", "CPU", machine("cpu")),
            Part("cores", "cores", machine("cores")),
            Part("hardware", "as told", told("hardware"), optional=True),
            Part("memory", "GiB of the machine", memory, apart(MEMORY)),
        ),
    ),
    Sort(
        "driver",
        "the GPUs' driver and CUDA",
        (
            Part("driver", "version", of_gpus("driver_version")),
            Part("cuda", "CUDA", of_gpus("cuda_version")),
        ),
    ),
)
