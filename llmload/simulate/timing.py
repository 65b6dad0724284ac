"""When each event of an answer is due: drawn from seed and request number alone, never from a clock.

A request's first event is due `first()` seconds after its service began, each further one `gap()` seconds after the
moment the one before it was *due* (not sent), so that nothing drifts. Means are kept by every distribution:

    fixed        the mean
    normal       mean · (1 + spread · z), never below 0
    lognormal    mean · exp(s · z - s²/2) with s² = ln(1 + spread²)
    exponential  -mean · ln(1 - u)

`spread` is standard deviation / mean. Load slows an answer down by a factor 1 + slowdown · (running - 1), where
`running` counts the requests in service.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from llmload.simulate import draws

Draw = Callable[[Random, float, float], float]


def _fixed(_random: Random, mean: float, _spread: float) -> float:
    return mean


def _normal(random: Random, mean: float, spread: float) -> float:
    return max(0.0, mean * (1.0 + spread * random.gauss(0.0, 1.0)))


def _lognormal(random: Random, mean: float, spread: float) -> float:
    variance = math.log1p(spread * spread)
    return mean * math.exp(math.sqrt(variance) * random.gauss(0.0, 1.0) - variance / 2)


def _exponential(random: Random, mean: float, _spread: float) -> float:
    return -mean * math.log1p(-random.random())


DISTRIBUTIONS: dict[str, Draw] = {
    "fixed": _fixed,
    "normal": _normal,
    "lognormal": _lognormal,
    "exponential": _exponential,
}
WITH_SPREAD = ("normal", "lognormal")
DEFAULT_SPREAD = 0.2


@dataclass(frozen=True, slots=True)
class Timing:
    """How fast the simulated engine is. Seconds."""

    ttft_s: float = 0.2
    itl_s: float = 0.02
    distribution: str = "fixed"
    spread: float = DEFAULT_SPREAD
    prefill_tokens_per_s: float | None = None
    """Each prompt token adds 1/this to the time of the first event; None: the prompt's length does not matter."""
    slowdown: float = 0.0
    cliff_after: int | None = None
    """From this event of an answer on …"""
    cliff_factor: float = 1.0
    """… gaps are so many times as long."""


class Pace:
    """The times of one request. The draws come in a fixed order: the first event's, then each gap's."""

    __slots__ = ("_draw", "_events", "_random", "_timing")

    def __init__(self, timing: Timing, seed: int, number: int) -> None:
        self._timing = timing
        self._events = 1
        self._random = draws.sequence(seed, number, "timing")
        self._draw = DISTRIBUTIONS[timing.distribution]

    def first(self, prompt_tokens: int, running: int) -> float:
        """Seconds from the start of service to the first event."""
        timing = self._timing
        seconds = self._draw(self._random, timing.ttft_s, timing.spread)
        if timing.prefill_tokens_per_s:
            seconds += prompt_tokens / timing.prefill_tokens_per_s
        return seconds * self._factor(running)

    def gap(self, running: int) -> float:
        """Seconds to the next event."""
        timing = self._timing
        seconds = self._draw(self._random, timing.itl_s, timing.spread) * self._factor(running)
        self._events += 1
        beyond = timing.cliff_after is not None and self._events > timing.cliff_after
        return seconds * timing.cliff_factor if beyond else seconds

    def _factor(self, running: int) -> float:
        return 1.0 + self._timing.slowdown * max(0, running - 1)
