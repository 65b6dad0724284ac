"""HTTP/1.1 as the simulator speaks it: bytes in, whole requests out; and the bytes of heads and short answers.

Parsing is httptools' (llhttp). Knows no socket and no clock.
"""

from dataclasses import dataclass, field
from http import HTTPStatus

import httptools

MAX_BODY = 64 * 1024 * 1024
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"
JSON = "application/json"
SSE = "text/event-stream; charset=utf-8"


@dataclass(slots=True)
class Request:
    """One request, whole. Header names are lower case; of a repeated header the last one counts."""

    method: str = ""
    target: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    keep_alive: bool = True
    chunked: bool = True
    """Whether the answer's body may be chunked (HTTP/1.1)."""

    @property
    def path(self) -> str:
        """The target without its query, and without a slash at the end."""
        return self.target.partition("?")[0].rstrip("/") or "/"


class BadRequest(Exception):
    """Bytes that are no HTTP request, or one that is too long; the connection is of no further use."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


class Reader:
    """Puts requests together from what a connection delivers, in whatever pieces it comes."""

    def __init__(self) -> None:
        self._parser: httptools.HttpRequestParser = httptools.HttpRequestParser(self)
        self._ready: list[Request] = []
        self._request = Request()
        self._body: list[bytes] = []
        self._size = 0
        self.expects_continue = False
        """A client waits for `100 Continue` before it sends its body; whoever answers it sets this back."""

    def feed(self, data: bytes) -> list[Request]:
        """The requests that these bytes complete. Raises BadRequest."""
        self._ready = []
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            for request in self._ready:  # what follows would be another protocol, which this server does not speak
                request.keep_alive = False
        except httptools.HttpParserError as error:
            cause = error.__context__
            if isinstance(cause, BadRequest):
                raise cause from None
            raise BadRequest(f"no valid HTTP request: {error}") from None
        return self._ready

    def close(self) -> None:
        """Let go of the parser, which holds on to this object."""
        del self._parser

    # What httptools calls.

    def on_message_begin(self) -> None:
        """A request begins."""
        self._request = Request()
        self._body = []
        self._size = 0

    def on_url(self, url: bytes) -> None:
        """A piece of the target."""
        self._request.target += url.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        self._request.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """The head is whole."""
        request = self._request
        request.method = self._parser.get_method().decode("latin-1")
        request.keep_alive = self._parser.should_keep_alive()
        request.chunked = self._parser.get_http_version() != "1.0"
        self.expects_continue = request.headers.get("expect", "").lower() == "100-continue"

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self._size += len(body)
        if self._size > MAX_BODY:
            raise BadRequest(f"the body is over {MAX_BODY} bytes", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        self._body.append(body)

    def on_message_complete(self) -> None:
        """The request is whole."""
        self.expects_continue = False
        self._request.body = b"".join(self._body)
        self._body = []
        self._ready.append(self._request)


def stream_head(*, keep_alive: bool, chunked: bool) -> bytes:
    """Head of an event stream; one that is not chunked ends with its connection."""
    return _head(200, SSE, "transfer-encoding: chunked\r\n" if chunked else "", keep_alive=keep_alive)


def answer(status: int, body: bytes, *, content_type: str = JSON, keep_alive: bool = True, extra: str = "") -> bytes:
    """A whole answer with a body of known length."""
    return _head(status, content_type, f"content-length: {len(body)}\r\n{extra}", keep_alive=keep_alive) + body


def _head(status: int, content_type: str, more: str, *, keep_alive: bool) -> bytes:
    """Status line and headers; `more` are further header lines, each with its end."""
    connection = "keep-alive" if keep_alive else "close"
    return (
        f"HTTP/1.1 {status} {phrase(status)}\r\nserver: llmload-simulate\r\ncontent-type: {content_type}\r\n"
        f"connection: {connection}\r\n{more}\r\n"
    ).encode("latin-1")


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def phrase(status: int) -> str:
    """The reason phrase of a status."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Overloaded" if status == 529 else "Error"
