"""`locustfiles/mixed.py` as on another machine: the process goes there before anything of llmload is read.

Namespaces belong to a thread, and what it starts later is born into them; Locust has one thread while it reads its
locustfile. So a Locust that is forked from one that has read its packages can go there too, which spares every machine
seconds of reading. The environment says where: ELSEWHERE_NETWORK is the network, ELSEWHERE_UNSEEN the folder that
cannot be seen from there, ELSEWHERE_NAME the machine's name.
"""

import ctypes
import os
import socket
from pathlib import Path

NEW_MOUNTS, NEW_NAMES, NEW_NETWORK = 0x20000, 0x4000000, 0x40000000
PRIVATE, RECURSIVE = 1 << 18, 1 << 14

libc = ctypes.CDLL(None, use_errno=True)


def well(failed: int) -> None:
    """Raise what the system says of a call that failed."""
    if failed:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if network := os.environ.get("ELSEWHERE_NETWORK"):
    with Path("/run/netns", network).open("rb") as file:
        well(libc.setns(file.fileno(), NEW_NETWORK))
if unseen := os.environ.get("ELSEWHERE_UNSEEN"):
    well(libc.unshare(NEW_MOUNTS | NEW_NAMES))
    well(libc.mount(b"none", b"/", None, PRIVATE | RECURSIVE, None))
    well(libc.mount(b"tmpfs", unseen.encode(), b"tmpfs", 0, None))
if name := os.environ.get("ELSEWHERE_NAME"):
    socket.sethostname(name)

from llmload.drive.locustfile import Mix, Steps  # noqa: E402

__all__ = ["Mix", "Steps"]
