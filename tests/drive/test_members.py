"""What several workers say, put together; shares of a budget; clocks."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.drive.members import NOTHING_SAID, Member, share, together


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


@pytest.mark.parametrize(
    ("pairs", "offset", "error"),
    [
        ([(100.0, 105.005, 100.010)], 5000.0, 5.0),
        ([(100.0, 105.005, 100.010), (200.0, 205.002, 200.002)], 5001.0, 1.0),  # the quicker pair counts
        ([(100.0, 105.005, 100.010), (200.0, 209.0, 200.2)], 5000.0, 5.0),
        ([(100.0, 100.0, 99.0)], 0.0, None),  # a clock that was set back in between tells nothing
    ],
)
def test_clock_offset_from_a_message_and_its_answer(
    pairs: list[tuple[float, float, float]], offset: float, error: float | None
) -> None:
    """Sent at 100.000, heard there at 105.005, answer here at 100.010: five seconds ahead, to within 5 ms."""
    one = member()
    for sent, heard, received in pairs:
        one.said["heard_at"] = heard
        one.clock(sent, received)
    assert one.offset_ms == pytest.approx(offset, abs=1e-3)
    assert one.offset_error_ms == (None if error is None else pytest.approx(error, abs=1e-3))
