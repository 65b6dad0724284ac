"""When requests arrive in a load by rate: one schedule for a whole step, the same in every process that makes it.

Pure: a function of seed, step, rate and kind of arrivals. Who sends what at its time, this file does not know.
"""

import random
from collections.abc import Iterator
from itertools import islice

from llmload.load.scenario import Load


def schedule(load: Load, seed: int, step: int, rate: float) -> Iterator[float]:
    """Seconds from the start of a step to each arrival, ascending, without end.

    - constant: arrival i after i/rate, to the bit.
    - poisson: gaps are exponential, their mean 1/rate.
    - gamma: gaps have the shape `burstiness` and the mean 1/rate, so that sd/mean = 1/√burstiness.
    """
    if load.arrivals == "constant":
        return _constant(rate)
    shape = load.burstiness if load.arrivals == "gamma" else 1.0
    return _random(random.Random(f"{seed}/{step}/arrivals"), rate, shape)  # noqa: S311  (a plan, no secret)


def _constant(rate: float) -> Iterator[float]:
    number = 0
    while True:
        yield number / rate
        number += 1


def _random(source: random.Random, rate: float, shape: float) -> Iterator[float]:
    at = 0.0
    while True:
        at += source.gammavariate(shape, 1 / (rate * shape))
        yield at


def dealt(arrivals: Iterator[float], rank: int, stride: int) -> Iterator[float]:
    """One process's part of a schedule: arrivals number rank, rank + stride, rank + 2·stride and so on."""
    return islice(arrivals, rank, None, stride)


def part(whole: int, rank: int, of: int) -> int:
    """One process's part of a number that is to be kept over all: the parts differ by one at most, and sum to it."""
    return whole * (rank + 1) // of - whole * rank // of
