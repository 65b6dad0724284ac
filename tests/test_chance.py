"""Shares and corrected chances against published examples, and sums by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.chance import holm, newcombe, wilson


def test_wilson_as_published() -> None:
    """Newcombe, Statistics in Medicine 17 (1998) 857, table I, method 3."""
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0, 0.1611), abs=5e-5)
    assert wilson(1, 29) == pytest.approx((0.0061, 0.1718), abs=5e-5)


def test_the_difference_of_two_shares_as_published() -> None:
    """Newcombe, Statistics in Medicine 17 (1998) 873, table II, method 10; turned round with its sides."""
    assert newcombe((56, 70), (48, 80)) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert newcombe((48, 80), (56, 70)) == pytest.approx((-0.3339, -0.0524), abs=5e-5)
    assert newcombe((9, 10), (3, 10)) == pytest.approx((0.1705, 0.8090), abs=5e-5)


def test_holm_by_hand() -> None:
    """0.01 times 4, 0.02 times 3, 0.03 times 2 (which is no less than the one before), 0.4 times 1."""
    assert holm([0.4, 0.01, 0.03, 0.02]) == pytest.approx([0.4, 0.04, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=30))
def test_holm_never_makes_a_chance_smaller_nor_changes_their_order(chances: list[float]) -> None:
    """And lies between the chance itself and Bonferroni's."""
    found = holm(chances)
    for chance, corrected in zip(chances, found, strict=True):
        assert chance <= corrected <= min(1.0, chance * len(chances)) + 1e-12
    order = sorted(range(len(chances)), key=lambda at: chances[at])
    assert [found[at] for at in order] == sorted(found)
