"""What Grafana puts in the place of variables and intervals before it asks Prometheus. Pure."""

import math
import re

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
POINTS = 240
"""Points of a line at the most, as a panel of middling width has."""


def seconds(text: str) -> float:
    """A duration such as `30s`, `5m` or `now-6h`."""
    found = re.fullmatch(r"(?:now-)?(\d+)(ms|s|m|h|d)", text)
    if found is None:
        raise ValueError(f"expected a duration such as 30s, 5m or now-6h, got {text!r}")
    return int(found[1]) * UNITS[found[2]]


def step(range_s: float, least_s: float) -> float:
    """The distance of two points: whole seconds, and no less than the panel asks for."""
    return max(least_s, float(math.ceil(range_s / POINTS)))


def filled(expr: str, *, step_s: float, range_s: float, scrape_s: float, chosen: dict[str, str] | None = None) -> str:
    """An expression as it is asked; variables that are not chosen stand for all."""
    rate_s = max(step_s + scrape_s, 4 * scrape_s)
    for name, value in (("__rate_interval", rate_s), ("__interval", step_s), ("__range", range_s)):
        expr = re.sub(rf"\$({name}\b|\{{{name}\}})", f"{round(value * 1000)}ms", expr)
    return re.sub(r"\$\{?(\w+)\}?", lambda found: (chosen or {}).get(found[1], ".+"), expr)
