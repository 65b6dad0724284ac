"""A figure as it would have been with other requests: computed again in every draw of a bootstrap.

Which units are drawn is chosen so that what belongs together stays together:

- *Paired by prompt* where both sides asked the same prompts: drawn are prompts, each with all its requests on both
  sides. Long and short prompts then weigh alike on both sides of the ratio, as they did in the runs, and how much
  prompts differ does not blur how much the sides do. At least PROMPTS prompts must be common and carry nearly all
  requests (COMMON): of fewer, drawing again says little.
- *Requests* otherwise, of each side for itself.

Gaps are drawn with their request, never one by one: they come from one stream, and taking a hundred thousand of them
for independent makes intervals many times too narrow. Rates in closed loop are drawn as a sum over requests / the
seconds that these were in flight (with N in flight a rate is N times that); in open loop the plan gives the arrivals,
and only what became of each is drawn. Nothing drawn within runs knows how much runs differ: rounds tell that.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from llmload.compare.figures import Figure
from llmload.compare.ratios.attempts import Attempts
from llmload.compare.ratios.bootstrap import UNITS, Floats, Ordered, Weights, quotients, shares, weights
from llmload.report.rows import ALL

PROMPTS = 20
"""Fewer common prompts than this are not drawn …"""
COMMON = 0.9
"""… nor those that carry a smaller share of the requests of either side."""
BOTH, ONE, OTHER = 1, 2, 3
"""Seeds: fixed, so that the same runs always have the same intervals."""

Ints = NDArray[np.int64]


class Side:
    """The attempts of one side, all its rounds, and which unit each belongs to."""

    def __init__(self, rounds: Sequence[Attempts], units: Sequence[Ints], drawn: Weights, seed: int) -> None:
        self.rounds, self.units, self.drawn, self.seed = rounds, units, drawn, seed
        self._last = ("", "")
        self._ordered: dict[int, Ordered] = {}

    def ordered(self, at: int, workload: str, name: str) -> Ordered:
        """Values of a time by its name, or of the gaps, of a class in a round, in order.

        Kept until others are asked for: all percentiles of a time are, one after another, and all times take room.
        """
        if self._last != (workload, name):
            self._last, self._ordered = (workload, name), {}
        if at not in self._ordered:
            found = self.rounds[at]
            owner, values = (
                (found.owner, found.gaps_ms)
                if name == "itl_ms"
                else (np.arange(len(found.ok)), found.times[name])
            )  # fmt: skip
            mine = ~np.isnan(values)
            if workload != ALL:
                mine &= (found.workload == workload)[owner]
            self._ordered[at] = Ordered(values[mine], self.units[at][owner[mine]], self.drawn)
        return self._ordered[at]


def sides(baseline: Sequence[Attempts], candidate: Sequence[Attempts]) -> tuple[Side, Side, bool]:
    """Both sides with their units, and whether they are paired by prompt."""
    codes = _common(baseline, candidate)
    if codes is None:
        return _alone(baseline, ONE), _alone(candidate, OTHER), False
    count = 1 + max(int(part.max(initial=0)) for part in codes)
    drawn = weights(min(count, UNITS), BOTH)
    units = [part % UNITS for part in codes]
    return (
        Side(baseline, units[: len(baseline)], drawn, ONE),
        Side(candidate, units[len(baseline) :], drawn, OTHER),
        True,
    )


def _alone(rounds: Sequence[Attempts], seed: int) -> Side:
    """A side whose requests are drawn."""
    sizes = [len(found.ok) for found in rounds]
    first = np.concatenate(([0], np.cumsum(sizes)))
    count = max(1, min(int(first[-1]), UNITS))
    units = [(int(begin) + np.arange(size)) % count for begin, size in zip(first[:-1], sizes, strict=True)]
    return Side(rounds, units, weights(count, seed), seed)


def _common(baseline: Sequence[Attempts], candidate: Sequence[Attempts]) -> list[Ints] | None:
    """A number for the prompt of each attempt, round by round, the baseline's first; None if they are not the same.

    What has no prompt, or one that the other side has not, is a unit of its own.
    """
    names = [set().union(*(set(found.prompt.tolist()) for found in rounds)) for rounds in (baseline, candidate)]
    common = (names[0] & names[1]) - {None}
    number = {name: at for at, name in enumerate(sorted(common))}
    if len(number) < PROMPTS:
        return None
    codes, free = [], len(number)
    for rounds in (baseline, candidate):
        have = total = 0
        for found in rounds:
            code = np.array([number.get(name, -1) for name in found.prompt.tolist()], dtype=np.int64)
            odd = code < 0
            code[odd] = free + np.arange(int(odd.sum()))
            free += int(odd.sum())
            have, total = have + int((~odd).sum()), total + len(code)
            codes.append(code)
        if have < COMMON * total:
            return None
    return codes


def drawn(side: Side, workload: str, figure: Figure, *, closed: bool) -> Floats | None:
    """The figure in each draw, as geometric mean over rounds; None for figures that are of no requests.

    Rates are given as parts of what the sample itself has (1: as much): a rate of the window is that many times.
    """
    rule = RATES.get(figure.key)
    found = []
    for at, attempts in enumerate(side.rounds):
        mine = np.ones(len(attempts.ok), dtype=bool) if workload == ALL else attempts.workload == workload
        units, name = side.units[at], figure.path[0]
        if name in (*attempts.times, "itl_ms"):
            found.append(side.ordered(at, workload, name).percentile(int(figure.path[-1][1:])))
        elif figure.key == "decode":
            tpot = attempts.times["tpot_ms"]
            known = mine & attempts.ok & (tpot > 0)
            speeds = np.divide(1000.0, tpot, out=np.zeros(len(tpot)), where=known)
            found.append(quotients(speeds, known.astype(float), units, side.drawn))
        elif figure.key == "success":
            found.append(shares(int(attempts.ok[mine].sum()), int(mine.sum()), side.seed + 10 * at))
        elif rule is not None:
            cost = attempts.seconds if closed else np.ones(len(mine))
            brought = np.where(mine, rule(attempts), 0.0)
            own = brought.sum() / cost.sum() if cost.sum() > 0 and brought.any() else np.nan
            found.append(quotients(brought, cost, units, side.drawn) / own)
        else:
            return None
    with np.errstate(divide="ignore", invalid="ignore"):
        return found[0] if len(found) == 1 else np.asarray(np.exp(np.mean(np.log(found), axis=0)))


RATES: dict[str, Callable[[Attempts], Floats]] = {
    "tokens": lambda attempts: attempts.tokens,
    "chars": lambda attempts: attempts.chars,
    "requests": lambda attempts: attempts.ok.astype(float),
    "goodput": lambda attempts: attempts.good.astype(float),
}
"""What each request brings to a rate."""
