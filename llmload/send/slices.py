"""Asks the scheduler to run this thread soon after it wakes, for which it runs in shorter slices.

Where other processes keep all cores busy, a reader that waits for its turn lets events pile up, and events that pile
up share the stamp of the last. Linux 6.12 and newer takes a slice length of one's own from anybody (`sched_setattr`,
field `sched_runtime`, 0.1 to 100 ms): whoever asks for less at a time is let on sooner and gets no more in all. Older
kernels ignore it, other systems do not know it, and either way nothing is lost.
"""

import ctypes
import os
import platform
import struct

SLICE_NS = 100_000
SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
"""Number of the system call: the C library has no name for it yet."""

ATTRIBUTES = struct.Struct("=IIQiIQQQII")
"""struct sched_attr: size, policy, flags, nice, priority, runtime, deadline, period, two limits of utilisation."""


def ask_for_short() -> bool:
    """Ask for short slices for the calling thread; True if the kernel took the wish."""
    number = SCHED_SETATTR.get(platform.machine())
    if number is None or not hasattr(os, "sched_getscheduler") or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return False
    nice = os.getpriority(os.PRIO_PROCESS, 0)  # the call sets it as well: to what it is
    wish = ATTRIBUTES.pack(ATTRIBUTES.size, os.SCHED_OTHER, 0, nice, 0, SLICE_NS, 0, 0, 0, 0)
    return bool(ctypes.CDLL(None).syscall(number, 0, ctypes.create_string_buffer(wish), 0) == 0)
