"""Several steps of change: what each change brings alone, on top of others, and together.

The name of a side tells its changes: `+A`, `+B`, `+A+B`; a name without a + is one change. Gains multiply: A of 1.5 and
B of 2.0 alone promise 3.0 together. What came of the promise is told as a share of the gain, that is of what lies above
1: 2.4 where 3.0 was promised is 1.4 of 2.0, 70 %; 1.0 is 0 %. Whether together is less or more than promised, and not
by chance, the ratio together / promised says with its interval: on logarithms it is the means of four sides, added and
taken away.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from llmload.compare import words
from llmload.compare.figures import Figure
from llmload.compare.ratios import intervals
from llmload.compare.ratios.cells import Deciding
from llmload.compare.ratios.intervals import ROUNDS
from llmload.compare.ratios.measured import Measured
from llmload.compare.ratios.ratios import Ratio, Ratios
from llmload.compare.sides import Level, Pair

Set = frozenset[str]
ENOUGH = 1.02
"""A promise of less than this has no share that says anything."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one set of changes brings against the baseline, or one change on top of others."""

    changes: tuple[str, ...]
    on_top_of: tuple[str, ...]
    gain: float | None
    low: float | None
    high: float | None
    words: str


@dataclass(frozen=True, slots=True)
class Changes:
    """All steps of change of one scenario, of the deciding figure."""

    figure: Figure
    level: Level
    workload: str
    contributions: tuple[Contribution, ...]
    combined: tuple[str, ...]
    """Sentences on what changes together bring of what each alone would promise."""
    warnings: tuple[str, ...]


def of_name(name: str) -> tuple[str, ...]:
    """The changes that a side's name tells, in its order: `+A+B` is A and B, `new` is new."""
    return tuple(dict.fromkeys(part for part in map(str.strip, name.split("+")) if part)) or (name,)


def compute(pairs: Sequence[Pair], deciding: Deciding) -> Changes | None:
    """Contributions of the deciding figure. `pairs` have the same baseline. None where there is but one change."""
    if not pairs or (len(pairs) == 1 and len(of_name(pairs[0].candidate.name)) == 1):
        return None
    steps = _Steps(pairs, deciding)
    alone = [steps.contribution(key, frozenset()) for key in steps.sides]
    above = [
        steps.contribution(key, key - {change})
        for key in steps.sides
        for change in steps.names[key]
        if key - {change} in steps.sides
    ]
    combined = [sentence for key in steps.sides if len(key) > 1 for sentence in steps.together(key)]
    warnings = [sentence for key in steps.sides if len(key) > 1 for sentence in steps.doubts(key)]
    return Changes(
        deciding.figure, deciding.level, deciding.workload, (*alone, *above), tuple(combined), tuple(warnings)
    )


