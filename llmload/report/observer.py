"""With and without sampling: the step that --observer-check repeated, held against the one that it repeats.

    difference = figure with sampling / the same without - 1

The interval is that of `soak.drift`: a bootstrap over 40 blocks of time of each window, with a fixed seed, and 95 % for
all figures of the table together, so that chance alone shows a difference in one check of twenty. The repeated step
makes no row, and its attempts are in no other figure; that they balance is checked all the same.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from llmload.report import rows, throughput
from llmload.report.facts import Facts
from llmload.report.figures import look_up
from llmload.report.rows import StepRows
from llmload.report.soak import drift, spreads
from llmload.report.soak.drift import BLOCKS, Change
from llmload.report.soak.judge import NAMES
from llmload.report.steps import Step

Floats = NDArray[np.float64]

LEAST = 20
"""Requests that each side needs for an interval."""
SMALL = 0.01
"""A difference that is less is told, and nothing to be warned of."""
FIGURES = {
    "TTFT p50 ms": ("ttft_ms", "ok", "p50"),
    "TTFT p95 ms": ("ttft_ms", "ok", "p95"),
    "TTFT p99 ms": ("ttft_ms", "ok", "p99"),
    "ITL p50 ms": ("itl_ms", "ok", "p50"),
    "ITL p99 ms": ("itl_ms", "ok", "p99"),
    "tokens/s": ("output_tokens_per_s",),
}
"""What is compared, as it is named and as a row has it."""
TITLE = "With and without sampling"
HOW = (
    "difference: figure with sampling / without - 1; its interval holds at 95 % for all figures together (bootstrap "
    "over blocks of time). The two steps lie apart in time: a server that drifts shows a difference, too."
)
HEADINGS = ("figure", "sampled", "not sampled", "difference", "95 % interval", "")
NO_DIFFERENCE, TOO_FEW = "no difference shown", "too few requests"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure with sampling and without; no change where one of them is not there, or comes of too few requests."""

    name: str
    sampled: float | None
    unsampled: float | None
    change: Change | None

    @property
    def worse(self) -> bool:
        """Whether sampling made it worse, as far as can be told."""
        change = self.change
        return change is not None and change.real and (change.change < 0) is (self.name == "tokens/s")

    @property
    def words(self) -> str:
        """What comes of it."""
        if self.change is None:
            return TOO_FEW
        if not self.change.real:
            return NO_DIFFERENCE
        return f"sampling made it {size(self.change)} {'worse' if self.worse else 'better'}"

    @property
    def cells(self) -> tuple[str, ...]:
        """Its line in a table of HEADINGS."""
        change = self.change
        numbers = ("" if value is None else f"{value:,.4g}" for value in (self.sampled, self.unsampled))
        apart = ("", "") if change is None else (f"{100 * change.change:+.2g} %", interval(change))
        return (self.name, *numbers, *apart, self.words)


@dataclass(frozen=True, slots=True)
class Observed:
    """The comparison. `steps` are the rows of the repeated step, `n` the requests with sampling and without."""

    steps: tuple[StepRows, ...]
    n: tuple[int, int]
    figures: tuple[Figure, ...]

    @property
    def line(self) -> str:
        """The whole in a line."""
        step, (sampled, unsampled) = self.steps[0].step, self.n
        head = f"{step.words}, {sampled:,} requests with sampling and {unsampled:,} without"
        real = [figure for figure in self.figures if figure.change is not None and figure.change.real]
        if real:
            return f"{head}: {', '.join(map(told, real))}"
        widest = next((figure for figure in reversed(self.figures[:3]) if figure.change is not None), None)
        if widest is None or widest.change is None:
            return f"{head}: {TOO_FEW} to tell a difference"
        return f"{head}: {NO_DIFFERENCE} ({widest.name.removesuffix(' ms')} {interval(widest.change)})"

    @property
    def warnings(self) -> Iterator[str]:
        """What stands among the WARNINGS."""
        worse = [item for item in self.figures if item.worse and item.change and abs(item.change.change) >= SMALL]
        if worse:
            yield (
                f"--observer-check, {self.steps[0].step.words}: {', '.join(map(told, worse))}. Sample less often "
                "(--sample-every, and --interval of llmload sidecar), and run the check again: the two steps also "
                "lie apart in time"
            )


def find(facts: Facts) -> Observed | None:
    """The comparison, if a step was repeated and the one that it repeats is there."""
    apart = facts.unsampled
    if not apart.steps:
        return None
    step = apart.steps[-1]
    mine = next((item for item in reversed(facts.steps) if item.concurrency == step.concurrency), None)
    built = rows.build(apart)
    if mine is None:
        return Observed(built, (0, int(built[-1].rows[-1]["ok"])), ())
    (whole,) = rows.build(facts.only(mine))
    with_, without = whole.rows[-1], built[-1].rows[-1]
    n = (int(with_["ok"]), int(without["ok"]))
    spread = (deviations(facts, mine), deviations(apart, step)) if min(n) >= LEAST else ({}, {})
    figures = []
    for name, key in FIGURES.items():
        now, first = look_up(with_, key), look_up(without, key)
        change = None
        if now and first and name in spread[0] and name in spread[1]:
            change = drift.change(now, first, math.hypot(*(side[name] for side in spread)), len(FIGURES))
        figures.append(Figure(name, now, first, change))
    return Observed(built, n, tuple(figures))


def deviations(facts: Facts, step: Step) -> dict[str, float]:
    """Standard deviation of the logarithm of each figure of a step."""
    if step.begin is None or step.end is None or step.end <= step.begin:
        return {}
    chosen = facts.ok & (facts.numbers("step") == step.index)
    known = spreads.of(facts, chosen, (step.begin, step.end), 1)
    found = {f"{NAMES[figure]} p{percent} ms": deviation for (figure, percent), deviation in known.items()}
    return found | {"tokens/s": spread_of_tokens(facts, np.linspace(step.begin, step.end, BLOCKS + 1))}


def spread_of_tokens(facts: Facts, edges: Floats) -> float:
    """The same of the tokens per second, from those that arrived in each block."""
    ttft, e2e = facts.numbers("ttft_ms"), facts.numbers("e2e_ms")
    stream = throughput.Stream(
        facts.numbers("start_s"),
        facts.numbers("end_s"),
        np.where(np.isnan(ttft), e2e, ttft),
        facts.gaps_ms,
        facts.offsets,
        facts.numbers("streamed_tokens"),
    )
    one = np.zeros(len(ttft), dtype=np.int64)
    arrived = [throughput.per_group(stream, one, 1, (float(a), float(b)))[-1].total for a, b in pairwise(edges)]
    draws = np.random.default_rng(3).multinomial(BLOCKS, [1 / BLOCKS] * BLOCKS, size=drift.DRAWS) @ np.array(arrived)
    return float(np.std(np.log(draws), ddof=1)) if (draws > 0).all() else math.inf


def told(figure: Figure) -> str:
    """A figure that differs, in a sentence."""
    name = figure.name.removesuffix(" ms")
    what = f"{name.split()[1]} of {name.split()[0]}" if " " in name else name
    assert figure.change is not None  # noqa: S101  (for the type checker: only of those that differ)
    how = "worse" if figure.worse else "better"
    return f"sampling made {what} {size(figure.change)} {how} ({interval(figure.change)})"


def size(change: Change) -> str:
    """How large a change is."""
    return f"{100 * abs(change.change):.2g} %"


def interval(change: Change) -> str:
    """Where it lies."""
    if not math.isfinite(change.high) or change.high > 99:
        return "cannot be told"
    return f"{100 * change.low:.2g} to {100 * change.high:.2g} %"
