"""How long an answer would be by itself: drawn from seed and request number alone.

Written on the command line as `fixed:200`, `uniform:10,200`, `normal:150,40` (mean, standard deviation) or
`lognormal:150,0.5` (mean, standard deviation / mean); a length is never below 1.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from llmload.simulate import draws

KINDS: dict[str, tuple[int, Callable[[Random, float, float], float]]] = {
    "fixed": (1, lambda _random, length, _: length),
    "uniform": (2, lambda random, low, high: random.randint(int(low), int(high))),
    "normal": (2, lambda random, mean, sd: random.gauss(mean, sd)),
    "lognormal": (
        2,
        lambda random, mean, spread: random.lognormvariate(
            math.log(mean) - math.log1p(spread * spread) / 2, math.sqrt(math.log1p(spread * spread))
        ),
    ),
}
"""Kind: how many numbers it takes, and its draw."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """A distribution of answer lengths, in tokens."""

    kind: str
    a: float
    b: float = 0.0

    def draw(self, seed: int, number: int) -> int:
        """The length of one request's answer."""
        return max(1, round(KINDS[self.kind][1](draws.sequence(seed, number, "length"), self.a, self.b)))


def parse(text: str) -> Lengths:
    """Read `normal:150,40`. Raises ValueError with a sentence."""
    kind, _, rest = text.partition(":")
    if kind not in KINDS:
        raise ValueError(
            f"unknown kind {kind!r}; expected one of: {', '.join(KINDS)}, as in fixed:200 or normal:150,40"
        )
    try:
        numbers = [float(item) for item in rest.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != KINDS[kind][0] or not all(math.isfinite(number) and number >= 0 for number in numbers):
        wanted = "one number" if KINDS[kind][0] == 1 else "two numbers"
        raise ValueError(f"{text!r}: {kind} takes {wanted}, none below 0, as in fixed:200 or normal:150,40")
    if numbers[0] < 1 or (kind == "uniform" and numbers[1] < numbers[0]):
        raise ValueError(f"{text!r}: an answer has at least 1 token, and the higher bound comes second")
    return Lengths(kind, *numbers)
