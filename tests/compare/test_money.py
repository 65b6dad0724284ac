"""What both sides cost, and what a change brings, to the cent: figures worked by hand.

A GPU at 36 an hour costs 0.01 a second, so that a window of 10 s costs 0.10. A month has 730 h = 2,628,000 s.
"""

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from llmload.compare.money import money, offers
from llmload.compare.money.money import Line, Money
from llmload.compare.sides import Level, Pair, Side
from llmload.exits import Exit, Stop
from llmload.report import building
from llmload.report.building import Built
from tests.report.synthetic import record, scenario, step, write

ONE, TWO = Level(1, None), Level(2, None)
HOURLY = {"currency": "EUR", "gpu_hour": 36, "gpus": 1}


def run(folder: Path, requests: int, cost: dict[str, Any] | None, *, slow: int = 0, slo: float | None = None) -> Built:
    """Two steps of 10 s, of so many requests of 10 tokens, the second with as many again; `slow` of these miss an SLO.

    Requests stand 0.4 s apart at most, and their last token comes 190 ms after they were sent.
    """
    rows: list[dict[str, Any]] = []
    for index, (n, late) in enumerate(((requests, 0), (2 * requests, slow))):
        for k in range(n):
            more = {"ttft": 150.0} if k < late else {}
            rows.append(record(len(rows), sent=20 * index + 9.6 * k / n, step=index, concurrency=index + 1, **more))
    made = scenario(cost=cost or {}, slo={"ttft_ms": slo, "tpot_ms": None, "e2e_ms": None, "itl_max_ms": None})
    write(folder, rows, [step(0, 1, 0.0, 10.0), step(1, 2, 20.0, 30.0)], scenario=made)
    return building.compute(folder)


def pair_of(baseline: Sequence[Built], candidate: Sequence[Built]) -> Pair:
    """Both sides, two levels."""
    sides = (Side("baseline", tuple(baseline)), Side("candidate", tuple(candidate)))
    return Pair("synthetic", *sides, (ONE, TWO), (), ("short", "all"), interleaved=False)


def lines(told: Money | None) -> dict[str, tuple[float | None, float | None]]:
    """Amounts by name."""
    assert told is not None
    return {line.name: (line.baseline, line.candidate) for line in told.lines}


def test_costs_of_both_sides_by_gpu_hours(tmp_path: Path) -> None:
    """20 requests (200 tokens) and 40 in 10 s for 0.10: 5.00 and 2.50 per 1,000, 500.00 and 250.00 a million tokens."""
    found = money.compute(pair_of([run(tmp_path / "a", 20, HOURLY)], [run(tmp_path / "b", 40, HOURLY)]))
    assert found is not None
    assert found.currency == "EUR"
    assert lines(found) == {
        "1M output tokens at 1 in flight": (500.0, 250.0),
        "1,000 requests at 1 in flight": (5.0, 2.5),
        "1M output tokens at 2 in flight": (250.0, 125.0),
        "1,000 requests at 2 in flight": (2.5, 1.25),
        "1M output tokens at best": (250.0, 125.0),
        "1,000 requests at best": (2.5, 1.25),
    }
    assert found.lines[0].assumption == "1 GPU x 36.00 EUR an hour, nothing idle"
    assert found.lines[-1].assumption == (
        "no SLO is set: the highest step: baseline at 2 in flight, candidate at 2 in flight"
    )
    assert found.words == (
        "no demand is given (cost.requests_per_month, or --requests-per-month): nothing is said of a month",
    )
    assert (found.saving_per_month, found.payback_months) == (None, None)


