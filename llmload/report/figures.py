"""Finds a figure of a row of summary.json by its name. Knows rows only."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

COUNTED = ("outcomes", "flags", "throttled_seconds")
"""Figures in which a name that is not there means 0."""


def look_up(row: dict[str, Any], figure: Sequence[str]) -> Any:
    """A figure of a row; None where it is missing. Percentiles of no kind are those over all attempts, if there are."""
    value: Any = row.get(figure[0])
    for name, part in pairwise(figure):
        if isinstance(value, dict) and value.keys() == {"ok", "all"} and part not in value:
            both = value["all"], value["ok"]
            value = next((kind for kind in both if isinstance(kind, dict) and part in kind), None)
        if not isinstance(value, dict):
            return None
        value = value.get(part, 0 if name in COUNTED else None)
    return None if isinstance(value, dict) else value
