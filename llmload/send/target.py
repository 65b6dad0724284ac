"""Where a URL leads: from what a person typed to the base URL that is used. Pure; knows no socket.

Servers are given with and without `/v1`, with a slash behind it, with the whole path of an endpoint, with a query,
without a scheme. Each form leads to one base URL, or is refused with a sentence. No form yields `/v1/v1`.
"""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from llmload.exits import Stop
from llmload.here import is_here

PORTS = {"http": 80, "https": 443}
ENDPOINTS = {"chat": "/chat/completions", "completions": "/completions"}
VERSION = re.compile(r"v\d+[a-z0-9]*", re.IGNORECASE)
"""A path segment such as v1, v2 or v1beta: a base URL that has one is complete."""


@dataclass(frozen=True, slots=True)
class Target:
    """A base URL in its parts. `path` is the base path without a slash at its end; `query` lacks its `?`."""

    scheme: str
    host: str
    port: int
    path: str
    query: str = ""

    @property
    def authority(self) -> str:
        """Host and port as they stand in a URL and in the Host header; the scheme's usual port is left out."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme and authority."""
        return f"{self.scheme}://{self.authority}"

    @property
    def plain_url(self) -> str:
        """The base URL without its query."""
        return self.origin + self.path

    @property
    def base_url(self) -> str:
        """The base URL with its query; `split` reads it back."""
        return self.plain_url + (f"?{self.query}" if self.query else "")

    @property
    def tls(self) -> bool:
        """True if the connection is encrypted."""
        return self.scheme == "https"

    @property
    def query_items(self) -> dict[str, str]:
        """The query as a dictionary, to be given to the SDK apart from the URL, which it would mangle."""
        return dict(parse_qsl(self.query, keep_blank_values=True))

    @property
    def loopback(self) -> bool:
        """True if the host is this machine by its name."""
        return is_here(self.host)

    def path_of(self, place: str) -> str:
        """Path and query of a place on the server.

        `place` is relative to the base URL ("models"), or, with a slash in front ("/metrics", "/tokenize"), to where
        the server's own pages lie: beside the base path's version segment.
        """
        base = self.path
        if place.startswith("/"):
            base = re.sub(r"/v\d+[a-z0-9]*$", "", base, flags=re.IGNORECASE)
        return f"{base}/{place.lstrip('/')}" + (f"?{self.query}" if self.query else "")


KEY = "the key belongs in the environment variable OPENAI_API_KEY"


def split(url: str, instead: str = KEY) -> Target:
    """A URL in its parts, path as given: a base URL that was resolved stays as it is.

    Raises Stop(USAGE) for what is no http(s) URL of a server, or holds a password; `instead` says what to do then.
    """
    given = url.strip()
    text = given if "://" in given else f"http://{given}"
    shown = re.sub(r"^(\w+://)?.*@", r"\1…@", given, flags=re.DOTALL)  # a password may stand before an @
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        why = f": {error}" if shown == given else ""
        raise Stop(f"{shown!r} is no URL{why}; expected something like http://127.0.0.1:8000/v1") from None
    if parts.scheme not in PORTS:
        raise Stop(f"{shown!r}: scheme {parts.scheme!r}; expected http or https")
    if not parts.hostname or re.search(r"[\s\\]", text):
        raise Stop(f"{shown!r} is no URL of a server; expected something like http://127.0.0.1:8000/v1")
    if "@" in parts.netloc:
        shown = f"{parts.scheme}://…@{parts.netloc.rpartition('@')[2]}{parts.path}"
        raise Stop(f"{shown}: credentials in the URL; {instead}")
    path = re.sub(r"/{2,}", "/", parts.path).rstrip("/")
    return Target(parts.scheme, parts.hostname, port or PORTS[parts.scheme], path, parts.query)


def proxy_at(url: str | None) -> Target | None:
    """The proxy that was asked for, if any. Raises Stop(USAGE). The environment's proxies are never used."""
    if url is None:
        return None
    there = split(url, "a proxy with a password cannot be used")
    if there.tls or there.path or there.query:
        raise Stop(f"proxy {url!r}: expected http://HOST:PORT")
    return there


def resolve(url: str) -> Target:
    """The target that a person means by `url`. Raises Stop(USAGE).

    An endpoint's path at the end is taken off and what is left is used as it is. Without one, `/v1` is added unless a
    segment of the path is a version already.
    """
    given = split(url)
    path = given.path
    for ending in ("/chat/completions", "/completions", "/models"):
        if path.endswith(ending):
            return Target(given.scheme, given.host, given.port, path.removesuffix(ending), given.query)
    if not any(VERSION.fullmatch(segment) for segment in path.split("/")):
        path += "/v1"
    return Target(given.scheme, given.host, given.port, path, given.query)
