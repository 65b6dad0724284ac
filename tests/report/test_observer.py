"""The step that --observer-check repeated: it makes no row, balances all the same, and is told with what it shows."""

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from llmload.exits import Exit
from llmload.report import files, observer
from llmload.report.building import Built
from llmload.report.observer import Figure
from llmload.report.soak import drift
from llmload.report.soak.drift import Change
from tests.report.synthetic import record, second, step
from tests.report.worked import built_of

LOAD = {"kind": "steps", "steps": [1, 4], "warmup_requests": 0, "warmup_s": 1.0, "window_s": 20.0}


def attempts(index: int, users: int, begin: float, first: int, ttft: Callable[[int], float]) -> list[dict[str, Any]]:
    """Two hundred in the 20 s of a window."""
    return [
        record(first + k, sent=begin + k / 10, step=index, concurrency=users, ttft=ttft(k), gaps=(10.0 + k % 3,) * 9)
        for k in range(200)
    ]


def run(
    folder: Path,
    repeated: Callable[[int], float],
    sampled: Callable[[int], float],
    besides: Sequence[dict[str, Any]] = (),
) -> Built:
    """1 and 4 in flight, and the 4 once more without sampling."""
    steps = [step(0, 1, 0, 20), step(1, 4, 30, 50), step(2, 4, 60, 80, observed=False)]
    records = attempts(0, 1, 0, 0, lambda _: 50.0) + attempts(1, 4, 30, 200, sampled)
    records += attempts(2, 4, 60, 400, repeated)
    records += besides
    n = len(records)
    books = {"w1": {"started": n, "finished": n, "received": n, "lost": 0}}
    watched = [second(at) for at in range(90)]
    return built_of(folder, records, steps, generator=watched, load=LOAD, run={"accounting": books})


def steady(k: int) -> float:
    """100 to 109 ms."""
    return 100.0 + k % 10


def test_it_makes_no_row_and_balances(tmp_path: Path) -> None:
    """Two steps in every table; nothing is missing or of an unknown step; its failures are nobody's."""
    late = [record(600, sent=70, step=2, concurrency=4, outcome="overloaded", end=5.0, error="only here")]
    built = run(tmp_path, steady, steady, besides=late)
    rows = [row for row in built.summary["rows"] if row["workload"] == "all"]
    assert [(row["step"], row["concurrency"], row["ok"], row["failed"]) for row in rows] == [
        (0, 1, 200, 0),
        (1, 4, 200, 0),
    ]
    assert (built.verdict.word, built.verdict.reasons, built.exit_code) == ("OK", (), Exit.OK)
    assert [line.step for table in built.tables[:1] for line in table.lines if line.whole] == ["1", "4"]
    assert built.observed is not None
    (own,) = [row for item in built.observed.steps for row in item.rows if row["workload"] == "all"]
    assert (own["step"], own["started"], own["ok"], own["failed"]) == (2, 201, 200, 1)
    assert "only here" not in files.FORMATS["table"](built) + files.FORMATS["markdown"](built)


def test_no_difference_is_told_as_that(tmp_path: Path) -> None:
    """The same times on both sides: a difference of 0, an interval around it, no warning."""
    built = run(tmp_path, steady, steady)
    assert built.observed is not None
    assert built.observed.n == (200, 200)
    figures = {figure.name: figure for figure in built.observed.figures}
    assert list(figures) == list(observer.FIGURES)
    assert (figures["TTFT p50 ms"].sampled, figures["TTFT p50 ms"].unsampled) == (104.5, 104.5)
    assert figures["tokens/s"].sampled == pytest.approx(100, rel=0.01)
    for figure in figures.values():
        assert figure.change is not None
        assert figure.change.change == pytest.approx(0, abs=0.01)
        assert figure.change.low <= 0 <= figure.change.high
        assert figure.words == "no difference shown"
    assert not [*built.observed.warnings]
    assert (
        "4 in flight, 200 requests with sampling and 200 without: no difference shown (TTFT p99 " in built.observed.line
    )


