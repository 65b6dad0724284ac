"""Doubts about the GPUs and the machines they are in: throttled, lost, badly seen, busy with something else."""

from collections.abc import Iterator

import numpy as np

from llmload.record.samples import SPOIL
from llmload.report import seven
from llmload.report.doubts.case import Case, at, listed, percent
from llmload.report.steps import Step
from llmload.report.telemetry import gpus, series
from llmload.report.telemetry.gpus import Seen
from llmload.report.telemetry.sampled import Gpu, Host

THROTTLED_S = 0.1
"""Seconds of a window in which heat or the power brake held a clock down, over which it is spoiled."""
CAPPED = 0.05
"""Share of a window in which the power limit held clocks down that is worth a word."""
IDLE_BUSY = 0.05
"""Utilization before the load over which something else is on the GPU …"""
IDLE_DRAWN = 0.3
"""… and share of its power limit."""
CPU_FULL = 0.9
STOLEN = 0.05
SWAPPED_BYTES = 1 << 20
MEMORY_LEFT = 0.05
SENT_AGAIN = 0.01
"""What a host may show at most: share of its cores in use, or taken by its hypervisor; bytes read back from swap in a
window; memory left at least; share of TCP segments sent again."""


def _windows(case: Case) -> Iterator[tuple[Step, float, float]]:
    """Steps with their windows."""
    for step, _ in case.whole():
        if step.begin is not None and step.end is not None and step.end > step.begin:
            yield step, step.begin, step.end


def _seen(case: Case) -> Iterator[tuple[Step, Seen]]:
    """Each GPU in each window in which it should have been there."""
    for step, begin, end in _windows(case):
        for one in gpus.seen(case.facts.telemetry, begin, end):
            yield step, one


def throttled(case: Case) -> Iterator[str]:
    """Heat or the power brake held clocks down: such a step says nothing about the server."""
    found = [
        f"{one.gpu.label} {f'{seconds:,.0f}' if seconds >= 10 else f'{seconds:.2g}'} s by {reason} {at([step])}"
        for step, one in _seen(case)
        for reason, seconds in (one.throttled or {}).items()
        if reason in SPOIL and seconds > THROTTLED_S
    ]
    if found:
        yield (
            f"GPUs were throttled: {listed(found)} (the limit is {THROTTLED_S:g} s). Discard these "
            "steps. See to cooling and power supply, and repeat"
        )


def capped(case: Case) -> Iterator[str]:
    """The power limit held clocks down."""
    found: dict[str, tuple[Step, float, float]] = {}
    for step, one in _seen(case):
        share = (one.throttled or {}).get("sw_power_cap", 0.0) / (step.window_s or 1)
        if share > CAPPED:
            limit = one.gpu.series("power_limit_watts").values
            found[step.label] = max(
                found.get(step.label, (step, 0.0, 0.0)),
                (step, share, float(limit[-1]) if len(limit) else 0.0),
                key=lambda item: item[1],
            )
    if found:
        step, share, watt = max(found.values(), key=lambda item: item[1])
        watts = f" of {watt:,.0f} W" if watt else ""
        yield (
            f"the power limit{watts} held the GPUs' clocks down {at(item[0] for item in found.values())} (up to "
            f"{percent(share)} of the window, {at([step])}). That is how a busy GPU often runs, and no fault; the "
            "figures are those of this limit: compare only with runs under the same"
        )


def lost(case: Case) -> Iterator[str]:
    """GPUs that went away, and those that nobody saw."""
    gone = [(step, one) for step, one in _seen(case) if one.there and one.lost]
    if gone:
        yield (
            f"a GPU was lost {at(step for step, _ in gone)}: {listed(dict.fromkeys(one.gpu.label for _, one in gone))}"
            ". Energy and power of those windows are blank where it was not seen at both edges; look into the kernel's "
            "log for its XID, and repeat the run"
        )
    known = case.facts.telemetry.gpus
    missing = [
        (step, gpu)
        for step, begin, end in _windows(case)
        for gpu in known
        if not gpus.due(gpu, begin, end) and len(gpu.down) and gpu.down[0] <= end
    ]
    if missing:
        names = listed(dict.fromkeys(gpu.label for _, gpu in missing))
        yield (
            f"{names} was not there at all {at(step for step, _ in missing)}: the sums of these rows are of the other "
            f"GPUs (the column GPUs says how many of {len(known)})"
        )


def badly_seen(case: Case) -> Iterator[str]:
    """Windows of which too little was seen."""
    found = [
        (step, one.coverage)
        for step, one in _seen(case)
        if one.coverage < series.COVERED and not (one.there and one.lost)
    ]
    if found:
        failed = [
            f"{source.failed} of {source.looks} looks at {source.name} failed ({source.errors[-1][1]})"
            for source in case.facts.telemetry.sources
            if source.errors
        ]
        yield (
            f"the GPUs were seen for as little as {percent(min(share for _, share in found))} of the window "
            f"{at(step for step, _ in found)}; under {percent(series.COVERED)} means are blank, and sums where an edge "
            f"was not seen{': ' if failed else ''}{listed(failed, 2)}. See that the source answers within its interval"
        )


def set_back(case: Case) -> Iterator[str]:
    """Energy counters that began anew inside a window."""
    found = [(step, one.gpu.label) for step, one in _seen(case) if one.reset]
    if found:
        yield (
            f"the energy counter of {listed(dict.fromkeys(name for _, name in found))} was set back "
            f"{at(step for step, _ in found)} (was the driver loaded anew?): the energy is the least that it can have "
            "been. Repeat these steps"
        )


