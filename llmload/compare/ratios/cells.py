"""The ratios: per level, class and figure, each with its interval and a word. What the intervals are is `ratios`.

The cell that decides was named before anything was looked at, and its interval is taken as it is. All others are many,
and some of many exclude 1 by chance: they get a word only if they keep it after Holm's correction for their number.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from llmload.chance import holm
from llmload.compare import words
from llmload.compare.figures import FIGURES, Figure
from llmload.compare.ratios import intervals
from llmload.compare.ratios.measured import Measured
from llmload.compare.ratios.ratios import How, Ratio, Ratios
from llmload.compare.sides import Level, Pair

Word = Literal["faster", "slower", "no difference shown", "not repeated", "cannot be judged", "no word"]
"""For figures that are no time read `better` and `worse` (`Cell.shown_word`)."""

TOKENS_PER_EVENT = 0.05
"""Sides whose tokens per event differ by more than this part have gaps of different things."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One ratio. `gain` above 1 is better, `raw` is candidate / baseline; None: cannot be told."""

    level: Level
    workload: str
    figure: Figure
    baseline: float | None
    """The figure itself: geometric mean over rounds; infinite where it falls on failures in any round (then there is no
    gain, unless it does in all rounds of one side alone) …"""
    candidate: float | None
    gain: float | None
    low: float | None
    """95 % interval of the gain, not corrected for the number of cells …"""
    high: float | None
    raw: float | None
    how: How | None
    """… and what it was drawn from."""
    rounds: tuple[int, int]
    """Rounds of the baseline and the candidate that have the figure …"""
    requests: tuple[int, int]
    """… and their attempts, all rounds together."""
    p: float | None
    """Chance of such a ratio without a difference; for other cells than the deciding one as Holm corrects it."""
    word: Word
    why: str = ""
    """Why there is no word, or how sure one is: one short clause."""
    deciding: bool = False
    values: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
    """The figure of each round, of both sides."""

    @property
    def shown_word(self) -> str:
        """The word as a reader sees it: `better` and `worse` for what is no speed."""
        up, down = words.comparatives(self.figure)
        return {"faster": up, "slower": down}.get(self.word, self.word)


@dataclass(frozen=True, slots=True)
class Deciding:
    """Which cell decides, named before anything is looked at."""

    figure: Figure
    level: Level
    workload: str


def compute(pair: Pair, deciding: Deciding) -> tuple[Cell, ...]:
    """Every ratio that can be told of: each level, class and figure that either side has, in that order."""
    baseline, candidate = Measured(pair.baseline), Measured(pair.candidate)
    ratios = Ratios(baseline, candidate, interleaved=pair.interleaved)
    cells = []
    for level in pair.levels:
        for workload in pair.workloads:
            apart = tokens_per_event(baseline, candidate, level, workload)
            for figure in FIGURES.values():
                ratio = ratios.of(level, workload, figure)
                if ratio is not None:
                    one = Deciding(figure, level, workload)
                    silent = apart if figure.key.startswith("itl") else ""
                    cells.append(_cell(one, ratio, silent=silent, deciding=one == deciding))
    return _corrected(cells)


def tokens_per_event(baseline: Measured, candidate: Measured, level: Level, workload: str) -> str:
    """Why gaps of the two sides are no gaps of one kind: they differ in tokens per event. Nothing where they do not."""
    before, after = (side.mean(level, workload, "tokens_per_event_mean") for side in (baseline, candidate))
    if not before or not after or abs(after / before - 1) <= TOKENS_PER_EVENT:
        return ""
    return f"tokens per event differ ({_number(before)} against {_number(after)}): TPOT decides"


def _number(value: float) -> str:
    return f"{value:.2f}".removesuffix("0")


def _cell(place: Deciding, ratio: Ratio, *, silent: str, deciding: bool) -> Cell:
    """A cell with its word as if it were alone."""
    word, why = _word(ratio)
    if silent:
        word, why = "no word", silent
    return Cell(
        level=place.level,
        workload=place.workload,
        figure=place.figure,
        baseline=ratio.baseline,
        candidate=ratio.candidate,
        gain=ratio.gain,
        low=ratio.low,
        high=ratio.high,
        raw=ratio.raw,
        how=ratio.how,
        rounds=ratio.rounds,
        requests=ratio.requests,
        p=None if silent else ratio.p,
        word=word,
        why=why,
        deciding=deciding,
        values=ratio.values,
    )


def _word(ratio: Ratio) -> tuple[Word, str]:
    """The word of a ratio alone, and why, or how sure one is."""
    if ratio.gain is None:
        return "cannot be judged", ratio.why or "both sides have nothing to divide by"
    if not ratio.repeated:
        few = min(ratio.rounds)
        why = f"{few} round{'s' if few > 1 else ''} a side"
        if ratio.rounds[0] != ratio.rounds[1]:
            why = f"{ratio.rounds[0]} and {ratio.rounds[1]} rounds"
        return "not repeated", "; ".join(filter(None, (f"{why}; {intervals.ROUNDS} are needed", ratio.why)))
    if ratio.never:
        return "slower" if ratio.gain == 0 else "faster", ratio.why
    if ratio.low is None or ratio.high is None or ratio.p is None:
        return "cannot be judged", ratio.why
    if ratio.p < intervals.LEVEL:
        return "faster" if ratio.gain > 1 else "slower", f"p {_chance(ratio.p)}"
    return "no difference shown", _least(ratio)


def _least(ratio: Ratio) -> str:
    """How small a difference would have been shown: half of the interval."""
    if ratio.low == ratio.high or not ratio.low or ratio.high is None:
        return "the same in every round"
    half = (ratio.high / ratio.low) ** 0.5 - 1
    return f"under {words.percent(half)} would not be told from the noise between rounds"


def _chance(p: float) -> str:
    return f"{p:.2g}" if p >= 0.001 else "under 0.001"


def _corrected(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """The cells with the chances of all but the deciding one corrected, and words as these allow."""
    many = [at for at, cell in enumerate(cells) if cell.p is not None and not cell.deciding]
    corrected = dict(zip(many, holm([cells[at].p or 0.0 for at in many]), strict=True))
    return tuple(
        cell if at not in corrected else _judged(cell, corrected[at], len(many)) for at, cell in enumerate(cells)
    )


def _judged(cell: Cell, p: float, count: int) -> Cell:
    """A cell with its corrected chance."""
    if cell.word not in ("faster", "slower"):
        return replace(cell, p=p)
    if p < intervals.LEVEL:
        return replace(cell, p=p, why=f"p {_chance(p)}, corrected for {count} cells")
    why = f"p {_chance(cell.p or 0.0)} alone, {_chance(p)} corrected for {count} cells"
    return replace(cell, p=p, word="no difference shown", why=why)
