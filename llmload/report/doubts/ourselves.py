"""Doubts about the load generator: its speed, its clocks, its connections, the load it really put on."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from llmload.record.record import CUT_BY_DRAIN
from llmload.report import generator
from llmload.report.doubts import arrivals
from llmload.report.doubts.case import Case, at, listed, percent
from llmload.report.generator import Health
from llmload.report.steps import Step

FULL = 0.98
"""Share of the requests asked for that must have been in flight."""
CLOCK_MS = 50.0
DRIFT_S = 1.0
"""Seconds by which a machine's clock may have been set or have drifted during a run."""
LIMITS = {
    "file descriptor": "the limit of open files (`ulimit -n`)",
    "local port": "the range of local ports (`net.ipv4.ip_local_port_range`)",
}
"""Words in the error of an attempt that say which limit of this machine it met, and how that limit is called."""
OVER = 1.01
"""Share of the requests asked for that may seem to have been in flight: times are rounded."""


def generator_bound(case: Case) -> Iterator[str]:
    """Steps in which llmload itself was the limit."""
    bound = [item for item in case.steps if item.health.bound]
    for kept_waiting in (False, True):
        found = [item for item in bound if (item.health.workers_needed is None) is kept_waiting]
        if found:
            healths = [item.health for item in found]
            yield (
                f"the load generator was the limit {at(item.step for item in found)} (marked ‡): "
                f"{generator.told(healths)}. These figures say nothing about the server: {_remedy(healths)}"
            )
    blind = [item.step for item in case.steps if item.health.bound is None and item.step.window_s]
    if blind:
        yield (
            f"nobody watched the load generator {at(blind)} (no samples in generator.jsonl): "
            "whether it was the limit is not known"
        )


def _remedy(found: Sequence[Health]) -> str:
    """What to do. Workers that were late without having worked were kept waiting: more of them would wait too."""
    enough = [health.workers_needed for health in found if health.workers_needed is not None]
    if not enough:
        most = max(health.cpu_max or 0.0 for health in found)
        return (
            f"this machine was busy with something else (the workers used {percent(most)} of a core at "
            "most): repeat on one that does nothing else"
        )
    n = max(enough)
    return f"{n} workers would have sufficed: repeat with --processes {n}, or on a machine that does nothing else"


def own_limits(case: Case) -> Iterator[str]:
    """Attempts that failed because this machine had no file descriptor or port left: which limit, and what to do."""
    found = [(step, n, row["started"]) for step, row in case.whole() if (n := row["outcomes"].get("local_resource"))]
    if not found:
        return
    mine = case.facts.measured & case.facts.is_("outcome", "local_resource")
    said = [words for words in case.facts.words("error")[mine] if words]
    counts = listed(f"{n} of {started} {at([step])}" for step, n, started in found)
    limits = [words for sign, words in LIMITS.items() if any(sign in text for text in said)]
    yield (
        f"this machine ran out of something of its own, which says nothing about the server: of the measured "
        f"attempts {counts} failed as local_resource"
        + (f" ({Counter(said).most_common(1)[0][0]})" if said else "")
        + f". Raise {' and '.join(limits or LIMITS.values())}, and repeat"
    )


def stamps(case: Case) -> Iterator[str]:
    """Times that are not the kernel's."""
    arrived = case.facts.measured & ~np.isnan(case.facts.numbers("first_event_ms"))
    without = arrived & np.isnan(case.facts.numbers("stamp_lag_ms"))
    if without.any():
        yield (
            f"{percent(without.sum() / arrived.sum())} of the answers have no time stamps of the kernel: "
            "their times are those "
            "of the read, late by as much as the generator was (see loop lag). Run on Linux, without a proxy "
            "in between"
        )


def clocks(case: Case) -> Iterator[str]:
    """Workers whose clocks are apart, or are known badly."""
    workers = (case.facts.run.get("workers") or {}).items()
    said = [
        (name, worker.get("clock_offset_ms") or 0.0, worker.get("clock_error_ms") or 0.0) for name, worker in workers
    ]
    far = [f"worker {name} by {offset:+,.0f} ms" for name, offset, _ in said if abs(offset) > CLOCK_MS]
    if far:
        yield (
            f"clocks are apart: {listed(far)}. "
            "Durations are not touched, step windows are corrected by it; synchronise the clocks (NTP)"
        )
    vague = [f"worker {name}'s to ± {error:,.0f} ms" for name, _, error in said if error > CLOCK_MS]
    if vague:
        yield (
            f"clocks could not be compared well: {listed(vague)}, because answers took so long between worker and "
            "master. Durations are not touched, but requests may be counted into a window that wrongly by its edges"
        )


def fallen(case: Case) -> Iterator[str]:
    """Workers that fell out inside a window: how many were left, and the load that was really offered."""
    for step, row in case.whole():
        there, gone = case.workers(step)
        if not gone:
            continue
        mean = row["in_flight_mean"] or 0.0
        offered = f"{mean:.3g} of {step.words}" if step.concurrency else f"{mean:.3g} in flight"
        if step.rate and step.window_s:
            offered = f"{row['started'] / step.window_s:.3g} of {step.words}"
        yield (
            f"worker {listed(gone)} fell out inside the window {at([step])}: {there - len(gone)} of {there} workers "
            f"were left, and the load that was really offered is {offered} on average. Repeat the step"
        )


