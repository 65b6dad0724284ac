"""What a run folder says while the run goes on: read on from where the last look ended.

`Follower.look(now)` gives a `View`: the steps so far, what happens in the present one, how long it may still take.
Reads files only; the clock comes in. Figures here are for the eye: those that count are computed by the reporter
from the same files afterwards.
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from llmload.load import soak
from llmload.load.scenario import Scenario
from llmload.record import runfolder
from llmload.record.record import CUT_BY_FAULT, CUT_BY_USER
from llmload.watch.spread import Spread

LIVE_S = 5.0
"""Tokens per second of a step that is running are those of the last so many seconds."""
KEPT_S = 60.0
"""Seconds for which single seconds of the workers are kept: one that came late still counts."""
LONG_S = 1800.0
"""A window from here on is shown part by part, like the hold of a soak."""
SOME = 20
"""Requests that a part must have to be shown."""


STOPPED = (None, CUT_BY_USER, CUT_BY_FAULT)
"""Who cut an attempt that is no failure for it: the user's stop and a fault say nothing about the server."""


class Tail:
    """The whole lines that were appended to a .jsonl file since the last look."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset = 0

    def new(self) -> list[dict[str, Any]]:
        """Lines written since; a file that is not there yet has none, a line that is no JSON object is passed over."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.offset)
                data = file.read()
        except FileNotFoundError:
            return []
        whole = data.rfind(b"\n") + 1
        self.offset += whole
        rows = []
        for line in data[:whole].splitlines():
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue
            if isinstance(row, dict):
                rows.append(row)
        return rows


@dataclass(slots=True)
class Part:
    """An hour of a long window, or a shorter part of a shorter one: measured requests by when they were sent."""

    ok: int = 0
    failed: int = 0
    ttft_ms: Spread = field(default_factory=Spread)

    @property
    def ended(self) -> int:
        """Those that ended."""
        return self.ok + self.failed


@dataclass(slots=True)
class Step:
    """One step as far as it has come. Counts are of measured requests, `warmup` aside."""

    index: int
    concurrency: int | None
    phase: str = "to come"
    """`to come`, `warm-up`, `window`, `drain`, `done`."""
    phase_s: float | None = None
    """Seconds that the phase has lasted."""
    warmup_s: float | None = None
    """Seconds that ramp and warm-up took, once they are over."""
    window_s: float | None = None
    """Seconds of the window so far."""
    drain_s: float | None = None
    """Seconds that the drain took, once it is over."""
    ended_by: str | None = None
    warmup: int = 0
    ok: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    """Failures by outcome; what was cut, by who cut it."""
    by_class: Counter[str] = field(default_factory=Counter)
    """Measured requests that ended, by workload class."""
    ttft_ms: Spread = field(default_factory=Spread)
    """Of measured successes."""
    part_s: float | None = None
    """Of a long window: how long its parts are …"""
    parts: dict[int, Part] = field(default_factory=dict)
    """… and of these the first and the latest."""
    seconds_events: int = 0
    """Token-bearing events of the seconds that lay inside the window."""
    e2e_ms_sum: float = 0.0
    events: int = 0
    """Token-bearing events and …"""
    tokens: int = 0
    """… output tokens of the same requests."""
    tokens_per_s: float | None = None
    rate: float | None = None
    """Arrivals per second that it asks for, in open loop …"""
    reached_per_s: float | None = None
    """… and that were sent: in the window once it is over, since the step began until then."""
    not_sent: int = 0
    """Arrivals of any phase that found no room."""
    ended: int = 0
    """Attempts of any phase that ended."""

    @property
    def label(self) -> str:
        """What it asks for."""
        return f"{self.rate:g}/s" if self.rate is not None else str(self.concurrency)

    @property
    def failed(self) -> int:
        """Measured requests that failed, those that the drain limit cut among them (the user's stop makes none)."""
        return self.outcomes.total()

    @property
    def ttft_p50_ms(self) -> float | None:
        """Median over measured successes."""
        return self.ttft_ms.percentile(50)

    @property
    def latest(self) -> int | None:
        """The latest part of a long window that can be held against the first."""
        return max((place for place, part in self.parts.items() if place and part.ended >= SOME), default=None)


@dataclass(slots=True)
class View:
    """A run at one moment."""

    steps: list[Step]
    current: int | None
    """Index of the step that runs; None before the first and behind the last."""
    in_flight: int | None
    elapsed_s: float | None
    remaining_s: float | None
    """Estimate for all that is left; None where no step is going on."""
    at_least: bool
    """The estimate is a lower bound: how long requests take is not known yet."""
    verdict: str | None


