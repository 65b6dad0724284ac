"""What each side costs, and what the change brings: every amount with the assumption beside it. Sums in decimals.

What a window costs is `report.cost`; of several rounds amounts, tokens and requests are added up before they are
divided. A month has 730 hours, over which the demand is spread evenly. Where a GPU has a price an hour, or tokens have
one, a month costs requests / 1,000 x the cost of 1,000 requests; where a GPU has a price a month, whole GPUs are paid:

    GPUs needed = ceil(requests a second that are demanded / those of one copy at its best step) x GPUs of a copy
    saving = a month of the baseline - one of the candidate + the candidate's benefit_per_month
    pay-back time = the candidate's one_off / saving, in months; never where nothing is saved
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

from llmload.compare.money import offers
from llmload.compare.money.offers import Offer
from llmload.compare.sides import Pair
from llmload.compare.words import count
from llmload.exits import Exit, Stop
from llmload.report import cost
from llmload.report.cost import Spent

SECONDS_A_MONTH = cost.HOURS_A_MONTH * 3600
PEAK = 3
"""How many times the mean demand is looked at as a peak."""
GPUS = "GPUs"


@dataclass(frozen=True, slots=True)
class Line:
    """One line: a name, an amount of each side in whole units of the currency (None: not known), the assumption."""

    name: str
    baseline: float | None
    candidate: float | None
    assumption: str
    unit: str = ""
    """GPUs where it is a number of these and no amount."""

    @property
    def shown(self) -> tuple[str, str]:
        """Both as text, without the currency; blank where it is not known."""
        one, other = (self._text(value) for value in (self.baseline, self.candidate))
        return one, other

    def _text(self, value: float | None) -> str:
        if value is None:
            return ""
        return f"{value:,.0f}" if self.unit else cost.written(value)


@dataclass(frozen=True, slots=True)
class Money:
    """What it costs."""

    currency: str
    lines: tuple[Line, ...]
    words: tuple[str, ...]
    """Sentences: saving or loss a month, pay-back time."""
    saving_per_month: float | None = None
    """Negative where the change loses; None where it cannot be told."""
    payback_months: float | None = None
    """None where nothing was paid once, nothing is saved, or it cannot be told."""


def compute(pair: Pair, requests_per_month: float | None = None) -> Money | None:
    """What a pair costs; None where nothing has a price.

    `requests_per_month`: the demand, else the candidate's scenario's, else the baseline's. Raises Stop(USAGE) for one
    that is no demand.
    """
    if requests_per_month is not None and not 0 < requests_per_month <= cost.LARGEST:
        raise Stop(f"--requests-per-month {requests_per_month:g}: expected a number above 0, as 3e6", Exit.USAGE)
    all_prices = [
        cost.prices(built.facts.scenario) for side in (pair.baseline, pair.candidate) for built in side.rounds
    ]
    currencies = list(dict.fromkeys(price.currency for price in all_prices if cost.priced(price)))
    if not currencies:
        return None
    if len(currencies) > 1:
        why = f"prices are in {' and '.join(currencies)}: amounts in different currencies are not compared"
        return Money("/".join(currencies), (), (why,))
    sides = (offers.of(pair, pair.baseline, "baseline"), offers.of(pair, pair.candidate, "candidate"))
    demand = next(
        (
            cost.decimal(value)
            for value in (requests_per_month, sides[1].price.requests_per_month, sides[0].price.requests_per_month)
            if value is not None
        ),
        None,
    )
    lines = [*_steps(pair, sides), *_at_best(sides)]
    words = [f"the {side.name} cannot be priced: {side.why}" for side in sides if side.at_best is None]
    if demand is None:
        told = "no demand is given (cost.requests_per_month, or --requests-per-month): nothing is said of a month"
        return Money(currencies[0], tuple(lines), (*words, told))
    more, paid = _months(sides, demand)
    saving, payback, told_of = _return(sides, paid, demand, currencies[0])
    return Money(currencies[0], (*lines, *more), (*words, *told_of), saving, payback)


def _steps(pair: Pair, sides: tuple[Offer, Offer]) -> list[Line]:
    """Both costs at each level."""
    same = sides[0].basis == sides[1].basis
    basis = sides[0].basis if same else "; ".join(f"{side.name}: {side.basis}" for side in sides)
    return [
        Line(
            f"{name} at {level.words}",
            _unit(sides[0].spent[level], key),
            _unit(sides[1].spent[level], key),
            f"{basis}, nothing idle",
        )
        for level in pair.levels
        for name, key in (("1M output tokens", "tokens"), ("1,000 requests", "requests"))
    ]


def _at_best(sides: tuple[Offer, Offer]) -> list[Line]:
    """Both costs where each side is at its best."""
    unset = all(share is None for side in sides for share in side.good.values())
    highest = "no SLO is set: the highest step" if unset else "highest step within the SLO"
    where = ", ".join(f"{side.name} {'none' if side.best is None else f'at {side.best.words}'}" for side in sides)
    limit = "" if unset else f", at least {cost.WITHIN_SLO * 100:.0f} % of all attempts"
    return [
        Line(
            f"{name} at best", _unit(sides[0].at_best, key), _unit(sides[1].at_best, key), f"{highest}: {where}{limit}"
        )
        for name, key in (("1M output tokens", "tokens"), ("1,000 requests", "requests"))
    ]


def _unit(spent: Spent | None, key: str) -> float | None:
    """The cost of a million tokens, or of 1,000 requests, rounded."""
    if spent is None:
        return None
    amount = spent.per_million_output_tokens if key == "tokens" else spent.per_1000_requests
    return None if amount is None else float(cost.rounded(amount))


def _months(sides: tuple[Offer, Offer], demand: Decimal) -> tuple[list[Line], tuple[Decimal | None, Decimal | None]]:
    """Lines on a month, and what each side pays for one."""
    used = [_used(side, demand) for side in sides]
    needed = [_needed(side, demand) for side in sides]
    whole = [_whole(side, demand) for side in sides]
    lines = [
        Line(
            f"a month of {demand:,.0f} requests, by use",
            *_both(used),
            "requests / 1,000 x the cost of 1,000 requests at best: nothing is paid for idle hours",
        )
    ]
    if any(n is not None for n in needed):
        a_second = demand / SECONDS_A_MONTH
        said = ", ".join(
            f"{side.name} {side.per_s[side.best]:.3g}/s by {side.gpus}"
            for side, n in zip(sides, needed, strict=True)
            if n is not None and side.best is not None
        )
        lines += [
            Line(
                "GPUs needed",
                *_both(needed),
                f"demand of {a_second:.3g} requests/s, spread evenly over {cost.HOURS_A_MONTH} h; at best: {said}",
                GPUS,
            ),
            Line(
                "a month of these GPUs, whole",
                *_both(whole),
                f"GPUs needed x the price of one for {cost.HOURS_A_MONTH} h, idle hours too",
            ),
        ]
    paid = [
        by_month if side.price.gpu_month is not None else by_use
        for side, by_month, by_use in zip(sides, whole, used, strict=True)
    ]
    return lines, (paid[0], paid[1])


def _both(values: Sequence[Decimal | int | None]) -> tuple[float | None, float | None]:
    """What a line holds of both sides."""
    one, other = (None if value is None else float(value) for value in values)
    return one, other


def _used(side: Offer, demand: Decimal) -> Decimal | None:
    """A month by use, to the cent."""
    spent = side.at_best
    each = None if spent is None else spent.per_1000_requests
    return None if each is None else _cents(demand / 1000 * each)


def _needed(side: Offer, demand: Decimal) -> int | None:
    """GPUs for a demand that is spread evenly; None where GPUs have no price, or nothing is known to reckon by."""
    per_s = None if side.best is None else side.per_s[side.best]
    if not cost.of_gpus(side.price) or side.gpus is None or not per_s:
        return None
    return int((demand / SECONDS_A_MONTH / per_s).to_integral_value(ROUND_CEILING)) * side.gpus


def _whole(side: Offer, demand: Decimal) -> Decimal | None:
    """The GPUs that are needed for a month, to the cent."""
    n, month = _needed(side, demand), cost.gpu_month(side.price)
    return None if n is None or month is None else _cents(month * n)


def _return(
    sides: tuple[Offer, Offer], paid: tuple[Decimal | None, Decimal | None], demand: Decimal, currency: str
) -> tuple[float | None, float | None, list[str]]:
    """Saving a month, pay-back time in months, and the sentences."""
    before, after = paid
    if before is None or after is None:
        return None, None, ["without the cost of both sides no saving can be told"]
    benefit = _cents(cost.decimal(sides[1].price.benefit_per_month or 0.0))
    saving = before - after + benefit
    besides = f" + {benefit:,} benefit" if benefit else ""
    what = "saves" if saving > 0 else "loses" if saving < 0 else "saves nothing: 0.00"
    how = ", ".join(
        f"the {side.name} {'by whole GPUs' if side.price.gpu_month is not None else 'by use'}" for side in sides
    )
    words = []
    words.append(
        f"the change {what}{f' {abs(saving):,}' if saving else ''} {currency} a month at {demand:,.0f} requests "
        f"({before:,} - {after:,}{besides}; {how})"
    )
    once = cost.decimal(sides[1].price.one_off or 0.0)
    payback = None
    if once and saving > 0:
        payback = cost.to(Decimal("0.1"), once / saving)
        words.append(f"{_cents(once):,} {currency} paid once are back after {payback:,} months")
    elif once:
        words.append(f"{_cents(once):,} {currency} paid once never come back")
    whole = [_whole(side, demand) for side in sides]
    if whole[0] is not None and whole[1] is not None and whole != [before, after]:
        running = whole[0] - whole[1] + benefit
        words.append(
            f"where GPUs are kept running all month that is {running:,} {currency} ({whole[0]:,} - {whole[1]:,}"
            f"{besides})"
        )
    words.append(_peaks(sides, demand))
    return float(saving), None if payback is None else float(payback), words


def _peaks(sides: tuple[Offer, Offer], demand: Decimal) -> str:
    """What demand that is not spread evenly would do."""
    even = "the demand is taken as spread evenly over the month"
    needed = [(_needed(side, demand), _needed(side, demand * PEAK)) for side in sides]
    (one, more), (other, most) = needed
    if one is None or more is None or other is None or most is None:
        return f"{even}; peaks cost the same by use, if the server behind it bears them"
    return (
        f"{even}: an hour of {PEAK} times the mean takes {count(more, 'GPU')} of the baseline and {most} of the "
        f"candidate, {'the same as the mean' if (more, most) == (one, other) else f'instead of {one} and {other}'}"
    )


def _cents(amount: Decimal) -> Decimal:
    """To the cent; halves are rounded away from 0."""
    return cost.to(cost.CENT, amount)
