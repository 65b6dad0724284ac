"""Whether there are enough requests behind a figure, and windows that ended otherwise than planned."""

from collections.abc import Iterator

from llmload.report.doubts.case import Case, at, listed
from llmload.report.percentiles import P99_LEAST, P99_MARK


def cut_windows(case: Case) -> Iterator[str]:
    """Windows that did not end as planned."""
    words = {
        "cap": "ended by the cap on its length, before every class had its number of requests",
        "failures": "ended early, after too many failures in a row",
        "budget": "ended early, because the cap on requests or tokens was reached",
        "stopped": "was stopped by the user",
        "fault": "was cut short because the run could not go on (the verdict says why)",
    }
    if case.facts.loop == "hand":
        del words["stopped"]  # there it is how a run ends
    for ended_by, what in words.items():
        found = [step for step, _ in case.whole() if step.ended_by == ended_by]
        if found:
            yield f"the window {at(found)} {what}: fewer requests than planned stand behind its figures"
    found = [step for step, _ in case.whole() if step.cut]
    if found:
        yield f"the window {at(found)} has no end of its own: it was cut at the last record, and its rates are rough"


def too_few(case: Case) -> Iterator[str]:
    """Percentiles that too few requests stand behind."""
    none = {step.index: step for step, row in case.whole() if row["ok"] and row["ok"] < P99_LEAST}
    marked = [step for step, row in case.whole() if P99_LEAST <= row["ok"] < P99_MARK]
    counts = [row["ok"] for _, row in case.whole() if row["ok"]]
    if none:
        least = min(count for count in counts)
        yield (
            f"too few requests for a p99 {at(none.values())} (as few as {least}): none is shown, and the p95 "
            "is marked *. "
            f"At least {P99_LEAST} are needed, {P99_MARK} for a firm one: lengthen the window (--duration, "
            "load.window_requests)"
        )
    if marked:
        yield (
            f"the p99 {at(marked)} stands on fewer than {P99_MARK} requests (marked †): "
            "a handful of them decides it; lengthen the window before drawing conclusions from it"
        )
    thin = {row["workload"] for step, row in case.classes() if 0 < row["ok"] < P99_LEAST and step.index not in none}
    if thin and len(case.facts.workloads) > 1:
        who = "class {} has" if len(thin) == 1 else "classes {} have"
        whose = "its p95" if len(thin) == 1 else "their p95"
        names = listed(sorted(thin))
        yield f"{who.format(names)} fewer than {P99_LEAST} successes in some steps: read {whose} with care"
