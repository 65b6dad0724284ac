"""Ctrl-C, SIGTERM, and a parent that is gone: how a process is ended without losing what it knows.

Master (or the only process): the first signal ends the run and keeps everything, the second ends at once.
Worker: Ctrl-C reaches the whole process group and is the master's business; a worker ends by it only if the master
is not heard any more, or at the second one.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import gevent
import psutil

from llmload.exits import Exit
from llmload.load.options import PARENT_PID

LOOK_S = 0.5
SILENCE_S = 4.0
"""The master answers a heartbeat every second; one that was silent for so long is gone."""


class Signals:
    """Watches for SIGINT and SIGTERM while a run is on; before and after it they do what they always did."""

    def __init__(self, first: Callable[[], None], second: Callable[[], None]) -> None:
        self._calls = [first, second]
        self._count = 0
        self._former = signal.getsignal(signal.SIGINT)
        self._watchers = [gevent.signal_handler(number, self._arrived) for number in (signal.SIGINT, signal.SIGTERM)]

    def _arrived(self) -> None:
        self._calls[min(self._count, 1)]()
        self._count += 1

    def close(self) -> None:
        """Let go: cancelling a watcher leaves the default action, so Python's own handler is put back."""
        for watcher in self._watchers:
            watcher.cancel()
        with contextlib.suppress(TypeError, ValueError):
            signal.signal(signal.SIGINT, self._former)


def leave_at_once() -> None:
    """End this process now, without any of its cleaning up."""
    os._exit(Exit.INCOMPLETE)


def watch_parent(gone: Callable[[], None]) -> None:
    """Call `gone` once the process that started this one, by its own word, is no more."""
    text = os.environ.get(PARENT_PID, "")
    if text.isdigit():
        gevent.spawn(_watch, int(text), os.getppid(), gone)


def _watch(pid: int, parent: int, gone: Callable[[], None]) -> None:
    while psutil.pid_exists(pid) and os.getppid() == parent:
        gevent.sleep(LOOK_S)
    gone()


def guard_worker(runner: Any, *, forked: bool) -> None:
    """Make a worker ignore Ctrl-C as long as its master is there, and leave when a master that forked it is gone."""
    arrived: list[float] = []

    def interrupted() -> None:
        arrived.append(time.time())
        if len(arrived) > 1:
            leave_at_once()

    gevent.signal_handler(signal.SIGINT, interrupted)
    gevent.spawn(_guard, runner, arrived, os.getppid() if forked else None)


def _guard(runner: Any, arrived: list[float], parent: int | None) -> None:
    while parent is None or os.getppid() == parent:
        gevent.sleep(LOOK_S)
        heard = runner.last_heartbeat_timestamp or 0.0
        if arrived and time.time() - max(heard, arrived[0]) > SILENCE_S:
            break
    runner.environment.process_exit_code = Exit.INCOMPLETE
    runner.quit()