def drift(case: Case) -> Iterator[str]:
    """A clock that was set while the run went on: times of the run are from one reading of it and a steady clock."""
    run = case.facts.run
    found = {"the master": run.get("clock_drift_s")}
    found |= {f"worker {name}": facts.get("clock_drift_s") for name, facts in (run.get("workers") or {}).items()}
    far = {who: drift for who, drift in found.items() if isinstance(drift, int | float) and abs(drift) > DRIFT_S}
    if far:
        yield (
            f"the clock was set during the run: {listed(f'{who} by {drift:+.1f} s' for who, drift in far.items())}. "
            "Durations and windows are not touched, but wall-clock times (sent_at) are no longer those of other logs; "
            "let NTP slew the clock instead of stepping it"
        )


def late(case: Case) -> Iterator[str]:
    """Requests that a worker sent as measured when the window was over."""
    n = int(case.facts.late.sum())
    if n:
        steps = [item.step for item in case.steps if (case.facts.late & _of(case, item.step)).any()]
        yield (
            f"{n} requests {at(steps)} were sent as measured when their window was over, by a worker that had not "
            "heard of its end (it was stopped, or its connection to the master stalled). They count as drain, and the "
            "server had more to do than the steps say: repeat the run"
        )


def _of(case: Case, step: Step) -> NDArray[np.bool_]:
    """Which attempts are of a step."""
    return np.asarray(case.facts.numbers("step") == step.index, dtype=bool)


def overfull(case: Case) -> Iterator[str]:
    """More in flight than a closed loop can have."""
    over = [
        (step, row["in_flight_mean"])
        for step, row in case.whole()
        if case.facts.closed_loop and step.concurrency and (row["in_flight_mean"] or 0) > OVER * step.concurrency
    ]
    if over:
        yield (
            "more requests in flight than asked for, which a closed loop cannot have: "
            f"{listed(f'{mean:.3g} of {step.label}' for step, mean in over)}. Either the window's length is wrong "
            "(a clock was set), and all rates with it, or a worker sent more than its part: repeat the run"
        )


def not_full(case: Case) -> Iterator[str]:
    """Fewer in flight than asked for."""
    short = [
        (step, row["in_flight_mean"])
        for step, row in case.whole()
        if case.facts.closed_loop
        and step.concurrency
        and row["in_flight_mean"] is not None
        and row["in_flight_mean"] < FULL * step.concurrency
        and not case.workers(step)[1]  # told already
    ]
    if short:
        yield (
            "fewer requests in flight than asked for: "
            f"{listed(f'{mean:.3g} of {step.label}' for step, mean in short)}. "
            "Pauses after failures and very short answers do that; the step stands for the lower number"
        )


def littles_law(case: Case) -> Iterator[str]:
    """In flight = arrivals per second times seconds in flight, if the step was in balance."""
    step_of, seconds = case.facts.numbers("step"), case.facts.numbers("end_ms") / 1000
    known = arrivals.piled_up(case)
    for step, row in case.whole():
        if step.index in known:
            continue
        mine = seconds[case.facts.measured & (step_of == step.index)]
        mine = mine[~np.isnan(mine)]
        seen = row["in_flight_mean"]
        if len(mine) < 50 or not step.window_s or not seen:
            continue
        law = row["started"] / step.window_s * float(mine.mean())
        if abs(law - seen) > max(0.1, 1.5 * (step.concurrency or seen) / len(mine)) * seen:
            yield (
                f"Little's law is not met {at([step])}: {row['started'] / step.window_s:.3g} requests/s times "
                f"{mine.mean():.3g} s in flight makes {law:.3g}, and {seen:.3g} were in flight. "
                "The step was not in balance: lengthen warm-up and window"
            )


def abandoned(case: Case) -> Iterator[str]:
    """Measured requests that the drain limit cut; what a step cuts at its end by plan is in the record of settings."""
    cut, step_of = case.facts.measured & case.facts.is_("error", CUT_BY_DRAIN), case.facts.numbers("step")
    for item in case.steps:
        n = int((cut & (step_of == item.step.index)).sum())
        if n:
            yield (
                f"{n} measured requests {at([item.step])} had not ended within the drain limit and were cut: they "
                "count as never finished, and the server may still have worked on them during the next step. "
                "Raise load.drain_limit_s"
            )


def cold_connections(case: Case) -> Iterator[str]:
    """Connections that were opened inside a window."""
    if case.facts.scenario.get("connections", "keep-alive") != "keep-alive":
        return
    new = case.facts.measured & case.facts.records["new_connection"].to_numpy(dtype=bool)
    total = int(case.facts.measured.sum())
    if new.sum() > 0.01 * total:
        yield (
            f"{new.sum()} of {total} measured requests had to open a connection: failures, the server or a proxy "
            "closed kept ones. Their set-up lies before TTFT (connect_ms), but a cold connection may be slower"
        )
