"""What a step costs, worked by hand: a GPU at 36 an hour costs 0.01 a second."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from llmload.load.scenario import Cost
from llmload.report import building, cost, files, gates
from llmload.report.building import Built
from tests.report.sampled import constant
from tests.report.synthetic import lines, record, scenario, step, write
from tests.report.worked import built_of

ROW: dict[str, Any] = {
    "workload": "all", "concurrency": 8, "rate": None, "window_s": 10.0, "ok": 20, "output_tokens_per_s": 50.0,
    "input_tokens_mean": 200.0, "output_tokens_mean": 25.0, "goodput_share": 1.0, "cost": None,
}  # fmt: skip
"""20 requests and 500 tokens in 10 s."""


@pytest.mark.parametrize(
    ("price", "gpus", "million", "thousand"),
    [
        (Cost(gpu_hour=36.0), 1, 200.0, 5.0),  # 0.10 / 500 tokens, / 20 requests
        (Cost(gpu_hour=36.0), 4, 800.0, 20.0),
        (Cost(gpu_month=26_280.0), 1, 200.0, 5.0),  # 730 x 36
        (Cost(per_million_input=1.0, per_million_output=20.0), None, 28.0, 0.7),  # 0.0002 + 0.0005 for 25 tokens
        (Cost(per_million_output=20.0), None, 20.0, 0.5),
        (Cost(per_million_input=1.0), None, 8.0, 0.2),
        (Cost(gpu_hour=36.0, per_million_output=20.0), 1, 200.0, 5.0),  # the GPUs' counts
        (Cost(gpu_hour=0.0), 1, 0.0, 0.0),
    ],
)
def test_costs(price: Cost, gpus: int | None, million: float, thousand: float) -> None:
    """Each kind of price, per million output tokens and per 1,000 requests."""
    assert cost.block(price, gpus, ROW) == {
        "currency": "USD", "per_million_output_tokens": pytest.approx(million, rel=1e-12),
        "per_1000_requests": pytest.approx(thousand, rel=1e-12),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("price", "gpus", "row"),
    [
        (Cost(), 1, ROW),
        (Cost(gpu_hour=36.0), None, ROW),
        (Cost(gpu_hour=36.0), 1, ROW | {"window_s": None}),
        (Cost(gpu_hour=36.0), 1, ROW | {"output_tokens_per_s": None}),
        (Cost(per_million_input=1.0), None, ROW | {"input_tokens_mean": None}),
        (Cost(per_million_output=1.0), None, ROW | {"ok": 0}),
    ],
)
def test_what_cannot_be_told_is_none(price: Cost, gpus: int | None, row: dict[str, Any]) -> None:
    """No price, no number of GPUs, no window, no tokens."""
    assert cost.block(price, gpus, row) is None


def test_a_window_without_success_costs_and_brings_nothing() -> None:
    """GPUs are paid all the same: there is no price of a request, and that is not 0."""
    found = cost.block(Cost(gpu_hour=36.0), 1, ROW | {"ok": 0, "output_tokens_per_s": 0.0})
    assert found == {"currency": "USD", "per_million_output_tokens": None, "per_1000_requests": None}


def test_totals() -> None:
    """Sums of several windows; one that is unknown makes them unknown."""
    one = cost.spent(Cost(gpu_hour=36.0), 1, ROW)
    assert one == cost.Spent(Decimal("0.1"), Decimal(500), Decimal(20))
    assert cost.total([one, one]) == cost.Spent(Decimal("0.2"), Decimal(1000), Decimal(40))
    assert cost.total([one, None]) is None
    assert cost.total([]) is None


@pytest.mark.parametrize(
    ("told", "price"),
    [
        (None, Cost()),
        ("x", Cost()),
        ({"gpu_hour": "3", "gpus": 1.5, "currency": 5, "one_off": True}, Cost()),
        ({"gpu_hour": 1e300, "gpus": 10**40, "one_off": -1e18}, Cost()),
        ({"gpu_hour": 3, "gpus": 2, "currency": "EUR", "later": 1}, Cost(gpu_hour=3, gpus=2, currency="EUR")),
    ],
)
def test_prices_of_damaged_and_older_files(told: Any, price: Cost) -> None:
    """What is no price was not given."""
    assert cost.prices({"cost": told}) == price


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (Decimal("1234.565"), "1,234.57"),
        (Decimal("1.005"), "1.01"),
        (Decimal("0.99995"), "1.0000"),
        (Decimal("0.12345"), "0.1235"),
        (0.0, "0.00"),
        (1.005, "1.01"),  # as it was written: the double next to it is smaller
        (Decimal("-1.005"), "-1.01"),
    ],
)
def test_amounts_as_text(amount: Decimal | float, text: str) -> None:
    """To the cent, to a hundredth of one below a whole unit; halves away from 0."""
    assert cost.written(amount) == text


def two_steps(folder: Path, price: dict[str, Any], *, slo: float | None = 120.0, slow: int = 1, **more: Any) -> Built:
    """100 requests of 10 tokens in 10 s at 1 in flight, and as many at 2, of which some miss an SLO."""
    rows = []
    for index in (0, 1):
        for k in range(100):
            ttft = {"ttft": 150.0} if index and k < slow else {}
            rows.append(record(len(rows), sent=20 * index + 0.09 * k, step=index, concurrency=index + 1, **ttft))
    bounds = {"ttft_ms": slo, "tpot_ms": None, "e2e_ms": None, "itl_max_ms": None}
    steps = [step(0, 1, 0.0, 10.0), step(1, 2, 20.0, 30.0)]
    return built_of(folder, rows, steps, cost=price, slo=bounds, **more)


def test_a_run_with_prices(tmp_path: Path) -> None:
    """0.10 for 1,000 tokens and 100 requests: in summary.json, tables, gates and a sentence."""
    built = two_steps(tmp_path, {"gpu_hour": 36, "gpus": 1, "currency": "EUR"})
    rows = built.summary["rows"]
    assert [row["cost"] for row in rows if row["workload"] != "all"] == [None, None]
    assert [row["cost"] for row in rows if row["workload"] == "all"] == [
        {"currency": "EUR", "per_million_output_tokens": pytest.approx(100), "per_1000_requests": pytest.approx(1)}
    ] * 2
    (table,) = (table for table in built.tables if table.name == "cost")
    assert table.title == "What it cost"
    assert [line.cells for line in table.lines] == [
        ("100", "10.0", "100.0", "100.00", "1.00"),
        ("100", "10.0", "99.0", "100.00", "1.00"),
    ]
    assert built.cheapest == (
        "2 in flight is the highest step within the SLO (at least 99 % of the attempts ok and within it); there a "
        "million output tokens cost 100.00 EUR and 1,000 requests 1.00 EUR"
    )
    for kind in ("table", "markdown", "html"):
        text = " ".join(files.FORMATS[kind](built).split())
        assert "What it cost" in text
        assert "1 GPU x 36.00 EUR an hour" in text
        assert "highest step within the SLO" in text
    for gate, holds in (
        ("cost.per_million_output_tokens<=100.1", True),
        ("cost.per_million_output_tokens<=2", False),
        ("cost.per_1000_requests<=1.1@2", True),
        ("cost.currency==EUR", True),
    ):
        assert gates.judge(gates.parse(gate), rows).holds is holds, gate
    flat = files.FORMATS["csv"](built).splitlines()
    assert "cost.currency,cost.per_million_output_tokens,cost.per_1000_requests" in flat[0]
    assert len({line.count(",") for line in flat}) == 1


def test_the_highest_step_within_the_slo(tmp_path: Path) -> None:
    """2 slow ones of 100 are one too many at 2 in flight; a bound that nobody meets leaves none; none is no step."""
    price = {"gpu_hour": 36, "gpus": 1}
    assert two_steps(tmp_path / "a", price, slow=2).cheapest.startswith("1 in flight is the highest step")
    assert two_steps(tmp_path / "b", price, slo=90.0).cheapest == (
        "no step is within the SLO (at least 99 % of the attempts ok and within it); "
        "the nearest is 1 in flight with 0.0 %"
    )
    assert two_steps(tmp_path / "c", price, slo=None).cheapest.startswith("no SLO is set ([slo])")


def test_gpus_that_were_seen_are_counted(tmp_path: Path) -> None:
    """Without a number the GPUs of gpu.jsonl are taken, and the formula says so."""
    lines_of = [row for number in (0, 1) for row in constant(100.0, 30.0, number=number)]
    write(tmp_path, [record(n, sent=n) for n in range(10)], scenario=scenario(cost={"gpu_hour": 36}))
    lines(tmp_path / "gpu.jsonl", lines_of)
    built = building.compute(tmp_path)
    (row,) = (row for row in built.summary["rows"] if row["workload"] == "all")
    assert row["cost"]["per_1000_requests"] == pytest.approx(20.0)  # 2 x 0.10 for 10
    assert "2 GPUs (as many as were seen) x 36.00 USD an hour" in files.FORMATS["table"](built)


def test_prices_from_which_nothing_can_be_reckoned_are_doubted(tmp_path: Path) -> None:
    """GPUs nobody counted, and tokens of which one side has no price; no table of cost then, and no column."""
    found = two_steps(tmp_path / "a", {"gpu_hour": 36})
    assert [words for words in found.warnings if "how many serve" in words]
    assert "cost" not in [table.name for table in found.tables]
    found = two_steps(tmp_path / "b", {"per_million_output": 2.0})
    assert [words for words in found.warnings if words.startswith("[cost] has no price of input tokens")]
    found = two_steps(tmp_path / "c", {"per_million_output": 2.0, "per_million_input": 0.0})
    assert not [words for words in found.warnings if "[cost]" in words]
