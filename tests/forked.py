"""`llmload` many times over: every command in a process of its own, forked from one that has read all modules.

What most of a short command takes is the reading of modules. `python forked.py SOCKET WORD…` is `llmload WORD…`: it
hands its words, standard output and standard error to the process that `ready` started, and ends as the command ended.
"""

import array
import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def ready(place: Path, *modules: str, env: dict[str, str]) -> Iterator[list[str]]:
    """Start the process, in this environment and with these modules read; yields what stands for `llmload`."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(place))
        listener.listen(64)
        command = [sys.executable, "-m", "tests.forked", str(listener.fileno()), *modules]
        source = subprocess.Popen(command, env=env, pass_fds=[listener.fileno()], start_new_session=True)
    try:
        yield [sys.executable, "-I", "-S", __file__, str(place)]
    finally:
        os.killpg(source.pid, signal.SIGKILL)  # with commands that nobody waits for any more
        source.wait()


def fork(listener: socket.socket) -> None:
    """Fork a command whenever one is asked for."""
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them but who asked
    while True:
        near, _ = listener.accept()
        with near:
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                listener.close()
                begin(near)
                return


def begin(near: socket.socket) -> None:
    """Be the command that is asked for."""
    from llmload.cli import main

    words, descriptors, _, _ = socket.recv_fds(near, 1 << 17, 2)
    for number, descriptor in zip((1, 2), descriptors, strict=True):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115
    code = main(json.loads(words))
    sys.stdout.flush()
    near.send(bytes([code]))


def ask(place: str, words: list[str]) -> int:
    """Have it done, and wait for its exit code."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as near:
        near.connect(place)
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [1, 2]))
        near.sendmsg([json.dumps(words).encode()], [rights])
        return (near.recv(1) or b"\x7f")[0]


if __name__ == "__main__":
    if __spec__ is None:  # by its path: there is no package around it
        sys.exit(ask(sys.argv[1], sys.argv[2:]))
    for module in sys.argv[2:]:
        importlib.import_module(module)
    fork(socket.socket(fileno=int(sys.argv[1])))
