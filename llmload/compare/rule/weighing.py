"""Three ratios and the rule: P95 speed-up, stability, resources; at least two above a limit and the third near 1.

All are made so that above 1 is better. On points the rule is `decide`. On intervals it is asked twice, with every
ratio at its low end and at its high end: since a better ratio never turns an acceptable claim into one that is not,
what holds at the low ends holds, what fails at the high ends fails, and anything between cannot be judged.

The success share is counted, not drawn: a shortfall within the limit passes as it is (300 attempts without a failure
would not exclude one point), one above it fails where its interval lies above the limit as well.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from llmload.chance import newcombe
from llmload.compare.words import number, percent, span, times
from llmload.exits import Stop

Word = Literal["acceptable", "not acceptable", "cannot be judged"]
SPEEDUP, STABILITY, RESOURCES = "P95 speed-up", "stability", "resources"
"""The three …"""
SIX = (SPEEDUP, STABILITY, RESOURCES, "TTFT p95", "ITL p99", "joules per token")
"""… and the six of the larger radar chart."""
NO_GPU = "no GPU data"
UNMEASURED = "not measured"
DEPENDENT = (
    "The three ratios are not independent: they come from the same runs, and answers that come sooner vary less by "
    "that alone (the ratio of coefficients of variation does not rise with speed)"
)


@dataclass(frozen=True, slots=True)
class Limits:
    """What the rule asks for. Raises Stop(USAGE) for limits that make no rule."""

    gain: float = 1.2
    """At least two ratios exceed this …"""
    least: float = 0.95
    """… and the third is at least this."""
    success_points: float = 1.0
    """Points (parts of 100) by which the success share may lie below the baseline's."""

    def __post_init__(self) -> None:
        for name, value in (("gain", self.gain), ("least", self.least), ("success_points", self.success_points)):
            if not math.isfinite(value) or value < 0:
                raise Stop(f"limits of the rule: {name} is {value:g}; expected a number of 0 or more")
        if self.least > self.gain:
            raise Stop(
                f"limits of the rule: the third ratio may not be asked for more ({self.least:g}) than the other two "
                f"({self.gain:g})"
            )


@dataclass(frozen=True, slots=True)
class Ratio:
    """One of the ratios; above 1 is better. None: cannot be told; with an interval all the same it may be anything."""

    name: str
    gain: float | None
    low: float | None
    high: float | None
    raw: float | None
    """candidate / baseline."""
    words: str
    """What it is made of, and what to know about it."""


@dataclass(frozen=True, slots=True)
class Success:
    """Attempts that succeeded, of how many, on one side, all rounds together."""

    ok: int
    of: int

    @property
    def share(self) -> float | None:
        """From 0 to 1; None without an attempt."""
        return self.ok / self.of if self.of else None


def decide(
    speedup: float | None,
    stability: float | None,
    resources: float | None,
    success_loss_points: float,
    limits: Limits = Limits(),
) -> Word:
    """The rule on points: `success_loss_points` is baseline's share - candidate's, in points."""
    if speedup is None or stability is None or resources is None:
        return "cannot be judged"
    third, second, _ = sorted((speedup, stability, resources))
    holds = second > limits.gain and third >= limits.least and success_loss_points <= limits.success_points
    return "acceptable" if holds else "not acceptable"


