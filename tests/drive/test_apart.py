"""How far two clocks are apart, from questions and answers with times worked by hand."""

import pytest

from llmload.drive.apart import Apart


def test_nothing_is_known_before_the_first_answer() -> None:
    """No answer is no offset of 0."""
    apart = Apart()
    assert (apart.offset_ms, apart.error_ms, apart.offset_s) == (None, None, 0.0)


@pytest.mark.parametrize(
    ("answers", "offset_ms", "error_ms"),
    [
        # asked at 105.000, the master says 100.005, heard at 105.010: five seconds ahead, to within 5 ms
        ([(105.0, 100.005, 105.010)], 5000.0, 5.0),
        # a quicker one counts more: the middle 115.001 less 110.000
        ([(105.0, 100.005, 105.010), (115.0, 110.0, 115.002)], 5001.0, 1.0),
        # a busy moment (400 ms) spoils nothing; the older answer is less sure by 0.1 ms for each of 10 s
        ([(105.0, 100.005, 105.010), (114.61, 109.9, 115.010)], 5000.0, 6.0),
        # ahead by 0.2 ms more after 20 s: followed, since the older is less sure by 2 ms now
        ([(105.0, 100.0, 105.002), (125.0, 119.9998, 125.002)], 5001.2, 1.0),
        # the master slept for 3 s: what was measured before is contradicted, however sure it was
        ([(105.0, 100.0, 105.002), (106.0, 98.0, 106.2)], 8100.0, 100.0),
        # after a minute an answer counts no more
        ([(105.0, 100.0, 105.002), (205.0, 200.0, 205.2)], 5100.0, 100.0),
    ],
)
def test_offset_and_error(answers: list[tuple[float, float, float]], offset_ms: float, error_ms: float) -> None:
    """The surest answer tells the offset and how wrong it may be."""
    apart = Apart()
    for asked, master, heard in answers:
        apart.answered(asked, master, heard)
    assert apart.offset_ms == pytest.approx(offset_ms, abs=1e-3)
    assert apart.offset_s == pytest.approx(offset_ms / 1000, abs=1e-6)
    assert apart.error_ms == pytest.approx(error_ms, abs=1e-3)
