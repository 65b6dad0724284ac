"""A comparison as JSON for pipelines. Infinite is the string "inf"; what is not known is null; never NaN.

schema            1
verdict           the word of the only pair; of several, that of the one with the highest exit code, the first of them
exit_code         of the whole comparison
claim             null, or text, figure, factor, concurrency, workload, who, when, where, stated {condition: words}
pairs[]           one for each scenario and candidate
  scenario, baseline, candidate     names
  interleaved                       whether rounds were run one beside the other
  runs {baseline[], candidate[]}    run, folder, verdict
  levels[], left_out[]              concurrency, rate
  verdict                           word, headline, reasons[], exit_code
  deciding                          figure, concurrency, rate, workload
  cells[]                           concurrency, rate, workload, figure, unit, lower_is_better, baseline, candidate,
                                    gain (above 1: the candidate is better), low, high (95 % interval of the gain),
                                    raw (candidate / baseline), how, n [baseline, candidate] (attempts),
                                    rounds [baseline, candidate], values [[…], […]] (by round), p, word, why,
                                    deciding
  rule                              null, or concurrency, rate, word, words[], success [baseline, candidate],
                                    ratios[] and beside[]: name, gain, low, high, raw, words
  kinds[]                           key, words, doubt
  conditions[]                      name, stated, baseline, candidate, standing, words
  differences[]                     name, baseline, candidate, standing, words
  answers                           null, or loss, words[], classes[] (the fields of quality.ClassQuality),
                                        reviewed (null, or the fields of answers.review.Reviewed); no texts
  money                             null, or currency, words[], saving_per_month, payback_months,
                                        lines[]: name, baseline, candidate, assumption, unit
  capabilities[]                    name, baseline, candidate
  gates[]                           text, holds, words
  questions[]                       question, answer, known
  warnings[]
changes[]         figure, concurrency, rate, workload, combined[], warnings[], contributions[]: changes[],
                  on_top_of[], gain, low, high, words
warnings[]        about no single pair
"""

import json
import math
from dataclasses import asdict
from typing import Any

from llmload.compare.comparison import Compared, Comparison
from llmload.compare.ratios.cells import Cell
from llmload.compare.ratios.changes import Changes
from llmload.compare.rule.rule import Rule
from llmload.compare.sides import Level, Side

SCHEMA = 1


def text(comparison: Comparison) -> str:
    """The JSON text."""
    return json.dumps(_fit(whole(comparison)), indent=2, allow_nan=False) + "\n"


def whole(comparison: Comparison) -> dict[str, Any]:
    """The comparison as a dictionary, with numbers as they are."""
    worst = max(comparison.compared, key=lambda item: item.verdict.code, default=None)
    return {
        "schema": SCHEMA,
        "verdict": None if worst is None else worst.verdict.word,
        "exit_code": int(comparison.exit_code),
        "claim": None
        if comparison.claim is None
        else asdict(comparison.claim) | {"figure": comparison.claim.figure.key},
        "pairs": [_pair(compared) for compared in comparison.compared],
        "changes": [_changes(told) for told in comparison.changes],
        "warnings": comparison.warnings,
    }


def _pair(compared: Compared) -> dict[str, Any]:
    pair, answers, rule = compared.pair, compared.answers, compared.rule
    verdict = asdict(compared.verdict)
    return {
        "scenario": pair.scenario,
        "baseline": pair.baseline.name,
        "candidate": pair.candidate.name,
        "interleaved": pair.interleaved,
        "runs": {"baseline": _runs(pair.baseline), "candidate": _runs(pair.candidate)},
        "levels": [_level(level) for level in pair.levels],
        "left_out": [_level(level) for level in pair.left_out],
        "verdict": verdict | {"exit_code": int(verdict.pop("code"))},
        "deciding": _at(compared.deciding),
        "cells": [_cell(cell) for cell in compared.cells],
        "rule": None if rule is None else _rule(rule),
        "kinds": [asdict(kind) for kind in compared.kinds],
        "conditions": [asdict(item) for item in compared.conditions],
        "differences": [asdict(item) for item in compared.differences],
        "answers": None if answers is None else {
            "loss": answers.loss, "words": answers.words, "classes": [asdict(item) for item in answers.classes],
            "reviewed": None if answers.reviewed is None else asdict(answers.reviewed),
        },
        "money": None if compared.money is None else asdict(compared.money),
        "capabilities": [
            dict(zip(("name", "baseline", "candidate"), row, strict=True)) for row in compared.capabilities
        ],
        "gates": [asdict(gate) for gate in compared.gates],
        "questions": [asdict(question) for question in compared.questions],
        "warnings": compared.warnings,
    }  # fmt: skip


def _rule(rule: Rule) -> dict[str, Any]:
    facts = asdict(rule)
    facts.pop("level")
    return _level(rule.level) | facts


def _level(level: Level) -> dict[str, Any]:
    return {"concurrency": level.concurrency, "rate": level.rate}


def _at(place: Any) -> dict[str, Any]:
    return {"figure": place.figure.key, **_level(place.level), "workload": place.workload}


def _runs(side: Side) -> list[dict[str, Any]]:
    return [
        {"run": built.summary.get("run"), "folder": str(built.folder), "verdict": built.verdict.word}
        for built in side.rounds
    ]


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        **_at(cell),
        "unit": cell.figure.unit,
        "lower_is_better": cell.figure.lower,
        "baseline": cell.baseline,
        "candidate": cell.candidate,
        "gain": cell.gain,
        "low": cell.low,
        "high": cell.high,
        "raw": cell.raw,
        "how": cell.how,
        "n": cell.requests,
        "rounds": cell.rounds,
        "values": cell.values,
        "p": cell.p,
        "word": cell.word,
        "why": cell.why,
        "deciding": cell.deciding,
    }


def _changes(told: Changes) -> dict[str, Any]:
    facts = asdict(told)
    return _at(told) | {name: facts[name] for name in ("combined", "warnings", "contributions")}


def _fit(value: Any) -> Any:
    """The value as JSON can hold it: infinite numbers as words, NaN as null."""
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return value if math.isfinite(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, dict):
        return {str(key): _fit(item) for key, item in value.items()}
    return [_fit(item) for item in value] if isinstance(value, list | tuple) else value
