"""What poses as speed: shorter answers, smaller tokens, failing fast. Rows and records of the runs in, words out."""

from dataclasses import dataclass

import numpy as np

from llmload.compare.kinds.looking import Look, hedged, said, sign
from llmload.compare.sides import Level, Pair, Side
from llmload.compare.words import percent
from llmload.report.facts import Flags, Floats
from llmload.report.rows import ALL

SHORTER = 0.95
"""Answers that are on average shorter than this, as a part of the baseline's, are shorter answers."""
POINT = 0.01
"""Part by which the success share must have fallen …"""
EARLY = 0.5
"""… and the part of a success's median time within which half of the failures came, for them to have come fast."""


@dataclass(frozen=True, slots=True)
class Shorter:
    """Answers became shorter. `alone`: that is all that made whole answers come sooner."""

    alone: bool
    words: str


def shorter(look: Look) -> Shorter | None:
    """Shorter answers at the highest level at which whole answers came sooner; None where there are none.

    Where both sides know the characters of answers these must be fewer too: fewer tokens alone may be another
    tokenizer.
    """
    for level in reversed(look.pair.levels):
        whole = look.first(("e2e_p50", "e2e_p95"), level)
        if whole is None or sign(whole) != 1:
            continue
        tokens, chars = (_means(look.pair, level, column) for column in ("output_tokens", "output_chars"))
        shares = [ours / theirs for theirs, ours in (tokens, chars) if theirs and ours]
        if not shares or max(shares) >= SHORTER:
            continue
        each = look.first(("tpot_p50", "decode"), level)
        alone = sign(each) != 1
        unit, (theirs, ours) = ("tokens", tokens) if all(tokens) else ("characters", chars)
        what = "Shorter answers pose as speed" if alone else "Answers became shorter, which is part of the gain"
        sizes = f"{ours:.0f} {unit} on average, the baseline's {theirs:.0f} ({percent(1 - max(shares))} fewer)"
        speed = f", {said(each)}" if each is not None else ""
        return Shorter(alone, hedged(f"{what}: at {level.words} they have {sizes}; {said(whole)}{speed}", whole, each))
    return None


def smaller_tokens(look: Look) -> str | None:
    """Tokens with fewer characters, at the highest level at which more tokens came; None where there are none."""
    for level in reversed(look.pair.levels):
        brought, chars = look.cell("tokens", level), look.cell("chars", level)
        if brought is None or chars is None or sign(brought) != 1:
            continue
        sizes = zip(_means(look.pair, level, "output_chars"), _means(look.pair, level, "output_tokens"), strict=True)
        theirs, ours = (each / tokens if each and tokens else None for each, tokens in sizes)
        if not theirs or not ours or ours / theirs >= SHORTER:
            continue
        words = (
            f"Smaller tokens pose as speed: at {level.words} {said(brought)}, but {said(chars)}; a token of the "
            f"candidate has {ours:.1f} characters, one of the baseline {theirs:.1f}"
        )
        return hedged(words, brought, chars)
    return None


def failing(look: Look) -> str | None:
    """More failures that came fast, at the level where the success share fell most."""
    worst, found = POINT, None
    for level in look.pair.levels:
        theirs, ours = (_success(side, level) for side in (look.pair.baseline, look.pair.candidate))
        if theirs is not None and ours is not None and theirs - ours > worst:
            worst, found = theirs - ours, level
    if found is None:
        return None
    failures = _times(look.pair.candidate, found, ok=False)
    successes = _times(look.pair.candidate, found, ok=True)
    if not len(failures) or not len(successes) or np.median(failures) > EARLY * np.median(successes):
        return None
    early, usual = (float(np.median(values)) for values in (failures, successes))
    words = (
        f"Failing fast is no speed: half of the candidate's failures at {found.words} came within {early:,.0f} ms, "
        f"where a success takes {usual:,.0f} ms"
    )
    before = _times(look.pair.baseline, found, ok=True)
    whole = look.first(("e2e_p95", "e2e_p50"), found)
    if len(before) and whole is not None and sign(whole) != 1:
        alone = float(np.percentile(before, 95) / np.percentile(successes, 95))
        if alone > 1 / SHORTER:
            words += f"; over successes alone E2E p95 looks {alone:.1f} times as fast, over all attempts: {said(whole)}"
    return words


def _success(side: Side, level: Level) -> float | None:
    """The success share of all rounds together."""
    ok, counted = side.counts(level, ALL)
    return ok / counted if counted else None


def _chosen(side: Side, at: int, level: Level) -> Flags | None:
    """Which attempts of a round were measured at a level."""
    row = side.row(at, level, "all")
    facts = side.rounds[at].facts
    return None if row is None else facts.measured & (facts.records["step"].to_numpy(dtype=np.int64) == row["step"])


def _means(pair: Pair, level: Level, column: str) -> tuple[float | None, float | None]:
    """Both sides' mean of a column over successes; None where no class is known on both.

    Class by class, each with the same weight on both sides: a faster side may have got further in its order of
    requests, and more short ones among those it has answered are no shorter answers.
    """
    found = []
    for workload in [name for name in pair.workloads if name != ALL] or [ALL]:
        theirs, ours = (_known(side, level, column, workload) for side in (pair.baseline, pair.candidate))
        if len(theirs) and len(ours):
            found.append((len(theirs) + len(ours), theirs.mean(), ours.mean()))
    if not found:
        return None, None
    weights, theirs, ours = np.array(found).T
    return float(np.average(theirs, weights=weights)), float(np.average(ours, weights=weights))


def _known(side: Side, level: Level, column: str, workload: str) -> Floats:
    """What is known of a column, over the successes of all rounds at a level in a class."""
    parts = [np.empty(0)]
    for at, built in enumerate(side.rounds):
        chosen = _chosen(side, at, level)
        if chosen is not None:
            mine = chosen & built.facts.ok
            mine &= workload == ALL or built.facts.is_("workload", workload)
            parts.append(built.facts.numbers(column)[mine])
    values = np.concatenate(parts)
    return values[~np.isnan(values)]


def _times(side: Side, level: Level, *, ok: bool) -> Floats:
    """Milliseconds after which attempts of all rounds ended: whole successes, or failures of any kind."""
    parts = [np.empty(0)]
    for at, built in enumerate(side.rounds):
        chosen, facts = _chosen(side, at, level), built.facts
        if chosen is None:
            continue
        if ok:
            parts.append(facts.numbers("e2e_ms")[chosen & facts.ok])
        else:
            cut = facts.is_("outcome", "cancelled") | facts.is_("outcome", "not_sent")
            parts.append(facts.numbers("end_ms")[chosen & ~facts.ok & ~cut])
    values = np.concatenate(parts)
    return values[~np.isnan(values)]
