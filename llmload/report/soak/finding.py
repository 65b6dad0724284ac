"""Everything about the soak of a run, from its facts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llmload.load.spans import span
from llmload.report import rows
from llmload.report.facts import Facts
from llmload.report.figures import look_up
from llmload.report.soak import buckets, drift, judge, memory, spreads
from llmload.report.soak.buckets import Cut
from llmload.report.soak.drift import Change
from llmload.report.soak.judge import Line, Verdict
from llmload.report.soak.memory import Memory
from llmload.report.soak.spreads import PERCENTS
from llmload.report.telemetry import restarts

Floats = NDArray[np.float64]

COMPARED = tuple((figure, percent) for figure in judge.NAMES for percent in PERCENTS)
KEPT = (
    "window_s", "started", "ok", "failed", "cancelled", "lost", "not_sent", "outcomes", "success_share",
    "in_flight_mean", "ttft_ms", "itl_ms", "tpot_ms", "e2e_ms", "requests_per_s", "output_tokens_per_s", "gpu",
    "server", "generator",
)  # fmt: skip
"""What a bucket has of a row of summary.json."""


@dataclass(frozen=True, slots=True)
class Soak:
    """A soak, judged. `rows` are those of summary.json, one for each bucket, whose window is the bucket."""

    cut: Cut
    rows: tuple[dict[str, Any], ...]
    lines: tuple[Line, ...]
    failures: Line
    verdict: Verdict
    restarts: tuple[float, ...]
    memory: tuple[Memory, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]

    def change(self, bucket: int, figure: str, percent: int) -> Change | None:
        """A percentile of a bucket against the first full hour; None where it was not compared."""
        place = bucket - self.cut.reference
        line = self.lines[COMPARED.index((figure, percent))]
        return line.changes[place] if 0 <= place < len(line.changes) else None

    def restarted(self, bucket: int) -> int:
        """How often the engine began anew in a bucket."""
        begin, end = self.cut.edges[bucket : bucket + 2]
        return sum(begin <= at < end for at in self.restarts)

    def as_dict(self) -> dict[str, Any]:
        """As summary.json holds it, under `soak`."""
        return {
            "step": self.cut.step.index,
            "bucket_s": self.cut.size_s,
            "reference_buckets": self.cut.reference,
            "verdict": self.verdict.word,
            "reasons": list(self.verdict.reasons),
            "notes": list(self.notes),
            "restarts_s": [round(at - self.cut.begin, 3) for at in self.restarts],
            "memory": [item.as_dict() for item in self.memory],
            "buckets": [self.bucket(place) for place in range(self.cut.count)],
        }

    def moved(self, bucket: int, key: tuple[str, int]) -> bool:
        """Whether a percentile is another in a bucket than in the first full hour, by an amount that matters."""
        line, place = self.lines[COMPARED.index(key)], bucket - self.cut.reference
        return 0 <= place < len(line.changes) and line.moved(place)

    def bucket(self, place: int) -> dict[str, Any]:
        """One bucket."""
        row = self.rows[place]
        changes = {figure: {f"p{p}": _shown(self.change(place, figure, p)) for p in PERCENTS} for figure in judge.NAMES}
        return {
            "bucket": place,
            "begin_s": round(self.cut.edges[place] - self.cut.begin, 3),
            "whole": place < self.cut.full,
            "restarts": self.restarted(place),
            **{key: row[key] for key in KEPT},
            "change": changes,
        }


def _shown(change: Change | None) -> dict[str, float] | None:
    return None if change is None else {"share": change.change, "low": change.low, "high": change.high}


def find(facts: Facts, bucket_s: float | None = None) -> Soak | None:
    """The soak of a run, or None where its windows are short and no bucket was asked for. Raises Stop(USAGE)."""
    held = bool((facts.scenario.get("load") or {}).get("hold_s"))
    cut = buckets.find(facts.steps, bucket_s, held=held)
    if cut is None:
        return None
    compared = range(cut.reference, cut.full)
    found: list[dict[str, Any]] = []
    later: list[Told] = []
    for place, (row, chosen) in enumerate(rows.buckets(facts, cut.step, cut.edges)):
        found.append(row)
        if place in compared:
            later.append(Told(row, spreads.of(facts, chosen, (cut.edges[place], cut.edges[place + 1]), place)))
    first = _first(facts, cut) if later else None
    comparisons = len(later) * len(COMPARED)
    lines = tuple(_line(key, first, later, comparisons) for key in COMPARED)
    failures = _failures(first, later, comparisons)
    anew = tuple(at for at in restarts(facts.telemetry, cut.begin, cut.edges[-1]) if at <= cut.edges[-1])
    sampled = tuple(memory.find(facts.telemetry, cut.begin, cut.edges[-1]))
    verdict = judge.judge(cut, lines, failures)
    return Soak(
        cut, tuple(found), lines, failures, verdict, anew, sampled,
        warnings=tuple(memory.warnings(sampled)),
        notes=tuple(_notes(facts, cut, found, anew)),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Told:
    """A bucket, or the first full hour: its row, and how sure each compared percentile is."""

    row: dict[str, Any]
    spreads: dict[tuple[str, int], float]


def _first(facts: Facts, cut: Cut) -> Told:
    """The first full hour."""
    end = cut.edges[cut.reference]
    row, chosen = next(rows.buckets(facts, cut.step, (cut.begin, end, cut.edges[-1])))
    return Told(row, spreads.of(facts, chosen, (cut.begin, end), cut.count))


def _line(key: tuple[str, int], first: Told | None, later: Sequence[Told], comparisons: int) -> Line:
    """One percentile against the first hour, bucket by bucket."""
    figure, percent = key

    def value(told: Told | None) -> float | None:
        if told is None or told.row["ok"] < judge.LEAST:
            return None
        found: float | None = look_up(told.row, [figure, "ok", f"p{percent}"])
        return found

    def against(told: Told) -> Change | None:
        now, start = value(told), value(first)
        if first is None or now is None or start is None:
            return None
        return drift.change(now, start, float(np.hypot(told.spreads[key], first.spreads[key])), comparisons)

    name, judged = f"the p{percent} of {judge.NAMES[figure]}", percent != PERCENTS[-1]
    return Line(name, judged, judge.MATTERS, tuple(map(against, later)), tuple(map(value, later)), value(first))


def _failures(first: Told | None, later: Sequence[Told], comparisons: int) -> Line:
    """The share of attempts that failed, bucket by bucket; only more failures are a change."""

    def counts(told: Told) -> tuple[int, int]:
        of = told.row["started"] - told.row["cancelled"]
        return of - told.row["ok"], of

    def share(told: Told | None) -> float | None:
        return None if told is None or not counts(told)[1] else counts(told)[0] / counts(told)[1]

    def against(told: Told) -> Change | None:
        if first is None or min(counts(told)[1], counts(first)[1]) < judge.LEAST:
            return None
        change = drift.shares(*counts(told), *counts(first), comparisons)
        return change if change.low > 0 else None

    changes = tuple(map(against, later))
    return Line("failures", False, judge.FAILURES_MATTER, changes, tuple(map(share, later)), share(first))


def _notes(facts: Facts, cut: Cut, found: Sequence[dict[str, Any]], anew: Sequence[float]) -> Iterator[str]:
    """What a reader of the table has to know."""
    if anew:
        told = ", ".join(span(round(at - cut.begin)) for at in anew[:10])
        yield (
            f"the engine began anew {len(anew)} time{'s' * (len(anew) > 1)} (seen again after {told}): what lies "
            "before and behind are two servers"
        )
    if cut.full < cut.count:
        yield (
            f"the last {cut.noun} is not whole ({span(cut.edges[-1] - cut.edges[-2])} of {span(cut.size_s)}): it is "
            "shown and not compared"
        )
    bound = sum(bool(row["generator"]["bound"]) for row in found)
    if bound:
        yield (
            f"in {bound} of {len(found)} {cut.noun}s the load generator was the limit or this machine was busy: what "
            "drifts may be its own"
        )
    unplaced = sum(item.n for item in facts.lost if item.step == cut.step.index and item.start_s is None)
    if unplaced:
        yield f"{unplaced} lost requests belong to no {cut.noun}: nobody knows when they were sent"
