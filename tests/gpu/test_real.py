"""A real driver: call times are written down, values are believable, and a kernel that runs is seen."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.gpu.measure import AVOIDED, kernel, measured, table

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Measured on the GPU as it is."""
    return written(measured(), "as it is", tmp_path_factory)


def written(found: dict[str, Any], title: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The same, kept as JSON and as a table."""
    out = Path(os.environ.get("LLMLOAD_GPU_OUT") or tmp_path_factory.mktemp("gpu"))
    out.mkdir(parents=True, exist_ok=True)
    name = f"gpu-calls-{title.replace(' ', '-')}"
    (out / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")
    (out / f"{name}.txt").write_text(table(found, title) + "\n")
    return found


def test_call_times_are_written_down(quiet: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Each call has one; the counters of PCIe bytes, of which nobody tells whether they block, among them."""
    with capsys.disabled():
        print("\n" + table(quiet, "as it is"))
    assert {"field 197", "field 198", "PowerUsage", *AVOIDED} <= quiet["calls"].keys()
    assert all(one["calls"] >= 1 and one["max_us"] >= one["median_us"] > 0 for one in quiet["calls"].values())


def test_values_are_believable(quiet: dict[str, Any]) -> None:
    """Ratios lie between 0 and 1, memory adds up, and nothing is as hot as the sun."""
    values: dict[str, float] = quiet["looks"]["values"]
    assert all(0 <= value <= 1 for key, value in values.items() if "_ratio" in key)
    assert all(value >= 0 for value in values.values())
    assert 0 < values["temperature_celsius"] < 120
    assert 0 < values["power_watts"] < 3000
    if "memory_total_bytes" in values:
        parts = (values["memory_used_bytes"], values["memory_free_bytes"], values.get("memory_reserved_bytes", 0.0))
        assert sum(parts) == pytest.approx(values["memory_total_bytes"], rel=0.02)
    if "sm_clock_hertz" in values and "sm_clock_max_hertz" in values:
        assert values["sm_clock_hertz"] <= 1.05 * values["sm_clock_max_hertz"]


def test_a_busy_gpu_is_seen(
    quiet: dict[str, Any], tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    """While a kernel runs the GPU is nearly always in use; call times are written down again."""
    with kernel(280):
        found = written(measured(), "busy", tmp_path_factory)
    with capsys.disabled():
        print("\n" + table(found, "busy"))
    values = found["looks"]["values"]
    if "utilization_ratio" in values:
        assert values["utilization_ratio"] > 0.8
    if "sm_active_ratio" in values:
        assert values["sm_active_ratio"] > 0.5
    if "busy_seconds" in values:
        assert values["busy_seconds"] > 2
    if "energy_joules" in values:
        assert values["energy_joules"] > quiet["looks"]["values"]["energy_joules"]
