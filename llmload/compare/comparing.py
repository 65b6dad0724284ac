"""Puts a comparison together: every part looks at the pairs from its side, in one order. Computes nothing itself."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from llmload.compare import capable, questions
from llmload.compare.answering import answering
from llmload.compare.claims import conditions
from llmload.compare.claims.claims import Claim
from llmload.compare.comparison import Compared, Comparison
from llmload.compare.differing import differences
from llmload.compare.figures import FIGURES
from llmload.compare.kinds import kinds
from llmload.compare.money import money
from llmload.compare.ratios import cells, changes
from llmload.compare.ratios.cells import Deciding
from llmload.compare.rule import rule
from llmload.compare.sides import Contest, Level, Pair
from llmload.compare.verdict import overall, ratio_gates, verdict
from llmload.compare.verdict.ratio_gates import Gate
from llmload.exits import VERDICTS, Exit, Stop


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of a comparison, besides its sides."""

    claim: Claim | None = None
    level: float | None = None
    """Requests in flight, or a rate, at which it is decided; None: the claim's, else the highest that both have."""
    workload: str | None = None
    changed: Sequence[str] = ()
    accepted: Sequence[str] = ()
    gates: Sequence[Gate] = ()
    limits: rule.Limits = field(default_factory=rule.Limits)
    tolerance: float = 0.05
    requests_per_month: float | None = None
    answers: answering.Wanted = field(default_factory=answering.Wanted)


def compute(contest: Contest, wanted: Wanted) -> Comparison:
    """Compare all pairs. Raises Stop(UNJUDGED) for a class or level that not every run has."""
    compared = tuple(_compared(pair, contest, wanted) for pair in contest.pairs)
    steps = []
    for _, group in groupby(compared, key=lambda item: item.pair.scenario):
        same = list(group)
        found = changes.compute([item.pair for item in same], same[0].deciding)
        steps += [] if found is None else [found]
    rounds = [built for item in compared for side in (item.pair.baseline, item.pair.candidate) for built in side.rounds]
    worst, together = overall.of(compared)
    ab = None if contest.ab is None else str(contest.ab)
    codes = [worst]
    codes += [VERDICTS[built.verdict.word] for built in rounds]
    codes += [Exit.FAILED for item in compared for gate in item.gates if not gate.holds]
    return Comparison(wanted.claim, compared, tuple(steps), contest.warnings, max(codes), together, ab)


def narrowed(wanted: Wanted) -> Claim | None:
    """The claim as it is tested: what the options say of level and class is left open no more."""
    if wanted.claim is None:
        return None
    level = wanted.claim.concurrency if wanted.level is None else wanted.level
    return replace(wanted.claim, concurrency=level, workload=wanted.workload or wanted.claim.workload)


def _compared(pair: Pair, contest: Contest, wanted: Wanted) -> Compared:
    """One pair, from every side."""
    deciding = decide(pair, wanted)
    ratios = cells.compute(pair, deciding)
    apart = differences.find(pair, wanted.changed, wanted.accepted, deciding.level)
    health = differences.health(pair)
    three = rule.judge(pair, deciding.level, wanted.limits)
    kind = kinds.tell(pair, ratios)
    answers = answering.compare(pair, contest.ab, wanted.answers)
    word = verdict.judge(
        pair, deciding, ratios, apart, narrowed(wanted), answers, three, kind, wanted.tolerance, health=health
    )
    compared = Compared(
        pair=pair,
        deciding=deciding,
        verdict=word,
        differences=apart,
        conditions=conditions.against(wanted.claim, pair, deciding),
        cells=ratios,
        rule=three,
        kinds=kind,
        answers=answers,
        money=money.compute(pair, wanted.requests_per_month),
        capabilities=capable.beside(pair),
        questions=(),
        gates=tuple(ratio_gates.judge(gate, ratios) for gate in wanted.gates),
        warnings=health if answers is None else (*health, *answers.warnings),
    )
    return replace(compared, questions=questions.of(compared, wanted.claim))


def decide(pair: Pair, wanted: Wanted) -> Deciding:
    """The cell that decides: as asked for, else as the claim says, else E2E p95 of all at the highest common level."""
    claim = wanted.claim
    figure = FIGURES["e2e_p95"] if claim is None else claim.figure
    workload = wanted.workload or (claim.workload if claim is not None else None) or "all"
    if workload not in pair.workloads:
        raise Stop(
            f"scenario {pair.scenario}: no class {workload!r} on both sides; there are: {', '.join(pair.workloads)}",
            Exit.UNJUDGED,
        )
    asked = wanted.level if wanted.level is not None else claim.concurrency if claim is not None else None
    return Deciding(figure, pair.levels[-1] if asked is None else at(pair, asked), workload)


def at(pair: Pair, asked: float) -> Level:
    """The level that asks for so much. Raises Stop(UNJUDGED)."""
    found = next((level for level in pair.levels if level.asked == asked), None)
    if found is None:
        there = ", ".join(level.label for level in pair.levels)
        raise Stop(
            f"scenario {pair.scenario}: no step of {asked:g} in all runs of both sides; there are: {there}",
            Exit.UNJUDGED,
        )
    return found
