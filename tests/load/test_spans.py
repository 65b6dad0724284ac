"""Lengths of time in words."""

import pytest

from llmload.load.spans import span


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"), (0.5, "0.5 s"), (45.0, "45 s"), (59.4, "59.4 s"), (59.6, "1 min"), (65, "1 min 05 s"),
        (600, "10 min"), (3599.7, "1 h"), (7500, "2 h 05 min"), (7229, "2 h"),
    ],
)  # fmt: skip
def test_spans(seconds: float, text: str) -> None:
    """Two units at most; what is 0 is left out, and nothing is 60 of the smaller one."""
    assert span(seconds) == text
