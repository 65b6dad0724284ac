"""Gates: what they say, when they hold, and how a slip of the pen is met."""

from typing import Any

import pytest

from llmload.exits import Exit, Stop
from llmload.report import gates


def row(step: int, concurrency: int | None, workload: str = "all", **more: Any) -> dict[str, Any]:
    """A row with a few figures."""
    facts: dict[str, Any] = {
        "step": step, "concurrency": concurrency, "rate": None, "workload": workload, "success_share": 0.97,
        "ttft_ms": {"ok": {"n": 9, "mean": 420.0, "p50": 400.0}, "all": {"n": 10, "p50": 410.0, "p95": "inf"}},
        "itl_ms": {"ok": {"n": 99, "p50": 20.0}, "all": None},
        "outcomes": {"ok": 97, "rate_limited": 3}, "flags": {}, "token_source": "server", "cost": None,
        "generator": {"bound": False, "cpu_max": 0.31},
    }  # fmt: skip
    return facts | more


ROWS = [row(0, 1), row(0, 1, "short", success_share=1.0), row(1, 32, success_share=0.9)]


@pytest.mark.parametrize(
    ("gate", "holds"),
    [
        ("ttft_ms.p50<=500", True),
        ("ttft_ms.p50<=405", False),  # over all attempts: 410
        ("ttft_ms.ok.p50<=405", True),
        ("ttft_ms.p95<=1e9", False),  # infinite
        ("ttft_ms.p95>1000", True),
        ("ttft_ms.all.p95==inf", True),
        ("ttft_ms.mean<=420", True),  # there is one over successes only
        ("itl_ms.p50<=20", True),
        ("success_share>=0.95", False),  # not at 32
        ("success_share>=0.95@1", True),
        ("success_share >= 0.95 @ 1", True),
        ("success_share>=0.95@32", False),
        ("short/success_share>=1", True),
        ("outcomes.rate_limited<=3", True),
        ("outcomes.overloaded==0", True),
        ("flags.short_output==0", True),
        ("generator.bound==false", True),
        ("generator.cpu_max<0.3", False),
        ("token_source==server", True),
        ("token_source!=server", False),
        ("ttft_ms.p99<=500", False),  # not measured
        ("cost.per_1000_requests<=1", False),  # no price
        ("gpu.power_mean_watts<=1", False),
        ("success_share>=0.5@7", False),  # no such step
        ("huge/success_share>=0.5", False),  # no such class
    ],
)
def test_gates(gate: str, holds: bool) -> None:
    """Each gate against three rows; without a class it is about all, without a step about every one."""
    judged = gates.judge(gates.parse(gate), ROWS)
    assert judged.holds is holds, judged.words


def test_a_gate_of_an_open_loop() -> None:
    """A rate stands behind the @; from the schedule is a figure like any other, and infinite over what was not sent."""
    planned = {"ok": {"n": 9, "p95": 700.0}, "all": {"n": 10, "p50": 410.0, "p95": "inf"}}
    rows = [row(0, None, rate=2.5, from_schedule={"ttft_ms": None, "e2e_ms": planned})]
    for gate, holds, words in (
        ("from_schedule.e2e_ms.p50<=500@2.5", True, "410 at 2.5/s"),
        ("from_schedule.e2e_ms.p95<=500", False, "inf at 2.5/s"),
        ("from_schedule.e2e_ms.ok.p95<=700@2.5", True, "700 at 2.5/s"),
        ("from_schedule.ttft_ms.p95<=500", False, "not measured at 2.5/s"),
        ("success_share>=0.9@5", False, "the run has no step of 5"),
    ):
        judged = gates.judge(gates.parse(gate), rows)
        assert (judged.holds, judged.words) == (holds, words)


def test_a_level_that_came_twice_must_hold_twice() -> None:
    """By hand 8 may be set again: the gate is about both rows."""
    twice = [row(0, 8), row(1, 8, success_share=0.8)]
    assert gates.judge(gates.parse("success_share>=0.9@8"), twice).words == "0.8 at 8"


def test_words_say_what_and_where() -> None:
    """The first row that fails is named with its value."""
    assert gates.judge(gates.parse("success_share>=0.95"), ROWS).words == "0.9 at 32"
    assert gates.judge(gates.parse("ttft_ms.p99<=5"), ROWS).words == "not measured at 1"
    assert gates.judge(gates.parse("ok>1"), []).words == "no class 'all'; the run has no rows"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ttft_ms.p50", "not understood"),
        ("", "not understood"),
        ("ttft_ms.p50=<500", "not understood"),
        ("ttft.p50<=500", "no figure 'ttft'"),
        ("ttft_ms.p50<=fast", "'fast' is no number"),
        ("ttft_ms.p50<=nan", "'nan' is no number"),
        ("ttft_ms.p50<=500@many", "'many' is no concurrency and no rate"),
        ("a/b/ttft_ms.p50<=500", "not understood"),
        ("ttft_ms.p77<=5", "ttft_ms has no 'p77'; expected ttft_ms. and one of: n, min, mean, p50, p90"),
        ("ttft_ms.p5<=5", "has no 'p5'"),
        ("e2e_ms.all.mean<=5", "has no 'all.mean'"),
        ("itl_ms.all.p50<=20", "has no 'all.p50'"),  # by definition there is none
        ("from_schedule.e2e_ms.p51<=20", "has no 'e2e_ms.p51'"),
        ("ttft_ms<=1", "ttft_ms is a block and no number"),
        ("outcomes<=5", "outcomes is a block and no number"),
        ("cost<=1", "cost is a block and no number; expected cost. and one of: currency, per_million_output_tokens"),
        ("cost.currency<=1", "cost.currency is no number; expected == or != and a word"),
        ("outcomes.ratelimited<=5", "outcomes has no 'ratelimited'"),
        ("success_share.p50>=0.9", "success_share has no parts"),
        ("success_share==true", "true is no number"),
        ("token_source<5", "token_source is no number; expected == or != and a word"),
        ("token_source==5", "token_source is no number"),
        ("generator.bound<5", "generator.bound is no number; expected == or != and true or false"),
    ],
)
def test_slips_are_found_before_the_run(text: str, words: str) -> None:
    """One sentence with the text, what is wrong and an example; exit code 2."""
    with pytest.raises(Stop, match=words) as stop:
        gates.parse(text)
    assert stop.value.code == Exit.USAGE


def test_every_figure_of_a_row_can_be_a_gate(tmp_path: Any) -> None:
    """The list of figures is that of the rows."""
    from tests.report.synthetic import record
    from tests.report.worked import rows_of

    (made,) = rows_of(tmp_path, [record(0)])
    assert set(gates.FIGURES) == set(made) - {"step", "concurrency", "rate", "workload"}
    assert made["ttft_ms"]["ok"].keys() == set(gates.SUCCESSES)
    assert made["ttft_ms"]["all"].keys() == set(gates.ATTEMPTS)
    assert made["generator"].keys() == set(gates.PARTS["generator"])
    blocks = {name for name, value in made.items() if isinstance(value, dict)}
    assert blocks == gates.PARTS.keys() - {"gpu", "server", "cost"}  # nothing was sampled, nothing has a price