def test_the_return_by_use(tmp_path: Path) -> None:
    """10 million requests: 25,000.00 against 12,500.00 a month; 30,000 paid once and 500 gained: 13,000.00, 2.3 months.

    3.805 requests a second are wanted; 4 a second from one GPU need 1, and 3 times as many 3; 8 a second need 1 and 2.
    """
    more = {"one_off": 30_000, "benefit_per_month": 500.0, "requests_per_month": 5}
    pair = pair_of([run(tmp_path / "a", 20, HOURLY)], [run(tmp_path / "b", 40, HOURLY | more)])
    found = money.compute(pair, 10_000_000)
    assert found is not None
    told = lines(found)
    assert told["a month of 10,000,000 requests, by use"] == (25_000.0, 12_500.0)
    assert told["GPUs needed"] == (1.0, 1.0)
    assert told["a month of these GPUs, whole"] == (26_280.0, 26_280.0)  # 730 h x 36
    assert found.saving_per_month == 13_000.0
    assert found.payback_months == 2.3  # 30,000 / 13,000 = 2.307…
    saving, payback, whole, peaks = found.words
    assert saving == (
        "the change saves 13,000.00 EUR a month at 10,000,000 requests (25,000.00 - 12,500.00 + 500.00 benefit; "
        "the baseline by use, the candidate by use)"
    )
    assert payback == "30,000.00 EUR paid once are back after 2.3 months"
    assert whole == (
        "where GPUs are kept running all month that is 500.00 EUR (26,280.00 - 26,280.00 + 500.00 benefit)"
    )
    assert peaks == (
        "the demand is taken as spread evenly over the month: an hour of 3 times the mean takes 3 GPUs of the "
        "baseline and 2 of the candidate, instead of 1 and 1"
    )
    assert "3.81 requests/s, spread evenly over 730 h" in next(
        line.assumption for line in found.lines if line.name == "GPUs needed"
    )


def test_machines_by_the_month_are_paid_whole(tmp_path: Path) -> None:
    """Three GPUs for 1,000.005 a month each. 21,024,000 requests are 8 a second: 2 copies of 4/s, or 1 of 8/s.

    6 GPUs x 1,000.005 = 6,000.03 and 3 x 1,000.005 = 3,000.015, to the cent 3,000.02. One request more a month takes
    another copy of the baseline: 9 GPUs, 9,000.045, to the cent 9,000.05.
    """
    monthly = {"currency": "USD", "gpu_month": 1000.005, "gpus": 3}
    pair = pair_of([run(tmp_path / "a", 20, monthly)], [run(tmp_path / "b", 40, monthly)])
    exact, more = money.compute(pair, 21_024_000), money.compute(pair, 21_024_001)
    assert lines(exact)["GPUs needed"] == (6.0, 3.0)
    assert lines(exact)["a month of these GPUs, whole"] == (6000.03, 3000.02)
    assert exact is not None
    assert exact.saving_per_month == 3000.01
    assert lines(more)["GPUs needed"] == (9.0, 6.0)
    assert lines(more)["a month of these GPUs, whole"] == (9000.05, 6000.03)


def test_a_change_that_loses_is_never_paid_back(tmp_path: Path) -> None:
    """Half as many for the same price: 1,000 requests cost 2.50 before and 5.00 after."""
    cost = HOURLY | {"one_off": 99.99, "requests_per_month": 1000}
    found = money.compute(pair_of([run(tmp_path / "a", 20, cost)], [run(tmp_path / "b", 10, cost)]))
    assert found is not None
    assert found.saving_per_month == -2.5
    assert found.payback_months is None
    assert found.words[0].startswith("the change loses 2.50 EUR a month at 1,000 requests (2.50 - 5.00;")
    assert found.words[1] == "99.99 EUR paid once never come back"


def test_neither_gain_nor_loss(tmp_path: Path) -> None:
    """The same on both sides saves nothing, and what was paid once does not come back."""
    cost = HOURLY | {"one_off": 1}
    found = money.compute(pair_of([run(tmp_path / "a", 20, cost)], [run(tmp_path / "b", 20, cost)]), 1000)
    assert found is not None
    assert found.saving_per_month == 0.0
    assert found.words[0].startswith("the change saves nothing: 0.00 EUR a month at 1,000 requests (2.50 - 2.50;")
    assert found.words[1] == "1.00 EUR paid once never come back"


