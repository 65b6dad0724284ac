"""The rows of summary.json: every figure is computed here from the facts, and nowhere else.

For each step there is a row per workload class and one for all. A row is about the attempts sent inside the step's
window. An attempt that was cut because the run or the step ended counts as `cancelled` where a user stopped it (or the
run was killed), and is left out of shares and percentiles; where the drain limit cut it, it is a failure like any
other: the worse a server hangs, the worse its percentiles over all attempts must be.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llmload.record.record import CUT_BY_FAULT, CUT_BY_USER
from llmload.report import cost, generator, inflight, throughput
from llmload.report.facts import Facts
from llmload.report.percentiles import attempts, percentile, successes
from llmload.report.steps import Step
from llmload.report.telemetry import gpu_of, gpus, server_of, servers

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

ALL = "all"
UNMEASURED: dict[str, Any] = {"ok": None, "all": None}
STOPPED = (None, "stopped", "fault")
"""How a step ended whose cut attempts say nothing about the server, if the record itself names nobody else."""


@dataclass(frozen=True, slots=True)
class _Part:
    """What one row is made of: the attempts of a step and class, their ascending gaps, tokens in the window."""

    step: Step
    workload: str
    chosen: Flags
    gaps: Floats
    tokens: throughput.Tokens | None
    health: generator.Health

    @property
    def whole(self) -> bool:
        """Whether this is the row of all classes."""
        return self.workload == ALL


@dataclass(frozen=True, slots=True)
class StepRows:
    """The rows of one step, classes first and `all` last, and the generator's health in its window."""

    step: Step
    rows: tuple[dict[str, Any], ...]
    health: generator.Health


def build(facts: Facts) -> tuple[StepRows, ...]:
    """Rows for every step."""
    columns = _Columns(facts)
    return tuple(_step(facts, columns, step) for step in facts.steps)


def buckets(facts: Facts, step: Step, edges: Sequence[float]) -> Iterator[tuple[dict[str, Any], Flags]]:
    """The row of all classes for each part of a step's window, and which attempts it is about.

    Those that were sent in it: what came a moment before the first edge or after the last belongs to what lies there.
    """
    columns = _Columns(facts)
    measured = (columns.step == step.index) & columns.measured
    sent = np.where(np.isnan(columns.start), facts.numbers("scheduled_at"), columns.start)
    last = len(edges) - 2
    place = np.clip(np.searchsorted(edges, sent, side="right") - 1, 0, last)
    gone = [item for item in facts.lost if item.step == step.index and item.start_s is not None]
    where = np.clip(np.searchsorted(edges, [item.start_s or 0.0 for item in gone], side="right") - 1, 0, last)
    for bucket, window in enumerate(pairwise(edges)):
        chosen = measured & (place == bucket)
        part = _Part(
            replace(step, begin=window[0], end=window[1]),
            ALL,
            chosen,
            _gaps(facts, chosen & columns.ok),
            throughput.per_group(columns.stream, columns.group, len(facts.workloads), window)[-1],
            generator.health(facts.samples, *window, None),
        )
        lost = tuple(item for item, at in zip(gone, where, strict=True) if at == bucket)
        yield _row(replace(facts, lost=lost), columns, part), chosen


class _Columns:
    """Columns of all attempts that the rows need, taken out of the frame once."""

    def __init__(self, facts: Facts) -> None:
        get = facts.numbers
        self.step = facts.records["step"].to_numpy(dtype=np.int64)
        word = facts.records["workload"].cat
        place = np.array([facts.workloads.index(name) for name in word.categories], dtype=np.int64)
        self.group: NDArray[np.int64] = place[word.codes.to_numpy(dtype=np.int64)]
        self.outcome = facts.words("outcome")
        self.measured = facts.measured
        sent = ~facts.is_("outcome", "not_sent")
        self.warmup = facts.is_("phase", "warmup") & sent
        self.drain = (facts.is_("phase", "drain") | facts.late) & sent
        self.ok = facts.ok
        self.stopped = _stopped(facts)
        self.source = facts.words("output_tokens_source")
        self.flags = facts.records["flags"].to_numpy(dtype=np.int64)
        self.start, self.end = get("start_s"), get("end_s")
        self.ttft, self.ttft_content = get("ttft_ms"), get("ttft_content_ms")
        self.e2e, self.tpot = get("e2e_ms"), get("tpot_ms")
        if not facts.streaming:  # nothing but the whole answer was timed
            self.ttft = self.ttft_content = self.tpot = np.full(len(self.step), np.nan)
        self.streaming = facts.streaming
        self.slip = (get("sent_at") - get("scheduled_at")) * 1000
        self.tokens = get("streamed_tokens")
        self.input, self.output = get("input_tokens"), get("output_tokens")
        self.asked = get("requested_output_tokens")
        self.events = facts.records["events"].to_numpy(dtype=np.int64)
        self.coalesced = facts.records["coalesced"].to_numpy(dtype=np.int64)
        self.stamp_lag = get("stamp_lag_ms")
        self.stalls = _stalls(facts)
        self.good = _good(facts, self)
        slow_s = facts.scenario.get("slow_s")
        self.slow = None if slow_s is None else self.ok & (self.e2e > slow_s * 1000)
        first = np.where(np.isnan(self.ttft), self.e2e, self.ttft)  # an answer in one piece arrives at its end
        self.stream = throughput.Stream(self.start, self.end, first, facts.gaps_ms, facts.offsets, self.tokens)


