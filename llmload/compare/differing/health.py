"""What is wrong with the runs of a comparison themselves: sentences for the verdict. Pure; judges no figure."""

from collections.abc import Iterator

import numpy as np

from llmload.compare.differing.hardware import gpus
from llmload.compare.differing.part import walk
from llmload.compare.sides import Level, Pair, Side
from llmload.compare.words import count, percent
from llmload.report.building import Built

FAILURES = 0.01
"""Shares of failures above it are told …"""
UNLIKE = 0.01
"""… and shares that differ by more than this, a point."""
CACHED = 0.05
"""Shares of prompt tokens that came from a prefix cache and differ by more than this are told."""
BOUND = "generator-bound"
"""Reasons of a verdict with this word are told in words of our own."""


def health(pair: Pair) -> tuple[str, ...]:
    """One sentence for each thing that weakens what this pair of sides can tell; none where nothing does."""
    sides = (("baseline", pair.baseline), ("candidate", pair.candidate))
    found = [sentence for role, side in sides for sentence in _of_side(role, side)]
    found += [*_failures(pair), *_unlike_caches(pair)]
    return tuple(dict.fromkeys([*found, *_rounds(pair)]))


def _of_side(role: str, side: Side) -> Iterator[str]:
    for at, built in enumerate(side.rounds):
        one = f"the {role}" if len(side.rounds) == 1 else f"round {at + 1} of the {role}"
        bound = ", ".join(item.step.label for item in built.steps if item.health.bound)
        spoilt = f"generator-bound at {bound}, which says nothing about the server" if bound else ""
        reasons = [reason for reason in built.verdict.reasons if BOUND not in reason]
        if built.verdict.word != "OK":
            more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
            why = "; ".join(part for part in (reasons[0] + more if reasons else "", spoilt) if part)
            yield f"{one} is {built.verdict.word}{f': {why}' if why else ''}"
        elif spoilt:
            yield f"{one} is {spoilt}"
        if shared := _shared(built):
            yield f"{one} ran on a shared GPU: {shared}; what the others do is in its figures"


def _shared(built: Built) -> str:
    """GPUs on which more than one process held memory."""
    names = [f"GPU {row.get('gpu')}" for row in gpus(built) if row.get("shared") is True]
    return ", ".join(dict.fromkeys(names))


def _unsent(side: Side, level: Level) -> tuple[int, int]:
    """Arrivals that were planned and not sent, and all that were planned, all rounds together."""
    rows = [row for at in range(len(side.rounds)) if (row := side.row(at, level, "all")) is not None]
    return sum(row["not_sent"] for row in rows), sum(row["planned"] for row in rows)


def _failures(pair: Pair) -> Iterator[str]:
    """Failures over 1 % and arrivals not sent at the levels that both have; shares that are unlike in one sentence."""
    for level in pair.levels:
        shares, said = [], []
        for role, side in (("baseline", pair.baseline), ("candidate", pair.candidate)):
            unsent, planned = _unsent(side, level)
            if planned and unsent / planned > FAILURES:
                yield (
                    f"{percent(unsent / planned)} of the {role}'s {count(planned, 'planned request')} not sent at "
                    f"{level.words}, too many being in flight: no percentile here counts them"
                )
            ok, attempts = side.counts(level, "all")
            failed = attempts - ok
            shares.append(failed / attempts if attempts else None)
            said.append(f"{failed:,} of the {role}'s {count(attempts, 'attempt')} failed")
        mine, theirs = shares
        if mine is not None and theirs is not None and abs(theirs - mine) > UNLIKE:
            yield (
                f"failures are unlike at {level.words}: {said[0]} ({percent(mine)}), {said[1]} ({percent(theirs)}); "
                "percentiles over all attempts count them as never finished"
            )
            continue
        for share, words in zip(shares, said, strict=True):
            if share is not None and share > FAILURES:
                yield f"{words} at {level.words} ({percent(share)})"


def _unlike_caches(pair: Pair) -> Iterator[str]:
    """A prefix cache that answered one side more than the other."""
    mine, theirs = _cached(pair.baseline), _cached(pair.candidate)
    if mine is not None and theirs is not None and abs(theirs - mine) > CACHED:
        yield (
            f"a prefix cache held {percent(mine)} of the baseline's prompt tokens, {percent(theirs)} of the "
            "candidate's: first tokens come sooner by that alone"
        )


def _cached(side: Side) -> float | None:
    """The share of the prompt tokens of successes that their server says it had in its cache; None if none says."""
    cached = prompt = 0.0
    for built in side.rounds:
        facts = built.facts
        told = facts.ok & ~np.isnan(facts.numbers("cached_tokens")) & ~np.isnan(facts.numbers("input_tokens"))
        cached += float(facts.numbers("cached_tokens")[told].sum())
        prompt += float(facts.numbers("input_tokens")[told].sum())
    return cached / prompt if prompt else None


def _rounds(pair: Pair) -> Iterator[str]:
    """Unlike numbers of rounds, and rounds that a side lacks."""
    counts = len(pair.baseline.rounds), len(pair.candidate.rounds)
    if counts[0] != counts[1]:
        yield f"unlike numbers of rounds: {counts[0]} of the baseline, {counts[1]} of the candidate"
    for role, side in (("baseline", pair.baseline), ("candidate", pair.candidate)):
        if skipped := ", ".join(str(number) for number in _skipped(side)):
            yield f"the {role} has no round {skipped}, though it has later ones: skipped, or taken out"


def _skipped(side: Side) -> list[int]:
    """Numbers of rounds (as scenarios count them, from 0) that are missing between others."""
    numbers = [walk(built, "scenario", "round") for built in side.rounds]
    known = {number for number in numbers if type(number) is int}
    if len(known) < len(numbers) or not known:
        return []
    return [number for number in range(min(known), max(known)) if number not in known]
