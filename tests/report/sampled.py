"""Lines of gpu.jsonl and server.jsonl made up for the tests, times in seconds after START."""

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import orjson

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


def sample(folder: Path, gpus: int, *, seed: int = 1, hot: int | None = None, lost: int | None = None) -> Path:
    """Play the GPUs and the server of a run that `believable` made, a second apart; they idle for 6 s before it.

    The more are in flight the more is drawn, up to a limit of 700 W each that the clocks are then held down by. From
    the middle of the run on one GPU is too hot (`hot`), and one is lost (`lost`).
    """
    run = orjson.loads((folder / "run.json").read_bytes())
    draw = random.Random(seed)
    steps = [(step["started_at"] - START, step["ended_at"] - START, step["concurrency"]) for step in run["steps"]]
    last = steps[-1][1] + 2
    joules = [5000.0 * (n + 1) for n in range(gpus)]
    capped, heated, totals = [0.0] * gpus, 0.0, dict.fromkeys(("n", "tokens", "preempted"), 0.0)
    looks, server = [], []
    for at in (n + draw.uniform(-0.02, 0.02) for n in range(-6, int(last))):
        level = next((level for begin, end, level in steps if begin <= at < end), 0)
        rows = []
        for n in range(gpus):
            watts = min(700.0, 95 + 620 * level / (level + 6) + draw.uniform(-8, 8) + 6 * n) if level else 90.0 + n
            joules[n] += watts
            capped[n] += 0.6 * (watts > 610)
            warm = hot == n and at > last / 2
            heated += 0.4 * warm
            rows.append(
                gpu(
                    n, up=not (lost == n and at > last / 2), energy_joules=round(joules[n], 3),
                    power_watts=round(watts, 1), power_limit_watts=700, memory_total_bytes=80 << 30,
                    memory_used_bytes=(71 << 30) + (n << 28), temperature_celsius=round(35 + watts / 16 + 9 * warm),
                    utilization_ratio=round(min(1.0, 0.9 + level / 100 - draw.uniform(0, 0.05)), 2) if level else 0.0,
                    clock_event_seconds__sw_power_cap=round(capped[n], 3),
                    clock_event_seconds__hw_thermal=round(heated, 3) if hot == n else 0,
                )
            )  # fmt: skip
        looks.append(look(round(at, 3), *rows, age=round(draw.uniform(0.1, 0.9), 3)))
        totals["n"] += level / 3
        totals["tokens"] += 45 * level
        totals["preempted"] += draw.random() < 0.15 if level > 24 else 0
        ended, waiting = totals["n"], max(0, level - 28)
        server.append(
            served(
                round(at, 3), running=min(level, 28), waiting=waiting, slots=28,
                kv_cache_usage_ratio=round(min(0.99, level / 33 + draw.uniform(0, 0.02)), 3),
                preemptions=totals["preempted"], output_tokens=round(totals["tokens"]),
                prefix_queries_tokens=round(600 * ended), prefix_hits_tokens=round(9 * ended),
                queue_seconds_sum=round(ended * 0.004, 4), queue_seconds_count=round(ended),
                prefill_seconds_sum=round(ended * 0.05, 4), prefill_seconds_count=round(ended),
                decode_seconds_sum=round(ended * 2.4, 3), decode_seconds_count=round(ended),
                start_time_seconds=START - 900,
            )
        )  # fmt: skip
    lines(folder / "gpu.jsonl", looks)
    lines(folder / "server.jsonl", server)
    idle = {"from_s": START - 5, "to_s": START}
    (folder / "run.json").write_bytes(orjson.dumps(run | {"sampling": {"every_s": 1.0, "idle": idle}}))
    return folder