def _stopped(facts: Facts) -> Flags:
    """Which attempts were cut by the user's stop, or by a fault of the run: not by a limit, nor by the user's code."""
    cut = facts.is_("outcome", "cancelled")
    unsaid = facts.is_("error", CUT_BY_FAULT) | facts.records["error"].isna().to_numpy(dtype=bool)
    ended = [item.index for item in facts.steps if item.ended_by in STOPPED]
    return cut & (facts.is_("error", CUT_BY_USER) | (unsaid & np.isin(facts.records["step"].to_numpy(), ended)))


def _stalls(facts: Facts) -> NDArray[np.int64]:
    """Gaps over the scenario's limit, per attempt."""
    at = np.flatnonzero(facts.gaps_ms > stall_ms(facts))
    owner = np.searchsorted(facts.offsets, at, side="right") - 1
    return np.bincount(owner, minlength=len(facts.records)).astype(np.int64)


def stall_ms(facts: Facts) -> float:
    """The gap over which the scenario speaks of a stall."""
    return float(facts.scenario.get("stall_ms") or 200.0)


def _slo(facts: Facts, workload: str) -> dict[str, float]:
    """The SLO of a class: its own, else the scenario's; only bounds that are set."""
    own = next((item.get("slo") for item in facts.scenario.get("classes") or () if item.get("name") == workload), None)
    bounds = own or facts.scenario.get("slo") or {}
    return {name: bound for name, bound in bounds.items() if bound is not None}


def _good(facts: Facts, columns: "_Columns") -> Flags | None:
    """Which attempts were ok and met every bound at once; None where no class has an SLO.

    A figure that is missing misses its bound, but for the TPOT and the gap of an answer of one token.
    """
    if not any(_slo(facts, workload) for workload in facts.workloads):
        return None
    single = (columns.events <= 1) & ~np.isnan(columns.ttft)
    measured = {
        "ttft_ms": columns.ttft,
        "tpot_ms": np.where(single & np.isnan(columns.tpot), 0.0, columns.tpot),
        "e2e_ms": columns.e2e,
        "itl_max_ms": np.where(single, 0.0, facts.numbers("max_gap_ms")),
    }
    good = columns.ok.copy()
    for code, workload in enumerate(facts.workloads):
        for name, bound in _slo(facts, workload).items():
            good &= (columns.group != code) | (measured[name] <= bound)  # NaN is never <=
    return good


def _step(facts: Facts, columns: _Columns, step: Step) -> StepRows:
    """All rows of a step."""
    here = columns.step == step.index
    classes = [here & (columns.group == code) for code in range(len(facts.workloads))]
    gaps_of = [_gaps(facts, mine & columns.ok) for mine in classes]
    gaps = np.concatenate([np.empty(0), *gaps_of])
    gaps.sort(kind="stable")  # which merges parts that are ascending, many times as fast as it sorts
    tokens: list[throughput.Tokens | None] = [None] * (len(facts.workloads) + 1)
    health = generator.Health(None, None, None, 0)
    if step.begin is not None and step.end is not None and step.end > step.begin:
        window = (step.begin, step.end)
        tokens = [*throughput.per_group(columns.stream, columns.group, len(facts.workloads), window)]
        apart = gaps[int(np.searchsorted(gaps, 0, side="right")) :]
        health = generator.health(facts.samples, *window, percentile(apart, 50))
    parts = [
        _Part(step, name, classes[code], gaps_of[code], tokens[code], health)
        for code, name in enumerate(facts.workloads)
    ]
    parts.append(_Part(step, ALL, here, gaps, tokens[-1], health))
    return StepRows(step, tuple(_row(facts, columns, part) for part in parts), health)


def _gaps(facts: Facts, chosen: Flags) -> Floats:
    """The gaps of attempts, ascending."""
    gaps = facts.gaps_of(chosen)
    gaps.sort()  # in its place: there may be a hundred million
    return gaps


