"""Requests put together from pieces."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.simulate import wire
from llmload.simulate.wire import BadRequest, Reader

FIXED = b"POST /v1/completions?a=b HTTP/1.1\r\nHost: x\r\nX-Request-ID: 7\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"POST /a/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"
PLAIN = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
OLD = b"GET /health HTTP/1.0\r\n\r\n"


def read(*pieces):
    """All requests that a reader finds in these pieces."""
    reader = Reader()
    return [request for piece in pieces for request in reader.feed(piece)]


def test_a_request():
    """Method, path without query, headers in lower case, body."""
    (request,) = read(FIXED)
    assert (request.method, request.path, request.body) == ("POST", "/v1/completions", b"hello")
    assert request.headers["x-request-id"] == "7"
    assert (request.keep_alive, request.chunked) == (True, True)


def test_versions_and_connections():
    """A close is heeded, and HTTP/1.0 gets neither chunks nor a kept connection."""
    (request,) = read(PLAIN)
    assert (request.path, request.keep_alive, request.chunked) == ("/", False, True)
    (request,) = read(OLD)
    assert (request.keep_alive, request.chunked) == (False, False)


@given(st.lists(st.integers(0, len(FIXED + CHUNKED + PLAIN)), max_size=12))
def test_torn_anywhere(cuts):
    """Three requests in a row are the same three, wherever the bytes are torn."""
    data = FIXED + CHUNKED + PLAIN
    edges = [0, *sorted(cuts), len(data)]
    pieces = [data[a:b] for a, b in itertools.pairwise(edges)]
    found = read(*pieces)
    assert [(request.method, request.path, request.body) for request in found] == [
        ("POST", "/v1/completions", b"hello"),
        ("POST", "/a", b"hello"),
        ("GET", "/", b""),
    ]


def test_byte_by_byte():
    """One byte at a time."""
    data = CHUNKED + FIXED
    assert [request.body for request in read(*(data[at : at + 1] for at in range(len(data))))] == [b"hello", b"hello"]


@pytest.mark.parametrize(
    "data", [b"\x16\x03\x01\x02\x00", b"hello\r\n\r\n", b"GET\r\n\r\n", b"POST / HTTP/9.9\r\n\r\n"]
)
def test_no_http(data):
    """A TLS hello, prose, and half a request line are refused with a reason."""
    with pytest.raises(BadRequest, match="no valid HTTP request"):
        read(data)


def test_too_long(monkeypatch):
    """A body over the limit is a 413, however it is framed."""
    monkeypatch.setattr(wire, "MAX_BODY", 4)
    for data in (FIXED, CHUNKED):
        with pytest.raises(BadRequest) as raised:
            read(data)
        assert raised.value.status == 413


def test_continue():
    """A client that waits for leave to send its body is noticed, until the body has come."""
    reader = Reader()
    assert reader.feed(FIXED[:-9].replace(b"Host: x", b"Expect: 100-continue") + b"\r\n\r\n") == []
    assert reader.expects_continue
    assert [request.body for request in reader.feed(b"hello")] == [b"hello"]
    assert not reader.expects_continue


def test_upgrade_is_declined():
    """A wish for another protocol is answered as a plain request, on a connection that is closed behind it."""
    (request,) = read(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
    assert (request.path, request.keep_alive) == ("/health", False)
