"""Are a record's values of the kinds that the contract names? A reader must not fall over one that was garbled.

Pure. What a record does not have is None, and allowed, but for the few values without which nobody knows where it
belongs.
"""

from operator import countOf
from typing import Any, get_args

from llmload.record.record import Phase

FLOATS = (
    "concurrency", "rate", "scheduled_at", "sent_at", "connect_ms", "headers_ms", "first_event_ms", "ttft_ms",
    "ttft_content_ms", "last_token_ms", "end_ms", "requested_input_tokens", "input_tokens", "output_tokens",
    "output_chars", "hidden_tokens", "cached_tokens", "requested_output_tokens", "http_status", "retry_after_s",
    "stamp_lag_ms",
)  # fmt: skip
INTS = ("seq", "step", "events", "coalesced")
WORDS = (
    "worker", "phase", "workload", "prompt", "served_model", "input_tokens_source", "output_tokens_source",
    "finish_reason", "outcome", "error",
)  # fmt: skip
NEEDED = ("worker", "seq", "step", "phase", "workload", "outcome")
ALL = (*FLOATS, *INTS, *WORDS, "new_connection", "flags", "gaps_ms")

_NONE = type(None)
_NUMBERS = frozenset({int, float})
KINDS: dict[str, frozenset[type]] = {
    **dict.fromkeys(FLOATS, _NUMBERS | {_NONE}),
    **dict.fromkeys(INTS, frozenset({int, _NONE})),
    **dict.fromkeys(WORDS, frozenset({str, _NONE})),
    "new_connection": frozenset({bool, _NONE}),
    "flags": frozenset({list, _NONE}),
    "gaps_ms": frozenset({list, _NONE}),
}
"""Which types each value may have, as JSON gives them (true is no number)."""
KINDS |= {name: KINDS[name] - {_NONE} for name in NEEDED}

LARGEST = 2**53
"""A whole number over this was never counted, and would not fit into a column."""
MOST = 1e15
"""Numbers of a record together (milliseconds, tokens, Unix seconds) are never so large, nor are its gaps."""
_PLACES = tuple(ALL.index(name) for name in INTS)
_PHASE, _FLAGS, _GAPS = (ALL.index(name) for name in ("phase", "flags", "gaps_ms"))
_PHASES = frozenset(get_args(Phase))


class Right:
    """Judges records; remembers which rows of types were right, since nearly all records have one of a few."""

    def __init__(self) -> None:
        self._seen: dict[tuple[type, ...], bool] = {}

    def __call__(self, values: tuple[Any, ...]) -> bool:
        """Whether these are values of a record, in the order of ALL."""
        types = tuple(map(type, values))
        right = self._seen.get(types)
        if right is None:
            right = self._seen[types] = all(kind in KINDS[name] for name, kind in zip(ALL, types, strict=True))
        if not right or values[_PHASE] not in _PHASES:
            return False
        for place in _PLACES:
            if not 0 <= (values[place] or 0) < LARGEST:
                return False
        flags, gaps = values[_FLAGS], values[_GAPS] or ()
        return (
            (not flags or set(map(type, flags)) <= {str})
            and (countOf(map(type, gaps), float) == len(gaps) or set(map(type, gaps)) <= _NUMBERS)
            and abs(sum(filter(None, values[: len(FLOATS)]))) < MOST
            and abs(sum(gaps)) < MOST
        )
