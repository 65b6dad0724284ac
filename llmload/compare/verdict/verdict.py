"""The verdict of a comparison: one word, sentences, an exit code.

A claim is judged by the cell that was named beforehand. What else was found does not turn it, but stands beside it:
the rule of three ratios (it asks another question: whether a change is worth having, with memory and jitter in it), the
kinds of faster, health. Four things do: a difference that nobody declared, fewer than three rounds a side, answers that
lost more than they may, and, where a claim names no level or class, places where it does not hold.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from llmload.compare.answering.answering import Answers
from llmload.compare.claims.claims import Claim
from llmload.compare.differing.differences import Difference
from llmload.compare.figures import FIGURES
from llmload.compare.kinds.kinds import Kind
from llmload.compare.ratios.cells import Cell, Deciding
from llmload.compare.rule.rule import Rule
from llmload.compare.sides import Pair
from llmload.compare.verdict import headlines, holding
from llmload.compare.verdict.holding import Places
from llmload.compare.words import claimed, percent, times
from llmload.exits import Exit
from llmload.report.rows import ALL

WORDS = {
    "supported": Exit.OK,
    "supported, with a loss of quality": Exit.FAILED,
    "partly": Exit.FAILED,
    "direction confirmed, size not": Exit.FAILED,
    "not supported": Exit.FAILED,
    "cannot be judged": Exit.UNJUDGED,
    "not comparable": Exit.UNJUDGED,
    "faster": Exit.OK,
    "slower": Exit.OK,
    "no difference shown": Exit.OK,
    "not repeated": Exit.OK,
}
"""With a claim one of the first seven, without one of the last six. A claim on runs that were not repeated cannot be
judged; without a claim nothing was asked that could fail, but where there is no figure nothing was judged either."""

LOSS = "supported, with a loss of quality"
POINT = 0.01
"""A success share that fell by more than this is said beside a gain."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`headline` is one sentence with the figures in it; `reasons` say what weakens or decides it."""

    word: str
    headline: str
    reasons: tuple[str, ...]
    code: Exit


def judge(  # noqa: PLR0913, PLR0917 (what all parts of a comparison found, once each)
    pair: Pair,
    deciding: Deciding,
    cells: Sequence[Cell],
    differences: Sequence[Difference],
    claim: Claim | None,
    answers: Answers | None,
    rule: Rule | None,
    kinds: Sequence[Kind],
    tolerance: float = 0.05,
    *,
    health: Sequence[str] = (),
) -> Verdict:
    """The verdict of one pair.

    `tolerance` is the part of a claimed factor that may be missing (0.05: 13.3 for 14), `health` what weakens the runs
    themselves, in sentences.
    """
    cell, told = decided(cells, deciding)
    places = Places()
    if claim is not None and cell is not None:
        places = holding.places(claim, Deciding(cell.figure, cell.level, cell.workload), cells, tolerance)
    undeclared = [item for item in differences if item.standing == "undeclared"]
    loss = answers is not None and answers.loss
    if undeclared:
        word, headline = "not comparable", headlines.not_comparable(undeclared)
    elif cell is None or cell.gain is None:
        word, headline = "cannot be judged", headlines.no_figure(deciding, cell)
    elif claim is None:
        word, headline = headlines.without_claim(pair, cell)
    else:
        word, headline = headlines.of_claim(pair, cell, claim, tolerance, places)
        if word == "supported" and loss:
            word, headline = LOSS, headline.replace("supported:", f"{LOSS}:", 1)
    reasons = [item.words for item in undeclared if item.words not in headline]
    reasons += told
    if not undeclared:
        reasons += _whereabouts(word, cell, places)
    if claim is not None and not undeclared and cell is not None:
        reasons += _tolerated(word, cell, claim, tolerance, places)
    reasons += _failing(cells, cell)
    reasons += [f"accepted by name: {item.words}" for item in differences if item.standing == "accepted"]
    reasons += [f"under test: {item.words}" for item in differences if item.standing == "variable under test"]
    reasons += [item.words for item in differences if item.standing == "note"]
    reasons += health
    if answers is not None and loss:
        reasons += answers.words
    reasons += [kind.words for kind in kinds if kind.doubt]
    if rule is not None and not undeclared:
        reasons.append(_beside(rule))
    return Verdict(word, headline, tuple(dict.fromkeys(reasons)), WORDS[word])


