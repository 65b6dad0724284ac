"""Whether a soak drifts: one word, and sentences that say what, by how much and since when. Pure.

`drifts`: in the last whole bucket a percentile is another than in the first full hour (its interval is off 0 and the
change at least 5 %), or 1 % more of the attempts fail, or too many failures ended the soak. `steady`: nothing of that,
and the intervals are so narrow that a change of 25 % in a p50 or p95 would have been seen. Else `too short to say`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from llmload.load.spans import span
from llmload.report.soak.buckets import Cut
from llmload.report.soak.drift import Change

MATTERS = 0.05
"""A smaller change of a percentile is none, however sure it is."""
FAILURES_MATTER = 0.01
LEAST = 100
"""Successes that both sides need to be compared."""
NARROW = 0.25
"""A change beyond this must be ruled out where a soak is called steady."""
DRIFTS, STEADY, SHORT = "drifts", "steady", "too short to say"

NAMES = {"ttft_ms": "TTFT", "itl_ms": "ITL"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The word and its reasons."""

    word: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One figure through the whole buckets behind the first hour: None where it could not be compared."""

    name: str
    judged: bool
    """Whether a soak is steady only if this one was told closely (p50 and p95)."""
    matters: float
    changes: tuple[Change | None, ...]
    values: tuple[float | None, ...]
    first: float | None

    def moved(self, place: int) -> bool:
        """Whether it is another in that bucket, and by an amount that matters."""
        change = self.changes[place]
        return change is not None and change.real and abs(change.change) >= self.matters

    @property
    def since(self) -> int | None:
        """The bucket from which on it is another, to the end; None if it is not at the end."""
        since = None
        for place in range(len(self.changes) - 1, -1, -1):
            if not self.moved(place):
                break
            since = place
        return since


def judge(cut: Cut, lines: Sequence[Line], failures: Line) -> Verdict:
    """The verdict. `lines` are percentiles, `failures` is the share of failed attempts."""
    reasons: list[str] = []
    spoiled = cut.step.ended_by == "failures"
    if spoiled:
        reasons.append("too many failures in a row ended the soak before its time")
    compared = cut.full - cut.reference
    if compared >= 1:
        reasons += [_drifts(cut, line) for line in lines if line.since is not None]
        reasons += [_fails(cut, failures)] if failures.since is not None else []
        drifts = bool(reasons)
        reasons += [_stood_out(cut, line) for line in lines if line.since is None and _odd(line)]
        reasons += [_failed_once(cut, failures)] if failures.since is None and _odd(failures) else []
        if drifts:
            return Verdict(DRIFTS, tuple(reasons))
        wide = [line for line in lines if line.judged and not _narrow(line)]
        if not wide:
            return Verdict(STEADY, (*reasons, _steady(cut, lines)))
        return Verdict(SHORT, (*reasons, _wide(cut, wide)))
    if spoiled:
        return Verdict(DRIFTS, tuple(reasons))
    need = span((cut.reference + 1) * cut.size_s)
    return Verdict(
        SHORT,
        (f"no whole {cut.noun} lies behind the first full one to be compared: hold the load for {need} or more",),
    )


def _when(cut: Cut, place: int) -> str:
    """When a compared bucket began."""
    return cut.at(cut.reference + place)


def _drifts(cut: Cut, line: Line) -> str:
    change, since = line.changes[-1], line.since or 0
    assert change is not None  # noqa: S101  (for the type checker: one that moved has a change)
    word = "rose" if change.change > 0 else "fell"
    return (
        f"{line.name} {word} by {abs(change.change) * 100:.0f} % ({interval(change)}), from {line.first:,.1f} to "
        f"{line.values[-1]:,.1f} ms in the last whole {cut.noun}; so since {_when(cut, since)}"
    )


def _fails(cut: Cut, line: Line) -> str:
    return (
        f"{(line.values[-1] or 0) * 100:.1f} % of the attempts failed in the last whole {cut.noun}, "
        f"{(line.first or 0) * 100:.1f} % in the first; so since {_when(cut, line.since or 0)}"
    )


def _odd(line: Line) -> bool:
    return any(line.moved(place) for place in range(len(line.changes)))


def _stood_out(cut: Cut, line: Line) -> str:
    places = [place for place in range(len(line.changes)) if line.moved(place)]
    most = max(places, key=lambda place: abs(_change(line, place)))
    more = f", and {len(places) - 1} more" if len(places) > 1 else ""
    end = f"not in the last whole {cut.noun}"
    if line.changes[-1] is None:
        end = f"the last whole {cut.noun} has too few requests to be compared"
    change = _change(line, most)
    return (
        f"{line.name} was {abs(change) * 100:.0f} % {'higher' if change > 0 else 'lower'} in the {cut.noun} "
        f"from {_when(cut, most)}{more}; {end}"
    )


def _failed_once(cut: Cut, line: Line) -> str:
    most = max((place for place in range(len(line.changes)) if line.moved(place)), key=lambda at: _change(line, at))
    return (
        f"{(line.values[most] or 0) * 100:.1f} % of the attempts failed in the {cut.noun} from {_when(cut, most)}, "
        f"{(line.first or 0) * 100:.1f} % in the first; not in the last whole {cut.noun}"
    )


def _change(line: Line, place: int) -> float:
    change = line.changes[place]
    return 0.0 if change is None else change.change


def interval(change: Change) -> str:
    """An interval in words."""
    return (
        f"{change.low * 100:+.0f} % to {change.high * 100:+.0f} %" if change.high < math.expm1(10) else "no upper bound"
    )


def _narrow(line: Line) -> bool:
    change = line.changes[-1]
    return change is not None and change.low > -NARROW and change.high < NARROW


def _steady(cut: Cut, lines: Sequence[Line]) -> str:
    known = [change for line in lines if line.judged and (change := line.changes[-1]) is not None]
    most = max(max(-change.low, change.high) for change in known)
    return (
        f"no percentile of TTFT or ITL changed by {MATTERS * 100:.0f} % or more from the {cut.first} to the last whole "
        f"{cut.noun}; in a p50 or p95 a change of over {most * 100:.0f} % would have been seen"
    )


def _wide(cut: Cut, lines: Sequence[Line]) -> str:
    if all(line.changes[-1] is None for line in lines):
        return (
            f"the {cut.first} or the last whole {cut.noun} has fewer than {LEAST} successes, too few to be compared: "
            "see what failed, or make the buckets longer (--bucket)"
        )
    told = [
        f"{line.name} ({interval(change) if (change := line.changes[-1]) else 'too few requests'})" for line in lines
    ]
    return (
        f"a change of {NARROW * 100:.0f} % cannot be ruled out: {', '.join(told)}; hold the load for longer, or make "
        "the buckets longer (--bucket)"
    )
