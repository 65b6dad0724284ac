"""Runs a piece of work in a process of its own: one that needs gevent, which would take the ends of runs started here.

What the work has to say comes through a pipe, a Stop too. The process ends with the one that started it.
"""

import contextlib
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from llmload.exits import Exit, Stop

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

ENDING_S = 3.0
"""How long the process may take to end: Ctrl-C has reached it as well, what else ends us has not."""


def run(work: "Callable[[Any, Connection[Any, Any]], None]", job: Any, stopped: str) -> None:
    """Do the work on the job there, and show what it tells. `stopped` is what is said behind a Ctrl-C. Raises Stop."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=work, args=(job, theirs))
    child.start()
    theirs.close()
    try:
        listen(ours)
    except KeyboardInterrupt:
        raise Stop(stopped, Exit.INCOMPLETE) from None
    finally:
        child.join(ENDING_S)
        if child.is_alive():
            child.kill()
            child.join()
        ours.close()


def listen(ours: "Connection[Any, Any]") -> None:
    """Show what the process tells until it has ended. Raises the Stop that it ended with."""
    shown = sys.stdout.isatty()
    while True:
        try:
            kind, *told = ours.recv()
        except EOFError:
            raise Stop("the process that asks the endpoints ended by itself", Exit.INCOMPLETE) from None
        if kind == "done":
            return
        if kind == "stop":
            raise Stop(told[0], Exit(told[1]))
        if kind == "say":
            sys.stdout.write(("\r\033[K" if shown else "") + f"{told[0]}\n")
        elif shown:
            sys.stdout.write(f"\r\033[K{told[0]}")
        sys.stdout.flush()


@contextlib.contextmanager
def telling(told: "Connection[Any, Any]") -> Iterator[None]:
    """In that process: tell how the block ends, and end with the parent."""
    threading.Thread(target=leave_with_parent, daemon=True).start()
    try:
        yield
        told.send(("done",))
    except Stop as stop:
        told.send(("stop", stop.message, int(stop.code)))
    except KeyboardInterrupt:
        told.send(("stop", "stopped while asking the endpoints", int(Exit.INCOMPLETE)))
    except BrokenPipeError:
        return  # nobody listens any more


def leave_with_parent() -> None:
    """End this process when the one that started it has gone: answers may be waited for for long."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(Exit.INCOMPLETE)
