"""A server of the tests' own: raw sockets, answers byte for byte, its own clock beside everything it does.

It runs as a process of its own, so that nothing it does shares an interpreter with what is tested. The k-th request
gets the k-th answer of the script (the last one is repeated), and `Server.log` tells what it saw. An answer is a list
of steps and an end; the moments are milliseconds after the whole request was read.
"""

import argparse
import contextlib
import json
import re
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# ---- what a test writes ----------------------------------------------------------------------------------------

HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
END = "0\r\n\r\n"
MARK = "mark-######"
"""Stands, in an answer, for a mark such as mark-000123 that the request held."""


@dataclass
class Answer:
    """What is written, each as (at_ms, text), and how it ends: keep, close, reset or hang (the socket stays open)."""

    steps: list[tuple[float, str]] = field(default_factory=list)
    end: str = "keep"
    end_ms: float = 0.0
    unread: bool = False
    """Begin to answer when the head is there, without the body of the request."""


def data(*payloads: Any) -> str:
    """Events in one HTTP chunk; a string stands for itself, anything else becomes JSON."""
    texts = [payload if isinstance(payload, str) else json.dumps(payload) for payload in payloads]
    body = "".join(f"data: {text}\n\n" for text in texts)
    return f"{len(body.encode()):x}\r\n{body}\r\n"


def token(text: str, finish: str | None = None) -> dict[str, Any]:
    """A chat chunk."""
    choice = {"index": 0, "delta": {"content": text} if text else {}, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}


def usage(prompt: int, output: int) -> dict[str, Any]:
    """A usage chunk."""
    return {"id": "c1", "model": "m", "choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": output}}


def stream(tokens: int = 3, first_ms: float = 40, gap_ms: float = 20) -> Answer:
    """A plain stream: tokens at an even pace, then finish reason, usage, [DONE] and the end of the body at once."""
    steps = [(0.0, HEAD)] + [(first_ms + k * gap_ms, data(token(f"t{k} "))) for k in range(tokens)]
    steps.append((first_ms + tokens * gap_ms, data(token("", "stop"), usage(5, tokens), "[DONE]") + END))
    return Answer(steps)


def plain(status: str, body: str = "", headers: str = "", at_ms: float = 0.0) -> Answer:
    """An answer that is no stream."""
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body.encode())}\r\n{headers}\r\n"
    )
    return Answer([(at_ms, head + body)])


