"""Token counts out of a usage object: what counts as one, and what no count can be."""

import pytest

from llmload.stream.usage import whole_number


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (7, 7),
        (7.0, 7),
        (-1, -1),
        (2**53, 2**53),
        (2**53 + 1, None),
        (-(10**400), None),
        (1e308, None),
        (float("inf"), None),
        (float("nan"), None),
        (7.5, None),
        (True, None),
        ("7", None),
    ],
)
def test_a_count_is_a_whole_number_that_json_can_hold(value: object, count: int | None) -> None:
    """Whole numbers up to 2^53, as integers or as floats; anything else is none."""
    assert whole_number(value) == count