def _row(facts: Facts, columns: _Columns, part: _Part) -> dict[str, Any]:
    """One row, every key of the contract."""
    step, chosen, gaps, tokens = part.step, part.chosen, part.gaps, part.tokens
    measured = chosen & columns.measured
    outcomes = Counter(columns.outcome[measured].tolist())
    not_sent = outcomes.pop("not_sent", 0)
    gone = [item for item in facts.lost if item.step == step.index and (part.whole or item.workload == part.workload)]
    lost = sum(item.n for item in gone if item.phase in ("measure", None))
    cancelled = int((measured & columns.stopped).sum())
    good = chosen & columns.ok
    ok = int(good.sum())
    started = outcomes.total() + lost
    failed = started - ok - cancelled - lost
    counted = started - cancelled
    window = step.window_s or None
    failures = counted - ok
    goods = None if columns.good is None else int((columns.good & chosen).sum())
    row: dict[str, Any] = {
        "step": step.index,
        "concurrency": step.concurrency,
        "rate": step.rate,
        "workload": part.workload,
        "window_s": step.window_s,
        "planned": started + not_sent,
        "not_sent": not_sent,
        "warmup": int((chosen & columns.warmup).sum()) + sum(item.n for item in gone if item.phase == "warmup"),
        "drain": int((chosen & columns.drain).sum()) + sum(item.n for item in gone if item.phase == "drain"),
        "started": started,
        "ok": ok,
        "failed": failed,
        "cancelled": cancelled,
        "lost": lost,
        "outcomes": dict(sorted(((word, n) for word, n in outcomes.items() if n), key=lambda pair: -pair[1])),
        "success_share": ok / counted if counted else None,
        "in_flight_mean": _in_flight(facts, columns, part),
        "ttft_ms": _figure(columns.ttft[good], failures) if columns.streaming else dict(UNMEASURED),
        "ttft_content_ms": _figure(columns.ttft_content[good], failures) if columns.streaming else dict(UNMEASURED),
        "itl_ms": {"ok": successes(gaps), "all": None} if columns.streaming else dict(UNMEASURED),
        "tpot_ms": _figure(columns.tpot[good], failures) if columns.streaming else dict(UNMEASURED),
        "e2e_ms": _figure(columns.e2e[good], failures),
        "requests_per_s": _per(ok, window),
        "goodput_per_s": _per(goods, window),
        "goodput_share": _per(goods, counted or None),
        "slow_requests": None if columns.slow is None else int((columns.slow & chosen).sum()),
        "output_tokens_per_s": _per(tokens.total if tokens else None, window),
        "output_tokens_per_s_peak": tokens.peak if tokens else None,
        "output_tokens_per_s_per_user": _mean(_over(1000.0, columns.tpot[good])),
        "output_tokens_per_s_request": _mean(_over(columns.output[good] * 1000, columns.e2e[good])),
        "input_tokens_per_s": _per(_sum(columns.input[good]), window),
        "input_tokens_mean": _mean(columns.input[good]),
        "output_tokens_mean": _mean(columns.output[good]),
        "requested_output_tokens_mean": _mean(columns.asked[good]),
        "token_source": _source(columns.source[good]),
        "tokens_per_event_mean": _ratio(columns.tokens[good & (columns.events > 0)].sum(), columns.events[good].sum()),
        "reached_length_share": _reached(columns.output[good], columns.asked[good]),
        "from_schedule": {
            "ttft_ms": _from_schedule(step, columns.ttft, columns.slip, good, failures + not_sent),
            "e2e_ms": _from_schedule(step, columns.e2e, columns.slip, good, failures + not_sent),
        },
        "cost": None,
        "prefill_share": _mean(_over(columns.ttft[good], columns.e2e[good])),
        "stalls_per_1000_gaps": _ratio(1000 * columns.stalls[good].sum(), len(gaps)),
        "stalled_request_share": _ratio((columns.stalls[good] > 0).sum(), ok) if len(gaps) else None,
        "coalesced_share": _ratio(columns.coalesced[good].sum(), columns.events[good].sum()),
        "flags": _flags(facts, columns.flags[measured]),
        "gpu": _gpu(facts, columns, part),
        "server": _server(facts, part),
        "generator": _generator(part.health, columns.stamp_lag[measured]) if part.whole else None,
    }
    if part.whole:
        price = cost.prices(facts.scenario)
        row["cost"] = cost.block(price, gpus_paid(facts), row)
    return row


def gpus_paid(facts: Facts) -> int | None:
    """How many GPUs serve: as the scenario says, else as many as were seen; one that was lost is paid all the same."""
    return cost.prices(facts.scenario).gpus or len(facts.telemetry.gpus) or None


