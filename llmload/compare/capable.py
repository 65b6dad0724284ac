"""What each side can do, as its runs tell: what was stated, and what one request showed. Pure."""

from typing import Any

from llmload.compare.sides import Pair, Side

NAMES = {"tools": "tool calls", "json_mode": "JSON mode", "context": "context", "languages": "languages"}
UNSAID = "not said"


def beside(pair: Pair) -> tuple[tuple[str, str, str], ...]:
    """(what, baseline, candidate) of everything that either side tells of, in words."""
    first, second = _told(pair.baseline), _told(pair.candidate)
    return tuple(
        (words, _words(first.get(name)), _words(second.get(name)))
        for name, words in NAMES.items()
        if name in first or name in second
    )


def _told(side: Side) -> dict[str, Any]:
    """`capabilities` of the last round's run.json."""
    told = side.rounds[-1].facts.run.get("capabilities")
    return {name: item for name, item in told.items() if isinstance(item, dict)} if isinstance(told, dict) else {}


def _words(item: dict[str, Any] | None) -> str:
    """`yes (seen: the tool was called)`."""
    if item is None:
        return UNSAID
    seen = item.get("seen")
    checked = "not checked" if seen is None else "seen" if seen else "NOT seen"
    why = f": {item['words']}" if item.get("words") else ""
    return f"{_stated(item.get('stated'))} ({checked}{why})"


def _stated(value: Any) -> str:
    """What was stated, in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,} tokens"
    return ", ".join(map(str, value)) if isinstance(value, list) else UNSAID
