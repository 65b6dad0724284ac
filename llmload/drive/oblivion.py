"""Keeps Locust's own statistics from growing with the hours: it counts requests by second, and never forgets one.

Its page reads the last ten seconds of them. Percentiles and sums stay as they are.
"""

import time

import gevent
from locust.stats import RequestStats

KEPT_S = 120
EVERY_S = 60.0


def forget(stats: RequestStats, now: float) -> None:
    """Drop the seconds that nobody looks at any more."""
    for entry in (*stats.entries.values(), stats.total):
        for seconds in (entry.num_reqs_per_sec, entry.num_fail_per_sec):
            for second in [second for second in seconds if second < now - KEPT_S]:
                del seconds[second]


def forgetting(stats: RequestStats) -> None:
    """Do so every minute, for as long as the process lives."""

    def work() -> None:
        while True:
            gevent.sleep(EVERY_S)
            forget(stats, time.time())

    gevent.spawn(work)
