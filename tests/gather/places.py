"""A place on loopback that answers HTTP as a test wants it, byte by byte if need be."""

import contextlib
import gzip
import socketserver
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PAGES = Path(__file__).parent / "pages"


def page(name: str) -> str:
    """A saved page."""
    return (PAGES / f"{name}.txt").read_text()


def answer(body: str | bytes = "", status: int = 200, **headers: str) -> bytes:
    """A whole answer with its length."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} Any", f"Content-Length: {len(data)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def packed(body: str) -> bytes:
    """A whole answer, packed."""
    return answer(gzip.compress(body.encode(), mtime=0), Content_Encoding="gzip")


@dataclass
class Asked:
    """A question that came."""

    method: str
    path: str
    headers: Mapping[str, str]


Answering = Callable[[Asked], bytes | Iterable[bytes]]


@dataclass
class Place:
    """A server whose `answering` may be changed while it runs."""

    url: str
    answering: Answering
    asked: list[Asked] = field(default_factory=list)


@contextlib.contextmanager
def place(answering: Answering, wrap: Callable[[Any], Any] = lambda link: link) -> Iterator[Place]:
    """A place, while it is there; `wrap` may put TLS over its connections."""

    class Handler(socketserver.StreamRequestHandler):
        def setup(self) -> None:
            self.request = wrap(self.request)
            super().setup()

        def finish(self) -> None:
            with contextlib.suppress(OSError):
                super().finish()
            self.request.close()

        def handle(self) -> None:
            head = [line.decode().strip() for line in iter(self.rfile.readline, b"\r\n") if line]
            if not head:
                return
            method, path, _ = head[0].split()
            asked = Asked(method, path, dict(line.split(": ", 1) for line in head[1:]))
            here.asked.append(asked)
            told = here.answering(asked)
            with contextlib.suppress(OSError):
                for piece in [told] if isinstance(told, bytes) else told:
                    self.wfile.write(piece)

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True
        block_on_close = False

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that goes is none of ours."""

    with Server(("127.0.0.1", 0), Handler) as server:
        here = Place(f"http://127.0.0.1:{server.server_address[1]}", answering)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield here
        finally:
            server.shutdown()
            thread.join()
