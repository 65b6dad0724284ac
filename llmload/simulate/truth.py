"""The truth file: one JSON line per completion request, with the wall-clock time of every send.

A line says what really happened, for a test to hold a client's record against: `event_at` are Unix seconds taken
right before each token-bearing write, `outcome` is `ok`, the kind of the injected failure, `refused` (the request
itself was wrong), `client_left` or `server_stopped`, and `expected` is the outcome that a client should record (null
where that is the client's own affair). No line holds a key or a header other than the request's name.
"""

from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import orjson

from llmload.exits import Exit, Stop


@dataclass(slots=True)
class Line:
    """One request, as the server saw it. `*_at` are Unix seconds."""

    request: int
    """0, 1, 2 … in the order in which requests were whole."""
    received_at: float
    connection: int
    on_connection: int
    """Requests of any kind on the connection before this one: 0 on a fresh one."""
    client_request: str | None = None
    """The client's own name for it: header `x-llmload-request`, else `x-request-id`."""
    id: str | None = None
    model: str | None = None
    head: str | None = None
    """The first 80 characters of the last user message, or of the prompt."""
    stream: bool | None = None
    status: int | None = None
    prompt_tokens: int | None = None
    output_tokens: int = 0
    finish_reason: str | None = None
    outcome: str = "ok"
    expected: str | None = "ok"
    client_left: bool = False
    started_at: float | None = None
    """Start of service: later than `received_at` if it waited for a slot."""
    first_event_at: float | None = None
    """The first SSE event of any kind."""
    event_at: list[float] = field(default_factory=list)
    late_ms: float = 0.0
    """The most by which a send came after it was due."""
    end_at: float | None = None
    """The answer's last byte was handed to the kernel, or the client was found to have left."""


class TruthFile:
    """Where the lines go; each is written at once and whole. Without a path they go nowhere."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        if path is not None:
            try:
                self._file = path.open("wb", buffering=0)
            except OSError as error:
                raise Stop(f"--truth {path}: cannot be written: {error.strerror}; name another file") from error

    def write(self, line: Line) -> None:
        """Write one line. Raises Stop if it cannot be written: a server without its truth is of no use."""
        if self._file is None:
            return
        data = orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
        try:
            while data:
                data = data[self._file.write(data) or 0 :]
        except OSError as error:
            message = f"--truth {self._path}: cannot be written any more: {error.strerror}; the simulator ends"
            raise Stop(message, Exit.FAILED) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
