"""What this machine is, by the names of `record.environment.CLIENT`: processor, memory, system, guest or container.

Reads files below `root` and asks nobody; what cannot be found out is left out. Where the files do not tell whose guest
it is, `systemd-detect-virt` is asked, if it is there.
"""

import contextlib
import os
import platform
import shutil
import socket
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil

from llmload.machine.virtual import NEITHER, UNNAMED, container, cpu_limit, hypervisor, text

HERE = Path("/")
DETECT = "systemd-detect-virt"
DETECT_S = 2.0


def client(root: Path = HERE) -> dict[str, Any]:
    """The machine that this runs on. What is not known is not there."""
    found = {
        "host": socket.gethostname(),
        "cpu": cpu_name(root),
        "cores": os.cpu_count(),
        "memory_bytes": memory_bytes(root),
        "os": os_name(root),
        "kernel": platform.release(),
        "python": python(),
        "virtual": kind(root),
        "cpu_limit": limit(root),
    }
    return {name: value for name, value in found.items() if value not in (None, "")}


def cpu_name(root: Path = HERE) -> str | None:
    """The processor's name, from /proc/cpuinfo; where that has none (ARM), the board's or what Python knows."""
    lines = (text(root / "proc/cpuinfo") or "").splitlines()
    for name in ("model name", "Model", "Hardware", "cpu"):
        if found := value_of(name, lines, ":"):
            return found
    board = (text(root / "sys/firmware/devicetree/base/model") or "").strip("\0 \n")
    return board or platform.processor() or None


def memory_bytes(root: Path = HERE) -> int | None:
    """Its memory, as /proc/meminfo tells it; elsewhere as the system does."""
    told = value_of("MemTotal", (text(root / "proc/meminfo") or "").splitlines(), ":") or ""
    number = told.split(" ")[0]
    if number.isascii() and number.isdigit():
        return int(number) * 1024
    return int(psutil.virtual_memory().total) if root == HERE else None


def os_name(root: Path = HERE) -> str:
    """The operating system's name and version."""
    for path in ("etc/os-release", "usr/lib/os-release"):
        if name := value_of("PRETTY_NAME", (text(root / path) or "").splitlines(), "="):
            return name.strip("\"'")
    return platform.system()


def python() -> str:
    """Python's version and build."""
    return f"{platform.python_implementation()} {platform.python_version()} ({platform.python_compiler()})"


def limit(root: Path = HERE) -> float | None:
    """Cores that may be used, where they are fewer than there are: by the control group, or by the set of cores."""
    told = [cpu_limit(root)]
    if root == HERE and hasattr(os, "sched_getaffinity"):
        told.append(float(len(os.sched_getaffinity(0))))
    found = min((value for value in told if value is not None), default=None)
    return None if found is None or found >= (os.cpu_count() or 1) else found


def kind(root: Path = HERE) -> str | None:
    """`docker on kvm`, `kvm`, `podman`, `none`: the container, and the guest that it is in; None if nothing tells."""
    inside, guest = container(root), hypervisor(root)
    if guest in (None, UNNAMED) and root == HERE:
        guest = detected(guest)
    if inside is None:
        return guest
    return inside if guest in (None, NEITHER) else f"{inside} on {guest}"


def detected(otherwise: str | None) -> str | None:
    """Whose guest this is, by `systemd-detect-virt`; what was known if it is not there or knows of none."""
    if (command := shutil.which(DETECT)) is None:
        return otherwise
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run([command, "--vm"], capture_output=True, text=True, timeout=DETECT_S, check=False)
        said = done.stdout.strip()
        return said if said and (said != NEITHER or otherwise is None) else otherwise
    return otherwise


def value_of(name: str, lines: Iterable[str], sign: str) -> str | None:
    """The value of the first line `name sign value`, if it has one."""
    for line in lines:
        key, found, value = line.partition(sign)
        if found and key.strip() == name:
            return value.strip() or None
    return None