@dataclass
class Server:
    """A running server."""

    port: int
    scheme: str = "http"
    pid: int = 0

    @property
    def url(self) -> str:
        """Where it listens, with /v1."""
        return f"{self.scheme}://127.0.0.1:{self.port}/v1"

    def log(self) -> list[dict[str, Any]]:
        """What it saw: a row for each request, with `connection`, `at`, `head`, `body`, `writes`, `left_ms`."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as sock:
            sock.sendall(b"LOG\n")
            text = b"".join(iter(lambda: sock.recv(65536), b""))
        return list(json.loads(text))


@contextlib.contextmanager
def serving(*answers: Answer, certificate: Path | None = None, address: str = "127.0.0.1") -> Iterator[Server]:
    """Serve a script while the block runs."""
    script = json.dumps([answer.__dict__ for answer in answers])
    command = [sys.executable, __file__, "--address", address]
    if certificate is not None:
        command += ["--certificate", str(certificate)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(script)
        process.stdin.close()
        yield Server(int(process.stdout.readline()), "https" if certificate else "http", process.pid)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


# ---- the process -----------------------------------------------------------------------------------------------


class Play:
    """Plays a script to whoever connects."""

    def __init__(self, script: list[dict[str, Any]], context: ssl.SSLContext | None) -> None:
        self.script = script
        self.context = context
        self.rows: list[dict[str, Any]] = []
        self.lock = threading.Lock()
        self.connections = 0

    def serve(self, listener: socket.socket) -> None:
        """Accept for ever."""
        while True:
            sock, _ = listener.accept()
            threading.Thread(target=self.connection, args=(sock,), daemon=True).start()

    def connection(self, sock: socket.socket) -> None:
        """Answer the requests of one connection."""
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError, EOFError), sock:
            first = sock.recv(4, socket.MSG_PEEK)
            if first == b"LOG\n":
                sock.recv(4)
                with self.lock:
                    sock.sendall(json.dumps(self.rows).encode())
                return
            with self.lock:
                self.connections += 1
                number = self.connections
            if self.context is not None:
                sock = self.context.wrap_socket(sock, server_side=True)
            while self.answer(sock, number):
                pass

    def answer(self, sock: socket.socket, number: int) -> bool:
        """Read one request and play its answer; False when the connection is at its end."""
        buffer = b""
        while b"\r\n\r\n" not in buffer:
            buffer += more(sock)
        head, _, body = buffer.partition(b"\r\n\r\n")
        if head.startswith(b"CONNECT "):
            self.tunnel(sock, head)
            return False
        with self.lock:
            answer = self.script[min(len(self.rows), len(self.script) - 1)]
            row: dict[str, Any] = {"connection": number, "head": head.decode(), "writes": [], "left_ms": None}
            self.rows.append(row)
        length = next(
            (int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line), 0
        )
        while not answer["unread"] and len(body) < length:
            body += more(sock)
        row["at"] = start = time.perf_counter_ns()
        row["body"] = body.decode()
        found = re.search(r"mark-\d{6}", row["body"])
        row["mark"] = found[0] if found else MARK
        return self.play(sock, answer, row, start)

    def play(self, sock: socket.socket, answer: dict[str, Any], row: dict[str, Any], start: int) -> bool:
        """The steps of an answer, each at its time."""
        try:
            for at_ms, text in answer["steps"]:
                self.wait(sock, start, at_ms)
                row["writes"].append(time.perf_counter_ns())
                sock.sendall(text.replace(MARK, row["mark"]).encode())
            self.wait(sock, start, answer["end_ms"])
            if answer["end"] == "hang":
                self.wait(sock, start, 60_000)
        except OSError:
            row["left_ms"] = (time.perf_counter_ns() - start) / 1e6
            return False
        if answer["end"] == "reset":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return bool(answer["end"] == "keep")

    @staticmethod
    def wait(sock: socket.socket, start: int, at_ms: float) -> None:
        """Sleep until a moment; OSError as soon as the peer has left."""
        while (rest := at_ms / 1e3 - (time.perf_counter_ns() - start) / 1e9) > 0:
            sock.settimeout(min(rest, 0.02) or None)
            try:
                if not isinstance(sock, ssl.SSLSocket) and not sock.recv(1, socket.MSG_PEEK):
                    raise ConnectionResetError
                time.sleep(min(rest, 0.02))
            except TimeoutError:
                continue
            finally:
                sock.settimeout(None)

    def tunnel(self, sock: socket.socket, head: bytes) -> None:
        """Be a proxy: pass bytes both ways between a client and the place it named."""
        with self.lock:
            self.rows.append({"connection": self.connections, "head": head.decode(), "writes": [], "body": ""})
        host, _, port = head.split(b" ")[1].decode().rpartition(":")
        other = socket.create_connection((host, int(port)))
        sock.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        threading.Thread(target=pump, args=(other, sock), daemon=True).start()
        pump(sock, other)


def more(sock: socket.socket) -> bytes:
    """Bytes that arrive next; EOFError at the end."""
    if not (data := sock.recv(65536)):
        raise EOFError
    return data


def pump(source: socket.socket, sink: socket.socket) -> None:
    """Pass bytes on until one side ends."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_RDWR)


def main() -> None:
    """Read the script from standard input, say the port, serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--certificate")
    args = parser.parse_args()
    script = json.load(sys.stdin)
    context = None
    if args.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(args.certificate)
    family = socket.AF_INET6 if ":" in args.address else socket.AF_INET
    listener = socket.create_server((args.address, 0), family=family, backlog=1024)
    print(listener.getsockname()[1], flush=True)
    Play(script, context).serve(listener)


if __name__ == "__main__":
    main()
