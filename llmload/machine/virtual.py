"""Whether this machine is a guest or a container, and how many cores a container may use.

Told by files that any user may read; `root` is where they lie, so that a test can make a machine up. What no file tells
is None: a machine is called `none` (neither) only where it would have shown.
"""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

NEITHER = "none"

CONTAINERS = {
    "kubepods": "kubernetes",
    "docker": "docker",
    "libpod": "podman",
    "podman": "podman",
    "lxc": "lxc",
    "crio": "cri-o",
    "containerd": "containerd",
    "machine.slice": "systemd-nspawn",
}
"""What the control group of the first process is called in a container, in the order in which they are looked for."""

MAKERS = {
    "qemu": "kvm",
    "kvm": "kvm",
    "google compute engine": "kvm",
    "amazon ec2": "kvm",
    "openstack": "kvm",
    "vmware": "vmware",
    "virtualbox": "virtualbox",
    "innotek": "virtualbox",
    "xen": "xen",
    "hvm domu": "xen",
    "microsoft corporation virtual machine": "hyper-v",
    "parallels": "parallels",
    "bhyve": "bhyve",
    "apple virtualization": "apple",
}
"""Words of a machine's firmware that only a guest has: who made it, and what it is called."""

UNNAMED = "vm"
"""The processor says that it is a guest's, and nothing says whose."""

DMI = ("sys_vendor", "product_name", "bios_vendor", "board_vendor")


def container(root: Path) -> str | None:
    """The kind of container that this is; None if it shows no sign of one."""
    groups = text(root / "proc/1/cgroup") or ""
    named = next((name for sign, name in CONTAINERS.items() if sign in groups), None)
    if (said := text(root / "run/systemd/container")) and said.strip():
        return said.strip()
    if (root / ".dockerenv").exists():
        return named or "docker"
    if (root / "run/.containerenv").exists():
        return named or "podman"
    return named


def hypervisor(root: Path) -> str | None:
    """The kind of guest that this is, `none` on a machine of its own; None if nothing tells."""
    flags = re.search(r"^(?:flags|Features)\s*:(.*)$", text(root / "proc/cpuinfo") or "", re.MULTILINE)
    is_guest = flags is not None and "hypervisor" in flags[1].split()
    if "microsoft" in (text(root / "proc/version") or "").lower():
        return "wsl"
    if (kind := text(root / "sys/hypervisor/type")) and kind.strip():
        return kind.strip()
    told = " ".join(filter(None, ((text(root / "sys/class/dmi/id" / name) or "").strip() for name in DMI))).lower()
    maker = next((name for sign, name in MAKERS.items() if sign in told), None)
    if maker is not None and (is_guest or "metal" not in told):  # clouds rent whole machines under the same name
        return maker
    if is_guest:
        return UNNAMED
    # a processor of Intel or AMD says what it is; another one's guest has no firmware that names a maker
    knows = flags is not None and "lm" in flags[1].split()
    return NEITHER if knows or told else None


def cpu_limit(root: Path = Path("/")) -> float | None:
    """Cores' worth of time that this control group may use, the least of it and those above it; None: no limit."""
    return min(_limits(root), default=None)


def _limits(root: Path) -> Iterator[float]:
    base = root / "sys/fs/cgroup"
    for line in (text(root / "proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:  # the second version: one tree of all controllers
            for folder in _upwards(base, path):
                yield from _share((text(folder / "cpu.max") or "").split())
        elif "cpu" in controllers.split(","):
            for name in (controllers, "cpu"):
                for folder in _upwards(base / name, path):
                    quota, period = text(folder / "cpu.cfs_quota_us"), text(folder / "cpu.cfs_period_us")
                    yield from _share([(quota or "").strip(), (period or "").strip()])


def _upwards(base: Path, path: str) -> Iterator[Path]:
    """The folder of a control group and of those above it; inside a container its own is the top."""
    inner = PurePosixPath(path.lstrip("/") or ".")
    if ".." not in inner.parts:
        for part in (inner, *inner.parents):
            yield base / part


def _share(words: list[str]) -> Iterator[float]:
    """Microseconds of every so many; `max` and -1 are no limit."""
    if len(words) == 2 and all(word.isascii() and word.isdigit() for word in words) and int(words[1]) > 0:
        yield round(int(words[0]) / int(words[1]), 3)


def text(path: Path) -> str | None:
    """A file's text; None if it cannot be read."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return None
