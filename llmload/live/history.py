"""The run as a line of points, one per second at first: at most 2,000 however long it gets. Knows no figure.

The last minute stands second by second. Older points are merged, two into one, then four, whenever there would be
too many: a p95, a p99 and the health of the generator as the worst of the points (a spike never goes away), all else
as their mean. So a page that is opened late in a soak of a day sees all of it, and one that asks for what is new
gets every second once.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

Point = dict[str, Any]

MOST = 2000
FINE = 60
"""Points that are kept second by second."""
COARSEST = 512
LAST = ("t", "step", "concurrency")
WORST = ("_p95", "_p99", "cpu_max", "loop_lag_p99_ms", "stamp_lag_ms")


class History:
    """Points in the order of their time `t`."""

    def __init__(self) -> None:
        self._coarse: list[Point] = []
        self._fine: list[Point] = []
        self._size = 1
        """Seconds that one coarse point stands for."""

    def __len__(self) -> int:
        return len(self._coarse) + len(self._fine)

    def add(self, point: Point) -> None:
        """One more second."""
        self._fine.append(point)
        if len(self._fine) >= FINE + self._size:
            self._coarse.append(merged(self._fine[: self._size]))
            del self._fine[: self._size]
        if len(self) > MOST:
            self._coarse = [merged(self._coarse[at : at + 2]) for at in range(0, len(self._coarse), 2)]
            self._size = min(2 * self._size, COARSEST)

    def since(self, t: float | None) -> list[Point]:
        """The points later than `t`, or all."""
        points = self._coarse + self._fine
        return points if t is None else points[bisect_right(points, t, key=lambda point: point["t"]) :]


def merged(points: Sequence[Point]) -> Point:
    """Several points as one."""
    if len(points) == 1:
        return points[0]
    names = dict.fromkeys(name for point in points for name in point)
    return {name: together(name, [point[name] for point in points if point.get(name) is not None]) for name in names}


def together(name: str, values: list[Any]) -> Any:
    """One value for several; None where there is none."""
    if not values:
        return None
    if name in LAST:
        return values[-1]
    return max(values) if name.endswith(WORST) else round(sum(values) / len(values), 3)
