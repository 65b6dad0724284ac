"""Decode speed by position in the answer: some engines slow down after a number of tokens.

A gap between two events belongs to the position of the token at its end, as the request's tokens are spread over its
events. Speed in a range of positions = tokens that came in it / seconds of the gaps before them, pooled over requests.
"""

import numpy as np

from llmload.report.facts import Facts

RANGES = ((1, 50), (51, 200), (201, None))
"""Token positions, counted from 1; the last range is open."""
CHUNK = 2_000
"""Requests whose gaps are looked at together: bounds memory, and fits into a cache."""


def label(low: int, high: int | None) -> str:
    """The range in words: `51-200`, `201 on`."""
    return f"{low} on" if high is None else f"{low}-{high}"


def speeds(facts: Facts) -> dict[int, list[float | None]]:
    """Tokens per second of one request in each range, for every step; None where no answer was that long."""
    steps = facts.numbers("step")
    events = facts.records["events"].to_numpy(dtype=np.int64)
    tokens_per_event = facts.numbers("streamed_tokens") / np.where(events > 0, events, 1)
    bounds = [low for low, _ in RANGES[1:]]
    found: dict[int, list[float | None]] = {}
    for step in facts.steps:
        chosen = np.flatnonzero(facts.ok & (steps == step.index) & (np.diff(facts.offsets) > 0))
        tokens, seconds = np.zeros(len(RANGES)), np.zeros(len(RANGES))
        for part in np.array_split(chosen, len(chosen) // CHUNK + 1):
            lengths = np.diff(facts.offsets)[part]
            inside = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
            gaps = facts.gaps_ms[np.repeat(facts.offsets[part], lengths) + inside]
            weight = np.repeat(tokens_per_event[part], lengths)
            at = (inside + 2) * weight
            place = sum((at >= bound).astype(np.int64) for bound in bounds)
            tokens += np.bincount(place, weight, minlength=len(RANGES))
            seconds += np.bincount(place, gaps / 1000, minlength=len(RANGES))
        found[step.index] = [float(t / s) if s > 0 else None for t, s in zip(tokens, seconds, strict=True)]
    return found