class Follower:
    """Follows the files of one run folder."""

    def __init__(self, folder: Path, scenario: Scenario) -> None:
        self.folder = folder
        self.scenario = scenario
        self.requests = Tail(folder / runfolder.REQUESTS)
        self.generator = Tail(folder / runfolder.GENERATOR)
        self.steps = [Step(index, users, rate=rate) for index, (users, rate) in enumerate(scenario.load.levels)]
        self.run: dict[str, Any] = {}
        self.run_at: int | None = None
        self.streams: dict[str, int] = {}
        self.ticks: deque[tuple[float, int]] = deque()
        """Wall clock and token-bearing events of each of the last seconds of each worker."""
        for step in self.steps:
            window_s = scenario.load.of_step(step.index).window_s
            if window_s >= LONG_S or step.index == scenario.load.held:
                step.part_s = soak.bucket_s(window_s)

    def look(self, now: float) -> View:
        """The run as its files tell it; `now` is wall-clock seconds."""
        self.read_run()
        for row in self.run.get("steps") or []:
            if row["step"] == len(self.steps) and row.get("observed") is False:  # the scenario does not know of it
                self.steps.append(Step(row["step"], row["concurrency"]))
        for row in self.requests.new():
            self.count(row)
        for row in self.generator.new():
            self.streams[str(row.get("worker"))] = int(row.get("streams") or 0)
            self.tick(float(row.get("at") or 0), int(row.get("events") or 0))
        while self.ticks and self.ticks[0][0] < now - KEPT_S:
            self.ticks.popleft()
        current = None
        for row in self.run.get("steps") or []:
            if 0 <= row["step"] < len(self.steps):
                step = self.steps[row["step"]]
                self.place(step, row, now)
                current = None if step.phase == "done" else step.index
        started, ended = self.run.get("started_at"), self.run.get("ended_at")
        by_rate = self.scenario.load.kind == "rate"
        return View(
            steps=self.steps,
            current=current,
            in_flight=sum(self.streams.values()) if self.streams else None,
            elapsed_s=None if started is None else (ended or now) - started,
            remaining_s=None if current is None else remaining(self.scenario, self.steps, current),
            at_least=not by_rate and current is not None and pace_of(self.steps, current) is None,
            verdict=self.run.get("verdict"),
        )

    def read_run(self) -> None:
        """run.json, if it was replaced since."""
        path = self.folder / runfolder.RUN
        try:
            at = path.stat().st_mtime_ns
            if at != self.run_at:
                self.run, self.run_at = orjson.loads(path.read_bytes()), at
        except (FileNotFoundError, orjson.JSONDecodeError):
            return

    def tick(self, at: float, events: int) -> None:
        """A second of a worker."""
        self.ticks.append((at, events))
        for row in reversed(self.run.get("steps") or []):
            opened, closed = row.get("window_started_at"), row.get("window_ended_at")
            if opened is not None and opened < at and 0 <= row["step"] < len(self.steps):
                self.steps[row["step"]].seconds_events += events if closed is None or at <= closed else 0
                return

    def count(self, row: dict[str, Any]) -> None:
        """Add one record to its step."""
        index = row.get("step")
        if not isinstance(index, int) or not 0 <= index < len(self.steps):
            return
        step = self.steps[index]
        if row.get("outcome") == "not_sent":
            step.not_sent += 1
            return
        step.ended += 1
        step.events += row.get("events") or 0
        step.tokens += row.get("output_tokens") or 0
        if row.get("phase") == "warmup":
            step.warmup += 1
        if row.get("phase") != "measure":
            return
        step.by_class[str(row.get("workload"))] += 1
        step.e2e_ms_sum += row.get("end_ms") or 0.0
        part = self.part(step, row)
        if row.get("outcome") == "ok":
            step.ok, part.ok = step.ok + 1, part.ok + 1
            if row.get("ttft_ms") is not None:
                step.ttft_ms.add(row["ttft_ms"])
                part.ttft_ms.add(row["ttft_ms"])
        elif row.get("outcome") != "cancelled" or row.get("error") not in STOPPED:
            part.failed += 1
            step.outcomes[str(row["error"] if row["outcome"] == "cancelled" else row.get("outcome"))] += 1

    def part(self, step: Step, row: dict[str, Any]) -> Part:
        """The part of a long window that a request was sent in; one that nobody looks at for any other."""
        rows = self.run.get("steps") or []
        opened = rows[step.index].get("window_started_at") if step.index < len(rows) else None
        if step.part_s is None or opened is None or row.get("sent_at") is None:
            return Part()
        place = max(0, int((row["sent_at"] - opened) // step.part_s))
        for old in [old for old in step.parts if 0 < old < place - 1]:
            del step.parts[old]
        return step.parts.setdefault(place, Part())

    def place(self, step: Step, row: dict[str, Any], now: float) -> None:
        """Phase and pace of a step from its row in run.json."""
        opened, closed, ended = row.get("window_started_at"), row.get("window_ended_at"), row.get("ended_at")
        phases = (("done", ended), ("drain", closed), ("window", opened), ("warm-up", row.get("started_at")))
        step.phase, since = next((pair for pair in phases if pair[1] is not None), ("to come", None))
        step.ended_by = row.get("ended_by")
        step.phase_s = None if since is None or step.phase == "done" else max(0.0, now - since)
        if opened is not None:
            step.warmup_s = max(0.0, opened - row["started_at"])
            step.window_s = max(0.0, (closed or ended or now) - opened)
        if closed is not None and ended is not None:
            step.drain_s = max(0.0, ended - closed)
        step.tokens_per_s = self.pace(step, opened, closed or ended, now)
        if step.rate is not None:
            step.reached_per_s = self.reached(step, row, now)

    def reached(self, step: Step, row: dict[str, Any], now: float) -> float | None:
        """Requests sent per second: what ended and what is in flight, over the seconds."""
        if step.phase == "done":
            return step.by_class.total() / step.window_s if step.window_s else None
        gone = now - row["started_at"]
        return (step.ended + sum(self.streams.values())) / gone if gone >= 1 else None

    def pace(self, step: Step, opened: float | None, closed: float | None, now: float) -> float | None:
        """Tokens per second: of the whole window if it is over, else of the last seconds.

        Events per second from generator.jsonl times the tokens per event of the records so far.
        """
        if closed is not None and opened is not None:
            events, seconds = step.seconds_events, closed - opened
        else:
            begin, end = now - LIVE_S, now - 1.0  # the second that is running is not written yet
            events, seconds = sum(events for at, events in self.ticks if begin < at <= end), end - begin
        if not events or not step.events or seconds <= 0:
            return None
        return events / seconds * max(1.0, step.tokens / step.events)


def remaining(scenario: Scenario, steps: list[Step], current: int) -> float:
    """Seconds that are left.

    A window lasts `window_s`, and until `window_requests` of each class were sent, `window_cap_s` at the most. The
    rarest class paces the wait; its rate at a later step is taken as the latest known times the ratio of requests in
    flight, which is too hopeful for a server that is full; without any, windows are taken at their shortest. By rate
    it is known. Warm-up and drain are taken to last as they did last.
    """
    load, step = scenario.load.of_step(current), steps[current]
    latest = [item for item in reversed(steps[: current + 1]) if item.window_s]
    warmup = next((item.warmup_s for item in latest if item.warmup_s is not None), load.warmup_s)
    drain = next((item.drain_s for item in latest if item.drain_s is not None), whole_s(latest))
    pace = pace_of(steps, current)
    weights = {item.name: item.weight for item in scenario.classes}
    rarest = min(weights.values()) / sum(weights.values())

    def window(item: Step) -> float:
        per_s = item.rate if item.rate is not None else (pace or 0.0) * (item.concurrency or 0)
        own = scenario.load.of_step(item.index)
        needed = own.window_requests / (rarest * per_s) if per_s else 0.0
        return min(max(own.window_s, needed), own.window_cap_s)

    gone = step.phase_s or 0.0
    if step.phase == "drain":
        total = max(0.0, drain - gone)
    elif step.phase == "window" and step.rate is not None:
        total = max(0.0, window(step) - (step.window_s or 0.0)) + drain
    elif step.phase == "window":
        total = window_left(load.window_requests, step, load.window_s, load.window_cap_s, tuple(weights)) + drain
    else:
        total = max(0.0, warmup - gone) + window(step) + drain
    return total + sum(warmup + window(later) + drain for later in steps[current + 1 :])


def pace_of(steps: list[Step], current: int) -> float | None:
    """Requests per second and request in flight, of the latest step that has measured any."""
    for step in reversed(steps[: current + 1]):
        if step.window_s and step.concurrency and done(step):
            return done(step) / step.window_s / step.concurrency
    return None


def done(step: Step) -> int:
    """Measured requests that ended."""
    return step.ok + step.failed


def whole_s(latest: list[Step]) -> float:
    """Mean time of a measured request of the latest step that has any, in seconds."""
    return next((item.e2e_ms_sum / done(item) / 1000 for item in latest if done(item)), 0.0)


def window_left(wanted: int, step: Step, window_s: float, cap_s: float, classes: tuple[str, ...]) -> float:
    """Seconds until the window closes: its own seconds, or until every class has its requests at its present rate."""
    gone = step.window_s or 0.0
    left = window_s - gone
    for name in classes:
        have = step.by_class[name]
        if have < wanted:
            left = max(left, (wanted - have) * gone / have if have else cap_s)
    return max(0.0, min(left, cap_s - gone))