def test_a_difference_is_told_with_its_interval(tmp_path: Path) -> None:
    """First tokens 25 % later with sampling: exact, in every format for people, and a WARNING; gaps stay."""
    built = run(tmp_path, steady, lambda k: 1.25 * steady(k))
    assert built.observed is not None
    figures = {figure.name: figure for figure in built.observed.figures}
    for name in ("TTFT p50 ms", "TTFT p95 ms", "TTFT p99 ms"):
        change = figures[name].change
        assert change is not None
        assert change.change == pytest.approx(0.25)
        assert 0.2 < change.low < 0.25 < change.high < 0.3
        assert figures[name].words == "sampling made it 25 % worse"
    sides = ((built.facts, built.facts.steps[1]), (built.facts.unsampled, built.facts.unsampled.steps[0]))
    spread = math.hypot(*(observer.deviations(facts, step)["TTFT p50 ms"] for facts, step in sides))
    assert figures["TTFT p50 ms"].change == drift.change(130.625, 104.5, spread, 6)  # six figures share the 5 %
    assert figures["ITL p50 ms"].words == figures["tokens/s"].words == "no difference shown"
    said = r"sampling made p50 of TTFT 25 % worse \(2[0-4](\.\d)? to 2[5-9](\.\d)? %\)"
    assert re.search(said, built.observed.line)
    (warning,) = [text for text in built.warnings if "--observer-check" in text]
    assert re.search(said, warning)
    assert "--sample-every" in warning
    pages = {kind: render(built) for kind, render in files.FORMATS.items()}
    for kind, page in pages.items():
        assert bool(re.search(r"sampling made p50 of\s+TTFT 25 % worse", page)) is (kind not in ("csv", "json")), kind
    assert "| TTFT p50 ms | 130.6 | 104.5 | +25 % |" in pages["markdown"]
    assert "<td>+25 %</td>" in pages["html"]
    better = run(tmp_path / "better", lambda k: 1.25 * steady(k), steady).observed
    assert better is not None
    assert better.figures[0].words == "sampling made it 20 % better"
    assert not [*better.warnings]


def test_fewer_tokens_are_worse_and_longer_times() -> None:
    """By the name of the figure."""
    fewer, more = Change(-0.1, -0.2, -0.05), Change(0.1, 0.05, 0.2)
    told = [Figure(name, 1.0, 1.0, change).words for name in ("tokens/s", "ITL p50 ms") for change in (fewer, more)]
    assert told == [f"sampling made it 10 % {word}" for word in ("worse", "better", "better", "worse")]


def test_a_difference_that_nobody_feels_is_no_warning(tmp_path: Path) -> None:
    """Half a percent, however sure: it is told, and that is all."""
    built = run(tmp_path, lambda _: 100.0, lambda _: 100.5)
    assert built.observed is not None
    assert built.observed.figures[0].words == "sampling made it 0.5 % worse"
    assert "sampling made p50 of TTFT 0.5 % worse (0.5 to 0.5 %)" in built.observed.line
    assert not [*built.observed.warnings]


def test_chance_alone_shows_no_difference(tmp_path: Path) -> None:
    """Ten pairs of steps with the same distribution of first tokens: one may differ by chance, not more."""
    differing = 0
    for seed in range(10):
        draw = np.random.default_rng(seed).lognormal(4.6, 0.5, (2, 200)).tolist()
        built = run(tmp_path / str(seed), lambda k, draw=draw: draw[0][k], lambda k, draw=draw: draw[1][k])
        assert built.observed is not None
        differing += any(figure.change is not None and figure.change.real for figure in built.observed.figures)
    assert differing <= 1


def test_too_few_requests_are_said(tmp_path: Path) -> None:
    """Where the repeated step was cut short nothing is made up; a step without any success is exit code 1."""
    steps = [step(0, 4, 0, 20), step(1, 4, 30, 32, observed=False, ended_by="failures")]
    records = attempts(0, 4, 0, 0, steady)
    records += [
        record(200 + k, sent=30 + k / 10, step=1, concurrency=4, outcome="overloaded", end=5.0) for k in range(9)
    ]
    built = built_of(tmp_path, records, steps, load=LOAD)
    assert built.observed is not None
    assert (
        built.observed.line
        == "4 in flight, 200 requests with sampling and 0 without: too few requests to tell a difference"
    )
    assert {figure.words for figure in built.observed.figures} == {"too few requests"}
    assert built.exit_code == Exit.FAILED
    (failure,) = built.failures
    assert failure.startswith(
        "the step with 4 in flight, repeated without sampling, ended without a single success: over"
    )
