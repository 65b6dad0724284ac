"""Which kind of faster it is, in words, from the cells: rules, each one sentence with its figures, or nothing.

What a single request gained is read at the lowest level, what the load gained at the highest; a closed loop is never
faster under load alone without more requests a second, so that this is told from what one request has of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from llmload.compare.kinds import capacity, cliff, posing
from llmload.compare.kinds.looking import NOISE, Look, hedged, said, sign
from llmload.compare.ratios.cells import Cell
from llmload.compare.sides import Pair
from llmload.compare.verdict.holding import repeated
from llmload.compare.words import percent

FIRST_TOKEN = "first token"
DECODING = "decoding"
BOTH = "first token and decoding"
PREFILL_ONLY = "prefill only"
DECODE_ONLY = "decode only"
WHOLE = "whole answers"
THROUGHPUT = "throughput only"
UNDER_LOAD = "under load only"
HIGH_LOAD = "slower at low load, faster at high"
LOW_LOAD = "faster at low load, slower at high"
GROWS = "grows with load"
FADES = "fades with load"
CAPACITY = "capacity"
CAPACITY_ONLY = "capacity only"
SHORT_OUTPUTS = "short outputs only"
CLIFF = "cliff"
SHORTER_ANSWERS = "shorter answers"
SMALLER_TOKENS = "smaller tokens"
FAILING_FAST = "failing fast"
NOTHING = "nothing"

KEYS = (
    FIRST_TOKEN, DECODING, BOTH, PREFILL_ONLY, DECODE_ONLY, WHOLE, THROUGHPUT, UNDER_LOAD, HIGH_LOAD, LOW_LOAD,
    GROWS, FADES, CAPACITY, CAPACITY_ONLY, SHORT_OUTPUTS, CLIFF, SHORTER_ANSWERS, SMALLER_TOKENS, FAILING_FAST, NOTHING,
)  # fmt: skip
"""Every kind there is. `… only` says that the other part shows no difference."""

FIRST, DECODE, E2E = ("ttft_p50",), ("decode", "tpot_p50"), ("e2e_p50", "e2e_p95")
"""What first tokens, decoding and whole answers are told by; the first of them that says anything."""
LARGER = 1.5
"""A gain that is so many times another is clearly more …"""
SHARED = 1.25
"""… if some class shows so much of it: over all classes a median may jump from one class to another."""
BROUGHT = ("tokens", "requests")
"""What the load brought."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What became faster. `key` is one of KEYS, `words` one sentence."""

    key: str
    words: str
    doubt: bool = False
    """Whether it is something that poses as speed, or spoils it: a verdict says it beside a gain."""


def tell(pair: Pair, cells: Sequence[Cell]) -> tuple[Kind, ...]:
    """All kinds that show, single requests first; that nothing became faster, where nothing did."""
    look = Look(pair, cells)
    found = [*_single(look), *_loaded(look)]
    shorter = posing.shorter(look)
    if shorter is None or not shorter.alone:
        found += _whole(look, found)
    if (words := capacity.words(look, only=not found)) is not None:
        found.append(Kind(CAPACITY if found else CAPACITY_ONLY, words))
    fall = cliff.find(look)
    gained = bool(found) or shorter is not None or (fall is not None and fall.short_only)
    if fall is not None:
        found.append(Kind(SHORT_OUTPUTS if fall.short_only else CLIFF, fall.words, doubt=True))
    if shorter is not None:
        found.append(Kind(SHORTER_ANSWERS, shorter.words, doubt=True))
    if (words := posing.smaller_tokens(look)) is not None:
        found.append(Kind(SMALLER_TOKENS, words, doubt=True))
    if (words := posing.failing(look)) is not None:
        found.append(Kind(FAILING_FAST, words, doubt=True))
    return tuple(found) if gained else (_nothing(look), *found)


def _single(look: Look) -> list[Kind]:
    """What one request gained by itself, at the lowest level."""
    level = look.lowest
    first, decode = look.first(FIRST, level), look.first(DECODE, level)
    signs = (sign(first), sign(decode))
    if 1 not in signs:
        return []
    who = "A single request" if level.concurrency == 1 else f"A request at the lowest load ({level.words})"
    known = [said(cell) for cell in (first, decode) if cell is not None]
    key, what = SINGLE[signs]
    return [Kind(key, hedged(f"{who} became faster {what}: {', '.join(known)}", first, decode))]


SINGLE: dict[tuple[int | None, int | None], tuple[str, str]] = {
    (1, 1): (BOTH, "in its first token and in decoding"),
    (1, 0): (PREFILL_ONLY, "in its first token alone (prefill), not in decoding"),
    (0, 1): (DECODE_ONLY, "in decoding alone, not in its first token"),
    (1, None): (FIRST_TOKEN, "in its first token; of its decoding nothing is known"),
    (None, 1): (DECODING, "in decoding; of its first token nothing is known"),
    (1, -1): (FIRST_TOKEN, "in its first token, and slower in decoding"),
    (-1, 1): (DECODING, "in decoding, and slower in its first token"),
}
"""By the signs of first token and decoding, of which one is up."""