def weigh(
    ratios: Sequence[Ratio], baseline: Success, candidate: Success, limits: Limits
) -> tuple[Word, tuple[str, ...]]:
    """The rule on intervals, and why: the first sentence is the reason. A ratio without an interval is its point."""
    lows, highs = ([_end(ratio, at) for ratio in ratios] for at in ("low", "high"))
    best, worst = (
        [unknown if end is None else end for end in ends] for unknown, ends in ((math.inf, highs), (0, lows))
    )
    least, loss, share_words = _loss(baseline, candidate)
    refused = decide(best[0], best[1], best[2], max(least, 0.0), limits)
    missing = [ratio for ratio, high in zip(ratios, highs, strict=True) if high is None]
    if missing or baseline.share is None or candidate.share is None:
        return "cannot be judged", _missing(missing, whatever=refused == "not acceptable")
    if refused == "not acceptable":
        return refused, (_refusal(ratios, highs, least, share_words, limits),)
    if decide(worst[0], worst[1], worst[2], loss, limits) == "acceptable":
        return "acceptable", (_acceptance(ratios, lows, share_words, limits),)
    unsure = [
        f"{_said(ratio)}" for ratio, low, high in zip(ratios, lows, highs, strict=True) if _straddles(low, high, limits)
    ]
    if loss > limits.success_points:
        unsure.append(f"the success share ({share_words}: of so few attempts that may be chance)")
    what = f"{', '.join(unsure)} {'is' if len(unsure) == 1 else 'are'} too unsure"
    return "cannot be judged", (f"{what} for limits of {number(limits.gain)} and {number(limits.least)}",)


def _end(ratio: Ratio, which: str) -> float | None:
    """An end of its interval, which is the point where there is none."""
    end: float | None = getattr(ratio, which)
    return ratio.gain if end is None else end


def _straddles(low: float | None, high: float | None, limits: Limits) -> bool:
    """Whether a limit lies inside of an interval."""
    if low is None or high is None:
        return False
    return low <= limits.gain < high or low < limits.least <= high


def _loss(baseline: Success, candidate: Success) -> tuple[float, float, str]:
    """Points by which the success share fell, at least and as counted, and in words.

    The least is the low end of Newcombe's interval.
    """
    before, after = baseline.share, candidate.share
    if before is None or after is None:
        return 0.0, 0.0, "not known"
    least, _ = newcombe((baseline.ok, baseline.of), (candidate.ok, candidate.of))
    return 100 * least, round(100 * (before - after), 9), f"{percent(after)} against {percent(before)}"


def _said(ratio: Ratio) -> str:
    if ratio.gain is None:
        return f"{ratio.name} ({ratio.words})"
    between = span(ratio.low, ratio.high)
    return f"{ratio.name} {times(ratio.gain)}" + (f" ({between})" if between else "")


def _missing(missing: Sequence[Ratio], *, whatever: bool) -> tuple[str, ...]:
    """Why nothing can be judged; and that it would be refused all the same."""
    told = "; ".join(map(_lacking, missing)) or "no attempt was counted on one side"
    also = "the other ratios and the success share would be refused whatever the missing one is"
    return (told, also) if whatever else (told,)


def _lacking(ratio: Ratio) -> str:
    """Why a ratio cannot be told."""
    if ratio.name != RESOURCES:
        return f"{ratio.name}: {ratio.words}"
    return NO_GPU if ratio.words == UNMEASURED else f"{NO_GPU}: {ratio.words}"


def _acceptance(ratios: Sequence[Ratio], lows: Sequence[float | None], share: str, limits: Limits) -> str:
    above = [_said(ratio) for ratio, low in zip(ratios, lows, strict=True) if low is not None and low > limits.gain]
    rest = [_said(ratio) for ratio, low in zip(ratios, lows, strict=True) if low is None or low <= limits.gain]
    third = f", {rest[0]} is at least {number(limits.least)}" if rest else ""
    return f"{', '.join(above)} exceed {number(limits.gain)}{third}, and the success share holds ({share})"


def _refusal(ratios: Sequence[Ratio], highs: Sequence[float | None], least: float, share: str, limits: Limits) -> str:
    """Every reason that stands even at the high ends."""
    known = [(ratio, high) for ratio, high in zip(ratios, highs, strict=True) if high is not None]
    reasons = [f"{_said(ratio)} is below {number(limits.least)}" for ratio, high in known if high < limits.least]
    above = [_said(ratio) for ratio, high in known if high > limits.gain]
    if len(above) < 2:
        only = f"only {above[0]} exceeds" if above else "none of the three exceeds"
        reasons.append(f"{only} {number(limits.gain)}, and two are needed")
    if least > limits.success_points:
        reasons.append(f"the success share fell ({share})")
    return "; ".join(reasons)
