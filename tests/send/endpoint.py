"""A server for preflight tests: an OpenAI-compatible endpoint whose refusals are scripted, in a thread of its own.

`Script` says what it takes and what it refuses, and counts what it was asked. Counts one token per four characters,
and five that its template adds.
"""

import contextlib
import http.server
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

TEMPLATE = 5
CHARS = 4


@dataclass
class Script:
    """What the server does, and what it saw."""

    models: list[dict[str, Any]] | None = field(default_factory=lambda: [{"id": "m"}])
    """None: GET /models is a 404."""
    refuses: tuple[str, ...] = ()
    """Members of the body that are refused with 400 …"""
    nameless: bool = False
    """… in words that do not name them."""
    context: int = 100_000
    key: str | None = None
    key_everywhere: bool = True
    """GET /models wants the key as well."""
    loading_s: float = 0.0
    """503 to completions for so long after the first request …"""
    health: bool = True
    """… and to /health, if it is there …"""
    loading_models: bool = False
    """… and to /models."""
    tokenize: str | None = None
    """`vllm`, `llama`, or None."""
    usage: bool = True
    burst: bool = False
    tokens: int = 8
    html: bool = False
    json_only: bool = False
    closes: bool = False
    """It closes the connection behind each stream, and announces keep-alive all the same."""
    served: str | None = None
    fails: list[int] = field(default_factory=list)
    """Statuses of the first completions …"""
    retry_after_ms: int | None = None
    """… and how long it asks to wait behind each."""
    at: list[float] = field(default_factory=list)
    """When completion requests came, on the monotonic clock."""
    posts: list[dict[str, Any]] = field(default_factory=list)
    """Bodies of completion requests …"""
    answers: list[int] = field(default_factory=list)
    """… and the status of each."""
    left: int = 0
    """Streams that the client left before their end."""
    authorizations: list[str | None] = field(default_factory=list)
    header: str = "scripted/1"
    """The `server` header."""
    began: float | None = None
    pages: dict[str, Any] = field(default_factory=dict)
    """What it tells of itself, by path: a text is sent as it is (HTML), a number is a status, None never answers …"""
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    """… and what was asked for, with the authorization that came along."""
    answer: Callable[[dict[str, Any]], list[dict[str, Any]] | int | None] | None = None
    """The deltas of an answer to this body, or a status; None is the usual answer."""
    finish: str = "length"

    @property
    def loading(self) -> bool:
        """Whether it is still loading."""
        if self.began is None:
            self.began = time.monotonic()
        return time.monotonic() - self.began < self.loading_s


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers as its script says."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    script: Script

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def version_string(self) -> str:
        """The `server` header."""
        return self.script.header

    def reply(self, status: int, value: Any, kind: str = "application/json", wait_ms: int | None = None) -> None:
        """A whole answer."""
        data = value.encode() if isinstance(value, str) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        if wait_ms is not None:
            self.send_header("Retry-After-Ms", str(wait_ms))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, status: int, words: str, wait_ms: int | None = None) -> None:
        """An error in OpenAI's form."""
        self.reply(status, {"error": {"message": words, "code": status}}, wait_ms=wait_ms)

    def allowed(self) -> bool:
        """Whether the key fits; answered with 401 and the key that came if not."""
        given = self.headers.get("Authorization")
        self.script.authorizations.append(given)
        if self.script.key is None or given == f"Bearer {self.script.key}":
            return True
        self.refuse(401, f"bad key: {given}")
        return False

    def do_GET(self) -> None:
        """The pages."""
        script = self.script
        if self.path not in ("/v1/models", "/health"):
            script.asked.append((self.path, self.headers.get("Authorization")))
        if self.path in script.pages:
            self.tell(script.pages[self.path])
        elif script.html:
            self.reply(200, "<!DOCTYPE html><html><body>Welcome to nginx</body></html>", "text/html")
        elif self.path == "/health" and script.health:
            self.reply(503 if script.loading else 200, {"status": "loading" if script.loading else "ok"})
        elif self.path == "/v1/models" and script.models is not None:
            if script.loading_models and script.loading:
                self.refuse(503, "Loading model")
            elif not script.key_everywhere or self.allowed():
                self.reply(200, {"object": "list", "data": script.models})
        else:
            self.reply(404, {"detail": "Not Found"})

    def tell(self, page: Any) -> None:
        """A page of its own."""
        if page is None:
            time.sleep(10)
        elif isinstance(page, int):
            self.send_response(page)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self.reply(200, page, "text/html" if isinstance(page, str) else "application/json")

    def do_POST(self) -> None:
        """Completions and the tokenizer."""
        script = self.script
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path in script.pages:
            script.asked.append((self.path, self.headers.get("Authorization")))
            self.tell(script.pages[self.path])
        elif self.path == "/tokenize" and script.tokenize:
            text = body.get("prompt" if script.tokenize == "vllm" else "content", "")
            tokens = list(range(max(len(text) // CHARS, bool(text))))
            self.reply(200, {"count": len(tokens)} if script.tokenize == "vllm" else {"tokens": tokens})
        elif self.path == "/v1/chat/completions" and not script.html:
            script.at.append(time.monotonic())
            script.posts.append(body)
            status = self.complete(body)
            script.answers.append(status)
        else:
            self.reply(404, {"detail": "Not Found"})

    def complete(self, body: dict[str, Any]) -> int:  # noqa: PLR0911  (one return for each kind of refusal)
        """A completion; returns its status."""
        script = self.script
        text = "".join(message["content"] for message in body["messages"])
        prompt = len(text) // CHARS + TEMPLATE
        limit = body.get("max_tokens") or body.get("max_completion_tokens") or 16
        refused = [name for name in script.refuses if name in body]
        served = [model["id"] for model in script.models or ()]
        if script.loading:
            self.refuse(503, "Loading model")
            return 503
        if not self.allowed():
            return 401
        if len(script.answers) < len(script.fails):
            status = script.fails[len(script.answers)]
            self.refuse(status, "not now", script.retry_after_ms)
            return status
        if served and body["model"] not in served and script.served is None:
            self.refuse(404, f"The model `{body['model']}` does not exist.")
            return 404
        if refused:
            self.refuse(400, "bad request" if script.nameless else f"unknown field {refused[0]}")
            return 400
        if prompt + limit > script.context:
            self.refuse(
                400,
                f"This model's maximum context length is {script.context} tokens. However, you requested "
                f"{prompt + limit} tokens. Please reduce max_tokens.",
            )
            return 400
        usage = {"prompt_tokens": prompt, "completion_tokens": min(limit, script.tokens)}
        if script.json_only:
            choice = {"index": 0, "message": {"role": "assistant", "content": "one"}, "finish_reason": "stop"}
            self.reply(200, {"choices": [choice], "usage": usage, "model": body["model"]})
            return 200
        deltas = None if script.answer is None else script.answer(body)
        if isinstance(deltas, int):
            self.refuse(deltas, "not here")
            return deltas
        self.stream(body, min(limit, script.tokens), usage, deltas)
        return 200

    def stream(
        self, body: dict[str, Any], tokens: int, usage: dict[str, int], deltas: list[dict[str, Any]] | None = None
    ) -> None:
        """Tokens one by one, 3 ms apart, or all in one write; or these deltas."""
        script = self.script
        model = script.served or body["model"]

        def event(choices: list[Any], **more: Any) -> bytes:
            chunk = {"id": "x", "object": "chat.completion.chunk", "model": model, "choices": choices, **more}
            data = f"data: {json.dumps(chunk)}\n\n".encode()
            return f"{len(data):x}\r\n".encode() + data + b"\r\n"

        deltas = [{"content": f"w{n} "} for n in range(tokens)] if deltas is None else deltas
        pieces = [event([{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
        pieces.append(event([{"index": 0, "delta": {}, "finish_reason": script.finish}]))
        if script.usage and body.get("stream_options"):
            pieces.append(event([], usage=usage))
        pieces.append(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for piece in [b"".join(pieces)] if script.burst else pieces:
                time.sleep(0.003)
                self.wfile.write(piece)
        except OSError:
            script.left += 1
            self.close_connection = True
        self.close_connection = self.close_connection or script.closes


@contextlib.contextmanager
def serving(script: Script, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve a script; yields the URL without /v1."""
    handler = type("Scripted", (Handler,), {"script": script})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
