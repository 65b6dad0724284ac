"""One question by HTTP, over real sockets: whole answers, and each way in which an answer can be none."""

import gzip
import http.client
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from llmload.gather import ask
from llmload.gather.seen import Unread
from llmload.ports import free
from tests.gather.places import answer, packed, place

PLAIN = ask.Trust()


def fetch(url: str, limit_s: float = 5.0, trust: ask.Trust = PLAIN) -> str:
    """The text of a page."""
    return ask.page(ask.split(url, "/metrics"), limit_s, trust).text


@pytest.mark.parametrize(
    "told",
    [
        answer("a 1\n"),
        packed("a 1\n"),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na \r\n2\r\n1\n\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\na 1\n",
        [b"HTTP/1.1 200", b" OK\r\nContent-Length: 4\r\n", b"\r\na", b" 1\n"],
    ],
)
def test_an_answer_is_read_however_it_is_framed(told: bytes | list[bytes]) -> None:
    """By length, packed, in chunks, to the end of the connection, and in pieces."""
    with place(lambda _: told) as here:
        assert fetch(here.url) == "a 1\n"
        assert here.asked[0].path == "/metrics"
        assert here.asked[0].headers["Accept-Encoding"] == "gzip"
        assert "Authorization" not in here.asked[0].headers


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (answer("no", 500), "HTTP 500, expected 200"),
        (answer("no", 401), "HTTP 401: it asks for credentials; llmload's key is never sent to a metrics page"),
        (answer("", 302, Location="http://127.0.0.1:1/x"), "HTTP 302: it sends on to another place, which is not"),
        (b"SSH-2.0-x\r\n", "its answer is no HTTP"),
        (b"", "its answer is no HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na 1\n", "its answer was cut off"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\na ", "its answer was cut off"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\na 1\n", "its answer is no HTTP"),
        (answer(b"xyz", Content_Encoding="gzip"), "its answer is no gzip"),
        (answer(gzip.compress(b"a 1\n" * 99, mtime=0)[:-9], Content_Encoding="gzip"), "its answer was cut off"),
        (answer(b"xyz", Content_Encoding="br"), "packed in a way that was not asked for"),
    ],
)
def test_an_answer_that_is_none_says_why(told: bytes, words: str) -> None:
    """One question is asked, one sentence comes of it, and no redirect is followed."""
    with place(lambda _: told) as here:
        with pytest.raises(Unread, match=words):
            fetch(here.url)
        assert len(here.asked) == 1


def test_an_answer_is_bounded_packed_and_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A little that unpacks to very much costs no more than the bound."""
    monkeypatch.setattr(ask, "MOST", 2**20)
    for told in (answer(b"x" * (2**20 + 2)), packed("x" * 2**24)):
        with place(lambda _, told=told: told) as here, pytest.raises(ask.TooLarge, match="over 1 MiB"):
            fetch(here.url)


def test_the_limit_is_of_the_whole_answer() -> None:
    """Silence ends at the limit, and so does an answer of which a byte comes now and then."""

    def drip(piece: bytes) -> Iterator[bytes]:
        for _ in range(500):
            yield piece
            time.sleep(0.02)

    for piece in (b"", b"H", b"HTTP/1.1 200 OK\r\nA: "):
        sentence = r"no whole answer within 0\.2 s"
        with place(lambda _, piece=piece: drip(piece)) as here, pytest.raises(Unread, match=sentence):
            fetch(here.url, 0.2)


def test_who_stood_still_meanwhile_has_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was stopped before it read what was there does not know when that was said."""

    class Stopped(http.client.HTTPResponse):
        def read(self, amt: int | None = None) -> bytes:
            told = super().read(amt)
            time.sleep(0.4)
            return told

    monkeypatch.setattr(http.client, "HTTPResponse", Stopped)
    with place(lambda _: answer("a 1\n")) as here, pytest.raises(Unread, match=r"no whole answer within 0\.3 s"):
        fetch(here.url, 0.3)


def test_nobody_there() -> None:
    """A port that nobody listens on, and what is no URL."""
    with pytest.raises(Unread, match="connection refused"):
        fetch(f"http://127.0.0.1:{free()}")
    with pytest.raises(Unread, match="its host's name is none"):
        fetch("http://gpu..host/metrics")
    for url in ("ftp://host/metrics", "http://", "http://h:0/", "http://h:99999999/", "http://a b/"):
        with pytest.raises(Unread, match="it is no URL of a server; expected something like"):
            fetch(url)


def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at this machine's own page never goes round by a proxy."""
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free()}")
    monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{free()}")
    with place(lambda _: answer("a 1\n")) as here:
        assert fetch(here.url.removeprefix("http://") + "/m?x=1") == "a 1\n"
        assert here.asked[0].path == "/m?x=1"


def test_credentials_are_sent_and_never_shown() -> None:
    """User and password of a URL go into the one header, and no name of a source has them, nor a query."""
    with place(lambda _: answer("a 1\n")) as here:
        url = here.url.replace("//", "//me:p%40ss@") + "/metrics?token=abc"
        fetch(url)
        assert here.asked[0].headers["Authorization"] == "Basic bWU6cEBzcw=="
        assert ask.shown(url, "/") == here.url + "/metrics"
    assert ask.shown("http://me:secret@h:99999999/metrics?token=abc", "/") == "h:99999999/metrics"


def test_tls_is_verified(tmp_path: Path) -> None:
    """A server whose authority is not known is refused, unless it is named, or anybody is trusted."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with place(lambda _: answer("a 1\n"), lambda link: context.wrap_socket(link, server_side=True)) as here:
        url = here.url.replace("http:", "https:")
        with pytest.raises(Unread, match=r"TLS: .*certificate"):
            fetch(url)
        assert fetch(url, trust=ask.Trust(ca=str(tmp_path / "ca.pem"))) == "a 1\n"
        assert fetch(url, trust=ask.Trust(insecure=True)) == "a 1\n"
    with place(lambda _: answer("a 1\n")) as here, pytest.raises(Unread, match="TLS: "):
        fetch(here.url.replace("http:", "https:"))
