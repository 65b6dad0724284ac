"""The sides of a comparison: runs, read, grouped into rounds of one side and one scenario. Computes no figure.

An operand of the command line is `[NAME=]PATH[,PATH…]`. A PATH is a run folder; a folder in which run folders lie, each
of them a round; or, alone, what `llmload ab` left, with both sides in it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llmload.exits import Exit, Stop
from llmload.record import runfolder
from llmload.record.rounds import BASELINE, CANDIDATE
from llmload.record.rounds import FILE as AB
from llmload.report import building
from llmload.report.building import Built

_NAME = re.compile(r"[\w+. -]{1,40}")


@dataclass(frozen=True, slots=True)
class Level:
    """What a step asks for; one of the two is None."""

    concurrency: int | None
    rate: float | None

    @property
    def label(self) -> str:
        """`32`, or `2.5/s`."""
        return str(self.concurrency) if self.concurrency is not None else f"{self.rate:g}/s"

    @property
    def words(self) -> str:
        """`32 in flight`, or `2.5 requests/s`."""
        return f"{self.concurrency} in flight" if self.concurrency is not None else f"{self.rate:g} requests/s"

    @property
    def asked(self) -> float:
        """As a number, to sort by."""
        return float(self.concurrency if self.concurrency is not None else self.rate or 0.0)


@dataclass(frozen=True, slots=True)
class Side:
    """All rounds of one side with one scenario, in the order of their begin."""

    name: str
    """`baseline`, `candidate`, or as it was named on the command line."""
    rounds: tuple[Built, ...]

    def counts(self, level: Level, workload: str) -> tuple[int, int]:
        """Attempts of all rounds that were ok, and all that count: started, less what the user's stop cut."""
        rows = [row for at in range(len(self.rounds)) if (row := self.row(at, level, workload)) is not None]
        return sum(row["ok"] for row in rows), sum(row["started"] - row["cancelled"] for row in rows)

    def row(self, at: int, level: Level, workload: str) -> dict[str, Any] | None:
        """The row of summary.json of a round (0-based), level and class; None where there is none."""
        wanted = (level.concurrency, level.rate, workload)
        rows: list[dict[str, Any]] = self.rounds[at].summary["rows"]
        return next((row for row in rows if (row["concurrency"], row["rate"], row["workload"]) == wanted), None)


@dataclass(frozen=True, slots=True)
class Pair:
    """A baseline and a candidate with the same scenario."""

    scenario: str
    baseline: Side
    candidate: Side
    levels: tuple[Level, ...]
    """Those that every round of both has, ascending …"""
    left_out: tuple[Level, ...]
    """… and those that some have."""
    workloads: tuple[str, ...]
    """Classes that both have, and `all` last."""
    interleaved: bool
    """Whether the k-th rounds of both were run one beside the other (A B B A …), so that they may be paired."""


@dataclass(frozen=True, slots=True)
class Contest:
    """All that is to be compared."""

    pairs: tuple[Pair, ...]
    """One per scenario and candidate, candidates of one scenario beside one another."""
    warnings: tuple[str, ...]
    """What finds no counterpart."""
    ab: Path | None
    """The folder of `llmload ab`, if that is what is compared."""


@dataclass(frozen=True, slots=True)
class _Operand:
    """One operand, taken apart."""

    name: str
    folders: tuple[Path, ...]


def read(operands: Sequence[str]) -> Contest:
    """Read all runs and set them side by side.

    Raises Stop: USAGE for operands that are none, UNJUDGED where a run cannot be read, or where nothing on both sides
    has a scenario or a step in common.
    """
    ab = Path(operands[0]) if len(operands) == 1 and _there(Path(operands[0]) / AB) else None
    if ab is not None:
        operands = [str(ab / BASELINE), str(ab / CANDIDATE)]
    elif len(operands) < 2:
        raise Stop(
            f"{operands[0]}: one side alone cannot be compared; expected BASELINE CANDIDATE, or a folder of llmload ab"
        )
    taken = [_take(text, at) for at, text in enumerate(operands)]
    _each_once(taken)
    sides = [(item.name, _rounds(item)) for item in taken]
    (first, baselines), candidates = sides[0], sides[1:]
    if all(len(found) == 1 for _, found in sides):  # one scenario each: they are meant, whatever they are called
        word = next(iter(baselines))
        candidates = [(name, {word: next(iter(found.values()))}) for name, found in candidates]
    pairs, alone = [], []
    for scenario, rounds in baselines.items():
        facing = [(name, found[scenario]) for name, found in candidates if scenario in found]
        pairs += [_pair(scenario, Side(first, rounds), Side(name, others)) for name, others in facing]
        alone += [(name, scenario) for name, found in candidates if scenario not in found]
    extra = [(name, scenario) for name, found in candidates for scenario in found if scenario not in baselines]
    if not pairs:
        there = "; ".join(f"{name}: {', '.join(found)}" for name, found in sides)
        raise Stop(f"the sides have no scenario in common: {there}", Exit.UNJUDGED)
    warnings = [
        f"scenario {scenario}: {name} has no run of it, so it is not compared there" for name, scenario in alone
    ]
    warnings += [f"scenario {scenario}: only {name} has runs of it, so it is not compared" for name, scenario in extra]
    return Contest(tuple(pairs), tuple(warnings), ab)