def _loaded(look: Look) -> list[Kind]:
    """What the load gained or lost at the highest level against what one request has of it at the lowest."""
    low, high = look.lowest, look.highest
    if low == high:
        return []
    alone = [look.first(keys, low) for keys in (FIRST, DECODE, E2E)]
    whole_low, whole_high, brought = look.first(E2E, low), look.first(E2E, high), look.first(BROUGHT, high)
    user = (whole_high, look.first(FIRST, high), look.first(DECODE, high))
    felt = [cell for cell in user if cell is not None and sign(cell) == 1]
    if 1 in [sign(cell) for cell in alone]:
        return _fading(look, whole_low, whole_high)
    at_high, at_low = f"at {high.words}", f"at {low.words}"
    if whole_low and whole_high and (sign(whole_low), sign(whole_high)) == (-1, 1):
        words = f"Slower at low load, faster at high: {at_low} {said(whole_low)}, {at_high} {said(whole_high)}"
        return [Kind(HIGH_LOAD, hedged(words, whole_low, whole_high))]
    who = "one request by itself" if low.concurrency == 1 else "a request at low load"
    same = f"{who} is no faster ({at_low} {said(whole_low)})" if whole_low else ""
    told = f"; what a user has of it there: {', '.join(said(cell) for cell in felt)}" if felt else ""
    if brought and sign(brought) == 1:
        but = f", but {same}" if same else ""
        words = f"Only throughput rose: {at_high} {said(brought)}{but}; more is served at once{told}"
        return [Kind(THROUGHPUT, hedged(words, brought))]
    if felt:
        words = f"Faster under load only: {at_high} {', '.join(said(cell) for cell in felt)}"
        return [Kind(UNDER_LOAD, hedged(words + (f"; {same}" if same else ""), *felt))]
    return []


def _fading(look: Look, low: Cell | None, high: Cell | None) -> list[Kind]:
    """One request gained: whether under load that is lost, or becomes clearly less or more."""
    if low is None or high is None or sign(low) is None or sign(high) is None:
        return []
    words = f"at {look.lowest.words} {said(low)}, at {look.highest.words} {said(high)}"
    if (sign(low), sign(high)) == (1, -1):
        return [Kind(LOW_LOAD, hedged(f"Faster at low load, slower at high: {words}", low, high))]
    if sign(high) == 1 and _above(high, low) and _in_a_class(look, high, low):
        return [Kind(GROWS, hedged(f"The gain grows with load: {words}", low, high))]
    if sign(low) == 1 and _above(low, high) and _in_a_class(look, low, high):
        return [Kind(FADES, hedged(f"The gain fades with load: {words}", low, high))]
    return []


def _above(cell: Cell, other: Cell) -> bool:
    """Whether the interval of one lies above that of the other, and it is more than half as large again."""
    if cell.low is None or other.high is None or cell.gain is None or other.gain is None:
        return False
    return cell.low > other.high and cell.gain > LARGER * other.gain


def _in_a_class(look: Look, cell: Cell, other: Cell) -> bool:
    """Whether some class shows the same; where classes are not known, that is taken as it is."""
    classes = [name for name in look.pair.workloads if name != cell.workload]
    both = [[look.cell(one.figure.key, one.level, name) for one in (cell, other)] for name in classes]
    gains = [(mine.gain, its.gain) for mine, its in both if mine is not None and its is not None]
    known = [(mine, its) for mine, its in gains if mine is not None and its is not None]
    return not known or any(mine > SHARED * its for mine, its in known)


def _whole(look: Look, found: Sequence[Kind]) -> list[Kind]:
    """Whole answers came sooner, and no other kind says why."""
    for level in dict.fromkeys((look.lowest, look.highest)):
        cell = look.first(E2E, level)
        if not found and cell is not None and sign(cell) == 1:
            words = f"Whole answers came sooner at {level.words}, though neither first tokens nor decoding show it"
            return [Kind(WHOLE, hedged(f"{words}: {said(cell)}", cell))]
    return []


def _nothing(look: Look) -> Kind:
    """Nothing became faster; what became slower is said."""
    levels = tuple(dict.fromkeys((look.lowest, look.highest)))
    seen = [(level, cell) for level in levels for keys in (FIRST, DECODE, E2E) if (cell := look.first(keys, level))]
    worse = [(level, cell) for level, cell in seen if sign(cell) == -1]
    if not seen:
        return Kind(NOTHING, "Nothing became faster that these runs could show")
    if not worse:
        told = ", ".join(f"{said(cell)} at {level.words}" for level, cell in seen if cell.figure.group == "E2E")
        few = not all(repeated(cell) for _, cell in seen)
        by = f" by more than the {percent(NOISE)} by which runs may differ" if few else ""
        return Kind(NOTHING, f"Nothing became faster{by}" + (f": {told}" if told else ""))
    told = ", ".join(f"{said(cell)} at {level.words}" for level, cell in worse)
    return Kind(NOTHING, hedged(f"Nothing became faster, and some became slower: {told}", *(cell for _, cell in worse)))
