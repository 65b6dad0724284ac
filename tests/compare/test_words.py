"""How ratios are written for people: examples, and that no rounding moves one over 1 or to another order."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.compare import words
from llmload.compare.figures import FIGURES


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (2.0, "2.0x"),
        (1.97, "2.0x"),
        (1.2, "1.2x"),
        (1.03, "1.03x"),
        (1.0, "1.00x"),
        (0.997, "0.997x"),
        (1.0004, "1.0004x"),
        (9.96, "10.0x"),
        (14.2, "14.2x"),
        (99.96, "100x"),
        (1234.0, "1,234x"),
        (0.48, "0.48x"),
        (0.07, "0.07x"),
        (0.0012, "0.001x"),
        (0.0, "0.00x"),
        (math.inf, "∞x"),
        (None, ""),
    ],
)
def test_ratios(ratio: float | None, text: str) -> None:
    """Two digits below 10, one behind the point up to 100, two and more near 1."""
    assert words.times(ratio) == text.replace("x", words.X)


@pytest.mark.parametrize(
    ("gain", "text"),
    [
        (14.2, "14.2x faster"),
        (1.03, "3 % faster"),
        (1.025, "2.5 % faster"),
        (1.19, "19 % faster"),
        (1.2, "1.2x faster"),
        (0.5, "2.0x slower"),
        (0.97, "3.1 % slower"),
        (1.0, "the same"),
        (0.0, "∞x slower"),
        (math.inf, "∞x faster"),
    ],
)
def test_changes(gain: float, text: str) -> None:
    """Small ones in per cent, what is worse as its reciprocal."""
    assert words.change(gain) == text.replace("x", words.X)


def test_what_is_no_time_becomes_better_or_worse() -> None:
    """Memory is not faster."""
    assert words.comparatives(FIGURES["memory"]) == ("better", "worse")
    assert words.comparatives(FIGURES["e2e_p95"]) == ("faster", "slower")
    assert words.comparatives(FIGURES["success"]) == ("better", "worse")
    assert words.comparatives(FIGURES["tokens"]) == ("faster", "slower")


def test_spans() -> None:
    """Both ends with the same digits where they are of one order."""
    assert words.span(13.5, 15.0) == "13.5 to 15.0"
    assert words.span(1.9, 2.1) == "1.9 to 2.1"
    assert words.span(1.02, 1.5) == "1.02 to 1.50"
    assert words.span(1.1, math.inf) == "1.10 to ∞"
    assert words.span(1.47, 1.53) == "1.47 to 1.53"
    assert words.span(1.5, 1.5) == "1.5 to 1.5"
    assert words.span(120.0, 1300.0) == "120 to 1,300"
    assert words.span(None, 2.0) == ""


def test_claims_are_written_as_they_were_said() -> None:
    """No digit that nobody said."""
    assert [words.claimed(factor) for factor in (14.0, 1.5, 2.25)] == [f"{x}{words.X}" for x in ("14", "1.5", "2.25")]
    assert [words.claimed(factor) for factor in (1234.0, 20_000.0)] == [f"1,234{words.X}", f"20,000{words.X}"]


@given(st.floats(1e-3, 1e4), st.floats(1e-3, 1e4))
def test_writing_keeps_the_order_and_the_side_of_one(first: float, second: float) -> None:
    """What is written of the larger is not smaller; what lies clearly on one side of 1 is not written on the other."""
    low, high = (float(words.number(ratio).replace(",", "")) for ratio in sorted((first, second)))
    assert low <= high or math.isclose(low, high, rel_tol=0.05)
    written = float(words.number(first).replace(",", ""))
    if abs(first - 1) > 1e-4:
        assert (written > 1) == (first > 1)


def test_one_is_no_plural() -> None:
    """Numbers of things, with their thousands."""
    assert [words.count(n, "attempt") for n in (0, 1, 2, 1200)] == [
        "0 attempts", "1 attempt", "2 attempts", "1,200 attempts"
    ]  # fmt: skip
