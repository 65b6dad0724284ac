"""How late the requests of an open loop were sent: sent - planned. What comes on top of it is the server's.

Both moments are of the worker's own clock, so that no offset is in the difference.
"""

import numpy as np

from llmload.report.facts import Facts, Floats
from llmload.report.steps import Step


def of(facts: Facts, step: Step) -> Floats:
    """Milliseconds, ascending, of the requests that were sent in the window; empty in closed loop."""
    slip_ms = (facts.numbers("sent_at") - facts.numbers("scheduled_at")) * 1000
    mine = facts.measured & (facts.numbers("step") == step.index) & ~np.isnan(slip_ms)
    return np.sort(slip_ms[mine])
