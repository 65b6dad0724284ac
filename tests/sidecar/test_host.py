"""The machine's own figures: worked by hand from a made /proc, and held against psutil on this one."""

from pathlib import Path

import psutil
import pytest

from llmload.record.samples import HOST_FIELDS
from llmload.sidecar import host

STAT = "cpu  1000 20 300 5000 70 6 4 50 900 0\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu1 1 2 3 4 5 6 7 8 9 10\nintr 12\n"
MEMINFO = "MemTotal: 1000 kB\nMemFree: 10 kB\nMemAvailable: 400 kB\nSwapTotal: 500 kB\nSwapFree: 200 kB\nHugePages: 0\n"
SNMP = "Ip: Forwarding\nIp: 1\nTcp: RtoMin OutSegs RetransSegs\nTcp: 200 12345 67\n"
FILES = {
    "stat": STAT,
    "loadavg": "0.50 0.6 0.7 1/100 42\n",
    "meminfo": MEMINFO,
    "vmstat": "a 1\npswpin 3\n",
    "net/snmp": SNMP,
}


def made(folder: Path, **changes: str | None) -> Path:
    """A /proc with these files; None leaves one out."""
    for name, text in {**FILES, **changes}.items():
        if text is not None:
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    return folder


def test_every_value_by_hand(tmp_path: Path) -> None:
    """Ticks, KiB and pages become seconds and bytes; the time of guests, part of users', is not counted twice."""
    tick, page = 1 / host.TICKS_PER_S, host.PAGE_BYTES
    assert host.read(made(tmp_path)) == {
        "cpu_seconds.busy": pytest.approx((1000 + 20 + 300 + 6 + 4) * tick),
        "cpu_seconds.iowait": pytest.approx(70 * tick),
        "cpu_seconds.steal": pytest.approx(50 * tick),
        "cpus": 2,
        "load1": 0.5,
        "memory_total_bytes": 1000 * 1024,
        "memory_available_bytes": 400 * 1024,
        "swap_used_bytes": 300 * 1024,
        "swapped_in_bytes": 3 * page,
        "tcp_segments_sent": 12345,
        "tcp_retransmits": 67,
    }


@pytest.mark.parametrize(
    ("name", "text", "gone"),
    [
        ("net/snmp", None, {"tcp_segments_sent", "tcp_retransmits"}),
        ("vmstat", "", {"swapped_in_bytes"}),
        ("loadavg", "", {"load1"}),
        ("stat", "cpu 1 2\n", {"cpu_seconds.busy", "cpu_seconds.iowait", "cpu_seconds.steal", "cpus"}),
        ("meminfo", "MemTotal: x kB\n", {"memory_total_bytes", "memory_available_bytes", "swap_used_bytes"}),
    ],
)
def test_what_is_missing_is_left_out(tmp_path: Path, name: str, text: str | None, gone: set[str]) -> None:
    """A file that is not there, empty or strange takes its values away, and no others."""
    whole, part = tmp_path / "whole", tmp_path / "part"
    whole.mkdir()
    part.mkdir()
    assert host.read(made(part, **{name: text})).keys() == host.read(made(whole)).keys() - gone


def test_this_machine_is_told_as_psutil_tells_it() -> None:
    """All that the contract knows, and the same figures."""
    told = host.read()
    assert {key.split(".")[0] for key in told} == {field.key for field in HOST_FIELDS}
    times = psutil.cpu_times()
    busy = times.user + times.nice + times.system + times.irq + times.softirq
    assert told["cpu_seconds.busy"] == pytest.approx(busy, rel=0.01)
    assert told["cpus"] == psutil.cpu_count()
    assert told["memory_total_bytes"] == psutil.virtual_memory().total
    assert told["memory_available_bytes"] == pytest.approx(psutil.virtual_memory().available, rel=0.1)
