"""Short slices of the scheduler: asked of the real kernel, in a process of its own."""

import os
import subprocess
import sys

CODE = """
import ctypes, os, platform, struct
from llmload.send import slices
os.setpriority(os.PRIO_PROCESS, 0, 3)
took = slices.ask_for_short()
got = ctypes.create_string_buffer(slices.ATTRIBUTES.size)
number = {"x86_64": 315, "aarch64": 275}[platform.machine()]
assert ctypes.CDLL(None).syscall(number, 0, got, len(got), 0) == 0
_, policy, _, nice, _, runtime, *_ = slices.ATTRIBUTES.unpack(got.raw)
print(took, policy, nice, os.getpriority(os.PRIO_PROCESS, 0), runtime)
"""


def test_the_kernel_takes_the_wish_and_priority_stays() -> None:
    """The slice is 0.1 ms where the kernel (6.12 and newer) knows it; niceness and policy are as before everywhere."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    took, policy, nice, priority, runtime = done.stdout.split()
    assert (took, policy, nice, priority) == ("True", "0", "3", "3")
    version = tuple(int(part) for part in os.uname().release.split(".")[:2])
    if version >= (6, 12):
        assert runtime == "100000"


def test_a_thread_of_another_policy_is_left_alone() -> None:
    """Who was put into another class of scheduling on purpose stays there."""
    code = (
        "import os; from llmload.send import slices; os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)); "
        "print(slices.ask_for_short(), os.sched_getscheduler(0) == os.SCHED_BATCH)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
