"""What the GPUs did in a window: each one, and the block `gpu` of a row of summary.json.

Pure. Energy is the rise of the energy counter, and power that energy over the window's seconds; a GPU without such a
counter has its power integrated over time. Sums are of all GPUs that should have been there, or None: never those of
the others where one was not seen. A GPU that was told to be down all through the window is not one of them.
"""

from dataclasses import dataclass
from typing import Any

from llmload.report.telemetry import series
from llmload.report.telemetry.sampled import Gpu, Telemetry

AVERAGED_S = 1.0
"""The driver's power and utilization are means of up to so long: values of a window's first second are not its own."""


BLOCK = (
    "n_gpus", "utilization_mean", "memory_used_max_bytes", "power_mean_watts", "energy_joules",
    "joules_per_output_token", "joules_idle_subtracted", "tokens_per_s_per_gpu", "temperature_max_celsius",
    "throttled_seconds", "coverage",
)  # fmt: skip
"""What the block `gpu` holds."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One GPU in one window; None is what its samples do not tell."""

    gpu: Gpu
    there: bool
    """It was up at some time of the window …"""
    lost: bool
    """… and was told to be down at another."""
    coverage: float
    energy_joules: float | None
    counted: bool
    """The energy is that of its counter."""
    reset: bool
    """The counter was set back meanwhile: its energy is the least that it can have been."""
    power_watts: float | None
    utilization: float | None
    temperature: float | None
    throttled: dict[str, float] | None
    """Seconds by reason, as far as they were seen."""


def seen(telemetry: Telemetry, begin: float, end: float) -> list[Seen]:
    """Every GPU that should have been there in a window, seen or not."""
    return [_seen(gpu, begin, end) for gpu in telemetry.gpus if due(gpu, begin, end)]


def due(gpu: Gpu, begin: float, end: float) -> bool:
    """Whether a GPU was there, or nobody knows that it was not: the last that was told before the end was no loss."""
    up = gpu.at[gpu.at <= end]
    if not len(gpu.at) or (len(up) and up[-1] >= begin):
        return len(gpu.at) > 0
    down = gpu.down[gpu.down <= end]
    return not len(down) or (len(up) > 0 and up[-1] > down[-1])


def _seen(gpu: Gpu, begin: float, end: float) -> Seen:
    window = float(end - begin)
    steady = begin + AVERAGED_S
    energy = series.rise(gpu.series("energy_joules"), begin, end)
    power = series.level(gpu.series("power_watts"), steady, end)
    if power is None:
        power = series.level(gpu.series("power_instant_watts"), begin, end)
    counter = len(gpu.series("energy_joules").at) > 0
    joules = energy.amount if energy else power.mean * window if power and not counter else None
    utilization = series.level(gpu.series("utilization_ratio"), steady, end)
    temperature = series.level(gpu.series("temperature_celsius"), begin, end)
    down = (gpu.down >= begin) & (gpu.down <= end)
    return Seen(
        gpu=gpu,
        there=bool(((gpu.at >= begin) & (gpu.at <= end)).any()),
        lost=bool(down.any()),
        coverage=series.coverage(gpu.at, begin, end),
        energy_joules=joules,
        counted=energy is not None,
        reset=energy is not None and energy.reset,
        power_watts=joules / window if joules is not None else power.mean if power else None,
        utilization=utilization.mean if utilization else None,
        temperature=temperature.highest if temperature else None,
        throttled=_throttled(gpu, begin, end),
    )


def _throttled(gpu: Gpu, begin: float, end: float) -> dict[str, float] | None:
    """Seconds in which something held the clock down, of the part of the window that was seen: none may be missed."""
    found: dict[str, float] = {}
    for reason in gpu.labels("clock_event_seconds"):
        known = gpu.series(f"clock_event_seconds.{reason}")
        if len(known.at) > 1:
            part = series.rise(known, max(begin, float(known.at[0])), min(end, float(known.at[-1])))
            if part is not None:
                found[reason] = part.amount
    return found or None


