"""The questions a reader should ask of a run, each answered from it, or "this run cannot say"."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from llmload.report import columns, cost, seven
from llmload.report.building import Built
from llmload.report.doubts.case import listed, percent
from llmload.report.facts import Facts
from llmload.report.rows import ALL, gpus_paid

TITLE = "What to ask of these figures"
CANNOT = "this run cannot say"


@dataclass(frozen=True, slots=True)
class Question:
    """One question and its answer. `known` is False where there is none."""

    question: str
    answer: str
    known: bool = True


def of(built: Built) -> tuple[Question, ...]:
    """The questions, in the order in which they are asked."""
    whole = [row for row in built.summary["rows"] if row["workload"] == ALL]
    return (
        _figure(whole),
        _conditions(built.facts),
        _load(built),
        _cost(built, whole),
        _repeated(built.facts),
        _generator(whole),
        _failed(whole),
    )


def counted(questions: tuple[Question, ...]) -> str:
    """How many there are, how many have no answer, and where they stand: one line for a terminal."""
    n = sum(not item.known for item in questions)
    return f"{len(questions)} questions to ask{f', {n} of them open' if n else ''}: end of report.html and report.md"


def _figure(whole: list[dict[str, Any]]) -> Question:
    question = "Which figure?"
    last = max((row for row in whole if row["ok"]), key=cost.asked, default=None)
    if last is None:
        return Question(question, f"{CANNOT}: no request succeeded in a window", known=False)
    keys = (
        ("ttft_ms.all.p50", "TTFT p50 {}", " ms"),
        ("ttft_ms.all.p95", "p95 {}", " ms"),
        ("e2e_ms.all.p95", "E2E p95 {}", " s"),
        ("output_tokens_per_s_per_user", "over successes {} for one user", " tokens/s"),
        ("output_tokens_per_s", "{} in all", " tokens/s"),
    )
    by_key = {column.key: column for column in columns.COLUMNS}
    cells = [(columns.cell(last, by_key[key]).rstrip("*†"), words, unit) for key, words, unit in keys]
    said = [words.format("infinite" if cell == "inf" else f"{cell}{unit}") for cell, words, unit in cells if cell]
    return Question(
        question,
        f"at {cost.step_words(last)}: over all attempts {', '.join(said)}. They are different figures: "
        "a claim about one says nothing of another, nor of another number in flight",
    )


def _conditions(facts: Facts) -> Question:
    known = seven.of(facts)
    lacking = [f"{item.name}{f' ({item.missing})' if item.missing else ''}" for item in known if not item.whole]
    question = "Under which conditions?"
    if not lacking:
        return Question(question, "all seven stand at the head of this report; another run has to have the same")
    return Question(
        question,
        f"the head of this report has {len(known) - len(lacking)} of {len(known)} in full; not told: "
        f"{listed(lacking, 7)}. Without these nobody can repeat it",
        known=any(item.whole for item in known),
    )


def _load(built: Built) -> Question:
    facts, question = built.facts, "Does my load look like this?"
    tokens = {name: facts.numbers(name) for name in ("input_tokens", "output_tokens")}
    n = int(facts.ok.sum())
    if not n:
        return Question(question, f"{CANNOT}: no request succeeded in a window", known=False)
    said = []
    for name in facts.workloads:
        chosen = facts.ok & facts.is_("workload", name)
        if chosen.any():
            means = [_mean(tokens[key][chosen]) for key in tokens]
            said.append(f"{name} {percent(chosen.sum() / n)} ({means[0]} tokens in, {means[1]} out)")
    asked = " ".join(columns.asked(built.summary["rows"]))
    steps = ", ".join(dict.fromkeys(step.label for step in facts.steps))
    busting = facts.scenario.get("cache_busting", True)
    cache = "with no prompt like another" if busting else "with prompts that may repeat, which a prefix cache likes"
    return Question(
        question,
        f"it was {listed(said)}, {cache}; {asked}: {steps}. If yours is longer, shorter, steadier or repeats itself "
        "more, put your own prompts into a data file and run that",
    )


def _mean(values: Any) -> str:
    known = values[~np.isnan(values)]
    return f"{known.mean():,.0f}" if len(known) else "uncounted"


def _cost(built: Built, whole: list[dict[str, Any]]) -> Question:
    question, price = "What did it cost?", cost.prices(built.facts.scenario)
    joules = [
        f"{row['gpu']['joules_per_output_token']:.3g} J an output token at {cost.step_words(row)}"
        for row in whole
        if (row["gpu"] or {}).get("joules_per_output_token") is not None
    ]
    energy = f"; energy: {joules[-1]}" if joules else ""
    if not cost.priced(price):
        return Question(question, f"{CANNOT}: no price is set ([cost] in the scenario){energy}", known=bool(energy))
    if not any(row["cost"] for row in whole):
        return Question(
            question, f"{CANNOT}: a price is set, but not everything to reckon by is known{energy}", known=False
        )
    return Question(question, f"{built.cheapest}; paid: {cost.basis(price, gpus_paid(built.facts))}{energy}")


def _repeated(facts: Facts) -> Question:
    number = facts.scenario.get("round")
    which = f" (round {number})" if number else ""
    return Question(
        "Who else measured it, and was it repeated?",
        f"{CANNOT}: it is one run{which}, and two runs of the same differ, often by 10 %. Repeat it (llmload ab, "
        "three rounds a side) and compare, or send the folder to somebody who runs it elsewhere",
        known=False,
    )


def _generator(whole: list[dict[str, Any]]) -> Question:
    question = "Was the load generator the bottleneck?"
    bound = [cost.step_words(row) for row in whole if (row["generator"] or {}).get("bound")]
    if bound:
        return Question(question, f"yes, at {listed(bound)}: those steps say nothing about the server")
    loads = [row["generator"]["cpu_max"] for row in whole if (row["generator"] or {}).get("cpu_max") is not None]
    judged = [row for row in whole if (row["generator"] or {}).get("bound") is not None]
    if not judged or not loads:
        return Question(question, f"{CANNOT}: nobody watched the generator", known=False)
    return Question(question, f"no: a worker used {percent(max(loads))} of a core at most, and none lagged behind")


def _failed(whole: list[dict[str, Any]]) -> Question:
    question = "What failed?"
    counted = sum(row["started"] - row["cancelled"] for row in whole)
    if not counted:
        return Question(question, f"{CANNOT}: nothing was tried in a window", known=False)
    bad = counted - sum(row["ok"] for row in whole)
    unsent = sum(row["not_sent"] for row in whole)
    more = f"; {unsent:,} arrivals were not sent" if unsent else ""
    if not bad:
        return Question(question, f"nothing, of {counted:,} measured attempts{more}")
    kinds: dict[str, int] = {}
    for row in whole:
        for name, n in row["outcomes"].items():
            if name not in ("ok", "not_sent"):
                kinds[name] = kinds.get(name, 0) + n
        if row["lost"]:
            kinds["lost"] = kinds.get("lost", 0) + row["lost"]
    said = listed(f"{name} {n:,}" for name, n in sorted(kinds.items(), key=lambda pair: -pair[1]))
    worst = max((row for row in whole if row["success_share"] is not None), key=lambda row: 1 - row["success_share"])
    return Question(
        question,
        f"{bad:,} of {counted:,} measured attempts ({said}), most at {cost.step_words(worst)} "
        f"({percent(1 - worst['success_share'])} of them); percentiles over all attempts count them as never "
        f"finished{more}",
    )
