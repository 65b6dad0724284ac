"""Locust, as `llmload run` starts it: a Ctrl-C in its first seconds ends it with a sentence, not amid an import.

Those seconds are Locust's imports and, in a worker, the wait for its master. From `init` on others listen to Ctrl-C.
"""

import contextlib
import gc
import os
import signal
from types import FrameType

from llmload.exits import Exit


def stopped(_number: int, _frame: FrameType | None) -> None:
    """The signal handler until then."""
    with contextlib.suppress(OSError):
        os.write(2, b"llmload: stopped before it began; nothing was sent\n")
    os._exit(Exit.INCOMPLETE)


def main() -> None:
    """Become Locust."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # who started this may have it ignored
        signal.signal(signal.SIGINT, stopped)
    gc.disable()  # what is imported stays: looking it through for garbage takes a tenth of these seconds
    from locust import events
    from locust.main import main as locust

    def up(**_: object) -> None:
        gc.enable()
        if signal.getsignal(signal.SIGINT) is stopped:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    events.init.add_listener(up)  # type: ignore[no-untyped-call]
    locust()  # type: ignore[no-untyped-call]  # Locust's has no types


if __name__ == "__main__":
    main()
