"""What the answers of both sides come to, class by class, and whether the candidate lost more than it may. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from llmload.answers import rates
from llmload.answers.judging import FAULTS, Asked, Judged
from llmload.answers.rates import Loss
from llmload.answers.review import Reviewed
from llmload.chance import Interval, holm, wilson
from llmload.compare.words import percent

SURE = 0.05
"""A loss is shown if its chance (see `classes`) is at most this."""
ALL = "all"
LIMIT = 0.5
"""Points that a class may lose which no scenario speaks of."""


@dataclass(frozen=True, slots=True)
class Example:
    """One prompt with both answers and what was found between them."""

    prompt_id: str
    prompt: str | None
    baseline: str
    candidate: str
    found: tuple[str, ...]
    workload: str = ""


@dataclass(frozen=True, slots=True)
class Lost:
    """One thing in which answers may be worse."""

    what: str
    """`right answers`; `sound answers` (not missing, empty, garbled, looping or in another language) where it is not
    known which are right; `score`."""
    shares: tuple[float, float]
    """Share, or mean score, of both sides, from 0 to 1 …"""
    n: int
    """… over so many prompts."""
    loss: Loss
    limit_points: float
    shown: bool = False
    """Whether the loss is beyond the limit, and beyond chance."""

    @property
    def beyond(self) -> bool:
        """Whether the loss, as it was found, is beyond the limit."""
        return self.loss.points > self.limit_points

    def words(self, workload: str) -> str:
        """One sentence."""
        low, high = self.loss.interval or (float("nan"), float("nan"))
        span = f" [{low:.1f}, {high:.1f}]" if self.loss.interval is not None else ""
        first, second = (percent(share) if self.what != "score" else f"{share:.3f}" for share in self.shares)
        text = f"{workload}: {self.what} {first} against {second}, a loss of {self.loss.points:.1f}{span} points"
        text += f" where {self.limit_points:g} are allowed ({self.n} prompts)"
        return text if self.shown else f"{text}: not shown beyond chance; more prompts are needed to tell"


@dataclass(frozen=True, slots=True)
class ClassQuality:
    """Answers of one class. Shares from 0 to 1; None: nothing to tell it by."""

    workload: str
    n: int
    identical: float | None
    similarity: float | None
    """Mean similarity of those that are not identical."""
    correct: tuple[float | None, float | None]
    """Share of right answers of both sides, of those that can be checked …"""
    checked: int
    loss_points: float | None
    """… and how many points (parts of 100) the candidate lost, with its 95 % interval …"""
    loss_interval: tuple[float, float] | None
    limit_points: float
    """… and how many it may."""
    troubles: tuple[tuple[str, int, int], ...]
    """(what: numbers differ, cut, empty, garbled, loop, language; baseline's, candidate's)."""
    itself: float | None = None
    """Share in which the baseline, asked again, gave the same answer: what `identical` can be at best."""
    correct_intervals: tuple[Interval | None, Interval | None] = (None, None)
    lost: tuple[Lost, ...] = ()
    """All that was looked for, right answers among it."""

    @property
    def scored(self) -> Lost | None:
        """What a team's own scorer gave; None where it gave nothing."""
        return next((item for item in self.lost if item.what == "score"), None)


@dataclass(frozen=True, slots=True)
class Answers:
    """All classes. `loss`: whether any class lost more than it may, beyond chance."""

    classes: tuple[ClassQuality, ...]
    examples: tuple[Example, ...]
    loss: bool
    words: tuple[str, ...]
    """Sentences."""
    sheet: tuple[Asked, ...] = ()
    """Pairs for a blind review, in their order."""
    seed: int = 1
    """Of who is A and who is B there."""
    reviewed: Reviewed | None = None
    """What people said of them."""
    warnings: tuple[str, ...] = ()
    """Sentences on what was asked for and could not be done."""


