"""What chance makes of shares, and of many comparisons at once. Numbers only; pure.

Sources: E. B. Wilson, Journal of the American Statistical Association 22 (1927); R. G. Newcombe, Statistics in Medicine
17 (1998) 873, method 10; S. Holm, Scandinavian Journal of Statistics 6 (1979).
"""

from collections.abc import Sequence
from math import hypot, sqrt

Z = 1.959963984540054
"""The normal distribution's 97.5 % point: of intervals of 95 %."""

Interval = tuple[float, float]


def wilson(hits: int, n: int, z: float = Z) -> Interval:
    """Wilson's score interval of a share, without continuity correction; n at least 1."""
    share, square = hits / n, z * z
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = z / (1 + square / n) * sqrt(share * (1 - share) / n + square / (4 * n * n))
    return (max(0.0, middle - half) if hits else 0.0), (min(1.0, middle + half) if hits < n else 1.0)


def newcombe(one: tuple[int, int], other: tuple[int, int], z: float = Z) -> Interval:
    """Newcombe's interval of one share less another, each (hits, n), of independent samples."""
    (share, less), (low, high), (low_less, high_less) = (
        (one[0] / one[1], other[0] / other[1]), wilson(*one, z), wilson(*other, z)
    )  # fmt: skip
    off = share - less
    return off - hypot(share - low, high_less - less), off + hypot(high - share, less - low_less)


def holm(chances: Sequence[float]) -> list[float]:
    """Chances as corrected for their number, in the same order: the chance that any of them is a false alarm.

    The smallest times n, the next times n - 1 and so on, never below the one before it, never above 1.
    """
    found = [0.0] * len(chances)
    highest = 0.0
    for place, at in enumerate(sorted(range(len(chances)), key=lambda at: chances[at])):
        highest = max(highest, min(1.0, chances[at] * (len(chances) - place)))
        found[at] = highest
    return found