def _take(text: str, at: int) -> _Operand:
    """One operand. Raises Stop."""
    name, equals, rest = text.partition("=")
    if (text and _there(Path(text))) or not equals or not _NAME.fullmatch(name):
        name, rest = (BASELINE, CANDIDATE)[at] if at < 2 else "", text
    parts = [rest] if rest and _there(Path(rest)) else [part for part in rest.split(",") if part]
    folders = [folder for part in parts for folder in _folders(Path(part))]
    if not folders:
        raise Stop(f"{text!r}: names no folder; expected [NAME=]RUN[,RUN…]")
    return _Operand(name.strip() or Path(parts[0]).resolve().name, tuple(folders))


def _there(path: Path) -> bool:
    """Whether there is such a thing; many runs between commas are too long a name for one."""
    try:
        return path.exists()
    except OSError:
        return False


def _folders(path: Path) -> Iterator[Path]:
    """The run folders that a path stands for. Raises Stop(UNJUDGED) if it stands for none."""
    try:
        whole, folder = (path / runfolder.RUN).is_file(), path.is_dir()
    except OSError as error:
        raise Stop(f"{path!s:.200}: cannot be read: {error.strerror}", Exit.UNJUDGED) from error
    if whole:
        yield path
        return
    if not folder:
        raise Stop(
            f"{path}: no such folder; expected a run folder, or a folder in which run folders lie", Exit.UNJUDGED
        )
    found = sorted(item.parent for item in path.glob(f"*/{runfolder.RUN}"))
    if not found:
        hint = (
            f"; it is what llmload ab left: name it alone, or {path / BASELINE} and {path / CANDIDATE}"
            if (path / AB).is_file()
            else ""
        )
        raise Stop(f"{path}: no run folder: neither it nor a folder in it has a {runfolder.RUN}{hint}", Exit.UNJUDGED)
    yield from found


def _each_once(operands: Sequence[_Operand]) -> None:
    """Raises Stop(USAGE) for a run that stands twice, or two sides of one name."""
    counts = Counter(folder.resolve() for item in operands for folder in item.folders)
    twice = [str(folder) for folder, n in counts.items() if n > 1]
    if twice:
        raise Stop(f"{twice[0]}: this run is named twice; every run stands on one side, and there once")
    names = Counter(item.name for item in operands)
    if (name := max(names, key=lambda one: names[one])) and names[name] > 1:
        raise Stop(f"two sides are called {name!r}; name them: one={operands[-2].folders[0]} …")


def _rounds(operand: _Operand) -> dict[str, tuple[Built, ...]]:
    """All runs of a side by scenario, in the order of their begin. Raises Stop(UNJUDGED)."""
    found: dict[str, list[Built]] = {}
    for folder in operand.folders:
        built = building.compute(folder)
        if not built.summary["rows"]:
            raise Stop(
                f"{folder}: this run has no step that was measured, so there is nothing to compare; leave it out, or "
                "run it again",
                Exit.UNJUDGED,
            )
        found.setdefault(str(built.summary["scenario"]), []).append(built)
    return {name: tuple(sorted(rounds, key=began)) for name, rounds in found.items()}


def began(built: Built) -> float:
    """When a run began, in Unix seconds; 0 where it does not tell."""
    at = built.facts.run.get("started_at")
    return float(at) if isinstance(at, int | float) else 0.0


def _pair(scenario: str, baseline: Side, candidate: Side) -> Pair:
    """Two sides beside one another. Raises Stop(UNJUDGED) if they have no step in common."""
    rounds = (*baseline.rounds, *candidate.rounds)
    each = [
        {Level(row["concurrency"], row["rate"]) for row in built.summary["rows"] if has_level(row)} for built in rounds
    ]
    common, some = set.intersection(*each), set.union(*each)
    if not common:
        there = "; ".join(
            f"{built.folder.name}: {', '.join(level.label for level in sorted(levels, key=_asked)) or 'none'}"
            for built, levels in zip(rounds, each, strict=True)
        )
        raise Stop(
            f"scenario {scenario}: no step stands in every run, so there is nothing to compare; steps are {there}",
            Exit.UNJUDGED,
        )
    classes = [[row["workload"] for row in built.summary["rows"] if row["workload"] != "all"] for built in rounds]
    shared = [name for name in dict.fromkeys(classes[0]) if all(name in others for others in classes)]
    return Pair(
        scenario,
        baseline,
        candidate,
        tuple(sorted(common, key=_asked)),
        tuple(sorted(some - common, key=_asked)),
        (*shared, "all"),
        interleaved(baseline, candidate),
    )


def has_level(row: dict[str, Any]) -> bool:
    """Whether a row's step asked for something."""
    return row["concurrency"] is not None or row["rate"] is not None


def _asked(level: Level) -> float:
    return level.asked


def interleaved(baseline: Side, candidate: Side) -> bool:
    """Whether, in the order of their begin, each two rounds are one of either side."""
    order = [(began(built), 0) for built in baseline.rounds] + [(began(built), 1) for built in candidate.rounds]
    whose = [side for _, side in sorted(order)]
    return len(baseline.rounds) == len(candidate.rounds) and all(
        {whose[at], whose[at + 1]} == {0, 1} for at in range(0, len(whose), 2)
    )
