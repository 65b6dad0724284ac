"""What a machine is, by the names that run.json has."""

import os
from pathlib import Path

import pytest

from llmload.machine import facts
from llmload.record.environment import CLIENT
from tests.machine.trees import CPUINFO, tree


def test_this_machine_is_told_by_the_names_of_run_json() -> None:
    """All of it has a name there, and what every machine has is there."""
    found = facts.client()
    assert set(found) <= set(CLIENT) - {"path"}
    assert {"host", "cores", "memory_bytes", "os", "kernel", "python"} <= set(found)
    assert found["cores"] == os.cpu_count()
    assert None not in found.values()


def test_a_machine_is_read_from_its_files(tmp_path: Path) -> None:
    """Processor, memory in bytes, system and what it is a guest of."""
    root = tree(
        tmp_path,
        {
            "proc/cpuinfo": CPUINFO.format(more=" hypervisor"),
            "proc/meminfo": "MemTotal:       16384 kB\nMemFree: 1 kB\n",
            "etc/os-release": 'NAME="X"\nPRETTY_NAME="X Linux 3"\n',
            "sys/class/dmi/id/sys_vendor": "QEMU\n",
            ".dockerenv": "",
        },
    )
    found = facts.client(root)
    told = {name: found[name] for name in ("cpu", "memory_bytes", "os", "virtual")}
    expected = {"cpu": "Made Up 9000", "memory_bytes": 16384 * 1024, "os": "X Linux 3", "virtual": "docker on kvm"}
    assert told == expected


def test_what_no_file_tells_is_left_out(tmp_path: Path) -> None:
    """An empty machine has no memory, and is not said to be no guest."""
    found = facts.client(tmp_path)
    assert "memory_bytes" not in found
    assert "virtual" not in found


@pytest.mark.parametrize(("cores", "limit"), [(4, 1.5), (1, None)])
def test_a_limit_is_told_where_it_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: int, limit: float | None
) -> None:
    """A quota over all cores there are limits nothing."""
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    tree(tmp_path, {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"})
    assert facts.limit(tmp_path) == limit


@pytest.mark.parametrize(
    ("said", "otherwise", "kind"),
    [("kvm\n", None, "kvm"), ("none\n", "vm", "vm"), ("none\n", None, "none"), ("", "vm", "vm")],
)
def test_what_systemd_says_of_a_guest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, otherwise: str | None, kind: str
) -> None:
    """It names a guest whose kind no file tells; where it knows of none, the processor's word stands."""
    command = tmp_path / facts.DETECT
    command.write_text(f"#!/bin/sh\nprintf '{said}'\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert facts.detected(otherwise) == kind
