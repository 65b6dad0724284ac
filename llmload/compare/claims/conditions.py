"""The seven conditions of a claim: as it was stated, and as these runs had them. Pure.

What the runs had is told in the words of `report.seven`; whether that is what was stated is `stated`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from llmload.compare.claims.claims import Claim
from llmload.compare.claims.stated import HOLDS, OPEN, Told
from llmload.compare.ratios.cells import Deciding
from llmload.compare.sides import Pair, Side
from llmload.report import seven
from llmload.report.building import Built

CONDITIONS = ("model", "input", "output limit", "hardware", "software", "concurrency", "metric")
"""In claim.toml with `_` for the space."""

UNSAID = {
    "model": "which model, with which weights",
    "input": "on what input",
    "output limit": "up to how many output tokens",
    "hardware": "on what hardware",
    "software": "with what software",
    "concurrency": "at what concurrency",
    "metric": "which figure is meant",
}
"""What the claimant does not say, for each."""
DECIDED = ("concurrency", "metric")
"""What the deciding cell has, and no side."""
CHANGING = ("model", "hardware", "software")
"""What a claim may be about: it is then stated of the candidate, and the baseline is another by intention."""
MEASURED = ("input", "output limit")
"""What has means of the run in it."""
_NUMBER = re.compile(r"\d[\d,.]*")
WORST = ("differs", "unknown", "cannot be told", "as stated")
"""Which of two standings a condition has that both sides, or rounds, do not share."""

Standing = Literal["as stated", "differs", "unstated", "unknown", "cannot be told"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One of the seven."""

    name: str
    stated: str | None
    """As the claimant stated it; None: left unstated, or there is no claim."""
    baseline: str | None
    """As the runs had it; None: unknown."""
    candidate: str | None
    standing: Standing
    """`cannot be told`: stated in words that nobody can hold against the runs mechanically."""
    words: str = ""


def against(claim: Claim | None, pair: Pair, deciding: Deciding) -> tuple[Condition, ...]:
    """All seven, in the order of CONDITIONS. Without a claim each is `unstated`, or `unknown` where a side is."""
    had = {role: _had(side) for role, side in (("baseline", pair.baseline), ("candidate", pair.candidate))}
    return tuple(_one(name, claim, pair, deciding, had) for name in CONDITIONS)


def _had(side: Side) -> dict[str, str | None]:
    """What the rounds of a side had: one text where they agree, else all of them, in no order of rounds.

    The words are those of a run's head, with its mark beside what is unknown of something that is known in part.

    What was measured is never quite the same twice: of texts that differ in their numbers alone the first one stands.
    """
    texts: dict[str, dict[str, str]] = {name: {} for name in CONDITIONS}
    for built in side.rounds:
        for item in seven.of(built.facts):
            if item.text is not None and item.name in texts:
                alike = _NUMBER.sub("#", item.shown) if item.name in MEASURED else item.shown
                texts[item.name].setdefault(alike, item.shown)
    return {name: " | ".join(found[alike] for alike in sorted(found)) or None for name, found in texts.items()}


def alike(item: Condition) -> bool:
    """Whether both sides had the same in it, what was measured apart."""
    one, other = (
        _NUMBER.sub("#", text) if item.name in MEASURED else text
        for text in (item.baseline or "", item.candidate or "")
    )
    return one == other


def _one(
    name: str, claim: Claim | None, pair: Pair, deciding: Deciding, had: dict[str, dict[str, str | None]]
) -> Condition:
    baseline, candidate = had["baseline"][name], had["candidate"][name]
    stated = None if claim is None else claim.stated.get(name)
    if claim is None:
        missing = [role for role in had if had[role][name] is None]
        standing: Standing = "unknown" if missing else "unstated"
        return Condition(
            name, None, baseline, candidate, standing, f"unknown of the {' and the '.join(missing)}" if missing else ""
        )
    if stated is None:
        return Condition(name, None, baseline, candidate, "unstated", f"the claimant does not say {UNSAID[name]}")
    sides = {
        role: _worst([_told(name, stated, built, deciding) for built in side.rounds])
        for role, side in (("baseline", pair.baseline), ("candidate", pair.candidate))
    }
    standing = _worst(list(sides.values()))[0]
    if name in CHANGING and sides["candidate"][0] == "as stated" and sides["baseline"][0] == "differs":
        words = f"the candidate is as stated; the baseline: {sides['baseline'][1]}"
        return Condition(name, stated, baseline, candidate, "as stated", words)
    return Condition(name, stated, baseline, candidate, standing, _words(name, standing, sides))


def _told(name: str, stated: str, built: Built, deciding: Deciding) -> Told:
    """How a run stands to what was stated: `unknown` is what its head calls so, and nothing else."""
    found = HOLDS[name](stated, built, deciding)
    own = next(item for item in seven.of(built.facts) if item.name == name)
    if found[0] == "unknown" and own.whole:  # known, if not in what was stated: a machine where a GPU was
        return OPEN
    return ("unknown", "") if found == OPEN and own.text is None else found


def _worst(told: Sequence[Told]) -> Told:
    return min(told, key=lambda item: WORST.index(item[0]), default=("unknown", ""))


def _words(name: str, standing: Standing, sides: dict[str, Told]) -> str:
    """One sentence on how the runs stand to what was stated."""
    mine = {role: why for role, (found, why) in sides.items() if found == standing}
    whose = "both sides" if len(mine) == len(sides) else f"the {next(iter(mine))}"
    why = "; ".join(dict.fromkeys(text for text in mine.values() if text))
    behind = f": {why}" if why else ""
    if standing == "as stated":
        return f"as stated{f' ({why})' if why else ''}"
    if standing == "differs":
        verb = "differ" if len(mine) == len(sides) else "differs"
        return f"{'what decides differs' if name in DECIDED else f'{whose} {verb}'} from what was stated{behind}"
    if standing == "unknown":
        return f"unknown of {whose}, so that it cannot be held against what was stated{behind}"
    return "stated in words, which only a reader can hold against what the runs had"
