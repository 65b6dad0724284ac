"""The sidecar's HTTP against those who ask badly, in this process."""

import contextlib
import socket
import time

import pytest

from llmload.sidecar import serve
from llmload.sidecar.page import Page
from llmload.sidecar.serve import Server
from tests.sidecar.scripted import Made, Scripted


def test_who_drips_a_question_loses_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then keeps no place: after the limit the connection is closed, and others are served."""
    monkeypatch.setattr(serve, "LIMIT_S", 0.3)
    monkeypatch.setattr(serve, "AT_ONCE", 1)
    sampler = Made(Scripted([]))
    with Server("127.0.0.1", 0, sampler, Page(sampler, "fake")) as server:
        at = ("127.0.0.1", server.server_port)
        with socket.create_connection(at, timeout=10) as slow:
            slow.sendall(b"GET /health HTTP/1.1\r\n")
            slow.setblocking(False)
            told = None
            for _ in range(400):
                with contextlib.suppress(OSError):
                    slow.sendall(b"x")
                with contextlib.suppress(BlockingIOError):
                    try:
                        told = slow.recv(1)
                    except ConnectionResetError:
                        told = b""
                    break
                time.sleep(0.05)
            assert told == b""
        with socket.create_connection(at, timeout=10) as other:
            other.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert other.recv(15) == b"HTTP/1.1 200 OK"
