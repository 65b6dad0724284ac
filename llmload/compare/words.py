"""How gains and ratios are written for people: `2.0x` (with a real sign of multiplication), `3 % faster`. Pure.

A gain is above 1 where the candidate is better. Two digits say what a reader needs (2.0x, 14.2x, 140x); within a fifth
of 1 those would all read 1.0x, so that there are two digits behind the point, and words say per cent. No rounding may
carry a number over 1: 0.997 is never "1.00x".
"""

import math

from llmload.compare.figures import Figure

X = "\N{MULTIPLICATION SIGN}"
INFINITE = "∞"
"""One sign for it, in tables, sentences and pictures; JSON has the word inf."""
SMALL = 1.2
"""A gain below this, and above its reciprocal, is said in per cent."""
FASTER = ("ms", "tokens/s", "requests/s", "characters/s")
"""Units of what becomes faster or slower; anything else becomes better or worse."""


def times(ratio: float | None) -> str:
    """A ratio with its sign: `2.0x`, `14.2x`, `1.03x`, `∞x`; blank for None."""
    return "" if ratio is None else number(ratio) + X


def number(ratio: float | None) -> str:
    """A ratio without its sign: `2.0`, `14.2`, `140`, `1.03`, `0.48`, `∞`; blank for None."""
    if ratio is None:
        return ""
    if math.isinf(ratio):
        return INFINITE
    if 1 / SMALL < ratio < SMALL:
        return _near_one(ratio)
    if ratio >= 99.95:
        return f"{ratio:,.0f}"
    if ratio >= 0.995:
        return f"{ratio:.1f}"
    return f"{ratio:.2f}" if ratio >= 0.0995 or ratio == 0 else f"{ratio:.1g}"


def _near_one(ratio: float) -> str:
    digits = next((n for n in (2, 3, 4) if round(ratio, n) != 1), 2)
    return f"{ratio:.{digits}f}"


def span(low: float | None, high: float | None) -> str:
    """An interval: `13.5 to 15.0`, with as many digits as tell its ends apart; blank where an end is not known."""
    if low is None or high is None:
        return ""
    if not (0.1 < low <= high < 99.95):
        return f"{number(low)} to {number(high)}"
    places = max(len(number(end).partition(".")[2]) for end in (low, high))
    if low < high:
        places = next((n for n in range(places, 4) if round(low, n) < round(high, n)), places)
    return f"{low:.{places}f} to {high:.{places}f}"


def inverse(ratio: float | None) -> float | None:
    """Its reciprocal: of 0 infinite, of nothing nothing."""
    return None if ratio is None else math.inf if ratio == 0 else 1 / ratio


def claimed(factor: float) -> str:
    """A factor as it was claimed, with no digit that nobody said, nor more than four: `14x`, `1.5x`."""
    return f"{factor:,.0f}{X}" if factor >= 1000 else f"{factor:.4g}{X}"


def comparatives(figure: Figure) -> tuple[str, str]:
    """What a figure becomes, up and down: faster and slower, or better and worse."""
    return ("faster", "slower") if figure.unit in FASTER else ("better", "worse")


def change(gain: float, up: str = "faster", down: str = "slower") -> str:
    """A gain in words: `14.2x faster`, `3 % faster`, `2.0x slower` (of a gain of 0.5), `the same`."""
    if gain == 0:
        return f"{INFINITE}{X} {down}"
    if math.isinf(gain):
        return f"{INFINITE}{X} {up}"
    size, word = (gain, up) if gain >= 1 else (1 / gain, down)
    if size >= SMALL:
        return f"{times(size)} {word}"
    return "the same" if size < 1.0005 else f"{percent(size - 1)} {word}"


def percent(share: float) -> str:
    """A part of 1 in per cent: `30 %`, `2.5 %`, `0.4 %`: one digit behind the point below 10 where there is one."""
    text = f"{share * 100:.0f}" if abs(share) >= 0.0995 else f"{share * 100:.1f}".removesuffix(".0")
    return f"{text} %"


def count(n: int, noun: str) -> str:
    """So many of something: `1 attempt`, `1,200 attempts`."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
