"""The simulator put together: which path is answered by what, who may ask, and the loop.

One thread. Imports neither Locust nor gevent, so that it shares nothing with what it is there to check.
"""

import hmac
import socket
import time
from collections.abc import Callable

import orjson

from llmload.simulate import metrics, pages, wire
from llmload.simulate.asked import Refused
from llmload.simulate.hub import Connection, Hub
from llmload.simulate.service import Service
from llmload.simulate.settings import Settings
from llmload.simulate.truth import TruthFile

Page = Callable[[], tuple[str, bytes]]
"""Gives content type and body."""

COMPLETIONS = {"/v1/chat/completions": True, "/v1/completions": False}
"""Path: whether it is a chat."""


class Server:
    """A listening simulator. `serve()` runs until `stop()`, which any thread or signal handler may call."""

    def __init__(
        self, settings: Settings, listener: socket.socket, truth: TruthFile, *, key: str | None = None
    ) -> None:
        """`listener` is from `hub.listen` and is closed at the end; `key` is the bearer token that requests need."""
        self._key = key
        self._name = listener.getsockname()
        self._hub = Hub(listener, self._take, self._gone)
        self._service = Service(settings, self._hub, truth, self._take)
        self._facts = pages.Facts(settings.model, settings.max_context, int(time.time()), settings.letters_per_token)
        self._own: dict[str, tuple[str, Page]] = {
            "/metrics": ("GET", self._metrics),
            "/_state": ("GET", self._state),
            "/_reset": ("POST", self._reset),
        }
        self._stopping = False

    @property
    def url(self) -> str:
        """Where it listens, without /v1."""
        host, port = self._name[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def stop(self) -> None:
        """Ask the loop to end."""
        self._stopping = True
        self._hub.wake()

    def serve(self) -> None:
        """Serve until stopped; then every open request gets its line of truth, and all sockets are closed."""
        service, hub = self._service, self._hub
        try:
            while not self._stopping:
                service.send_due()
                due = service.next_due()
                hub.look(None if due is None else max(0.0, due - time.monotonic()), service.send_due)
        finally:
            service.stop()
            hub.close()

    def _gone(self, connection: Connection) -> None:
        self._service.gone(connection)

    def _take(self, connection: Connection) -> None:
        """Answer what a connection has waiting, up to the first request that takes time."""
        while connection.pending and not connection.busy and self._hub.is_open(connection):
            request = connection.pending.popleft()
            connection.taken += 1
            chat = COMPLETIONS.get(request.path)
            if chat is None or request.method != "POST":
                self._page(connection, request)
            else:
                self._service.ask(connection, request, chat=chat, refused=self._unknown(request))

    def _page(self, connection: Connection, request: wire.Request) -> None:
        """Answer a request that takes no time."""
        status, kind, extra = 200, wire.JSON, ""
        try:
            kind, body = self._short(request)
        except Refused as refused:
            status, body = refused.status, orjson.dumps(refused.as_dict())
            extra = f"allow: {refused.param}\r\n" if status == 405 else ""
        keep_alive = request.keep_alive
        reply = wire.answer(status, body, content_type=kind, keep_alive=keep_alive, extra=extra)
        if request.method == "HEAD":
            reply = reply[: len(reply) - len(body)]
        self._hub.reply(connection, reply, keep_alive=keep_alive)

    def _short(self, request: wire.Request) -> tuple[str, bytes]:
        """Content type and body of a page. Raises Refused."""
        refused = self._unknown(request)
        if refused is not None:
            raise refused
        path = request.path
        method = self._method(path)
        if method is None:
            raise Refused(f"no such page: {path[:100]}", status=404, code="not_found")
        if request.method not in {method, "HEAD" if method == "GET" else method}:
            raise Refused(f"{path} takes {method}, not {request.method}", status=405, param=method)
        if path in self._own:
            return self._own[path][1]()
        return wire.JSON, orjson.dumps(pages.PAGES[path][1](self._facts, request.body))

    def _method(self, path: str) -> str | None:
        """The method that a path takes, None if there is no such path."""
        if path in COMPLETIONS:
            return "POST"
        entry = pages.PAGES.get(path) or self._own.get(path)
        return None if entry is None else entry[0]

    def _metrics(self) -> tuple[str, bytes]:
        return metrics.CONTENT_TYPE, self._service.metrics.page(self._service.now())

    def _state(self) -> tuple[str, bytes]:
        counts, now = self._service.occupancy.as_dict(time.monotonic()), self._service.now()
        state = {**counts, "running": now.running, "waiting": now.waiting, "at": time.time()}
        return wire.JSON, orjson.dumps(state)

    def _reset(self) -> tuple[str, bytes]:
        self._service.occupancy.reset(time.monotonic(), time.time())
        return self._state()

    def _unknown(self, request: wire.Request) -> Refused | None:
        """The refusal of a request that needs the key and lacks it."""
        if self._key is None or not (request.path.startswith("/v1/") or request.path == "/tokenize"):
            return None
        given = request.headers.get("authorization", "")
        if hmac.compare_digest(given.encode("latin-1", "replace"), f"Bearer {self._key}".encode()):
            return None
        return Refused("Incorrect or missing API key.", status=401, code="invalid_api_key")
