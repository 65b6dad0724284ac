"""GPUs and machines of run.json's environment in words. Plain data, of which damaged parts are left out."""

from collections.abc import Sequence
from typing import Any, TypeGuard


def gpus(told: Sequence[dict[str, Any]]) -> str:
    """GPUs, like ones together: `2 x NVIDIA H100 80GB HBM3 (80 GiB, limit 700 W)`; blank for none."""
    names: dict[str, int] = {}
    for item in told:
        memory, limit = item.get("memory_total_bytes"), item.get("power_limit_watts")
        facts = [
            f"{memory / 2**30:.0f} GiB" if number(memory) else "",
            f"limit {limit:.0f} W" if number(limit) else "",
            "cut by MIG" if item.get("mig") is True else "",
        ]
        more = ", ".join(fact for fact in facts if fact)
        name = f"{text_of(item.get('name')) or 'GPU of unknown name'}{f' ({more})' if more else ''}"
        names[name] = names.get(name, 0) + 1
    others = len(shared(told))
    return ", ".join(f"{n} x {name}" for name, n in names.items()) + (
        f", {others} shared with others" if others else ""
    )


def machine(told: dict[str, Any]) -> str:
    """A machine: `Some CPU, 2 cores, 8 GiB`; blank where nothing is told."""
    cores, memory = told.get("cores"), told.get("memory_bytes")
    parts = [
        text_of(told.get("cpu")),
        f"{cores:g} cores" if number(cores) else "",
        f"{memory / 2**30:.0f} GiB" if number(memory) else "",
    ]
    return ", ".join(part for part in parts if part)


def shared(told: Sequence[dict[str, Any]]) -> list[str]:
    """GPUs on which others hold memory too: `GPU 0 (3 processes)`."""
    found = []
    for item in told:
        if item.get("shared") is True:
            name, n = text_of(item.get("gpu")) or text_of(item.get("uuid")), item.get("processes")
            found.append(f"GPU {name or '?'}{f' ({n:g} processes)' if number(n) else ''}")
    return found


def text_of(value: Any) -> str:
    """A value in words; blank for what is none."""
    if isinstance(value, str):
        return value.strip()
    return str(value) if type(value) is int else f"{value:g}" if type(value) is float else ""


def number(value: Any) -> TypeGuard[float]:
    """Whether it is one; true is none."""
    return type(value) in (int, float)


def object_of(value: Any) -> dict[str, Any]:
    """A copy of an object; an empty one of what is none."""
    return dict(value) if isinstance(value, dict) else {}
