"""Is run.json of the shape that the report computes with? Checked once, here, so that nothing behind falls over it.

Pure: knows a dictionary. What a run does not have is missing or null, and allowed; keys that nobody computes with are
not looked at.
"""

from collections.abc import Callable, Iterator
from typing import Any

Path = tuple[str, ...]

LAST_MOMENT = 253_402_300_799
"""The last second of the year 9999 (Unix): later ones have no date."""
MOST = 100_000_000
"""More steps, attempts or workers than this were never counted."""
LARGEST = 1e15
"""No figure of a run is larger."""


def _number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= LARGEST


KINDS: dict[str, Callable[[Any], bool]] = {
    "an object": lambda value: isinstance(value, dict),
    "a list": lambda value: isinstance(value, list),
    "a text": lambda value: isinstance(value, str),
    "true or false": lambda value: isinstance(value, bool),
    "a number": _number,
    "a number from 0 on": lambda value: _number(value) and value >= 0,
    "a whole number from 0 to 100,000,000": lambda value: type(value) is int and 0 <= value <= MOST,
    "a moment in Unix seconds": lambda value: _number(value) and 0 <= value <= LAST_MOMENT,
}
"""Kinds of values, in the words of the sentence about one that is of another kind."""
OBJECT, LIST, TEXT, FLAG, NUMBER, AMOUNT, COUNT, MOMENT = KINDS

LIMITS = ("connect_s", "ttft_s", "stall_s", "total_s")
PLAN = ("warmup_s", "window_s", "window_cap_s", "hold_s", "drain_limit_s", "settle_s")

SHAPE: dict[str, str] = {
    "run": TEXT,
    "started_at": MOMENT,
    "ended_at": MOMENT,
    "clock_drift_s": NUMBER,
    "command": LIST,
    "command.[]": TEXT,
    "labels": OBJECT,
    "versions": OBJECT,
    "verdict": TEXT,
    "reasons": LIST,
    "reasons.[]": TEXT,
    "notes": LIST,
    "notes.[]": TEXT,
    "environment": OBJECT,
    "environment.client": OBJECT,
    "environment.client.memory_bytes": AMOUNT,
    "environment.server": OBJECT,
    "preflight": OBJECT,
    "preflight.notes": LIST,
    "preflight.overhead_tokens": AMOUNT,
    "sending": OBJECT,
    **{f"sending.{name}": AMOUNT for name in LIMITS},
    "sampling": OBJECT,
    "sampling.every_s": AMOUNT,
    "sampling.idle": OBJECT,
    "sampling.idle.from_s": MOMENT,
    "sampling.idle.to_s": MOMENT,
    "sampling.notes": LIST,
    "sampling.notes.[]": TEXT,
    "steps": LIST,
    "steps.[]": OBJECT,
    "steps.[].step": COUNT,
    "steps.[].concurrency": COUNT,
    "steps.[].rate": AMOUNT,
    "steps.[].window_started_at": MOMENT,
    "steps.[].window_ended_at": MOMENT,
    "steps.[].ended_by": TEXT,
    "steps.[].abandoned": COUNT,
    "steps.[].started_at": MOMENT,
    "steps.[].ended_at": MOMENT,
    "steps.[].held": FLAG,
    "steps.[].observed": FLAG,
    "workers": OBJECT,
    "workers.*": OBJECT,
    **{f"workers.*.{name}": NUMBER for name in ("clock_offset_ms", "clock_error_ms", "clock_drift_s")},
    "accounting": OBJECT,
    "accounting.*": OBJECT,
    "accounting.*.started": COUNT,
    "scenario": OBJECT,
    "scenario.name": TEXT,
    "scenario.stream": FLAG,
    "scenario.stall_ms": AMOUNT,
    "scenario.slow_s": AMOUNT,
    "scenario.labels": OBJECT,
    "scenario.extra_body": OBJECT,
    "scenario.slo": OBJECT,
    "scenario.slo.*": AMOUNT,
    "scenario.limits": OBJECT,
    **{f"scenario.limits.{name}": AMOUNT for name in LIMITS},
    "scenario.load": OBJECT,
    "scenario.load.kind": TEXT,
    "scenario.load.steps": LIST,
    "scenario.load.steps.[]": COUNT,
    "scenario.load.rates": LIST,
    "scenario.load.rates.[]": AMOUNT,
    "scenario.load.arrivals": TEXT,
    "scenario.load.burstiness": AMOUNT,
    "scenario.load.max_in_flight": COUNT,
    **{f"scenario.load.{name}": AMOUNT for name in PLAN},
    "scenario.classes": LIST,
    "scenario.classes.[]": OBJECT,
    "scenario.classes.[].name": TEXT,
    "scenario.classes.[].weight": AMOUNT,
    "scenario.classes.[].shared_prefix_share": AMOUNT,
    "scenario.classes.[].slo": OBJECT,
    "scenario.classes.[].slo.*": AMOUNT,
}
"""Which kind each value has. `*` is every key of an object, `[]` every item of a list."""
NEEDED = ("steps.[]", "steps.[].step", "workers.*", "accounting.*", "scenario.classes.[]", "scenario.classes.[].name",
          "reasons.[]", "command.[]", "scenario.load.steps.[]", "scenario.load.rates.[]")  # fmt: skip
"""What must be there where the thing around it is."""
_MISSING = object()


def wrong(run: dict[str, Any]) -> str | None:
    """The first value of a wrong kind, as `steps[0].step: expected …, got …`; None if there is none."""
    for pattern, kind in SHAPE.items():
        for where, value in _values(run, tuple(pattern.split("."))):
            if value is _MISSING or value is None:
                if pattern in NEEDED:
                    return f"{where}: expected {kind}, got {'nothing' if value is _MISSING else 'null'}"
            elif not KINDS[kind](value):
                return f"{where}: expected {kind}, got {_short(value)}"
    return _unknown_slo(run)


def _unknown_slo(run: dict[str, Any]) -> str | None:
    scenario = run.get("scenario") or {}
    known = ("ttft_ms", "tpot_ms", "e2e_ms", "itl_max_ms")
    for slo in (scenario.get("slo"), *(item.get("slo") for item in scenario.get("classes") or ())):
        for name, bound in (slo or {}).items():
            if name not in known and bound is not None:
                return f"scenario: an SLO on {name!r}; expected one of {', '.join(known)}"
    return None


def _values(value: Any, path: Path, where: str = "") -> Iterator[tuple[str, Any]]:
    """Each value at a path, with its place; what is not where it should be is told of by its own pattern."""
    if not path:
        yield where, value
    elif path[0] == "[]":
        for place, item in enumerate(value if isinstance(value, list) else ()):
            yield from _values(item, path[1:], f"{where}[{place}]")
    elif isinstance(value, dict):
        for key in value if path[0] == "*" else path[:1]:
            inner = value.get(key, _MISSING)
            if inner is not _MISSING or len(path) == 1:
                yield from _values(inner, path[1:], f"{where}.{key}" if where else key)


def _short(value: Any) -> str:
    """A value as JSON words it, cut where it is long."""
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)
    return text if len(text) <= 40 else f"{text[:37]}…"
