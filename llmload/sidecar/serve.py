"""The sidecar's HTTP: /metrics, /health, and /pause and /resume by POST. Answers from what is kept, come what may.

Bounded: so many answers at once, each with a time limit; whoever comes besides is sent away.
"""

import errno
import io
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from prometheus_client.exposition import choose_encoder

from llmload.exits import Stop
from llmload.sidecar.page import Page
from llmload.sidecar.sampler import Sampler

AT_ONCE = 16
LIMIT_S = 5.0
"""So long a question may take to come, and so long its answer to be taken, however slowly they drip."""
POLL_S = 0.1
"""So long the end waits for it."""
PAUSE_MOST_S = 3600.0
HINT = "/metrics for Prometheus, /health, POST /pause?seconds=N, POST /resume"
PLAIN = "text/plain; charset=utf-8"
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

Answer = tuple[int, str, str | bytes]
"""Status, type, body."""


class Server(ThreadingHTTPServer):
    """Serves while its block runs, in a thread. Raises Stop if it cannot listen."""

    daemon_threads = True
    request_queue_size = AT_ONCE

    def __init__(self, host: str, port: int, sampler: Sampler, page: Page) -> None:
        self.sampler, self.page = sampler, page
        self._free = threading.BoundedSemaphore(AT_ONCE)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), Handler)
        except (OSError, TypeError) as error:  # TypeError: what Python says of a name that is none
            why = (getattr(error, "strerror", None) or "that is no name of a host").lower()
            another = "is another sidecar running? " if getattr(error, "errno", None) == errno.EADDRINUSE else ""
            at = f"{f'[{host}]' if ':' in host else host}:{port}"
            raise Stop(f"cannot listen on {at}: {why}; {another}name another place with --port and --host") from error

    def __enter__(self) -> Self:
        """Serve."""
        threading.Thread(target=self.serve_forever, args=(POLL_S,), name="pages", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Serve no more."""
        self.shutdown()
        self.server_close()

    def server_bind(self) -> None:
        """As usual, without asking a name server what this machine is called."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread of its own, if one is free."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            request.settimeout(LIMIT_S)
            request.sendall(BUSY)
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """One answer."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Somebody who left in the middle of an answer is no news."""


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server
    protocol_version = "HTTP/1.1"
    timeout = LIMIT_S
    server_version, sys_version = "llmload", ""

    def setup(self) -> None:
        """As usual, but what is read ends at a deadline."""
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(_Reading(self.connection))

    def do_GET(self) -> None:
        """A page."""
        self._do("GET")

    def do_HEAD(self) -> None:
        """A page without its body."""
        self._do("GET")

    def do_POST(self) -> None:
        """A wish."""
        self._do("POST")

    def __getattr__(self, name: str) -> Any:
        """Any other method is answered like one that fits nowhere."""
        if name.startswith("do_"):
            return lambda: self._do(name[3:])
        raise AttributeError(name)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Scrapes are not told on the terminal."""

    def _do(self, method: str) -> None:
        try:
            path = urlsplit(self.path).path
            if path not in PATHS:
                self._send((404, PLAIN, f"nothing is here; there are: {HINT}\n"))
            elif PATHS[path][0] != method:
                self._send((405, PLAIN, f"{path} takes {PATHS[path][0]} only\n"), Allow=PATHS[path][0])
            else:
                self._send(PATHS[path][1](self))
        except OSError:  # whoever asked has left
            self.close_connection = True
        except Exception as error:  # noqa: BLE001  (one bad answer must not be the last one)
            self._send((500, PLAIN, f"this answer failed: {type(error).__name__}: {error}\n"))

    def _send(self, answer: Answer, **headers: str) -> None:
        status, kind, text = answer
        body = text.encode() if isinstance(text, str) else text
        self.send_response(status)
        headers = {"Content-Type": kind, "Content-Length": str(len(body)), "Connection": "close", **headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        if self.command != "HEAD":
            self.wfile.write(body)


class _Reading(io.RawIOBase):
    """What comes over a connection within the limit; whoever has not asked by then never will."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._deadline = time.monotonic() + LIMIT_S

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._connection.settimeout(max(self._deadline - time.monotonic(), 0.001))
        try:
            return self._connection.recv_into(buffer)
        finally:
            self._connection.settimeout(LIMIT_S)


def _root(_: Handler) -> Answer:
    return 200, PLAIN, f"llmload sidecar: what the GPUs of this machine do\n{HINT}\n"


def _metrics(handler: Handler) -> Answer:
    encode, kind = choose_encoder(handler.headers.get("Accept", ""))
    return 200, kind, encode(handler.server.page.registry)


def _health(handler: Handler) -> Answer:
    sampler = handler.server.sampler
    if paused_s := sampler.paused_s():
        return 200, PLAIN, f"paused on purpose for another {paused_s:.0f} s\n"
    look, age_s = sampler.fresh(), sampler.age_s()
    if look is not None and age_s is not None:
        up = sum(gpu.up for gpu in look.gpus)
        return 200, PLAIN, f"{up} of {len(look.gpus)} GPUs answer, read {age_s:.1f} s ago\n"
    hanging_s, kept = sampler.hanging_s(), sampler.kept
    why = kept.fault or "the GPUs have not been read in time"
    if hanging_s > 1:
        why = f"the driver has not answered for {hanging_s:.0f} s"
    return 503, PLAIN, f"no values: {why}\n"


def _pause(handler: Handler) -> Answer:
    if refusal := _foreign(handler):
        return refusal
    text = parse_qs(urlsplit(handler.path).query).get("seconds", [""])[-1]
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= PAUSE_MOST_S:
        return 400, PLAIN, f"seconds={text}: expected a number above 0, at most {PAUSE_MOST_S:.0f}\n"
    handler.server.sampler.pause(seconds)
    return 200, PLAIN, f"paused for {seconds:g} s; POST /resume ends it sooner\n"


def _resume(handler: Handler) -> Answer:
    if refusal := _foreign(handler):
        return refusal
    handler.server.sampler.resume()
    return 200, PLAIN, "sampling again\n"


def _foreign(handler: Handler) -> Answer | None:
    """A refusal for web pages: a browser that is open on this machine must not stop a measurement."""
    if handler.headers.get("Origin") is None:
        return None
    return 403, PLAIN, "not from a web page\n"


PATHS: dict[str, tuple[str, Callable[[Handler], Answer]]] = {
    "/": ("GET", _root),
    "/metrics": ("GET", _metrics),
    "/health": ("GET", _health),
    "/pause": ("POST", _pause),
    "/resume": ("POST", _resume),
}
"""What there is, by which method."""
