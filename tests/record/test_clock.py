"""The clock of moments: it goes on, whatever becomes of the machine's own."""

import time

import pytest

from llmload.record import clock


def test_a_clock_that_is_set_does_not_move_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set back by an hour: moments go on as before, and the drift tells, to the minute that a busy machine may take."""
    real = time.time
    before = clock.now()
    assert before == pytest.approx(real(), abs=60.0)
    monkeypatch.setattr(time, "time", lambda: real() - 3600)
    assert 0 <= clock.now() - before < 60.0
    assert clock.drift_s() == pytest.approx(-3600, abs=60.0)


def test_a_reading_of_the_finest_clock_has_its_moment() -> None:
    """What was read between two moments lies between them."""
    before, reading, after = clock.now(), time.perf_counter_ns(), clock.now()
    assert before - 1e-6 <= clock.at(reading) <= after + 1e-6
