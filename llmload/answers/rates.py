"""Shares and their differences, with 95 % intervals. Numbers only; pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from llmload.chance import Interval, wilson


@dataclass(frozen=True, slots=True)
class Loss:
    """What a candidate lost against the baseline, in points (parts of 100); below 0 it won."""

    points: float
    interval: Interval | None
    """None: too few answers for one."""
    p: float
    """Chance of a difference as large where there is none, two-sided."""


def paired(pairs: Sequence[tuple[bool, bool]]) -> Loss | None:
    """The loss of right answers, (baseline, candidate) of each question; None without a question.

    Newcombe's interval for the difference of paired shares, method 10 (Statistics in Medicine 17 (1998) 2635): Wilson
    intervals of both, joined by their correlation. `p` is McNemar's exact test: a coin for each question that only one
    side got right.
    """
    n = len(pairs)
    if not n:
        return None
    both = sum(a and b for a, b in pairs)
    first = sum(a and not b for a, b in pairs)
    second = sum(b and not a for a, b in pairs)
    low, high = _newcombe(both, first, second, n - both - first - second)
    return Loss(100 * (first - second) / n, (100 * low, 100 * high), sign(first, second)[1])


def _newcombe(e: int, f: int, g: int, h: int) -> Interval:
    """Both right, only the first, only the second, neither; the interval of (f - g)/n."""
    n = e + f + g + h
    p1, p2, theta = (e + f) / n, (e + g) / n, (f - g) / n
    (l1, u1), (l2, u2) = wilson(e + f, n), wilson(e + g, n)
    below = (e + f) * (g + h) * (e + g) * (f + h)
    above = float(e * h - f * g)
    above = max(above - n / 2, 0.0) if above > 0 else above
    phi = above / sqrt(below) if below else 0.0
    a, b, c, d = p1 - l1, u2 - p2, u1 - p1, p2 - l2
    low = theta - sqrt(max(0.0, a * a - 2 * phi * a * b + b * b))
    high = theta + sqrt(max(0.0, c * c - 2 * phi * c * d + d * d))
    return max(-1.0, low), min(1.0, high)


def mean(pairs: Sequence[tuple[float, float]]) -> Loss | None:
    """The loss of scores from 0 to 1, (baseline, candidate) of each answer; Student's t over their differences."""
    if not pairs:
        return None
    apart = 100 * np.array([a - b for a, b in pairs])
    middle, n = float(apart.mean()), len(apart)
    if n < 2:
        return Loss(middle, None, 1.0)
    from scipy.special import stdtr, stdtrit  # slow to import, and seldom needed

    error = float(apart.std(ddof=1)) / sqrt(n)
    half = float(stdtrit(n - 1, 0.975)) * error
    p = 2 * float(stdtr(n - 1, -abs(middle) / error)) if error else float(middle == 0)
    return Loss(middle, (middle - half, middle + half), p)


def sign(wins: int, losses: int) -> tuple[Interval | None, float]:
    """Of comparisons that were no tie: Wilson's interval of the share won, and the two-sided sign test's p."""
    n = wins + losses
    if not n:
        return None, 1.0
    from scipy.special import bdtr  # slow to import, and seldom needed

    return wilson(wins, n), min(1.0, 2 * float(bdtr(min(wins, losses), n, 0.5)))