def gpu_of(telemetry: Telemetry, begin: float, end: float, output_tokens: float | None = None) -> dict[str, Any] | None:
    """The block `gpu` of a row of summary.json for any window; None where no GPU was looked at in it.

    `output_tokens` are those that were streamed inside the window.
    """
    all_of = seen(telemetry, begin, end)
    there = [one for one in all_of if one.there]
    known_lost = any(((gpu.down >= begin) & (gpu.down <= end)).any() for gpu in telemetry.gpus)
    if end <= begin or not (there or known_lost):
        return None
    window, tokens = float(end - begin), output_tokens or None
    energy, idle = _sum([one.energy_joules for one in all_of]), _idle_watts(telemetry, all_of)
    utilization = [one.utilization for one in all_of if len(one.gpu.series("utilization_ratio").at)]
    busy = _sum(utilization)
    whole = len(there) == len(all_of) and not any(one.lost for one in all_of)
    return {
        "n_gpus": len(there),
        "utilization_mean": None if busy is None else busy / len(utilization),
        "memory_used_max_bytes": _memory(all_of, begin, end),
        "power_mean_watts": _sum([one.power_watts for one in all_of]),
        "energy_joules": energy,
        "joules_per_output_token": None if energy is None or not tokens else energy / tokens,
        "joules_idle_subtracted": _over_idle(energy, idle, window),
        "tokens_per_s_per_gpu": tokens / window / len(there) if tokens and there and whole else None,
        "temperature_max_celsius": _hottest(all_of),
        "throttled_seconds": _held_down(all_of),
        "coverage": min((one.coverage for one in all_of), default=0.0),
    }


def told_until(telemetry: Telemetry, end: float) -> float:
    """Until when a window is known that a kill cut: to the last sample of each GPU that was sampled to the last.

    Nobody saw its edge: one sample behind it is needed, and there is none.
    """
    counted = ((gpu.series("energy_joules").at, gpu.at) for gpu in telemetry.gpus)
    moments = [energy if len(energy) else at for energy, at in counted]
    last = [float(at[-1]) for at in moments if len(at) and end - at[-1] <= series.FAR * series.usual_s(at)]
    return min([end, *last])


def _memory(all_of: list[Seen], begin: float, end: float) -> int | None:
    """The most that was in use at one time, of all that tell it together."""
    told = [known for one in all_of if len((known := one.gpu.series("memory_used_bytes")).at)]
    if not told or any(series.level(known, begin, end) is None for known in told):
        return None
    return int(series.summed(told, begin, end).values.max())


def _hottest(all_of: list[Seen]) -> float | None:
    """The highest temperature; None where one that tells its own was not seen."""
    told = [one.temperature for one in all_of if len(one.gpu.series("temperature_celsius").at)]
    known = [value for value in told if value is not None]
    return max(known) if known and len(known) == len(told) else None


def _held_down(all_of: list[Seen]) -> dict[str, float] | None:
    """Seconds of all GPUs together by reason, those of none left out; None where no GPU tells any."""
    told = [one.throttled for one in all_of if one.throttled is not None]
    reasons = sorted({reason for one in told for reason in one})
    totals = {reason: sum(one.get(reason, 0.0) for one in told) for reason in reasons}
    return {reason: seconds for reason, seconds in totals.items() if seconds > 0} if told else None


def _over_idle(energy: float | None, idle: float | None, window: float) -> float | None:
    """What the load cost beyond what they drew before; None where they drew more then: it was no idle."""
    return None if energy is None or idle is None or idle * window > energy else energy - idle * window


def _idle_watts(telemetry: Telemetry, all_of: list[Seen]) -> float | None:
    """What these GPUs drew together while they had nothing to do."""
    if telemetry.idle is None:
        return None
    mine = {one.gpu.uuid for one in all_of}
    idle = [one for one in seen(telemetry, *telemetry.idle) if one.gpu.uuid in mine]
    return _sum([one.power_watts for one in idle]) if len(idle) == len(mine) else None


def _sum(parts: list[float | None]) -> float | None:
    """The sum of all; None where one is missing, or there are none."""
    known = [part for part in parts if part is not None]
    return sum(known) if known and len(known) == len(parts) else None
