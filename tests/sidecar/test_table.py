"""The table of --once: units for people, and what is lost or not told."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from llmload.sidecar.backend import Reading
from llmload.sidecar.kept import Look
from llmload.sidecar.table import human, table


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("energy_joules", 6_440_000.0, "6.44 MJ"),
        ("energy_joules", 999.0, "999 J"),
        ("memory_used_bytes", 11.5 * 2**30, "11.5 GiB"),
        ("memory_used_bytes", 0.0, "0 B"),
        ("sm_clock_hertz", 1755e6, "1,755 MHz"),
        ("utilization_ratio", 0.07, "7 %"),
        ("temperature_celsius", -5.5, "-5.5 °C"),
        ("clock_event_seconds", 90.0, "1.5 min"),
        ("tcp_segments_sent", 67_008_902.0, "67,008,902"),
    ],
)
def test_values_in_units_for_people(key: str, value: float, text: str) -> None:
    """The unit is told by the last word of the key."""
    assert human(key, value) == text


def test_gpus_side_by_side() -> None:
    """A lost one is told, a value that one of them has not stays empty, five need two tables."""
    values = {"power_watts": 400.0, "clock_event_seconds.sw_power_cap": 3.0}
    gpus = [Reading(str(k), f"U{k}", info={"name": "H100"}, values=values) for k in range(3)]
    gpus += [
        Reading("3", "U3", up=False),
        Reading("4", "U4", migs=({"mig": "0", "mig_uuid": "M", "profile": "1g.10gb"},)),
    ]
    gpus[2] = replace(gpus[2], info={"name": "a [red]H100[/]\x1b[2J"})
    out = io.StringIO()
    Console(file=out, width=120).print(table(Look(0.0, 0.0, 0.0, tuple(gpus), {"cpus": 2.0})))
    lines = [" ".join(line.split()) for line in out.getvalue().splitlines()]
    assert "GPU 0 GPU 1 GPU 2 GPU 3 (lost)" in lines
    assert "power 400 W 400 W 400 W" in lines
    assert "clock event, sw power cap 3 s 3 s 3 s" in lines
    assert "GPU 4" in lines
    assert {"0 H100 U0", "2 a [red]H100[/] [2J U2", "3 lost U3", "MIG 0, 1g.10gb M"} <= set(lines)
    assert "cpus 2" in lines
    assert any(line.startswith("not told by any: energy,") for line in lines)
