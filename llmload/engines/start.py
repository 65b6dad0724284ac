"""Starts an engine in a process of its own, waits until it serves, and ends it whatever becomes of us.

An engine is a name, the command that serves it and the scenario that suits it: one entry of `ENGINES`. Knows nothing
of load or reports. Nothing is asked of an engine here but `GET /v1/models`.
"""

import contextlib
import http.client
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from llmload import plain, ports
from llmload.engines import llama
from llmload.exits import Exit, Stop

HOST = "127.0.0.1"

READY_S = 120.0
"""How long an engine may take to load."""


def nothing() -> None:
    """The check of an engine that needs nothing installed."""


@dataclass(frozen=True, slots=True)
class Engine:
    """How one kind of engine is started, and the shipped scenario that suits it."""

    title: str
    command: tuple[str, ...]
    """Arguments behind the interpreter; `--port N` is added."""
    scenario: str
    check: Callable[[], None] = nothing
    """Raises Stop if something that it needs is not installed."""


ENGINES: dict[str, Engine] = {
    "simulate": Engine(
        "an endpoint with known timing (llmload simulate)",
        (
            *("-m", "llmload", "simulate", "--model", "simulated"),
            # a mid-sized model on one GPU, as a user sees it: 24 slots, so that 32 in flight have to queue, a prefill
            # that shows in the first token of long prompts, and one request in fifty turned away
            *("--ttft-ms", "50", "--itl-ms", "9", "--distribution", "lognormal", "--spread", "0.12"),
            *("--prefill-tokens-per-s", "9000", "--slowdown", "0.012", "--slots", "24", "--failures", "429=0.02"),
        ),
        "demo",
    ),
    "llama": Engine(
        "llama.cpp with SmolLM2-135M, on the CPU",
        ("-m", "llmload.engines.llama"),
        "llama",
        llama.check,
    ),
}
"""Every engine that `llmload demo --engine` knows."""


@contextlib.contextmanager
def serving(engine: Engine, ready_s: float = READY_S) -> Iterator[str]:
    """Start the engine on a free port and yield the URL it serves; it has ended when the block is left.

    A leash (leash.py) ends it too if this process is killed. Raises Stop(UNMEASURABLE) with the engine's last words
    if it ends at once or does not serve within `ready_s` seconds.
    """
    engine.check()
    port = ports.free()
    command = [sys.executable, "-m", "llmload.engines.leash", sys.executable, *engine.command, "--port", str(port)]
    with tempfile.TemporaryFile() as log:
        holder = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            deadline = time.monotonic() + ready_s
            while not serves(port):
                if holder.poll() is not None or time.monotonic() > deadline:
                    raise Stop(not_serving(engine, holder.poll(), ready_s, words(log)), Exit.UNMEASURABLE)
                time.sleep(0.05)
            yield f"http://{HOST}:{port}"
        finally:
            assert holder.stdin is not None  # noqa: S101  (it is the pipe made above)
            holder.stdin.close()
            try:
                holder.wait(10)
            except subprocess.TimeoutExpired:  # pragma: no cover  (the leash kills after three seconds)
                holder.kill()
                holder.wait()


def serves(port: int) -> bool:
    """Whether the engine has loaded: its /health, if any, is no 503, and /v1/models is answered, if only with a 401."""
    return status(port, "/health") not in (None, 503) and (status(port, "/v1/models") or 500) < 500


def status(port: int, path: str) -> int | None:
    """The status of a page; None if there is no answer."""
    connection = http.client.HTTPConnection(HOST, port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def words(log: IO[bytes]) -> list[str]:
    """The last lines of what an engine wrote."""
    log.seek(0)
    return [plain.one_line(line) for line in log.read().decode(errors="replace").strip().splitlines()[-5:]]


def not_serving(engine: Engine, code: int | None, ready_s: float, last: list[str]) -> str:
    """The sentence for an engine that does not serve, with the end of what it wrote."""
    fate = f"did not serve within {ready_s:g} s" if code is None else f"ended at once with exit code {code}"
    return "\n  ".join([f"the engine ({engine.title}) {fate}; its last words:", *(last or ["(none)"])])
