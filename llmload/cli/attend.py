"""Attends to a Locust process: starts it in a session of its own, shows its run, passes on Ctrl-C, sees it end.

The first Ctrl-C (or SIGTERM, or SIGHUP) becomes one SIGINT to the master, which ends the run and keeps everything; the
second kills the whole session at once, and so does a master that has not ended GRACE_S after the first. Imports no
Locust; what goes on is read from the run folder.
"""

import contextlib
import math
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.live import Live

from llmload.load.scenario import Scenario
from llmload.record import clock, runfolder
from llmload.watch import show
from llmload.watch.follow import Follower, View

LOG = runfolder.LOG

LOOK_S = 0.5
"""How often the terminal is redrawn."""

LINE_S = 5.0
"""How often a line is printed where there is no terminal."""

GRACE_S = 30.0
"""How long a child may take to end behind a first Ctrl-C: requests are cut, so little is left to wait for."""


class Interrupts:
    """Counts Ctrl-C, SIGTERM and SIGHUP while the block lasts, in place of what they do otherwise.

    A terminal that hangs up tells it once or twice, by itself and by its shell: that counts once, and not at all
    behind a Ctrl-C. Where it is to be ignored (`nohup`) it stays ignored.
    """

    def __init__(self) -> None:
        self.count = 0
        self.patience: int | None = None
        """How many are counted; one more is a KeyboardInterrupt. None: all are."""

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        """The signal handler."""
        if number == signal.SIGHUP and self.count:
            return
        self.count += 1
        if self.patience is not None and self.count > self.patience:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def counted(self) -> Iterator["Interrupts"]:
        """Install the handler, and the former ones again behind the block."""
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            numbers.append(signal.SIGHUP)
        former = {number: signal.signal(number, self) for number in numbers}
        try:
            yield self
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)


@contextlib.contextmanager
def ended_as_by_ctrl_c() -> Iterator[None]:
    """SIGTERM and SIGHUP are a KeyboardInterrupt while the block lasts, so that what it holds is let go in order."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    numbers = [signal.SIGTERM, signal.SIGHUP]
    former = {number: signal.signal(number, stop) for number in numbers if signal.getsignal(number) != signal.SIG_IGN}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def start(
    command: list[str], log: Path, environment: Mapping[str, str], *, brief: bool = False
) -> "subprocess.Popen[bytes]":
    """Start a command in a session of its own; what it logs goes to `log`, what it says to our standard output.

    If it is to be brief, what it says is in its log alone. It has no standard input: Locust would read keys from a
    terminal.
    """
    with log.open("ab") as file:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL if brief else None,
            stderr=file,
            start_new_session=True,
            env=dict(environment),
        )


def kill(child: "subprocess.Popen[bytes]") -> None:
    """End a child and all that it forked, at once."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def until_end(
    child: "subprocess.Popen[bytes]",
    interrupts: Interrupts,
    say: Callable[[str], None],
    look: Callable[[], None] = lambda: None,
) -> int:
    """Wait for the child, `look` meanwhile, and pass on interrupts; returns its exit code as Popen tells it."""
    passed = 0
    deadline = math.inf
    while True:
        try:
            return child.wait(LOOK_S / 2)
        except subprocess.TimeoutExpired:
            pass
        if interrupts.count > passed:
            passed = interrupts.count
            if passed > 1:
                say("ending at once; what was recorded so far stays")
                kill(child)
            else:
                say("stopping: requests in flight are cut and recorded, the report follows; once more ends at once")
                child.send_signal(signal.SIGINT)
                deadline = time.monotonic() + GRACE_S
        elif time.monotonic() > deadline:
            deadline = math.inf
            say(f"it has not ended within {GRACE_S:g} s: ending at once; what was recorded so far stays")
            kill(child)
        look()


class Display:
    """Shows a run once it has begun: redrawn in place on a terminal, else a line every few seconds.

    If it is to be brief, nothing of it is left on a terminal, not even a blank line.
    """

    def __init__(self, console: Console, folder: Path, scenario: Scenario, *, brief: bool = False) -> None:
        self.console = console
        self.brief = brief
        self.follower = Follower(folder, scenario)
        self.scenario = scenario
        self.live: Live | None = None
        self.last = 0.0
        self.view: View | None = None

    def say(self, words: str) -> None:
        """A sentence between the pictures."""
        self.console.print(words, style="yellow", highlight=False, markup=False)

    def look(self) -> None:
        """Look at the run folder, if it is time to."""
        now = time.monotonic()
        if now - self.last < (LOOK_S if self.console.is_terminal else LINE_S):
            return
        self.last = now
        self.draw()

    def draw(self) -> None:
        """Look at the run folder and show it; nothing before the first step has begun."""
        self.view = view = self.follower.look(clock.now())
        if not any(step.phase != "to come" for step in view.steps):
            self.last = 0.0 if self.console.is_terminal else self.last
            return
        if not self.console.is_terminal:
            if view.current is not None:
                self.console.print(show.line(view, self.scenario), highlight=False, markup=False, soft_wrap=True)
            return
        if self.live is None:
            if not self.brief:
                self.console.print()
            self.live = Live(console=self.console, auto_refresh=False, transient=True)
            self.live.start()
        self.live.update(show.picture(view, self.scenario), refresh=True)

    def close(self) -> None:
        """Take the picture off the terminal."""
        if self.live is not None:
            self.live.stop()
            self.live = None
