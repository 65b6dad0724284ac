"""Ctrl-C, SIGTERM, and a parent that is gone: how a process is ended without losing what it knows.

Master (or the only process): the first signal ends the run and keeps everything, the second ends at once.
Worker: Ctrl-C reaches the whole process group and is the master's business; a worker ends by it only if the master
is not heard any more, or at the second one. It ends by itself once its master is dead: the process that forked it is
gone, or nobody listens at the master's port. A master that is only silent may come back, for a minute.
"""

import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

import gevent
import psutil
from locust import runners

from llmload.exits import Exit
from llmload.handover import PARENT_PID

LOOK_S = 0.5
SILENCE_S = 2.0
"""The master answers a heartbeat every second; one that was silent for so long is asked whether it is there …"""
GONE_S = 4.0
"""… one that was silent for so long after a Ctrl-C is gone …"""
GIVEN_UP_S = 60.0
"""… and so is one that was silent for so long in any case."""


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


def guard_worker(runner: Any, gone: Callable[[], None], *, forked: bool) -> None:
    """Make a worker ignore Ctrl-C as long as its master is there, and call `gone` once its master is dead."""
    arrived: list[float] = []
    heard = [time.monotonic()]

    def interrupted() -> None:
        arrived.append(time.monotonic())
        if len(arrived) > 1:
            leave_at_once()

    def hear(**_: Any) -> None:
        heard[0] = time.monotonic()

    def guard() -> None:
        parent = os.getppid()
        while not forked or os.getppid() == parent:
            gevent.sleep(LOOK_S)
            now = time.monotonic()
            if arrived and now - max(heard[0], arrived[0]) > GONE_S:
                break
            silence_s = now - heard[0]
            if silence_s > SILENCE_S and refused(runner.master_host, runner.master_port):
                break
            if silence_s > GIVEN_UP_S:
                break
        gone()

    gevent.signal_handler(signal.SIGINT, interrupted)
    runners.MASTER_HEARTBEAT_TIMEOUT = sys.maxsize  # Locust's own watch goes by a clock that may be set in mid-run
    runner.environment.events.heartbeat_received.add_listener(hear)
    gevent.spawn(guard)


def refused(host: str, port: int) -> bool:
    """Whether it is certain that nobody listens there: a process that was stopped or a broken way is no proof."""
    try:
        socket.create_connection((host, port), LOOK_S).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False
