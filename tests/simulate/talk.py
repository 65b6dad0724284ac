"""A plain client for the tests: one socket, and the standard library's parser of answers."""

import http.client
import json
import socket
import time
from collections.abc import Callable
from typing import Any

MESSAGES = [{"role": "user", "content": "hello world"}]


class Talk:
    """One connection to a simulator."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.sock = socket.create_connection(address, timeout=20)

    def __enter__(self) -> "Talk":
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()

    def send(self, path: str, body: Any = None, **headers: str) -> None:
        """Send a request: a GET without a body, else a POST of JSON."""
        self.sock.sendall(request(path, body, **headers))

    def receive(self) -> http.client.HTTPResponse:
        """The head of the next answer; read its body before asking again."""
        answer = http.client.HTTPResponse(self.sock, method="GET")
        answer.begin()
        return answer

    def ask(self, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Status and JSON of one answer."""
        self.send(path, body, **headers)
        answer = self.receive()
        return answer.status, json.loads(answer.read())

    def leave(self) -> None:
        """End the connection, also where an answer that is being read holds on to it."""
        self.sock.shutdown(socket.SHUT_RDWR)

    def ended(self) -> bool:
        """Whether the server closed the connection, once it has something to say."""
        return self.sock.recv(1) == b""


def request(path: str, body: Any = None, **headers: str) -> bytes:
    """The bytes of a request."""
    data = b"" if body is None else json.dumps(body).encode()
    lines = [f"{'GET' if body is None else 'POST'} {path} HTTP/1.1", "host: x"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if body is not None:
        lines.append(f"content-length: {len(data)}")
    return "\r\n".join([*lines, "", ""]).encode() + data


def chat(tokens: int = 3, **changes: Any) -> dict[str, Any]:
    """The body of a streaming chat request."""
    return {"model": "simulated", "messages": MESSAGES, "max_tokens": tokens, "stream": True, **changes}


def events(answer: http.client.HTTPResponse) -> list[Any]:
    """The data of all events of a stream: JSON, or the end mark as text."""
    found = []
    for block in answer.read().decode().split("\n\n"):
        if block:
            data = block.removeprefix("data: ")
            found.append(data if data == "[DONE]" else json.loads(data))
    return found


def said(found: list[Any]) -> list[str]:
    """The texts of token-bearing chat events."""
    deltas = [event["choices"][0]["delta"] for event in found if event != "[DONE]" and event["choices"]]
    return [delta["content"] for delta in deltas if delta.get("content")]


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.005)
