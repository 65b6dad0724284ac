"""What several workers say, put together; shares of a budget."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.drive.members import NOTHING_SAID, Member, apart_ms, share, together


def member(**said: Any) -> Member:
    """A worker that said this about step 1."""
    return Member("node", "w0", said={**NOTHING_SAID, "step": 1, **said})


def test_together_sums_and_takes_the_least_warm() -> None:
    """Counts are sums; warm is the least of those that have users; a worker without users does not hold it back."""
    seen = together(
        [
            member(users=2, in_flight=2, warm=3, classes_warm={"a": 2}, sent={"a": 5}, measured_in_flight=1, ok=4),
            member(users=1, in_flight=1, warm=5, classes_warm={"b": 1}, sent={"a": 1, "b": 2}, failed=3),
            member(users=0, warm=None),
        ],
        1,
    )
    assert (seen.users, seen.in_flight, seen.warm, seen.measured_in_flight) == (3, 3, 3, 1)
    assert (seen.classes_warm, seen.sent, seen.ok, seen.failed) == ({"a": 2, "b": 1}, {"a": 6, "b": 2}, 4, 3)
    assert not seen.out_of_budget


def test_words_about_another_step_count_users_only() -> None:
    """A worker that has not heard of the step yet says nothing about it."""
    seen = together([member(users=2, ok=9), member(users=2, step=0, ok=9, warm=9, out_of_budget=True)], 1)
    assert (seen.users, seen.ok, seen.out_of_budget) == (4, 9, False)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=9), st.integers(0, 1000))
def test_shares_never_sum_to_more_than_is_left(users: list[int], left: int) -> None:
    """A cap on an endpoint that bills is kept exactly, over all workers."""
    of = max(1, sum(users))
    assert sum(share(left, n, of) or 0 for n in users) <= left
    assert share(left, of, of) == left
    assert share(None, 1, of) is None
    assert share(-5, 1, of) == 0


def test_marks_are_compared_on_one_clock() -> None:
    """Said at 100.000; heard at 105.020 by a clock that is 5 s ahead, at 100.004 by one that is not: 20 ms apart."""
    ahead = member(heard_at=105.020, clock_offset_ms=5000.0)
    assert apart_ms([ahead, member(heard_at=100.004, clock_offset_ms=0.5)], 100.0) == pytest.approx(20.0)
    assert apart_ms([member(heard_at=99.990)], 100.0) == pytest.approx(10.0)
