"""Busy time over any series of the driver's samples, read in any pieces."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.sidecar.nvml.busy import Busy

UNSIGNED_INT = 1


class Ring:
    """A driver's ring of samples, of which a reader sees those since the last one that it has."""

    def __init__(self) -> None:
        self.samples: list[tuple[int, int]] = []

    def ask(self, _call: Any, _handle: Any, _kind: int, since_us: int, **how: Any) -> Any:
        """Samples after `since_us`."""
        new = [
            SimpleNamespace(timeStamp=at, sampleValue=SimpleNamespace(uiVal=percent))
            for at, percent in self.samples
            if at > since_us
        ]
        return (UNSIGNED_INT, new) if new else how["empty"]


@given(
    st.lists(st.tuples(st.integers(1, 1_000_000), st.integers(0, 100), st.booleans()), min_size=1, max_size=40),
    st.randoms(),
)
def test_however_it_is_read_the_integral_is_the_same(series: list[tuple[int, int, bool]], random: Any) -> None:
    """Reads that come often, seldom, or twice, and a ring in any order: the sum of (t - t before) x utilization."""
    ring: Any = Ring()
    busy = Busy(ring, "GPU-0", None)
    at = 1_000_000
    expected = 0.0
    for place, (gap_us, percent, look) in enumerate(series):
        at += gap_us
        ring.samples.append((at, percent))
        expected += gap_us / 1e6 * percent / 100 if place else 0.0
        random.shuffle(ring.samples)
        if look or not place:
            busy.read()
    assert busy.read() == {"busy_seconds": pytest.approx(expected)}
    assert busy.read() == {"busy_seconds": pytest.approx(expected)}


def test_a_gpu_without_samples_has_no_busy_time() -> None:
    """It is left out, and not 0."""
    ring: Any = Ring()
    assert Busy(ring, "GPU-0", None).read() == {}
