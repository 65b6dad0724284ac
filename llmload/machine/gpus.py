"""GPUs by the names of `record.environment.GPUS`, out of what told of them: lines of gpu.jsonl, or one look. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

INFO = ("name", "driver_version", "cuda_version")
VALUES = ("memory_total_bytes", "power_limit_watts", "sm_clock_max_hertz")
HOLDS = "process_memory_bytes."
"""Memory of each process on a GPU, where whoever told was asked for it (`llmload sidecar --processes`)."""
TELLS_MIG = ("pci_bus_id", "busy_seconds")
"""Whoever tells one of these tells of MIG as well: the sidecar and DCGM."""


def row(gpu: str, uuid: str, info: Mapping[str, Any], values: Mapping[str, Any], *, cut: bool) -> dict[str, Any]:
    """One GPU, as `info` (words) and `values` (record.samples.GPU_FIELDS) tell of it; `cut`: it has MIG instances."""
    found: dict[str, Any] = {"gpu": gpu, "uuid": uuid}
    found |= {name: info[name] for name in INFO if info.get(name)}
    found |= {name: values[name] for name in VALUES if values.get(name) is not None}
    if cut or any(name in info or name in values for name in TELLS_MIG):
        found["mig"] = cut
    processes = sum(1 for name, held in values.items() if name.startswith(HOLDS) and held)
    if processes:
        found |= {"processes": processes, "shared": processes > 1}
    return found


def of_lines(lines: Iterable[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """The GPUs that lines of gpu.jsonl tell of, and the sources that told; of processes the most at once count.

    Passes over whatever is no such line.
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for line in lines:
        gpus, source = line.get("gpus"), line.get("source")
        for gpu in gpus if isinstance(gpus, list) else ():
            if not isinstance(gpu, dict) or not isinstance(gpu.get("uuid"), str):
                continue
            place = (str(source or ""), gpu["uuid"])
            before = found.get(place, {})
            new = row(
                str(gpu.get("gpu", "")),
                gpu["uuid"],
                _mapping(gpu.get("info")),
                _mapping(gpu.get("values")),
                cut=bool(gpu.get("migs")),
            )
            merged = before | new
            for name in ("mig", "shared"):
                if name in before or name in new:
                    merged[name] = before.get(name, False) or new.get(name, False)
            if most := max(before.get("processes", 0), new.get("processes", 0)):
                merged["processes"] = most
            found[place] = merged
    return list(found.values()), list(dict.fromkeys(source for source, _ in found))


def of_look(gpus: Iterable[Any]) -> list[dict[str, Any]]:
    """The GPUs of one look of a sidecar's backend; those that are lost are left out."""
    return [row(gpu.gpu, gpu.uuid, gpu.info, gpu.values, cut=bool(gpu.migs)) for gpu in gpus if gpu.up]


def notes(gpus: Iterable[Mapping[str, Any]]) -> list[str]:
    """What is to be known of them: those that are shared."""
    return [
        f"GPU {gpu['gpu']} ({gpu.get('name', gpu['uuid'])}) is shared: {gpu['processes']} processes hold memory on it, "
        "so its figures may be those of others too"
        for gpu in gpus
        if gpu.get("shared")
    ]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
