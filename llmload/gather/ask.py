"""One question by HTTP, under a limit of time for all of it: no proxy, no redirect, no cookie, a bounded answer.

A connection of its own for each question: nothing is left over from the last one that could be stale. Credentials in
a URL are sent (as Basic) and never shown. Knows nothing of what is asked.
"""

import base64
import contextlib
import functools
import http.client
import io
import socket
import ssl
import time
import zlib
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

import certifi

from llmload import __version__
from llmload.gather.seen import Unread
from llmload.plain import one_line

MOST = 32 * 2**20
"""Bytes that an answer may have, unpacked."""

PORTS = {"http": 80, "https": 443}


class TooLarge(Unread):
    """The answer is larger than is read here."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Whom to trust with https: a file of authorities (None: the machine's), or anybody."""

    ca: str | None = None
    insecure: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; `begun` and `ended` are readings of `time.perf_counter()` around question and answer."""

    status: int
    text: str
    begun: float
    ended: float


def split(url: str, path: str) -> SplitResult:
    """The parts of a URL; without a path of its own it gets this one. Raises Unread for what is no http(s) URL."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        usable = parts.scheme in PORTS and parts.hostname and parts.port != 0 and parts.netloc.isprintable()
    except ValueError:
        usable = False
    if not usable or " " in url:
        raise Unread("it is no URL of a server; expected something like http://gpu-host:9835/metrics")
    return parts._replace(path=path if parts.path in {"", "/"} else parts.path, fragment="")


def shown(url: str, path: str) -> str:
    """A URL for files and people: without credentials, and without the query, which may hold some."""
    try:
        parts = split(url, path)
    except Unread:
        return one_line(url.rpartition("@")[2].partition("?")[0])
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()


def page(url: SplitResult, limit_s: float, trust: Trust) -> Answer:
    """The answer to GET, which has to be a 200. Raises Unread."""
    answer = ask(url, limit_s, trust)
    if answer.status in {401, 403}:
        raise Unread(f"HTTP {answer.status}: it asks for credentials; llmload's key is never sent to a metrics page")
    if 300 <= answer.status < 400:
        raise Unread(
            f"HTTP {answer.status}: it sends on to another place, which is not followed; name that place itself"
        )
    if answer.status != 200:
        raise Unread(f"HTTP {answer.status}, expected 200")
    return answer


def ask(url: SplitResult, limit_s: float, trust: Trust, method: str = "GET") -> Answer:
    """The answer, whatever its status. Raises Unread if there is none within the limit."""
    deadline = time.perf_counter() + limit_s
    try:
        with contextlib.closing(_connect(url, limit_s, deadline, trust)) as link:
            begun = time.perf_counter()
            link.sendall(_question(url, method))
            response = http.client.HTTPResponse(_Link(link, deadline), method=method)  # type: ignore[arg-type]
            response.begin()
            body = response.read(MOST + 1)
            ended = time.perf_counter()
            packed = response.getheader("Content-Encoding", "")
            if len(body) > MOST:
                raise TooLarge(f"its answer is over {MOST >> 20} MiB")
            if response.length:
                raise Unread("its answer was cut off")
            _left(deadline)  # who was stopped meanwhile does not know when this was answered
            return Answer(response.status, _unpacked(body, packed).decode(errors="replace"), begun, ended)
    except TimeoutError:
        raise Unread(f"no whole answer within {limit_s:g} s") from None
    except ssl.SSLError as error:
        verify = getattr(error, "verify_message", "")
        raise Unread(f"TLS: {verify or (error.reason or str(error)).replace('_', ' ').lower()}") from None
    except http.client.IncompleteRead:
        raise Unread("its answer was cut off") from None
    except UnicodeError:
        raise Unread("its host's name is none") from None
    except (http.client.HTTPException, ValueError):  # ValueError: a chunk of a negative length
        raise Unread("its answer is no HTTP") from None
    except OSError as error:
        raise Unread((error.strerror or str(error) or type(error).__name__).lower()) from None


def _connect(url: SplitResult, limit_s: float, deadline: float, trust: Trust) -> socket.socket:
    host = url.hostname or ""
    link = socket.create_connection((host, url.port or PORTS[url.scheme]), timeout=limit_s)
    try:
        link.settimeout(_left(deadline))
        if url.scheme == "https":
            return _context(trust).wrap_socket(link, server_hostname=host)
    except BaseException:
        link.close()
        raise
    return link


@functools.cache
def _context(trust: Trust) -> ssl.SSLContext:
    """Built once: it takes tens of milliseconds."""
    made = ssl.create_default_context(cafile=trust.ca)
    if trust.insecure:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    elif trust.ca is None and not made.cert_store_stats()["x509_ca"]:
        made.load_verify_locations(cafile=certifi.where())
    return made


def _question(url: SplitResult, method: str) -> bytes:
    host = f"[{url.hostname}]" if ":" in (url.hostname or "") else url.hostname
    lines = [
        f"{method} {url.path}{'?' * bool(url.query)}{url.query} HTTP/1.1",
        f"Host: {host}" + (f":{url.port}" if url.port else ""),
        f"User-Agent: llmload/{__version__}",
        "Accept: text/plain;version=0.0.4,*/*;q=0.1",
        "Accept-Encoding: gzip",
        "Connection: close",
    ]
    if method == "POST":
        lines.append("Content-Length: 0")
    if url.username is not None:
        pair = f"{unquote(url.username)}:{unquote(url.password or '')}"
        lines.append(f"Authorization: Basic {base64.b64encode(pair.encode()).decode()}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _unpacked(body: bytes, encoding: str) -> bytes:
    if encoding in {"", "identity"}:
        return body
    if encoding != "gzip":
        raise Unread("its answer is packed in a way that was not asked for")
    unpack = zlib.decompressobj(31)
    try:
        plain = unpack.decompress(body, MOST + 1)
    except zlib.error:
        raise Unread("its answer is no gzip, although it says so") from None
    if len(plain) > MOST:
        raise TooLarge(f"its answer is over {MOST >> 20} MiB")
    if not unpack.eof:
        raise Unread("its answer was cut off")
    return plain


def _left(deadline: float) -> float:
    left = deadline - time.perf_counter()
    if left <= 0:
        raise TimeoutError
    return left


class _Link:
    """A connection whose reading as a whole ends at the deadline, however slowly the bytes come."""

    def __init__(self, link: socket.socket, deadline: float) -> None:
        self._link = link
        self._deadline = deadline

    def makefile(self, _mode: str) -> io.BufferedReader:
        """What HTTPResponse reads from."""
        return io.BufferedReader(_Reading(self._link, self._deadline))


class _Reading(io.RawIOBase):
    def __init__(self, link: socket.socket, deadline: float) -> None:
        self._link = link
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        self._link.settimeout(_left(self._deadline))
        return self._link.recv_into(buffer)  # type: ignore[arg-type]
