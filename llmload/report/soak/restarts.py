"""When the engine began anew during a soak: it tells another start, or one of its counters fell. Pure."""

from llmload.report.telemetry.sampled import Telemetry
from llmload.report.telemetry.servers import COUNTERS, STARTED_S

TOGETHER_S = 30.0
"""What is seen within so long of one another is one restart: an engine is not up again sooner."""


def find(telemetry: Telemetry, begin: float, end: float) -> list[float]:
    """The moments at which the engine was first seen after it began anew, in a window."""
    server = telemetry.server
    if server is None:
        return []
    seen: list[float] = []
    for key in ("start_time_seconds", *COUNTERS):
        known = server.series(key)
        off = known.values[1:] - known.values[:-1]
        anew = abs(off) > STARTED_S if key == "start_time_seconds" else off < 0
        seen += known.at[1:][anew].tolist()
    found: list[float] = []
    for at in sorted(moment for moment in seen if begin <= moment <= end):
        if not found or at - found[-1] > TOGETHER_S:
            found.append(at)
    return found