def test_each_side_at_its_own_highest_step_within_the_slo(tmp_path: Path) -> None:
    """1 of 40 slow is 97.5 %, under the 99 % that are needed: the baseline is at best at 1 in flight, for 5.00."""
    pair = pair_of([run(tmp_path / "a", 20, HOURLY, slow=1, slo=120.0)], [run(tmp_path / "b", 20, HOURLY, slo=120.0)])
    found = money.compute(pair, 1000)
    assert lines(found)["1,000 requests at best"] == (5.0, 2.5)
    assert found is not None
    assert next(line.assumption for line in found.lines if line.name == "1,000 requests at best") == (
        "highest step within the SLO: baseline at 1 in flight, candidate at 2 in flight, at least 99 % of all attempts"
    )
    assert found.saving_per_month == 2.5


def test_no_step_within_the_slo(tmp_path: Path) -> None:
    """A first token after 100 ms never comes within 50: no saving, and why."""
    pair = pair_of([run(tmp_path / "a", 20, HOURLY, slo=50.0)], [run(tmp_path / "b", 20, HOURLY)])
    found = money.compute(pair, 1000)
    assert lines(found)["1,000 requests at best"] == (None, 2.5)
    assert lines(found)["GPUs needed"] == (None, 1.0)
    assert found is not None
    assert found.words[0] == ("the baseline cannot be priced: no step has at least 99 % of its attempts within the SLO")
    assert found.words[-1] == "without the cost of both sides no saving can be told"


def test_rounds_are_summed_before_they_are_divided(tmp_path: Path) -> None:
    """10 and 30 requests in two windows of 0.10: 0.20 for 40 is 5.00 per 1,000, and not the mean of 10.00 and 3.33."""
    rounds = [run(tmp_path / "a", 10, HOURLY), run(tmp_path / "b", 30, HOURLY)]
    found = money.compute(pair_of(rounds, [run(tmp_path / "c", 40, HOURLY)]))
    assert lines(found)["1,000 requests at 1 in flight"] == (5.0, 2.5)
    assert lines(found)["1M output tokens at 1 in flight"] == (500.0, 250.0)
    offer = offers.of(pair_of(rounds, rounds), Side("x", tuple(rounds)), "baseline")
    assert offer.per_s == {ONE: Decimal(2), TWO: Decimal(4)}


def test_tokens_against_gpus(tmp_path: Path) -> None:
    """200 prompt tokens at 1.00 a million and 10 at 20.00 are 0.0004 a request, 0.40 per 1,000, 40.00 a million.

    10,000 requests: 4.00 by tokens against 25.00 by GPUs; GPUs are needed of one side alone.
    """
    paid = {"currency": "EUR", "per_million_input": 1, "per_million_output": 20}
    found = money.compute(pair_of([run(tmp_path / "a", 20, paid)], [run(tmp_path / "b", 20, HOURLY)]), 10_000)
    told = lines(found)
    assert told["1,000 requests at best"] == (0.4, 2.5)
    assert told["1M output tokens at best"] == (40.0, 250.0)
    assert told["a month of 10,000 requests, by use"] == (4.0, 25.0)
    assert told["GPUs needed"] == (None, 1.0)
    assert found is not None
    assert found.saving_per_month == -21.0
    assert found.lines[0].assumption.startswith(
        "baseline: 1.00 EUR per million input tokens + 20.00 EUR per million output tokens; candidate: 1 GPU x 36.00"
    )
    assert found.lines[1].shown == ("0.4000", "5.00")
    assert "peaks cost the same by use" in found.words[-1]


