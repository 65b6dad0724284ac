"""Lines of gpu.jsonl and server.jsonl made up for the tests, times in seconds after START."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from llmload.report.telemetry import Telemetry, reading
from tests.report.synthetic import START, lines

PAGE = "http://gpu-host:9835/metrics"
METRICS = "http://127.0.0.1:8000/metrics"


def gpu(number: int = 0, *, up: bool = True, **values: Any) -> dict[str, Any]:
    """A GPU in a line; a `__` in a name stands for the dot before its label."""
    told = {key.replace("__", "."): value for key, value in values.items()}
    row = {"uuid": f"GPU-{number}", "gpu": str(number), "up": up, "info": {"name": "NVIDIA H100 80GB HBM3"}}
    return row | {"values": told if up else {}}


def look(at: float, *gpus: dict[str, Any], age: float | None = 0.0, **more: Any) -> dict[str, Any]:
    """A line of gpu.jsonl whose values are those of `at`, asked for `age` seconds later."""
    asked = at + (age or 0.0)
    line = {"at": START + asked, "mono_ns": int((1000 + asked) * 1e9), "source": PAGE, "took_ms": 2.0, "age_s": age}
    return {**line, "clock_offset_ms": None, "gpus": list(gpus), **more}


def served(at: float, **values: float) -> dict[str, Any]:
    """A line of server.jsonl."""
    line = {"at": START + at, "mono_ns": int((1000 + at) * 1e9), "source": METRICS, "took_ms": 2.0, "engine": "vllm"}
    return {**line, "names": {"running": "vllm:num_requests_running"}, "values": values}


def constant(watts: float, until: float, begin: float = -5.0, number: int = 0) -> list[dict[str, Any]]:
    """A GPU that draws the same all the time, once a second, half a second off the whole ones."""
    moments = [begin + 0.5 + n for n in range(int(until - begin))]
    return [look(at, gpu(number, energy_joules=5000 + watts * at, power_watts=watts)) for at in moments]


def telemetry(
    folder: Path, gpus: Iterable[dict[str, Any]] = (), server: Iterable[dict[str, Any]] = (), **run: Any
) -> Telemetry:
    """What a run folder with these lines tells."""
    folder.mkdir(parents=True, exist_ok=True)
    lines(folder / "gpu.jsonl", gpus)
    lines(folder / "server.jsonl", server)
    return reading.read(folder, run)


def every(step: float, begin: float, end: float, line: Callable[[float], dict[str, Any]]) -> list[dict[str, Any]]:
    """A line each `step` seconds, both ends included."""
    return [line(begin + n * step) for n in range(int((end - begin) / step + 0.5) + 1)]
