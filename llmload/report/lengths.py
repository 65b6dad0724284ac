"""How long prompts and answers were, asked and got: times are only comparable between answers of like length."""

from dataclasses import dataclass

import numpy as np

from llmload.report.facts import Facts, Flags, Floats
from llmload.report.percentiles import percentile


@dataclass(frozen=True, slots=True)
class Spread:
    """How token counts were distributed; None where nobody counted."""

    n: int
    low: float | None
    p50: float | None
    mean: float | None
    p95: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Lengths:
    """Lengths of one class over the whole run, measured successes only, and who counted them."""

    workload: str
    asked_input: Spread
    input: Spread
    input_source: str | None
    asked_output: Spread
    output: Spread
    output_source: str | None


def find(facts: Facts) -> list[Lengths]:
    """Lengths for every class that had a success."""
    found = []
    for workload in facts.workloads:
        chosen = facts.ok & facts.is_("workload", workload)
        if chosen.any():
            found.append(
                Lengths(
                    workload,
                    _spread(facts.numbers("requested_input_tokens")[chosen]),
                    _spread(facts.numbers("input_tokens")[chosen]),
                    _source(facts, "input_tokens_source", chosen),
                    _spread(facts.numbers("requested_output_tokens")[chosen]),
                    _spread(facts.numbers("output_tokens")[chosen]),
                    _source(facts, "output_tokens_source", chosen),
                )
            )
    return found


def rows(item: Lengths) -> list[tuple[str, Spread, str]]:
    """The lines of one class in the table of lengths: name, spread, who counted."""
    return [
        ("prompt, asked for", item.asked_input, "the scenario"),
        ("prompt, counted", item.input, item.input_source or ""),
        ("answer, limit", item.asked_output, "the scenario"),
        ("answer, counted", item.output, item.output_source or ""),
    ]


def cells(spread: Spread) -> list[str]:
    """n, min, p50, mean, p95, max as text; blank where nobody counted."""
    values = (spread.low, spread.p50, spread.mean, spread.p95, spread.high)
    return [f"{spread.n:,}", *("" if value is None else f"{value:,.0f}" for value in values)]


def _spread(values: Floats) -> Spread:
    known = np.sort(values[~np.isnan(values)])
    if not len(known):
        return Spread(0, None, None, None, None, None)
    return Spread(
        len(known),
        float(known[0]),
        percentile(known, 50),
        float(known.mean()),
        percentile(known, 95),
        float(known[-1]),
    )


def _source(facts: Facts, column: str, chosen: Flags) -> str | None:
    names = sorted({name for name in facts.words(column)[chosen] if name is not None})
    return " and ".join(names) or None
