"""The ratios: per level, class and figure, each with its interval and a word. What the intervals are is `intervals`."""

from dataclasses import dataclass
from typing import Literal

from llmload.compare.figures import Figure
from llmload.compare.sides import Level

Word = Literal["faster", "slower", "no difference shown", "not repeated", "cannot be judged", "no word"]
"""For figures that are no time read `better` and `worse` (`Cell.shown_word`)."""
How = Literal["rounds", "requests", "requests, paired by prompt"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One ratio. `gain` above 1 is better, `raw` is candidate / baseline; None: cannot be told."""

    level: Level
    workload: str
    figure: Figure
    baseline: float | None
    """The figure itself: geometric mean over rounds; infinite where it falls on failures in any round …"""
    candidate: float | None
    gain: float | None
    low: float | None
    """95 % interval of the gain …"""
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


@dataclass(frozen=True, slots=True)
class Deciding:
    """Which cell decides, named before anything is looked at."""

    figure: Figure
    level: Level
    workload: str
