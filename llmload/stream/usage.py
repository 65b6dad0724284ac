"""What a server's `usage` object says about tokens. Pure."""

from dataclasses import dataclass
from typing import Any


def whole_number(value: Any) -> int | None:
    """A count as an integer; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, float) and value.is_integer() else None


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