def _figure(values: Floats, failures: int) -> dict[str, Any]:
    """Both kinds of percentiles of a figure, from the values of the successes and the number of failures.

    Where there were successes and none has the figure (reasoning only, say), it was not measured, and the failures
    alone make no percentiles.
    """
    known = _sorted(values)
    if len(values) and not len(known):
        return dict(UNMEASURED)
    return {"ok": successes(known), "all": attempts(known, failures)}


def _from_schedule(step: Step, values: Floats, slip_ms: Floats, good: Flags, failures: int) -> dict[str, Any] | None:
    """A figure counted from the planned moment; what could not be sent counts as infinite. None in closed loop."""
    return None if step.rate is None else _figure(values[good] + slip_ms[good], failures)


def _in_flight(facts: Facts, columns: _Columns, part: _Part) -> float | None:
    """Mean number in flight over the window, of a class or of all, whatever phase they were sent in.

    An attempt whose end is not known is taken to last to the window's end, one that was lost until its worker was
    last heard of.
    """
    begin, end = part.step.begin, part.step.end
    if begin is None or end is None:
        return None
    mine = slice(None) if part.whole else columns.group == facts.workloads.index(part.workload)
    starts, ends = columns.start[mine], columns.end[mine]
    ends = np.where(np.isnan(ends), end, ends)
    gone = [
        (item.start_s, item.worker)
        for item in facts.lost
        if item.start_s is not None and (part.whole or item.workload == part.workload)
    ]
    if gone:
        heard = facts.records.groupby("worker", observed=True)["end_s"].max().to_dict()
        starts = np.concatenate((starts, [start for start, _ in gone]))
        ends = np.concatenate((ends, [heard.get(worker, end) for _, worker in gone]))
    return inflight.mean(starts, ends, begin, end)


def _generator(health: generator.Health, stamp_lag_ms: Floats) -> dict[str, Any]:
    """The block `generator` of a row."""
    return {
        "bound": health.bound,
        "cpu_max": health.cpu_max,
        "loop_lag_p99_ms": health.loop_lag_p99_ms,
        "stamp_lag_p99_ms": percentile(_sorted(stamp_lag_ms), 99),
        "workers": health.workers or None,
    }


def _gpu(facts: Facts, columns: _Columns, part: _Part) -> dict[str, Any] | None:
    """The block `gpu` of a row of all classes; of a window that a kill cut, until the last sample."""
    begin, end, tokens = part.step.begin, part.step.end, part.tokens
    if not part.whole or begin is None or end is None:
        return None
    if part.step.cut and begin < (until := gpus.told_until(facts.telemetry, end)) < end:
        end = until
        tokens = throughput.per_group(columns.stream, columns.group, len(facts.workloads), (begin, end))[-1]
    return gpu_of(facts.telemetry, begin, end, tokens.total if tokens else None)


def _server(facts: Facts, part: _Part) -> dict[str, Any] | None:
    """The block `server`, likewise."""
    begin, end = part.step.begin, part.step.end
    if not part.whole or begin is None or end is None:
        return None
    return server_of(facts.telemetry, begin, servers.told_until(facts.telemetry, end) if part.step.cut else end)


def _sorted(values: Floats) -> Floats:
    """Values that are known, ascending."""
    return np.sort(values[~np.isnan(values)])


def _mean(values: Floats) -> float | None:
    """Mean of what is known."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _sum(values: Floats) -> float | None:
    """Sum of what is known; None where nothing is."""
    known = values[~np.isnan(values)]
    return float(known.sum()) if len(known) else None


def _over(above: Floats | float, below: Floats) -> Floats:
    """Quotients; NaN where the lower part is 0 or unknown."""
    return above / np.where(below > 0, below, np.nan)


def _per(amount: float | None, of: float | None) -> float | None:
    """Amount per unit; None where either is unknown."""
    return None if amount is None or not of else float(amount / of)


def _ratio(above: Any, below: Any) -> float | None:
    """A quotient of two counts; None where there is nothing to divide by."""
    return float(above / below) if below else None


def _source(sources: NDArray[np.object_]) -> str | None:
    """Who counted the output tokens; `mixed` where not everybody's were counted alike."""
    names = {source for source in sources.tolist() if source is not None}
    if len(names) > 1:
        return "mixed"
    return names.pop() if names else None


def _reached(output: Floats, asked: Floats) -> float | None:
    """Share of the answers that are as long as was asked for."""
    known = ~np.isnan(output) & ~np.isnan(asked)
    return _ratio((output[known] >= asked[known]).sum(), known.sum())


def _flags(facts: Facts, bits: NDArray[np.int64]) -> dict[str, int]:
    """How many attempts carry each flag; flags that nobody carries are left out."""
    counts = {name: int((bits >> place & 1).sum()) for place, name in enumerate(facts.flags)}
    return {name: n for name, n in counts.items() if n}