def test_one_gpu_is_no_plural(tmp_path: Path) -> None:
    """A demand that one GPU bears three times over takes no more of them in a peak, and the sentence says just that."""
    found = money.compute(pair_of([run(tmp_path / "a", 20, HOURLY)], [run(tmp_path / "b", 20, HOURLY)]), 1000)
    assert found is not None
    assert found.words[-1] == (
        "the demand is taken as spread evenly over the month: an hour of 3 times the mean takes 1 GPU of the baseline "
        "and 1 of the candidate, the same as the mean"
    )


def test_tokens_on_both_sides_need_no_gpus(tmp_path: Path) -> None:
    """No line on GPUs where none is paid."""
    paid = {"per_million_output": 20}
    found = money.compute(pair_of([run(tmp_path / "a", 20, paid)], [run(tmp_path / "b", 20, paid)]), 10_000)
    assert "GPUs needed" not in lines(found)
    assert lines(found)["a month of 10,000 requests, by use"] == (2.0, 2.0)


def test_currencies_that_differ_are_a_sentence(tmp_path: Path) -> None:
    """No amount stands beside one in another currency."""
    found = money.compute(
        pair_of([run(tmp_path / "a", 5, HOURLY)], [run(tmp_path / "b", 5, HOURLY | {"currency": "USD"})])
    )
    assert found == Money(
        "EUR/USD", (), ("prices are in EUR and USD: amounts in different currencies are not compared",)
    )


def test_one_side_without_a_price(tmp_path: Path) -> None:
    """What the other costs is told all the same, in its currency; no saving is."""
    found = money.compute(pair_of([run(tmp_path / "a", 20, None)], [run(tmp_path / "b", 20, HOURLY)]), 1000)
    assert found is not None
    assert found.currency == "EUR"
    assert lines(found)["1,000 requests at best"] == (None, 2.5)
    assert found.words[0] == "the baseline cannot be priced: it has no price"
    assert found.saving_per_month is None


def test_gpus_nobody_counted(tmp_path: Path) -> None:
    """A price of a GPU without a number of them prices nothing."""
    cost = {"gpu_hour": 36.0}
    found = money.compute(pair_of([run(tmp_path / "a", 5, cost)], [run(tmp_path / "b", 5, cost)]), 1000)
    assert found is not None
    assert set(lines(found).values()) == {(None, None)}
    assert found.words[0] == "the baseline cannot be priced: how many GPUs serve is not known (cost.gpus)"


def test_the_largest_prices_still_have_cents(tmp_path: Path) -> None:
    """As many digits as it takes, and no overflow."""
    cost = {"gpu_month": 7.3e14, "gpus": 10**5}
    found = money.compute(pair_of([run(tmp_path / "a", 20, cost)], [run(tmp_path / "b", 40, cost)]), 1e15)
    assert found is not None
    assert found.saving_per_month is not None
    assert found.saving_per_month > 1e20


def test_no_price_is_no_money(tmp_path: Path) -> None:
    """None, whatever the demand."""
    built = run(tmp_path / "a", 5, {"requests_per_month": 5})
    assert money.compute(pair_of([built], [built]), 1000) is None


@pytest.mark.parametrize("demand", [0.0, -1.0, float("nan"), float("inf"), 1e300])
def test_what_is_no_demand(demand: float) -> None:
    """One sentence, exit code 2."""
    with pytest.raises(Stop, match=r"--requests-per-month .*: expected a number above 0") as stop:
        money.compute(pair_of([], []), demand)
    assert stop.value.code == Exit.USAGE


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (Line("n", 1234.5, None, ""), ("1,234.50", "")),
        (Line("n", 0.12345, 0.0, ""), ("0.1235", "0.00")),
        (Line("n", -2.005, 3.0, ""), ("-2.01", "3.00")),
        (Line("n", 4.0, 1200.0, "", money.GPUS), ("4", "1,200")),
    ],
)
def test_lines_as_text(line: Line, shown: tuple[str, str]) -> None:
    """To the cent, to a hundredth of one below a whole unit, halves away from 0; GPUs are counted."""
    assert line.shown == shown
