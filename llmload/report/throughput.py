"""Tokens streamed inside a window: each event's tokens are credited at the time the event arrived.

What is counted is what reached this host inside the window, whichever request it belonged to: the tail of a
warm-up request counts, the tail of a measured one after the window does not, and the tokens of a stream that
failed later were streamed all the same. Never the sum of the requests' own rates.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
CHUNK = 250_000
"""Events that are unfolded at a time: bounds memory, whatever the length of the run, and fits into a cache."""
MOST_SECONDS = 1_000_000
"""A longer window (a garbled clock, hardly a run) gets no busiest second: there are no buckets for so many."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Requests as they streamed, n of them.

    `start` and `end` are the seconds at which they were sent and over, `first_ms` is their first event after `start`,
    `gaps_ms` are the gaps of all in one row, request i owning `offsets[i]:offsets[i + 1]`, and `tokens` are its tokens.
    """

    start: Floats
    end: Floats
    first_ms: Floats
    gaps_ms: Floats
    offsets: NDArray[np.int64]
    tokens: Floats

    def arrivals(self, chosen: NDArray[np.int64]) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """Of each event of the chosen requests: the second of its arrival, its tokens, its request's place in `chosen`.

        A request's tokens are spread evenly over its events.
        """
        lengths = (self.offsets[chosen + 1] - self.offsets[chosen]) + 1
        heads = np.concatenate(([0], np.cumsum(lengths)[:-1])).astype(np.int64)
        owner = np.repeat(np.arange(len(chosen)), lengths)
        # Each event's time is the sum of the row [first, gap, gap, …]; one running sum does all rows at once.
        source = np.arange(lengths.sum()) - np.repeat(heads, lengths) - 1 + np.repeat(self.offsets[chosen], lengths)
        source[heads] = 0
        steps = self.gaps_ms[source] if len(self.gaps_ms) else np.zeros(len(source))
        steps[heads] = self.first_ms[chosen]
        running = np.cumsum(steps)
        after_ms = running - np.repeat(running[heads] - steps[heads], lengths)
        return self.start[chosen][owner] + after_ms / 1000, (self.tokens[chosen] / lengths)[owner], owner


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens that arrived inside a window, and in its busiest whole second (None for a window under a second)."""

    total: float
    peak: float | None


def per_group(stream: Stream, groups: NDArray[np.int64], count: int, window: tuple[float, float]) -> list[Tokens]:
    """Tokens inside the window (begin, end) for each of `count` groups, and last for all of them together.

    `groups[i]` is the group of request i. Whole seconds are counted from the window's begin.
    """
    begin, end = window
    seconds = max(int(end - begin), 0)
    if seconds > MOST_SECONDS:
        seconds = 0
    bins = np.zeros((count, seconds + 1))
    overlapping = (stream.start <= end) & (stream.end >= begin) & ~np.isnan(stream.first_ms) & (stream.tokens > 0)
    chosen = np.flatnonzero(overlapping)
    events = np.cumsum(stream.offsets[chosen + 1] - stream.offsets[chosen] + 1)
    for part in np.split(chosen, np.flatnonzero(np.diff(events // CHUNK)) + 1) if len(chosen) else ():
        when, tokens, owner = stream.arrivals(part)
        inside = (when >= begin) & (when <= end)
        second = np.minimum((when[inside] - begin).astype(np.int64), seconds)
        if seconds and end - begin == seconds:  # the window's last instant belongs to its last second
            second = np.minimum(second, seconds - 1)
        where = groups[part][owner][inside] * (seconds + 1) + second
        bins += np.bincount(where, tokens[inside], minlength=bins.size).reshape(bins.shape)
    rows = [*bins, bins.sum(axis=0)]
    return [Tokens(float(row.sum()), float(row[:seconds].max()) if seconds else None) for row in rows]
