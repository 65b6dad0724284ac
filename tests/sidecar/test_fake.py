"""The fake GPUs: values that a person can work out, and counters that are the integrals of their gauges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.record.samples import GPU_FIELDS
from llmload.sidecar.backend import Absent
from llmload.sidecar.fake import CAPPED, LOAD, POWER, Backend, Line


def values(t: float, number: int = 0) -> dict[str, float]:
    """Of a GPU at a moment."""
    return dict(Backend((), count=number + 1, clock=lambda: t).read(slow=False)[number].values)


def test_a_minute_by_hand() -> None:
    """Idle, half way up, held by the power cap, and what a whole minute sums up to."""
    idle, half, full, minute = values(5.0), values(12.5), values(30.0), values(60.0)
    assert (idle["power_watts"], idle["utilization_ratio"], idle["energy_joules"]) == (80.0, 0.0, 400.0)
    # 2.5 s into the ramp of 5 s: 80 W + 50 % of 400 W; 10 s of 80 W and 2.5 s of 180 W on average
    assert (half["power_watts"], half["utilization_ratio"]) == (280.0, 0.5)
    assert half["energy_joules"] == 800 + 2.5 * 180
    assert (full["power_watts"], full["clock_event_active.sw_power_cap"], full["sm_clock_hertz"]) == (
        400.0,
        1.0,
        1755e6,
    )
    assert full["clock_event_seconds.sw_power_cap"] == pytest.approx(30 - 14)
    assert minute["energy_joules"] == pytest.approx(800 + 4 * 240 + 32 * 400 + 4 * 240 + 800)
    assert minute["busy_seconds"] == pytest.approx(2.5 + 30 + 2.5)
    assert minute["clock_event_seconds.sw_power_cap"] == pytest.approx(32)


def test_temperature_follows_the_power_slowly() -> None:
    """It is that of the mean power of the last 20 s: cold when the load begins, still warm after it."""
    assert values(10.0)["temperature_celsius"] == pytest.approx(28 + 0.12 * 80)
    # at 34 s the 20 s of 400 W are full
    assert values(34.0)["temperature_celsius"] == pytest.approx(28 + 0.12 * 400)
    # at 60 s: 6 s of 400 W, 4 s of 240 W, 10 s of 80 W
    assert values(60.0)["temperature_celsius"] == pytest.approx(28 + 0.12 * (6 * 400 + 4 * 240 + 10 * 80) / 20)


@given(begin=st.floats(0, 1e5), length=st.floats(0, 200), line=st.sampled_from([LOAD, POWER, CAPPED]))
def test_a_counter_is_the_integral_of_its_gauge(begin: float, length: float, line: Line) -> None:
    """Between any two moments: as much as thin slices of its gauge, whose edges at steps are all they may differ by."""
    slices = 1000
    width = length / slices
    sliced = sum(line.at(begin + (k + 0.5) * width) for k in range(slices)) * width
    steepest = 2 * (length // 60 + 1) * max(line.heights)
    assert line.area(begin + length) - line.area(begin) == pytest.approx(sliced, abs=steepest * width + 1e-6)


def test_gpus_differ_and_say_that_they_are_fake() -> None:
    """Each is 7 s behind the one before it; names and values are those of the contract."""
    assert values(22.0, 1)["power_watts"] == values(15.0)["power_watts"]
    readings = Backend((), count=3).read(slow=True)
    assert [(reading.gpu, reading.uuid) for reading in readings] == [(str(k), f"GPU-fake-{k}") for k in range(3)]
    assert all("fake" in reading.info["name"] for reading in readings)
    assert {key.split(".")[0] for key in readings[0].values} <= {field.key for field in GPU_FIELDS}


def test_chosen_ones_alone_are_played() -> None:
    """By number or UUID; none of them is told."""
    chosen = Backend(("1", "GPU-fake-2"), count=4, processes=True).read(slow=True)
    assert [reading.gpu for reading in chosen] == ["1", "2"]
    assert chosen[0].values["process_memory_bytes.4242"] == chosen[0].values["memory_used_bytes"]
    with pytest.raises(Absent, match="--gpus 9: there is no such GPU; the fake ones are 0 to 3"):
        Backend(("9",), count=4)
