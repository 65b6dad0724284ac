"""One step of the open loop as a state machine: that of the closed loop, with a warm-up of its own.

Users are those who send on a schedule, one for each worker; nobody waits for them to have all in flight.
"""

from llmload.load.plan import Seen, Step


class RateStep(Step):
    """One rate. Warm once its seconds have passed and a request of every class has ended."""

    def _warm(self, now: float, seen: Seen) -> bool:
        return (
            all(seen.classes_warm.get(name, 0) > 0 for name in self.classes)
            and now - self.began["warmup"] >= self.load.warmup_s
        )
