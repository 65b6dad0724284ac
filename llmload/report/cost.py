"""What a step costs: from the prices of a scenario and a row of summary.json. Knows prices and rows; sums in decimals.

Where GPUs have a price, a window costs GPUs x price x seconds, whatever came out of it, and that is divided by the
output tokens streamed in it and by its requests that were ok. Where tokens have one, the input and output tokens of the
requests that were ok are paid. Where both have one the GPUs' counts. A month has 730 hours.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from llmload.load.scenario import Cost

BLOCK = ("currency", "per_million_output_tokens", "per_1000_requests")
"""What the block `cost` of a row holds."""
HOURS_A_MONTH = 730
WITHIN_SLO = 0.99
"""A step is within the SLO if at least this share of its attempts was ok and met each SLO at once."""
MILLION = 1_000_000
LARGEST = 1e15
"""A larger number is no price, nor a number of GPUs or requests."""
CENT, HUNDREDTH = Decimal("0.01"), Decimal("0.0001")
_WIDE = Context(prec=100)
"""Room for the largest prices of the most GPUs, to the cent."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What was paid for a window, or several, and what came out of it. Not rounded."""

    amount: Decimal
    output_tokens: Decimal
    requests: Decimal

    @property
    def per_million_output_tokens(self) -> Decimal | None:
        """Amount / output tokens x 1,000,000; None where there were none."""
        return self.amount / self.output_tokens * MILLION if self.output_tokens else None

    @property
    def per_1000_requests(self) -> Decimal | None:
        """Amount / requests that were ok x 1,000; None where there were none."""
        return self.amount / self.requests * 1000 if self.requests else None


def prices(scenario: dict[str, Any]) -> Cost:
    """The prices of a scenario as run.json holds it; what is no price (an older or damaged file) was not given."""
    told = scenario.get("cost")
    told = told if isinstance(told, dict) else {}
    kinds: dict[str, tuple[type, ...]] = {"currency": (str,), "gpus": (int,)}
    known = {
        item.name: told[item.name]
        for item in fields(Cost)
        if _right(told.get(item.name), kinds.get(item.name, (int, float)))
    }
    return Cost(**known)


def _right(value: Any, kinds: tuple[type, ...]) -> bool:
    """Whether it is of one of these types (true is no number), and no number that nobody ever meant."""
    return type(value) in kinds and (isinstance(value, str) or abs(value) <= LARGEST)


def priced(price: Cost) -> bool:
    """Whether anything has a price."""
    return of_gpus(price) or price.per_million_output is not None or price.per_million_input is not None


def of_gpus(price: Cost) -> bool:
    """Whether it is GPUs that are paid."""
    return price.gpu_hour is not None or price.gpu_month is not None


def decimal(value: float) -> Decimal:
    """A number as it was written: 0.1 is a tenth, not the double next to it."""
    return Decimal(repr(value))


def gpu_month(price: Cost) -> Decimal | None:
    """One GPU for a month."""
    if price.gpu_month is not None:
        return decimal(price.gpu_month)
    return None if price.gpu_hour is None else decimal(price.gpu_hour) * HOURS_A_MONTH


def spent(price: Cost, gpus: int | None, row: dict[str, Any]) -> Spent | None:
    """What the window of a row of all classes costs; None where no price is set or something to reckon by is unknown.

    `gpus`: how many serve, if that is known.
    """
    window, ok = row["window_s"], row["ok"]
    if not window:
        return None
    if (month := gpu_month(price)) is not None:
        streamed = row["output_tokens_per_s"]
        if gpus is None or streamed is None:
            return None
        seconds = decimal(window)
        amount = month * gpus * seconds / (HOURS_A_MONTH * 3600)
        return Spent(amount, decimal(streamed) * seconds, Decimal(ok))
    parts = ((price.per_million_input, row["input_tokens_mean"]), (price.per_million_output, row["output_tokens_mean"]))
    paid = [(rate, mean) for rate, mean in parts if rate is not None]
    if not paid or not ok or any(mean is None for _, mean in paid):
        return None
    a_request = sum((decimal(rate) * decimal(mean) for rate, mean in paid), Decimal(0)) / MILLION
    return Spent(a_request * ok, decimal(row["output_tokens_mean"] or 0.0) * ok, Decimal(ok))