def classes(
    judged: Sequence[Judged], limits: Mapping[str, float], scores: Mapping[str, Sequence[tuple[float, float]]]
) -> tuple[ClassQuality, ...]:
    """Class by class, in the order in which they first come, and `all` last where there are several.

    `scores`: of a class, by a team's own scorer. A class that `limits` does not name, and `all`, may lose as much as
    the most lenient of those it names, else 0.5 points. An attempt that failed is neither right nor sound: a candidate
    cannot win by failing. Right answers over all questions are the test that decides (sound ones where no answer is
    known), as it is; the chances of all others are corrected for their number (Holm).
    """
    names = list(dict.fromkeys(one.asked.workload for one in judged))
    usual = max(limits.values(), default=LIMIT)
    found = [
        _class(
            name, [one for one in judged if one.asked.workload == name], limits.get(name, usual), scores.get(name, ())
        )
        for name in names
    ]
    if len(names) > 1:
        found.append(_class(ALL, judged, usual, [both for name in names for both in scores.get(name, ())]))
    chances = [lost.loss.p for one in found for lost in one.lost]
    main = len(chances) - len(found[-1].lost) if found else 0
    others = holm(chances[:main] + chances[main + 1 :])
    sure = iter([*others[:main], *chances[main : main + 1], *others[main:]])
    return tuple(replace(one, lost=tuple(_told(lost, next(sure)) for lost in one.lost)) for one in found)


def _told(lost: Lost, chance: float) -> Lost:
    """With the word on whether it is shown, by its corrected chance."""
    low = None if lost.loss.interval is None else lost.loss.interval[0]
    return replace(lost, shown=lost.beyond and chance <= SURE and low is not None and low > 0)


def _class(name: str, judged: Sequence[Judged], limit: float, scores: Sequence[tuple[float, float]]) -> ClassQuality:
    told = [one.identical for one in judged if one.identical is not None]
    alike = [one.similarity for one in judged if one.similarity is not None]
    again = [one.itself for one in judged if one.itself is not None]
    right = [one.right for one in judged if one.right is not None]
    lost = [
        *_lost("right answers", right, limit),
        *_lost("sound answers", [one.sound for one in judged if one.right is None], limit),
    ]
    if (loss := rates.mean(scores)) is not None:
        means = (_mean([a for a, _ in scores]) or 0.0, _mean([b for _, b in scores]) or 0.0)
        lost.append(Lost("score", means, len(scores), loss, limit))
    main = lost[0].loss if right else None
    return ClassQuality(
        workload=name,
        n=len(judged),
        identical=_mean(told),
        similarity=_mean(alike),
        correct=lost[0].shares if right else (None, None),
        checked=len(right),
        loss_points=None if main is None else main.points,
        loss_interval=None if main is None else main.interval,
        limit_points=limit,
        troubles=_troubles(judged),
        itself=_mean(again),
        correct_intervals=_intervals(right),
        lost=tuple(lost),
    )


def _lost(what: str, pairs: Sequence[tuple[bool, bool]], limit: float) -> list[Lost]:
    loss = rates.paired(pairs)
    if loss is None:
        return []
    shares = (sum(a for a, _ in pairs) / len(pairs), sum(b for _, b in pairs) / len(pairs))
    return [Lost(what, shares, len(pairs), loss, limit)]


def _intervals(right: Sequence[tuple[bool, bool]]) -> tuple[Interval | None, Interval | None]:
    if not right:
        return None, None
    return wilson(sum(a for a, _ in right), len(right)), wilson(sum(b for _, b in right), len(right))


def _troubles(judged: Sequence[Judged]) -> tuple[tuple[str, int, int], ...]:
    """Those that came at all. Of numbers: pairs in which a side says one that the other does not say."""
    first, second = ([one.faults[side] for one in judged] for side in (0, 1))
    rows = [(what, sum(what in one for one in first), sum(what in one for one in second)) for what in FAULTS]
    apart = [one.differing for one in judged if one.differing is not None]
    numbers = ("numbers differ", sum(bool(one.only_a) for one in apart), sum(bool(one.only_b) for one in apart))
    return tuple(row for row in (numbers, *rows) if row[1] or row[2])


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
