"""Numbers, dates and codes are found as people write them, and what differs between two texts is told."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.answers.differing import between, swap
from llmload.answers.numbers import find, numbers, readings


@pytest.mark.parametrize(
    ("said", "values"),
    [
        ("42", {42}),
        ("327,846,000", {327846000}),
        ("327.846.000", {327846000}),
        ("327 846 000", {327846000}),
        ("327\u202f846\u202f000", {327846000}),
        ("327'846'000", {327846000}),
        ("32,78,46,000", {327846000}),  # India
        ("1,234", {1234, Fraction("1.234")}),  # nobody can tell
        ("0,234", {Fraction("0.234")}),
        ("1'234", {1234}),
        ("1,234.56", {Fraction("1234.56")}),
        ("1.234,56", {Fraction("1234.56")}),
        ("12 500,75", {Fraction("12500.75")}),
        ("3,14", {Fraction("3.14")}),
        ("1.5e3", {1500}),
        ("1,2,3", set()),  # a list
        ("9" * 500, set()),
    ],
)
def test_all_readings_of_a_writing(said: str, values: set[Fraction]) -> None:
    """One writing, all the numbers that it may mean."""
    assert readings(said) == values


def test_everything_in_a_text_in_its_order() -> None:
    """Numbers within dates and codes are no numbers of their own; the number of a list's item is none at all."""
    text = (
        "1. On 2024-03-15 order AB-1234 cost 12,500.00 (not -3); see x86_64, v1.2.3, the 5th and 10km of a 3-year plan"
    )
    assert [(one.kind, one.text) for one in find(text)] == [
        ("date", "2024-03-15"),
        ("code", "AB-1234"),
        ("number", "12,500.00"),
        ("number", "-3"),
        ("code", "x86_64"),
        ("code", "v1.2.3"),
        ("number", "5"),
        ("number", "10"),
        ("number", "3"),
    ]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("5 March 2024", {"2024-03-05"}),
        ("March 5th, 2024", {"2024-03-05"}),
        ("05.03.2024", {"2024-03-05", "2024-05-03"}),
        ("31/12/2024", {"2024-12-31"}),
        ("2024-02-30", {"2024-02-30"}),  # no day of any calendar, so only the same writing is the same
    ],
)
def test_dates_are_days(text: str, days: set[str]) -> None:
    """However a day is written, it is the same day."""
    assert [(one.kind, one.readings) for one in find(f"on {text}.")] == [("date", days)]


def test_a_hyphen_is_no_minus() -> None:
    """A minus stands alone."""
    assert [one.text for one in numbers("from 10-5 to -5 and $-7, x = -2")] == ["10", "5", "-5", "-7", "-2"]


@pytest.mark.parametrize(
    ("a", "b", "only_a", "only_b", "swapped"),
    [
        (
            "It is 327,846,000.",
            "It is 327,486,000.",
            ("327,846,000",),
            ("327,486,000",),
            [("327,846,000", "327,486,000")],
        ),
        ("It is 327,846,000.", "327.846.000 it is", (), (), []),
        ("1,234", "1.234", (), (), []),  # the same number to somebody
        ("AB-1234", "ab-1234", (), (), []),
        ("AB-1234", "AB-1243", ("AB-1234",), ("AB-1243",), [("AB-1234", "AB-1243")]),
        ("on 2024-03-05", "on 5 March 2024", (), (), []),
        ("7 and 7 and 8", "8 and 7", (), (), []),
        ("1. one 5\n2. two 6", "one 5 two 6", (), (), []),
        ("no number", "42", (), ("42",), []),
    ],
)
def test_what_differs(
    a: str, b: str, only_a: tuple[str, ...], only_b: tuple[str, ...], swapped: list[tuple[str, str]]
) -> None:
    """What one says and the other does not, and what only changed places."""
    found = between(a, b)
    assert (found.only_a, found.only_b, list(found.swapped)) == (only_a, only_b, swapped)
    assert bool(found) == bool(only_a or only_b)


def test_what_differs_in_words() -> None:
    """A clause for the page."""
    assert between("327,846,000", "327,486,000").words == "327,846,000 against 327,486,000 (digits changed places)"
    assert between("1 2 3 4 5", "").words == "1, 2, 3 and 2 more against nothing"


@pytest.mark.parametrize(("a", "b", "so"), [("12", "21", True), ("123", "321", True), ("12", "13", False),
                                            ("1,2", "21", True), ("1234", "2143", False)])  # fmt: skip
def test_two_digits_that_changed_places(a: str, b: str, so: bool) -> None:
    """Two of them, no more; signs between them do not matter."""
    assert swap(a, b) is so


@given(st.integers(-(10**15), 10**15), st.sampled_from([",", ".", " ", "\u00a0", "'"]))
def test_grouped_numbers_are_read_back(value: int, sign: str) -> None:
    """Whatever groups the digits, one of the readings is the number."""
    said = f"{value:,}".replace(",", sign)
    (found,) = numbers(f"so {said} it is")
    assert value in found.readings


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_can_be_read(a: str, b: str) -> None:
    """No text breaks it, a text does not differ from itself, and what differs one way differs the other way."""
    assert not between(a, a)
    one, other = between(a, b), between(b, a)
    assert (one.only_a, one.only_b) == (other.only_b, other.only_a)
