"""Intervals over rounds: Student's t on logarithms. Numbers only; pure.

Runs of one and the same server differ from one another by more than their requests let one expect, so that rounds, not
requests, are counted here. The noise of a run is a factor on its speed: logarithms make it a sum, and a ratio of two
sides a difference of means, of which Student's t gives the interval.

- Rounds that were run one beside the other (A B B A …) share what drifts, so their log ratios are taken round by
  round: n rounds, n - 1 degrees of freedom.
- Rounds that were not are two samples, by Welch's t. Equal variances are not assumed: two engines need not be equally
  steady. Student's pooled t would find a little more (of a true 10 % at a noise of 2 % and 3 + 3 rounds 99 of 100
  against 96), and cry wolf in 7 to 11 of 100 where one side is steadier than the other; Welch's stays at 3 to 5.

Sources: B. L. Welch, Biometrika 34 (1947); F. E. Satterthwaite, Biometrics Bulletin 2 (1946) for more than two groups.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

LEVEL = 0.05
"""A chance below this is taken for a difference; intervals hold the truth in 1 - this of all cases."""
ROUNDS = 3
"""Rounds a side that an interval over rounds needs."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate on the scale of ratios, its 95 % interval, and the chance of such an estimate if the truth is 1."""

    middle: float
    low: float
    high: float
    p: float


def contrast(groups: Sequence[Sequence[float]], signs: Sequence[float], least: Sequence[float] = ()) -> Interval:
    """The interval of exp(sum of sign * mean of each group): groups are logarithms, two or more in each.

    One group of log ratios: Student's t. Two groups with signs 1 and -1: Welch's t. `least` are standard deviations
    that are known to be there however alike a group's few numbers are (0: none). Where no group varies at all the
    interval is a point.
    """
    least = least or [0.0] * len(groups)
    middle = sum(sign * math.fsum(group) / len(group) for sign, group in zip(signs, groups, strict=True))
    parts = [
        (sign**2 * max(_variance(group), floor**2) / len(group), len(group) - 1)
        for sign, group, floor in zip(signs, groups, least, strict=True)
    ]
    square = sum(part for part, _ in parts)
    # Two figures that are equal to a rounding of their last digit are equal.
    if square < 1e-24:
        same = abs(middle) < 1e-12
        return Interval(math.exp(middle), math.exp(middle), math.exp(middle), 1.0 if same else 0.0)
    from scipy.special import stdtr, stdtrit  # slow to import, and not always needed

    freedom = square**2 / sum(part**2 / left for part, left in parts)
    error = math.sqrt(square)
    reach = float(stdtrit(freedom, 1 - LEVEL / 2)) * error
    p = 2 * float(stdtr(freedom, -abs(middle) / error))
    return Interval(math.exp(middle), _exp(middle - reach), _exp(middle + reach), p)


def _exp(value: float) -> float:
    """Infinite where it is too much for a number."""
    return math.exp(value) if value < 700 else math.inf


def _variance(group: Sequence[float]) -> float:
    mean = math.fsum(group) / len(group)
    return math.fsum((value - mean) ** 2 for value in group) / (len(group) - 1)
