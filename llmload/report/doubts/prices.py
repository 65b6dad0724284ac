"""Doubts about what a run cost: prices from which nothing could be reckoned."""

from collections.abc import Iterator

from llmload.report import cost
from llmload.report.doubts.case import Case
from llmload.report.rows import gpus_paid


def unreckoned(case: Case) -> Iterator[str]:
    """A GPU has a price, and nobody knows how many serve; or something is free by accident."""
    price = cost.prices(case.facts.scenario)
    if cost.of_gpus(price) and gpus_paid(case.facts) is None:
        yield (
            "[cost] gives the price of a GPU, but not how many serve, and none was seen: no cost can be told. Give "
            "cost.gpus, or have the GPUs sampled (--gpu)"
        )
    if not cost.of_gpus(price) and (price.per_million_input is None) != (price.per_million_output is None):
        which = "input" if price.per_million_input is None else "output"
        yield (
            f"[cost] has no price of {which} tokens: costs are without them. Give cost.per_million_{which}, 0 if they "
            "are free"
        )
