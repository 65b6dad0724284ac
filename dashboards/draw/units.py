"""Numbers with their units, as short as on a board. Pure."""

import math
from collections.abc import Callable

THOUSANDS = ("", "k", "M", "G", "T")
BINARY = ("", "Ki", "Mi", "Gi", "Ti")
AFTER = {
    "watt": "W", "joule": "J", "hertz": "Hz", "reqps": "req/s", "cps": "/s", "Bps": "B/s",
    "short": "",
}  # fmt: skip


def told(value: float, unit: str) -> str:
    """A value as text."""
    if math.isnan(value):
        return ""
    if unit in OWN:
        return OWN[unit](value)
    after = unit.removeprefix("suffix: ") if unit.startswith("suffix: ") else AFTER[unit]
    text = scaled(value, THOUSANDS, 1000)
    return f"{text}{'' if text[-1:].isalpha() else ' '}{after}".strip()


def scaled(value: float, prefixes: tuple[str, ...], base: int) -> str:
    """With a prefix, and a space before it."""
    size = abs(value)
    index = 0
    while size >= base and index < len(prefixes) - 1:
        size /= base
        value /= base
        index += 1
    return f"{figures(value)} {prefixes[index]}" if index or base == 1024 else figures(value)


def duration(value: float) -> str:
    """Seconds, in a unit that suits them."""
    size = abs(value)
    if size >= 1 or size == 0:
        return f"{figures(value)} s"
    return f"{figures(value * 1000)} ms" if size >= 0.001 else f"{figures(value * 1e6)} µs"


def figures(value: float) -> str:
    """Three figures."""
    size = abs(value)
    if size >= 100 or value == int(value):
        return f"{value:.0f}"
    if size >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if size >= 0.01 else f"{value:.1g}" if size >= 0.0005 else "0"


OWN: dict[str, Callable[[float], str]] = {
    "percentunit": lambda value: f"{figures(value * 100)} %",
    "s": duration,
    "bytes": lambda value: scaled(value, BINARY, 1024) + "B",
    "locale": lambda value: f"{value:,.0f}",
    "celsius": lambda value: f"{figures(value)} °C",
}
"""Units that are written in their own way."""