class _Steps:
    """The sides by their changes, and what is looked up of them."""

    def __init__(self, pairs: Sequence[Pair], deciding: Deciding) -> None:
        self.deciding = deciding
        self.names: dict[Set, tuple[str, ...]] = {}
        self.sides: dict[Set, Measured] = {}
        self.there: dict[Set, bool] = {frozenset(): True}
        for pair in sorted(pairs, key=lambda pair: len(of_name(pair.candidate.name))):
            names = of_name(pair.candidate.name)
            self.names[frozenset(names)] = names
            self.sides[frozenset(names)] = Measured(pair.candidate)
            self.there[frozenset(names)] = deciding.level in pair.levels
        self.baseline = Measured(pairs[0].baseline)
        self.interleaved = all(pair.interleaved for pair in pairs)
        self._found: dict[tuple[Set, Set], Ratio | None] = {}

    def side(self, key: Set) -> Measured:
        """The side with these changes; with none it is the baseline."""
        return self.sides[key] if key else self.baseline

    def ratio(self, key: Set, below: Set) -> Ratio | None:
        """The gain of a side over another."""
        if (key, below) not in self._found:
            there = self.there[key] and self.there[below]
            ratios = Ratios(self.side(below), self.side(key), interleaved=self.interleaved)
            place = self.deciding
            self._found[key, below] = ratios.of(place.level, place.workload, place.figure) if there else None
        return self._found[key, below]

    def told(self, key: Set) -> str:
        """The changes of a side in words: `A`, `A and B`, `A, B and C`."""
        *first, last = self.names[key]
        return f"{', '.join(first)} and {last}" if first else last

    def contribution(self, key: Set, below: Set) -> Contribution:
        """What the changes of `key` that `below` has not bring on top of those that it has."""
        ratio = self.ratio(key, below)
        names = tuple(name for name in self.names[key] if name not in below)
        what = self.told(key) if not below else f"{', '.join(names)} on top of {self.told(below)}"
        what += "" if below else " together" if len(key) > 1 else " alone"
        if ratio is None or ratio.gain is None:
            why = f" ({ratio.why})" if ratio is not None and ratio.why else ""
            return Contribution(names, self._order(below), None, None, None, f"{what}: cannot be told{why}")
        up, down = words.comparatives(self.deciding.figure)
        text = f"{what}: {words.times(ratio.gain)}"
        if ratio.low is not None and ratio.high is not None and not ratio.never:
            text += f" [{words.span(ratio.low, ratio.high)}]"
        if not ratio.repeated:
            text += ", not repeated"
        elif ratio.never:
            text += f", {down if ratio.gain == 0 else up} ({ratio.why})"
        elif ratio.p is None:
            text += f", cannot be judged ({ratio.why})"
        else:
            shown = ratio.p < intervals.LEVEL
            text += f", {up if ratio.gain > 1 else down}" if shown else ", no difference shown"
        return Contribution(names, self._order(below), ratio.gain, ratio.low, ratio.high, text)

    def _order(self, key: Set) -> tuple[str, ...]:
        return self.names[key] if key else ()

    def together(self, key: Set) -> list[str]:
        """What changes together bring of what they promise, each measured alone."""
        parts = [frozenset({name}) for name in self.names[key]]
        if any(part not in self.sides for part in parts):
            return []
        ratios = [self.ratio(part, frozenset()) for part in parts]
        whole = self.ratio(key, frozenset())
        gains = [None if ratio is None else ratio.gain for ratio in (whole, *ratios)]
        told = [gain for gain in gains if gain is not None and 0 < gain < math.inf]
        if len(told) < len(gains):
            return [f"{self.told(key)} together: what they promise alone cannot be told, for want of finite figures"]
        got, *each = told
        promise = math.prod(each)
        text = f"{self.told(key)} together {words.times(got)}; alone they would promise "
        text += f"{' · '.join(map(words.times, each))} = {words.times(promise)}"
        if promise >= ENOUGH:
            text += f": {words.percent((got - 1) / (promise - 1))} of the promised gain (of what lies above 1)"
        return [text + self._chance(key, parts, got / promise)]

    def _chance(self, key: Set, parts: Sequence[Set], ratio: float) -> str:
        """Whether together is another thing than promised, or may be chance."""
        place = self.deciding
        sides = [self.side(key), self.baseline, *(self.sides[part] for part in parts)]
        values = [side.values(place.level, place.workload, place.figure) for side in sides]
        logs = [[math.log(value) for value in one if value is not None and 0 < value < math.inf] for one in values]
        if any(len(some) < max(len(one), ROUNDS) for some, one in zip(logs, values, strict=True)):
            return "; not repeated, so that it may be chance"
        sign = -1.0 if place.figure.lower else 1.0
        signs = [sign, sign * (len(parts) - 1), *[-sign] * len(parts)]
        if self.interleaved and len({len(one) for one in logs}) == 1:
            rounds = [
                sum(by * value for by, value in zip(signs, some, strict=True)) for some in zip(*logs, strict=True)
            ]
            found = intervals.contrast([rounds], [1.0])
        else:
            found = intervals.contrast(logs, signs)
        span = f"together / promised {words.number(ratio)} [{words.span(found.low, found.high)}]"
        if found.p >= intervals.LEVEL:
            return f"; that they act independently is not excluded ({span})"
        return f"; {'more' if ratio > 1 else 'less'} than promised, and not by chance ({span})"

    def doubts(self, key: Set) -> list[str]:
        """Where changes were made at once and nothing says which of them brought what."""
        steps = [other for other in self.sides if other < key]
        known = max(steps, key=len, default=frozenset())
        new = [name for name in self.names[key] if name not in known]
        if len(new) < 2:
            return []
        first = f"+{'+'.join(self.names[key])} changes {_count(len(new))} things at once"
        below = f" against {self.told(known)}" if known else ""
        names = f"{', '.join(new[:-1])} and {new[-1]}"
        return [f"{first}{below}; which of {names} brought what cannot be told: run one of them alone"]


def _count(number: int) -> str:
    return {2: "two", 3: "three", 4: "four"}.get(number, str(number))
