"""The machine in which the GPUs are: a starved host looks like a slow engine.

Read from /proc; what is not there is left out. TCP is that of the sidecar's own network namespace. Knows no GPU.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

Value = tuple[str, float]
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def read(proc: Path = Path("/proc")) -> dict[str, float]:
    """The values of `record.samples.HOST_FIELDS` that this machine tells."""
    values: dict[str, float] = {}
    for name, parse in SOURCES.items():
        try:
            values.update(parse((proc / name).read_text()))
        except (OSError, LookupError, ValueError):
            continue
    return values


def _stat(text: str) -> Iterator[Value]:
    lines = [line.split() for line in text.splitlines()]
    user, nice, system, _idle, iowait, irq, softirq, steal = map(int, lines[0][1:9])  # guests are in user already
    yield "cpu_seconds.busy", (user + nice + system + irq + softirq) / TICKS_PER_S
    yield "cpu_seconds.iowait", iowait / TICKS_PER_S
    yield "cpu_seconds.steal", steal / TICKS_PER_S
    yield "cpus", sum(line[0].startswith("cpu") for line in lines if line) - 1


def _loadavg(text: str) -> Iterator[Value]:
    yield "load1", float(text.split(maxsplit=1)[0])


def _meminfo(text: str) -> Iterator[Value]:
    kib = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in text.splitlines())}
    yield "memory_total_bytes", kib["MemTotal"] * 1024
    yield "memory_available_bytes", kib["MemAvailable"] * 1024
    yield "swap_used_bytes", (kib["SwapTotal"] - kib["SwapFree"]) * 1024


def _vmstat(text: str) -> Iterator[Value]:
    pages = dict(line.split() for line in text.splitlines())
    yield "swapped_in_bytes", int(pages["pswpin"]) * PAGE_BYTES


def _snmp(text: str) -> Iterator[Value]:
    names, numbers = (line.split() for line in text.splitlines() if line.startswith("Tcp:"))
    tcp = dict(zip(names, numbers, strict=True))
    yield "tcp_segments_sent", int(tcp["OutSegs"])
    yield "tcp_retransmits", int(tcp["RetransSegs"])


SOURCES: dict[str, Callable[[str], Iterator[Value]]] = {
    "stat": _stat,
    "loadavg": _loadavg,
    "meminfo": _meminfo,
    "vmstat": _vmstat,
    "net/snmp": _snmp,
}
"""By file."""
