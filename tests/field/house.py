"""A server whose pace a test decides, request by request: the scripted endpoint of tests/send, with a rule for time.

`pace` is asked when a request has come; it says how long its first token takes, the gaps behind it, and how many
tokens there are. It runs in threads of the test's own process; what is measured runs in others.
"""

import contextlib
import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.send.endpoint import Handler, Script


@dataclass(frozen=True)
class Seen:
    """What the server knows when a request comes."""

    body: dict[str, Any]
    in_flight: int
    """Streams under way, this one included."""
    most_before: int
    """The most that ever were before."""


@dataclass(frozen=True)
class Pace:
    """Seconds to the first token, and between two of them."""

    first_s: float = 0.01
    gap_s: float = 0.003
    tokens: int = 4


@dataclass
class House(Script):
    """A script with a pace."""

    pace: Callable[[Seen], Pace] = lambda _: Pace()
    lock: threading.Lock = field(default_factory=threading.Lock)
    now: int = 0
    most: int = 0


class Paced(Handler):
    """Streams at the pace of its house."""

    script: House

    def stream(
        self, body: dict[str, Any], tokens: int, usage: dict[str, int], deltas: list[dict[str, Any]] | None = None
    ) -> None:
        """Tokens one by one, at the house's pace."""
        house = self.script
        with house.lock:
            house.now += 1
            pace = house.pace(Seen(body, house.now, house.most))
            house.most = max(house.most, house.now)
        try:
            self._events(pace, usage if house.usage and body.get("stream_options") else None)
        except OSError:
            self.close_connection = True
        finally:
            with house.lock:
                house.now -= 1

    def _events(self, pace: Pace, usage: dict[str, int] | None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        due = time.monotonic() + pace.first_s
        for number in range(pace.tokens):
            time.sleep(max(0.0, due - time.monotonic()))
            self._event([{"index": 0, "delta": {"content": f"w{number} "}, "finish_reason": None}])
            due += pace.gap_s
        self._event([{"index": 0, "delta": {}, "finish_reason": "length"}])
        if usage:
            self._event([], usage=usage | {"completion_tokens": pace.tokens})
        self.wfile.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")

    def _event(self, choices: list[Any], **more: Any) -> None:
        data = f"data: {json.dumps({'id': 'x', 'model': 'm', 'choices': choices, **more})}\n\n".encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


@contextlib.contextmanager
def open_house(house: House) -> Iterator[str]:
    """Serve it; yields the URL without /v1."""
    handler = type("Open", (Paced,), {"script": house})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