def integrated(case: Case) -> Iterator[str]:
    """Energy that is no counter's."""
    found = [(step, one.gpu.label) for step, one in _seen(case) if one.energy_joules is not None and not one.counted]
    if found:
        yield (
            f"{listed(dict.fromkeys(name for _, name in found))} has no energy counter: its energy is power over time, "
            "which misses what happens between two samples. Compare energy only with runs measured in the same way"
        )


def shared(case: Case) -> Iterator[str]:
    """Cards on which others hold memory too: nobody knows what they did meanwhile."""
    if found := seven.shared(case.facts):
        yield (
            f"{listed(found)} was shared with others when the run began: what they did meanwhile is in these figures, "
            "and cannot be taken out of them. Repeat on a card of its own, or compare nothing with it"
        )


def busy_before(case: Case) -> Iterator[str]:
    """GPUs that had something to do before the load."""
    idle = case.facts.telemetry.idle
    if idle is None:
        return
    found = []
    for one in gpus.seen(case.facts.telemetry, *idle):
        limit = one.gpu.series("power_limit_watts").values
        drawn = (one.power_watts or 0.0) / float(limit[-1]) if len(limit) and limit[-1] > 0 else 0.0
        if (one.utilization or 0.0) > IDLE_BUSY:
            found.append(f"{one.gpu.label} was busy for {percent(one.utilization or 0.0)} of the time")
        elif drawn > IDLE_DRAWN:
            found.append(f"{one.gpu.label} drew {percent(drawn)} of its power limit")
    if found:
        yield (
            f"the GPUs were not idle before the first request: {listed(found)} (limits: {percent(IDLE_BUSY)} and "
            f"{percent(IDLE_DRAWN)}). Something else runs on them: end it and repeat; joules over idle are too low, "
            "or blank"
        )


def faults(case: Case) -> Iterator[str]:
    """XIDs and memory errors that GPUs told during the run."""
    found = []
    for gpu in case.facts.telemetry.gpus:
        for key, name in (("xid_errors", "XID"), ("ecc_errors", "ECC")):
            for label in gpu.labels(key):
                n = _came(gpu, f"{key}.{label}", seen=key == "xid_errors")
                if n > 0 and label != "corrected":
                    found.append(f"{gpu.label} {n:.0f} of {name} {label}")
    if found:
        yield (
            f"GPUs told errors during the run: {listed(found)}. Look them up in the vendor's list of XIDs, and repeat "
            "the run when they are gone"
        )


def _came(gpu: Gpu, key: str, *, seen: bool) -> float:
    """How many came during the run. `seen`: it is told only once there is one, so that a later first value is new."""
    known = gpu.series(key)
    if not len(known.at):
        return 0.0
    steps = known.values[1:] - known.values[:-1]
    risen = float(np.where(steps < 0, known.values[1:], steps).sum())  # who counts was started anew: it began from 0
    return risen + (float(known.values[0]) if seen and known.at[0] > gpu.at[0] else 0.0)


def hosts(case: Case) -> Iterator[str]:
    """Machines of the GPUs that had no CPU or memory left: a starved host looks like a slow engine."""
    found: dict[str, list[Step]] = {}
    for step, begin, end in _windows(case):
        for host in case.facts.telemetry.hosts:
            for words in _starved(host, begin, end):
                found.setdefault(words, []).append(step)
    if found:
        yield (
            "the machine of the GPUs had too little of something, which looks like a slow engine: "
            f"{listed(f'{words} {at(steps)}' for words, steps in found.items())}. Free it of other work, and repeat"
        )


def _starved(host: Host, begin: float, end: float) -> Iterator[str]:
    def rise(key: str) -> float:
        found = series.rise(host.series(key), begin, end)
        return found.amount if found else 0.0

    cpus = host.series("cpus").values
    cores = float(cpus[-1]) * (end - begin) if len(cpus) else 0.0
    if cores and rise("cpu_seconds.busy") / cores > CPU_FULL:
        yield f"over {percent(CPU_FULL)} of its cores were busy"
    if cores and rise("cpu_seconds.steal") / cores > STOLEN:
        yield f"its hypervisor took over {percent(STOLEN)} of its cores"
    if rise("swapped_in_bytes") > SWAPPED_BYTES:
        yield "it read memory back from swap"
    left, total = host.series("memory_available_bytes"), host.series("memory_total_bytes").values
    least = left.values[(left.at >= begin) & (left.at <= end)]
    if len(least) and len(total) and least.min() < MEMORY_LEFT * total[-1]:
        yield f"under {percent(MEMORY_LEFT)} of its memory was left"
    sent = rise("tcp_segments_sent")
    if sent >= 1000 and rise("tcp_retransmits") / sent > SENT_AGAIN:
        yield f"over {percent(SENT_AGAIN)} of its TCP segments were sent again"


def sources(case: Case) -> Iterator[str]:
    """Samples that are told twice, by a clock that was set, or that cannot be read."""
    telemetry = case.facts.telemetry
    names = sorted({source for _, source in telemetry.passed_over})
    if names:
        yield (
            f"the same GPUs were told by several sources: {listed(names)} was passed over, since another had as many "
            "samples or more. Name each GPU's source once"
        )
    for source in telemetry.sources:
        if 0 < source.looks == source.failed:
            yield (
                f"{source.name} could not be read in any of {source.looks} looks ({source.errors[-1][1]}): what it "
                "would tell is blank. See that it answers, and repeat"
            )
    clocks = [f"{source.name} ({source.sets} times)" for source in telemetry.sources if source.sets]
    if clocks:
        yield f"the clock was set while samples were taken of {listed(clocks)}; the jumps were taken back"
    if telemetry.unreadable:
        yield (
            f"{telemetry.unreadable} lines or rows of gpu.jsonl and server.jsonl cannot be read and were left out: the "
            "files were damaged or changed"
        )
