"""Guests, containers and limits of cores, on machines made up of files."""

from pathlib import Path

import pytest

from llmload.machine.virtual import container, cpu_limit, hypervisor
from tests.machine.trees import CPUINFO, tree

METAL = CPUINFO.format(more="")
GUEST = CPUINFO.format(more=" hypervisor")


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({}, None),
        ({"proc/cpuinfo": METAL}, "none"),
        ({"proc/cpuinfo": GUEST}, "vm"),
        ({"proc/cpuinfo": GUEST, "sys/class/dmi/id/sys_vendor": "QEMU\n"}, "kvm"),
        ({"proc/cpuinfo": GUEST, "sys/class/dmi/id/product_name": "VMware7,1\n"}, "vmware"),
        ({"proc/cpuinfo": GUEST, "sys/class/dmi/id/sys_vendor": "Amazon EC2\n"}, "kvm"),
        (
            {
                "proc/cpuinfo": METAL,
                "sys/class/dmi/id/sys_vendor": "Amazon EC2\n",
                "sys/class/dmi/id/product_name": "i3.metal\n",
            },
            "none",
        ),
        (
            {
                "proc/cpuinfo": GUEST,
                "sys/class/dmi/id/sys_vendor": "Microsoft Corporation\n",
                "sys/class/dmi/id/product_name": "Virtual Machine\n",
            },
            "hyper-v",
        ),
        ({"proc/cpuinfo": METAL, "sys/class/dmi/id/sys_vendor": "Dell Inc.\n"}, "none"),
        ({"proc/cpuinfo": GUEST, "sys/hypervisor/type": "xen\n"}, "xen"),
        ({"proc/cpuinfo": GUEST, "proc/version": "Linux version 5.15-microsoft-standard-WSL2\n"}, "wsl"),
        ({"proc/cpuinfo": "processor\t: 0\nFeatures\t: fp asimd\n"}, None),
        ({"proc/cpuinfo": "Features\t: fp\n", "sys/class/dmi/id/sys_vendor": "Ampere(R)\n"}, "none"),
    ],
)
def test_whose_guest_it_is(tmp_path: Path, files: dict[str, str], kind: str | None) -> None:
    """By the processor's flag and the firmware's maker; a machine without a sign of either is called none."""
    assert hypervisor(tree(tmp_path, files)) == kind


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({}, None),
        ({"proc/1/cgroup": "0::/init.scope\n"}, None),
        ({".dockerenv": ""}, "docker"),
        ({"run/.containerenv": 'engine="podman-5"\n'}, "podman"),
        ({"proc/1/cgroup": "0::/kubepods/burstable/pod1\n", ".dockerenv": ""}, "kubernetes"),
        ({"proc/1/cgroup": "4:cpu:/docker/0a1b\n"}, "docker"),
        ({"proc/1/cgroup": "0::/lxc.payload.box\n"}, "lxc"),
        ({"run/systemd/container": "systemd-nspawn\n"}, "systemd-nspawn"),
    ],
)
def test_which_container_it_is(tmp_path: Path, files: dict[str, str], kind: str | None) -> None:
    """By the files that engines put there, or by the name of the first process's control group."""
    assert container(tree(tmp_path, files)) == kind


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5),
        (
            {
                "proc/self/cgroup": "0::/a/b\n",
                "sys/fs/cgroup/a/cpu.max": "200000 100000\n",
                "sys/fs/cgroup/a/b/cpu.max": "400000 100000\n",
            },
            2.0,
        ),
        (
            {
                "proc/self/cgroup": "3:cpu,cpuacct:/docker/x\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            0.5,
        ),
        (
            {
                "proc/self/cgroup": "3:cpu:/\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            None,
        ),
        ({"proc/self/cgroup": "0::/../../x\n", "sys/fs/cgroup/cpu.max": "1 0\n"}, None),
        ({"proc/self/cgroup": "no such line\n\n", "sys/fs/cgroup/cpu.max": "garbage\n"}, None),
    ],
)
def test_how_many_cores_a_container_may_use(tmp_path: Path, files: dict[str, str], cores: float | None) -> None:
    """Quota over period, the least of the group and those above it, in both versions of control groups."""
    assert cpu_limit(tree(tmp_path, files)) == cores
