"""What a server's `usage` object says about tokens. Pure."""

from dataclasses import dataclass
from typing import Any

LARGEST = 2**53
"""No count is larger: beyond it JSON's numbers are no longer exact, and a record could not be written down."""


def whole_number(value: Any) -> int | None:
    """A count as an integer; None for anything else, one beyond 2^53 included."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -LARGEST <= value <= LARGEST:
        return None
    return int(value) if isinstance(value, int) or value.is_integer() else None


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as the server gave them; None where it gave none."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None


def read(value: dict[str, Any]) -> Usage:
    """A usage object, in the names of chat and completions or of the newer API."""

    def number(*path: str) -> int | None:
        found: Any = value
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        return whole_number(found)

    def first(*paths: tuple[str, ...]) -> int | None:
        return next((count for path in paths if (count := number(*path)) is not None), None)

    return Usage(
        first(("prompt_tokens",), ("input_tokens",)),
        first(("completion_tokens",), ("output_tokens",)),
        first(("completion_tokens_details", "reasoning_tokens"), ("output_tokens_details", "reasoning_tokens")),
        first(
            ("prompt_tokens_details", "cached_tokens"),
            ("input_tokens_details", "cached_tokens"),
            ("prompt_cache_hit_tokens",),
        ),
    )
