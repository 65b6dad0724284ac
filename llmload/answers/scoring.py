"""A team's own scorer: which lines it gets, and how the numbers that it answers are read. Starts nothing; pure.

It gets one JSON object a line, `{"id", "prompt", "answer", "side"}`, both answers to a prompt one behind the other. The
side is `a` or `b`, drawn anew for each prompt, so that a scorer cannot favour one. For each line it prints one: a
number from 0 (useless) to 1 (perfect), or an object with such a `score`.
"""

import random
from collections.abc import Sequence

import orjson

from llmload.answers.judging import Answer, Asked
from llmload.exits import Stop


def swapped(asked: Asked, seed: int) -> bool:
    """Whether `a` is the candidate of this prompt."""
    return random.Random(f"{seed}/{asked.workload}/{asked.id}/side").random() < 0.5  # noqa: S311  (no secret)


def sides(asked: Asked, seed: int) -> tuple[Answer, Answer]:
    """The answers as `a` and `b`."""
    both = (asked.baseline, asked.candidate)
    return (both[1], both[0]) if swapped(asked, seed) else both


def lines(pairs: Sequence[Asked], seed: int) -> bytes:
    """What the scorer reads: two lines a pair."""
    rows = [
        {"id": asked.id, "prompt": asked.prompt, "answer": answer.text, "side": side}
        for asked in pairs
        for side, answer in zip("ab", sides(asked, seed), strict=True)
    ]
    return b"".join(orjson.dumps(row) + b"\n" for row in rows)


def scores(told: bytes, pairs: Sequence[Asked], seed: int) -> list[tuple[float, float]]:
    """(baseline's, candidate's) score of every pair, from what the scorer printed. Raises Stop(USAGE)."""
    found = [line for line in told.split(b"\n") if line.strip()]
    if len(found) != 2 * len(pairs):
        raise Stop(f"--score: expected {2 * len(pairs)} lines, one for each answer, got {len(found)}")
    values = [_score(line, number) for number, line in enumerate(found, 1)]
    both = zip(values[::2], values[1::2], strict=True)
    return [(b, a) if swapped(asked, seed) else (a, b) for asked, (a, b) in zip(pairs, both, strict=True)]


def _score(line: bytes, number: int) -> float:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        value = None
    if isinstance(value, dict):
        value = value.get("score")
    if type(value) not in (int, float) or not 0 <= value <= 1:
        shown = line[:60].decode(errors="replace")
        raise Stop(f'--score: line {number}: expected a number from 0 to 1, or {{"score": …}} with one, got {shown!r}')
    return float(value)
