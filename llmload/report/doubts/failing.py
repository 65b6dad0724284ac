"""What failed, and what "nothing failed" is worth."""

from collections.abc import Iterator

import numpy as np

from llmload.report.doubts.case import Case, at, listed, percent
from llmload.report.lost import count
from llmload.report.percentiles import percentile

FAILURES = 0.01
"""Share of failures above which a figure over successes is doubtful."""
OWN_LIMITS = ("ttft_timeout", "stall_timeout", "total_timeout", "cancelled", "not_sent")
"""Outcomes whose durations are alike because llmload itself set the limit."""


def lost_records(case: Case) -> Iterator[str]:
    """Attempts without a record."""
    if case.facts.lost:
        unknown = count([item for item in case.facts.lost if item.workload is None])
        where = (
            f"; the class of {unknown} is not known, so they stand in the rows of all classes only" if unknown else ""
        )
        yield (
            f"{count(case.facts.lost)} attempts were started and left no record{where}. They count as never "
            "finished in the "
            "percentiles over all attempts"
        )


def failures(case: Case) -> Iterator[str]:
    """More failures than can be passed over."""
    for step, row in case.whole():
        share = row["success_share"]
        if share is not None and 1 - share > FAILURES:
            counts = dict(row["outcomes"])
            counts["cancelled"] = counts.get("cancelled", 0) - row["cancelled"]  # what the user cut is no failure
            worst = listed(f"{word} {n}" for word, n in counts.items() if word != "ok" and n)
            extra = f"{', ' if worst else ''}lost {row['lost']}" if row["lost"] else ""
            yield (
                f"{percent(1 - share)} of {row['started'] - row['cancelled']} attempts {at([step])} failed "
                f"({worst}{extra}); the limit is {percent(FAILURES)}. "
                "Percentiles over successes flatter such a step: read those over all attempts"
            )


def failing_classes(case: Case) -> Iterator[str]:
    """Classes of which nothing came through, while others did: their prompts may be too long for the server."""
    succeeded = {step.index for step, row in case.whole() if row["ok"]}
    for step, row in case.classes():
        tried = row["started"] - row["cancelled"]
        if tried and not row["ok"] and step.index in succeeded:
            counts = [f"{word} {n}" for word, n in row["outcomes"].items() if n]
            counts += [f"lost {row['lost']}"] if row["lost"] else []
            yield (
                f"class {row['workload']} had no success {at([step])}: all {tried} attempts failed ({listed(counts)}). "
                "Figures of all classes together stand for the other classes alone; What failed has the server's words"
            )


def failing_warmup(case: Case) -> Iterator[str]:
    """Failures before the window, which no figure shows; a step may end in its warm-up because of them."""
    warmup, ok, steps = case.facts.is_("phase", "warmup"), case.facts.is_("outcome", "ok"), case.facts.numbers("step")
    cut = case.facts.is_("outcome", "cancelled") | case.facts.is_("outcome", "not_sent")
    told = []
    for step, row in case.whole():
        mine = warmup & (steps == step.index) & ~cut
        n = int((mine & ~ok).sum())
        if n > FAILURES * mine.sum():
            never = "; its window never opened" if not row["started"] and step.ended_by is not None else ""
            told.append(f"{n} of {mine.sum()} {at([step])}{never}")
    if told:
        yield (
            f"requests of the warm-up failed ({listed(told)}). They are in no figure; What failed has the server's "
            "words. A window behind such a warm-up may have begun with cold connections and caches"
        )


def one_duration(case: Case) -> Iterator[str]:
    """Failures that all took the same time, as an idle limit of a proxy makes them."""
    duration = case.facts.numbers("end_ms")
    outcomes = case.facts.words("outcome")
    for outcome in sorted({word for word in outcomes if word is not None} - {"ok", *OWN_LIMITS}):
        values = np.sort(duration[(outcomes == outcome) & ~np.isnan(duration)])
        if len(values) < 5:
            continue
        low, middle, high = (percentile(values, q) or 0.0 for q in (10, 50, 90))
        if middle >= 300 and high - low <= max(20.0, 0.03 * middle):
            yield (
                f"{len(values)} attempts failed as {outcome} after nearly the same time ({middle / 1000:.3g} s): "
                "as a time limit of a proxy or gateway does. Look for one of that length on the way to the server"
            )


def no_failures(case: Case) -> Iterator[str]:
    """No failure seen is not no failure."""
    clean = [(step, row["started"]) for step, row in case.whole() if row["ok"] and row["ok"] == row["started"]]
    if clean:
        step, n = min(clean, key=lambda pair: pair[1])
        if n < 300:
            yield (
                f"0 of {n} failed {at([step])}: with so few that still stands for a failure share of up to "
                f"{percent(min(1.0, 3 / n))} (3/n, 95 % confidence)"
            )
