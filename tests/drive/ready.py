"""`python -m locust` many times over: each in a process of its own, forked from one that has read the packages.

Most of what a short run takes is the reading of modules: Locust, the openai package, numpy. They are read once, and
nothing of llmload is: every run reads that for itself, as Locust would.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

PACKAGES = (
    "locust.main",  # first: it patches what the others use
    "openai",
    "numpy",
    "httptools",
    "orjson",
    "psutil",
    "prometheus_client",
    "wsgiref.simple_server",
)


class Forked:
    """A command, as subprocess.Popen has it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.ended = threading.Event()

    def poll(self) -> int | None:
        """Its exit code, if it has ended."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has ended."""
        if not self.ended.wait(timeout):
            raise subprocess.TimeoutExpired("locust", timeout or 0.0)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


class Source:
    """The process that has read the packages, and who came out of it."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.drive.ready"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2], env=environment, start_new_session=True,
        )  # fmt: skip
        self.born: list[Forked] = []
        self.birth = threading.Semaphore(0)
        self.one_at_a_time = threading.Lock()
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()
        atexit.register(self.close)

    def start(self, words: Sequence[str], folder: Path, log: Path, environment: dict[str, str]) -> Forked:
        """`python -m locust WORD…` in a folder and a session of its own; what it says goes to a file."""
        assert self.process.stdin is not None
        asked = {"words": words, "folder": str(folder), "log": str(log), "environment": environment}
        with self.one_at_a_time:
            self.process.stdin.write(json.dumps(asked).encode() + b"\n")
            self.process.stdin.flush()
            assert self.birth.acquire(timeout=120), "the process that has read the packages does not answer"
            return self.born[-1]

    def close(self) -> None:
        """End it; commands that still run are their starters'."""
        self.process.kill()
        self.process.wait()
        self.listener.join(5)
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()

    def _listen(self) -> None:
        """Hear of those that begin and end."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            pid, code = json.loads(line)
            if code is None:
                self.born.append(Forked(pid))
                self.birth.release()
            else:
                ended = next(one for one in reversed(self.born) if one.pid == pid)
                ended.returncode = code
                ended.ended.set()


_sources: list[Source] = []


def start(words: Sequence[str], folder: Path, log: Path, environment: dict[str, str]) -> Forked:
    """Start a command; the first one starts the source, which stays for all others of this process."""
    if not _sources or _sources[0].process.poll() is not None:
        plain = {name: value for name, value in environment.items() if not name.startswith(("OPENAI_", "LLMLOAD_"))}
        _sources[:] = [Source(plain)]
    return _sources[0].start(words, folder, log, environment)


def serve() -> list[str]:
    """Fork a command whenever one is asked for: returns in the command, with its words. Ends with its own input."""
    from gevent import monkey
    from gevent.os import fork_gevent  # not os.fork, which has gevent wait for what it forked

    install, waitpid, wait = (
        monkey.get_original(*name) for name in (("signal", "signal"), ("os", "waitpid"), ("select", "select"))
    )
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    install(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken)
    gc.freeze()
    alive, rest = set[int](), b""
    while True:
        ready, _, _ = wait([0, wake], [], [])
        if wake in ready:
            os.read(wake, 4096)
            for pid in tuple(alive):
                ended, status = waitpid(pid, os.WNOHANG)
                if ended:
                    alive.remove(pid)
                    tell(pid, os.waitstatus_to_exitcode(status))
        if 0 in ready:
            rest += (read := os.read(0, 1 << 16))
            if not read:
                sys.exit()
            *asked, rest = rest.split(b"\n")
            for line in asked:
                if (pid := fork_gevent()) == 0:
                    signal.set_wakeup_fd(-1)
                    install(signal.SIGCHLD, signal.SIG_DFL)
                    close(wake)
                    close(woken)
                    return become(**json.loads(line))
                alive.add(pid)
                tell(pid, None)


def close(descriptor: int) -> None:
    """Close it now; gevent's own way waits for its loop."""
    from gevent import monkey

    monkey.get_original("os", "close")(descriptor)


def tell(pid: int, code: int | None) -> None:
    """Tell that a command has begun, or its exit code."""
    os.write(1, json.dumps([pid, code]).encode() + b"\n")


def become(words: list[str], folder: str, log: str, environment: dict[str, str]) -> list[str]:
    """Put on what a new process would have; returns the words of its command line."""
    os.setsid()
    os.chdir(folder)
    given, said = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number, descriptor in enumerate((given, said, said)):
        os.dup2(descriptor, number)
    close(given)
    close(said)
    os.environ.clear()
    os.environ.update(environment)
    return words


if __name__ == "__main__":
    for package in PACKAGES:
        importlib.import_module(package)
    sys.argv[1:] = serve()
    sys.path[0] = str(Path.cwd())
    runpy.run_module("locust", run_name="__main__", alter_sys=True)
