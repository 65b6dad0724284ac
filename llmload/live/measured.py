"""Figures of some requests, by class: of those whose records came in the last seconds, or of a step's window.

A block of figures is made the same way for both. Failures count by outcome; percentiles, rates and stalls are those
of successes, as in the reporter's `ok`.
"""

from collections import Counter, deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llmload.live.batch import FIGURES, Batch, Flags
from llmload.live.values import Floats, Values

NO_FAILURE = ("ok", "cancelled", "not_sent")


class Measured:
    """Chosen requests: their outcomes, values, stalls and tokens."""

    def __init__(self) -> None:
        self.values = {name: Values() for name in FIGURES}
        self.outcomes: Counter[tuple[int, str]] = Counter()
        self.stalls: Counter[int] = Counter()
        self.gaps: Counter[int] = Counter()
        self.tokens: Counter[int] = Counter()
        """Of these requests, successes or not."""

    @property
    def sketched(self) -> bool:
        """Whether any figure has too many values to keep."""
        return any(values.sketched for values in self.values.values())

    def add(self, batch: Batch, chosen: Flags, stall_ms: float) -> None:
        """Take the chosen records of a batch."""
        good = chosen & batch.ok
        for name, values in self.values.items():
            values.add(*batch.figure(name, good))
        pairs = zip(batch.codes.tolist(), batch.outcomes, chosen.tolist(), strict=True)
        self.outcomes.update((code, outcome) for code, outcome, mine in pairs if mine)
        gaps, codes = batch.figure("itl_ms", good)
        self.gaps += by_class(np.bincount(codes))
        self.stalls += by_class(np.bincount(codes[gaps > stall_ms]))
        self.tokens += by_class(np.bincount(batch.codes, np.where(chosen, batch.tokens, 0.0)))

    def join(self, other: "Measured") -> None:
        """Take the requests of another."""
        for name, values in self.values.items():
            values.join(other.values[name])
        self.outcomes += other.outcomes
        self.stalls += other.stalls
        self.gaps += other.gaps
        self.tokens += other.tokens

    def failed(self, code: int | None) -> int:
        """Failures of a class, or of all."""
        return sum(n for (own, word), n in self.outcomes.items() if code in (None, own) and word not in NO_FAILURE)

    def count(self, outcome: str) -> int:
        """How many had this outcome."""
        return sum(n for (_, word), n in self.outcomes.items() if word == outcome)

    def block(self, code: int | None, seconds: float | None) -> dict[str, Any]:
        """All figures of a class, or of all, as the page shows them; without seconds there are no rates."""
        outcomes: Counter[str] = Counter()
        for (own, word), n in self.outcomes.items():
            if code in (None, own):
                outcomes[word] += n
        gaps = pick(self.gaps, code)
        return {
            **{name: values.of(code) for name, values in self.values.items()},
            "output_tokens_per_s": pick(self.tokens, code) / seconds if seconds else None,
            "requests_per_s": outcomes["ok"] / seconds if seconds else None,
            "outcomes": dict(outcomes.most_common()),
            "stalls_per_1000_gaps": 1000 * pick(self.stalls, code) / gaps if gaps else None,
        }


class Recent:
    """The requests whose records came in the last ten seconds: within a second of the request's end, that is."""

    SECONDS = 10

    def __init__(self, now: float) -> None:
        self._began: deque[float] = deque([now], self.SECONDS)
        self._seconds: deque[Measured] = deque([Measured()], self.SECONDS)
        self._events: deque[int] = deque([0], self.SECONDS)

    def add(self, batch: Batch, stall_ms: float) -> None:
        """Take a batch."""
        self._seconds[-1].add(batch, np.ones(len(batch), dtype=bool), stall_ms)

    def events(self, events: int) -> None:
        """Token-bearing events that a worker told of."""
        self._events[-1] += events

    def turn(self, now: float) -> tuple[Measured, float, int]:
        """A second is over: what the last ten hold, how long they were, the events that came in them."""
        whole = Measured()
        for second in self._seconds:
            whole.join(second)
        found = whole, max(now - self._began[0], 1e-3), sum(self._events)
        self._began.append(now)
        self._seconds.append(Measured())
        self._events.append(0)
        return found


def by_class(numbers: NDArray[np.int64] | Floats) -> Counter[int]:
    """Numbers by class; those that are 0 are left out."""
    return Counter({code: n for code, n in enumerate(numbers.tolist()) if n})


def pick(numbers: Counter[int], code: int | None) -> float:
    """The number of a class, or of all."""
    return sum(numbers.values()) if code is None else numbers[code]
