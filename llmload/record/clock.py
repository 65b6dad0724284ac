"""The clock of every moment that is written down: Unix seconds that never step.

`time.time()` jumps when somebody or something sets the machine's clock, and a window measured with it is then seconds
too short or too long. Here the wall clock is read once, when this is first imported, and the monotonic clock tells how
much later it is. Processes that are forked from one another share that one reading.
"""

import time

_ANCHOR = max(time.time() - time.perf_counter() for _ in range(5))
"""A process that is paused between the two readings makes it too small, so the largest of several counts."""


def now() -> float:
    """Unix seconds."""
    return _ANCHOR + time.perf_counter()


def at(reading_ns: int) -> float:
    """Unix seconds of a reading of `time.perf_counter_ns()`."""
    return _ANCHOR + reading_ns / 1e9


def drift_s() -> float:
    """Seconds by which the machine's clock has been set forward (or back, if negative) since the one reading."""
    return time.time() - now()
