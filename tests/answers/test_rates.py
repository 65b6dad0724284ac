"""Shares and their differences against published examples, and sums by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.answers.rates import mean, paired, sign
from llmload.chance import wilson


def pairs(both: int, first: int, second: int, neither: int) -> list[tuple[bool, bool]]:
    """So many questions of each kind."""
    return [(True, True)] * both + [(True, False)] * first + [(False, True)] * second + [(False, False)] * neither


def test_paired_differences_as_published() -> None:
    """Newcombe, Statistics in Medicine 17 (1998) 2635, table II, method 10: (36, 12, 2, 0) is 0.0569 to 0.3404."""
    loss = paired(pairs(36, 12, 2, 0))
    assert loss is not None
    assert loss.points == pytest.approx(20)
    assert loss.interval == pytest.approx((5.69, 34.04), abs=0.005)
    assert loss.p == pytest.approx(2 * (1 + 14 + 91) / 2**14)  # a coin that falls 12 times or more of 14


def test_no_question_no_loss() -> None:
    """Nothing is blank, not 0."""
    assert paired([]) is None
    assert mean([]) is None


@given(*[st.integers(0, 40)] * 4)
def test_the_interval_holds_its_point_and_turns_with_the_sides(
    both: int, first: int, second: int, neither: int
) -> None:
    """For any counts."""
    if not both + first + second + neither:
        return
    one, other = paired(pairs(both, first, second, neither)), paired(pairs(both, second, first, neither))
    assert one is not None
    assert other is not None
    assert one.interval is not None
    assert other.interval is not None
    assert one.interval[0] - 1e-9 <= one.points <= one.interval[1] + 1e-9
    assert one.interval == pytest.approx((-other.interval[1], -other.interval[0]), abs=1e-9)
    assert -100 <= one.interval[0] <= one.interval[1] <= 100


def test_scores_by_hand() -> None:
    """Differences 0.1, 0.2, 0.3: mean 20 points, sd 10, t(2) = 4.3027."""
    loss = mean([(0.5, 0.4), (0.5, 0.3), (0.5, 0.2)])
    assert loss is not None
    assert loss.points == pytest.approx(20)
    assert loss.interval == pytest.approx((20 - 24.841, 20 + 24.841), abs=1e-3)
    assert loss.p == pytest.approx(0.0742, abs=1e-4)
    alone = mean([(1.0, 0.0)])
    assert alone is not None
    assert (alone.points, alone.interval, alone.p) == (100, None, 1.0)
    same = mean([(0.5, 0.5), (0.5, 0.5)])
    assert same is not None
    assert (same.interval, same.p) == ((0, 0), 1.0)


def test_sign_test() -> None:
    """9 of 10: p = 2 · 11 / 1024; ties are not in it."""
    interval, p = sign(9, 1)
    assert p == pytest.approx(22 / 1024)
    assert interval == pytest.approx(wilson(9, 10))
    assert sign(0, 0) == (None, 1.0)
