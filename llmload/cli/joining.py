"""How a worker finds its master: waits until somebody listens there, says so meanwhile, and gives up with a sentence.

Locust itself would try for five minutes without a word. Knows no Locust; a connection that was made is closed again.
"""

import socket
import time
from collections.abc import Callable

from llmload.exits import Exit, Stop

TRY_S = 1.0
"""How often it is tried."""
TELL_S = 10.0
"""How often the wait is told."""


def wait(host: str, port: int, limit_s: float, say: Callable[[str], None]) -> None:
    """Come back once somebody listens at the master's port. Raises Stop if nobody does within `limit_s`."""
    began = time.monotonic()
    told = began - TELL_S
    while (why := unreachable(host, port)) is not None:
        now = time.monotonic()
        if now - began >= limit_s:
            raise Stop(
                f"no master at {host}:{port} within {limit_s:g} s: {why}; start it there first, with: llmload run "
                "SCENARIO --host URL --master --master-bind-host 0.0.0.0 --expect-workers N (or mend --master-host)",
                Exit.INCOMPLETE,
            )
        if now - told >= TELL_S:
            say(f"no master at {host}:{port} yet ({why}); trying for {limit_s - (now - began):.0f} s more")
            told = now
        time.sleep(min(TRY_S, max(0.0, limit_s - (now - began))))
    say(f"somebody listens at {host}:{port}; joining")  # if it is no master, Locust finds out in a minute


def unreachable(host: str, port: int) -> str | None:
    """Why no connection can be made; None if one can. Raises Stop(USAGE) if there is no such host."""
    try:
        socket.create_connection((host, port), timeout=2.0).close()
    except socket.gaierror as error:
        raise Stop(f"--master-host: no such host: {host!r} ({error.strerror})") from error
    except TimeoutError:
        return "no answer: is the host up, and is there a firewall?"
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return None
