"""How many requests are in flight, at most and on average over time: what a test of a closed loop asks the server.

In flight: from the moment a request was read whole until its answer's last byte was handed to the kernel, or its
client left. Times are seconds and come in as arguments.
"""

from typing import Any


class Occupancy:
    """Counts since the last reset."""

    def __init__(self, now: float, wall: float) -> None:
        self.in_flight = 0
        self.reset(now, wall)

    def reset(self, now: float, wall: float) -> None:
        """Begin anew; what is in flight stays so, and counts in the peak."""
        self._since = now
        self._since_wall = wall
        self._changed = now
        self._seconds = 0.0
        self._peak = self.in_flight
        self._requests = 0
        self._by_outcome: dict[str, int] = {}

    def enter(self, now: float) -> None:
        """A request was read whole."""
        self._advance(now)
        self.in_flight += 1
        self._requests += 1
        self._peak = max(self._peak, self.in_flight)

    def leave(self, now: float, outcome: str) -> None:
        """A request is over."""
        self._advance(now)
        self.in_flight -= 1
        self._by_outcome[outcome] = self._by_outcome.get(outcome, 0) + 1

    def as_dict(self, now: float) -> dict[str, Any]:
        """The page `/_state`: `in_flight_seconds` is the time integral of requests in flight since `since`."""
        self._advance(now)
        seconds = now - self._since
        return {
            "in_flight": self.in_flight,
            "peak_in_flight": self._peak,
            "in_flight_seconds": self._seconds,
            "seconds": seconds,
            "mean_in_flight": self._seconds / seconds if seconds > 0 else None,
            "requests": self._requests,
            "by_outcome": dict(self._by_outcome),
            "since": self._since_wall,
        }

    def _advance(self, now: float) -> None:
        self._seconds += self.in_flight * (now - self._changed)
        self._changed = now
