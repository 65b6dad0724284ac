"""Sums over all attempts of a run, whatever their phase and step: what Prometheus is told.

Histograms are of successes, as every `ok` percentile is; an attempt that failed is counted by its outcome.
"""

from collections import Counter
from typing import Any

import numpy as np

from llmload.live.batch import FIGURES, Batch
from llmload.live.measured import by_class
from llmload.live.promise import Promise, bounds
from llmload.live.values import Codes, Counts, Floats
from llmload.load.scenario import Scenario

MILLISECONDS = (
    0.5, 1, 2, 3, 4, 5, 6, 8, 10, 12.5, 15, 17.5, 20, 25, 30, 40, 50, 60, 70, 80, 100, 125, 150, 200, 250, 300, 400,
    500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 7_500, 10_000, 15_000, 20_000, 30_000, 60_000, 120_000, 300_000,
)  # fmt: skip
"""The upper bounds of the buckets; what the scenario promises its users is added to them."""


class Histogram:
    """Values in buckets, by class."""

    def __init__(self, bounds_ms: Floats) -> None:
        self.bounds_ms = bounds_ms
        self.counts: Counts = np.zeros((0, len(bounds_ms) + 1), dtype=np.int64)
        """By class and bucket; the last bucket has no bound."""
        self.sums_ms: Counter[int] = Counter()

    def add(self, values: Floats, codes: Codes) -> None:
        """Take values in milliseconds, with the class of each."""
        if not len(values):
            return
        rows, width = max(len(self.counts), int(codes.max()) + 1), self.counts.shape[1]
        places = codes.astype(np.int64) * width + np.searchsorted(self.bounds_ms, values, side="left")
        more = np.bincount(places, minlength=rows * width).reshape(rows, width)
        more[: len(self.counts)] += self.counts
        self.counts = more
        self.sums_ms += by_class(np.bincount(codes, values))


class Totals:
    """All that is summed over a run."""

    def __init__(self, scenario: Scenario) -> None:
        self.stall_ms = scenario.stall_ms
        bounds = ladder(scenario)
        self.histograms = {name: Histogram(bounds) for name in FIGURES}
        self.late = Histogram(bounds)
        """By how much later than planned requests were sent."""
        self.loop_lag = Histogram(bounds)
        """Of all workers together, as class 0."""
        self.outcomes: Counter[tuple[int, str]] = Counter()
        self.promise = Promise(scenario)
        self.good: Counter[int] = Counter()
        """Successes that kept all that was promised."""
        self.stalls: Counter[int] = Counter()
        self.input_tokens: Counter[int] = Counter()
        self.output_tokens: Counter[int] = Counter()
        self.events: Counter[int] = Counter()
        self.streamed = 0.0
        """Tokens that came over the wire."""

    @property
    def tokens_per_event(self) -> float:
        """Tokens of an event, on average so far."""
        events = self.events.total()
        return self.streamed / events if events and self.streamed else 1.0

    def add(self, batch: Batch, names: list[str]) -> None:
        """Take a batch; `names` are the classes by code."""
        for name, histogram in self.histograms.items():
            histogram.add(*batch.figure(name, batch.ok))
        planned = ~np.isnan(batch.late_s)
        self.late.add(batch.late_s[planned] * 1000, batch.codes[planned])
        self.outcomes.update(zip(batch.codes.tolist(), batch.outcomes, strict=True))
        if self.promise:
            self.good += by_class(np.bincount(batch.codes[self.promise.kept(batch, names)]))
        gaps, codes = batch.figure("itl_ms", batch.ok)
        self.stalls += by_class(np.bincount(codes[gaps > self.stall_ms]))
        self.input_tokens += by_class(np.bincount(batch.codes, np.nan_to_num(batch.input_tokens)))
        self.output_tokens += by_class(np.bincount(batch.codes, np.nan_to_num(batch.output_tokens)))
        self.events += by_class(np.bincount(batch.codes, batch.events))
        self.streamed += float(batch.tokens.sum())

    def words(self) -> dict[str, Any]:
        """Counts by outcome, the most frequent first."""
        words: Counter[str] = Counter()
        for (_, word), n in self.outcomes.items():
            words[word] += n
        return dict(words.most_common())


def ladder(scenario: Scenario) -> Floats:
    """The bounds of the buckets, in milliseconds: one ladder for all histograms of a run."""
    own = [scenario.slo, *(item.slo for item in scenario.classes if item.slo is not None)]
    promised = [bound for slo in own for bound in bounds(slo).values()]
    return np.array(sorted({*MILLISECONDS, *promised, scenario.stall_ms}), dtype=np.float64)