def decided(cells: Sequence[Cell], deciding: Deciding) -> tuple[Cell | None, list[str]]:
    """The cell that decides, and a sentence where it is another than was named.

    Gaps between events say nothing where events carry different numbers of tokens: there the time per token decides.
    """
    cell = next((item for item in cells if item.deciding), None)
    if cell is None or cell.word != "no word" or cell.figure.group != "ITL":
        return cell, []
    figure = FIGURES[cell.figure.key.replace("itl", "tpot")]
    other = next(
        (item for item in cells if (item.figure, item.level, item.workload) == (figure, cell.level, cell.workload)),
        None,
    )
    why = f" ({cell.why})" if cell.why else ""
    return other, [f"{deciding.figure.words} has no word here{why}: {figure.words} decides instead"]


def _whereabouts(word: str, cell: Cell | None, places: Places) -> list[str]:
    """Where else it holds and where not, where the headline does not say so already."""
    if word == "partly":
        return []
    here, elsewhere = ([phrase for one, phrase in found if one != cell] for found in (places.here, places.elsewhere))
    holds = "the claim also holds" if word.startswith("supported") else "apart from what decides, the claim holds"
    misses = "the claim does not hold elsewhere: not"
    if word == "cannot be judged":  # what decides is unsure: neither `also` nor `elsewhere` has a place to refer to
        misses = "apart from what decides, the claim does not hold"
    found = [f"{holds} {headlines.listed(here)}"] if here else []
    return found + ([f"{misses} {headlines.listed(elsewhere)}"] if elsewhere else [])


def _tolerated(word: str, cell: Cell, claim: Claim, tolerance: float, places: Places) -> list[str]:
    """That a claim was supported by the tolerance alone, wherever it was."""
    if word == "partly" and any(one.low is not None and one.low < claim.factor for one, _ in places.here):
        least = claimed(holding.least(claim.factor, tolerance))
        return [f"{claimed(claim.factor)} is taken as held from {least} on ({percent(tolerance)} of tolerance)"]
    if not word.startswith("supported") or cell.low is None or cell.low >= claim.factor:
        return []
    least = claimed(holding.least(claim.factor, tolerance))
    held = f"{claimed(claim.factor)} is taken as held from {least} on ({percent(tolerance)} of tolerance)"
    return [f"the interval begins at {times(cell.low)}: {held}"]


def _failing(cells: Sequence[Cell], cell: Cell | None) -> list[str]:
    """That a gain stands at a level at which more of its class failed; of all classes `health` tells it."""
    if cell is None or cell.gain is None or cell.gain <= 1 or cell.workload == ALL:
        return []
    share = next(
        (
            item
            for item in cells
            if item.figure.key == "success" and (item.level, item.workload) == (cell.level, cell.workload)
        ),
        None,
    )
    if share is None or share.baseline is None or share.candidate is None:
        return []
    if share.baseline - share.candidate <= POINT:
        return []
    theirs = f"{percent(share.candidate)} of the candidate's attempts succeeded, {percent(share.baseline)} of the"
    return [f"at {cell.level.words} more failed in {holding.class_words(cell.workload)}: {theirs} baseline's"]


def _beside(rule: Rule) -> str:
    """What the rule of three ratios says, and why where it does not accept."""
    why = f" ({rule.words[0]})" if rule.words and rule.word != "acceptable" else ""
    return f"the rule of three ratios, which turns no verdict, says: {rule.word}{why}"