def total(parts: Iterable[Spent | None]) -> Spent | None:
    """Several windows together; None where one is unknown, or there are none."""
    all_of = list(parts)
    known = [part for part in all_of if part is not None]
    if not known or len(known) < len(all_of):
        return None
    return Spent(
        sum((part.amount for part in known), Decimal(0)),
        sum((part.output_tokens for part in known), Decimal(0)),
        sum((part.requests for part in known), Decimal(0)),
    )


def block(price: Cost, gpus: int | None, row: dict[str, Any]) -> dict[str, Any] | None:
    """The block `cost` of a row; None where nothing has a price or nothing can be told."""
    paid = spent(price, gpus, row)
    if paid is None:
        return None
    amounts = (paid.per_million_output_tokens, paid.per_1000_requests)
    return dict(
        zip(BLOCK, (price.currency, *(None if value is None else float(value) for value in amounts)), strict=True)
    )


def to(places: Decimal, amount: Decimal) -> Decimal:
    """An amount in multiples of `places`; halves are rounded away from 0."""
    return amount.quantize(places, ROUND_HALF_UP, _WIDE)


def rounded(amount: Decimal) -> Decimal:
    """An amount to the cent, to a hundredth of one below a whole unit; halves are rounded away from 0."""
    return to(CENT if abs(amount) >= 1 or not amount else HUNDREDTH, amount)


def written(amount: Decimal | float) -> str:
    """An amount for people, rounded."""
    return f"{rounded(amount if isinstance(amount, Decimal) else decimal(amount)):,}"


def basis(price: Cost, gpus: int | None, *, counted: str = "") -> str:
    """What is paid, in words: `2 GPUs x 3.50 USD an hour`. `counted`: how the number of GPUs is known."""
    if of_gpus(price):
        rate = price.gpu_hour if price.gpu_hour is not None else price.gpu_month or 0.0
        every = "an hour" if price.gpu_hour is not None else f"a month of {HOURS_A_MONTH} hours"
        known = "an unknown number of GPUs" if gpus is None else f"{gpus} GPU{'s' * (gpus != 1)}{counted}"
        return f"{known} x {written(rate)} {price.currency} {every}"
    parts = ((price.per_million_input, "input"), (price.per_million_output, "output"))
    said = [f"{written(rate)} {price.currency} per million {name} tokens" for rate, name in parts if rate is not None]
    return " + ".join(said)


def within_slo(rows: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The row of all classes of the step that asks for most among those within the SLO."""
    good = [row for row in rows if row["workload"] == "all" and (row["goodput_share"] or 0.0) >= WITHIN_SLO]
    return max(good, key=asked, default=None)


def asked(row: dict[str, Any]) -> float:
    """What a step asks for, to sort by; 0 where it asks for nothing."""
    return float(row["concurrency"] if row["concurrency"] is not None else row["rate"] or 0.0)


def at_best(rows: Sequence[dict[str, Any]]) -> str:
    """A sentence on the highest step within the SLO and what it costs there."""
    limit = f"at least {WITHIN_SLO * 100:.0f} % of the attempts ok and within it"
    whole = [row for row in rows if row["workload"] == "all"]
    known = [row for row in whole if row["goodput_share"] is not None]
    if not known:
        return "no SLO is set ([slo]), so nobody can say which step is the highest that users would bear"
    best = within_slo(rows)
    if best is None:
        near = max(known, key=lambda row: float(row["goodput_share"]))
        share = f"{near['goodput_share'] * 100:.1f} %"
        return f"no step is within the SLO ({limit}); the nearest is {step_words(near)} with {share}"
    costs = best["cost"]
    if costs is None:
        return f"{step_words(best)} is the highest step within the SLO ({limit}); what it costs there is not known"
    return (
        f"{step_words(best)} is the highest step within the SLO ({limit}); there "
        + _said("a million output tokens cost", costs["per_million_output_tokens"], costs["currency"])
        + " and "
        + _said("1,000 requests", costs["per_1000_requests"], costs["currency"])
    )


def _said(name: str, amount: float | None, currency: str) -> str:
    return f"{name} {'an unknown amount' if amount is None else f'{written(amount)} {currency}'}"


def step_words(row: dict[str, Any]) -> str:
    """What a step asks for, in a sentence."""
    if row["concurrency"] is not None:
        return f"{row['concurrency']} in flight"
    return f"{row['rate']:g} requests/s" if row["rate"] is not None else "the load of the user's own code"
