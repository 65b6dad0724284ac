"""`GET /metrics` for Prometheus, served by the process that conducts, which sends nothing.

What the families are is said in `llmload.live.metrics`; here they only get their formats and their port. Nothing here
ends a run: a default port that is taken is a warning, and only one that was asked for is a refusal before the load.
"""

import math
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import gevent.socket
from gevent.pywsgi import WSGIServer
from prometheus_client import CollectorRegistry, Metric, make_wsgi_app
from prometheus_client.registry import Collector

from llmload.drive.feed import Feed
from llmload.drive.voice import Voice
from llmload.exits import Stop
from llmload.load import options

PATH = "/metrics"
LINGER_S = 20.0
"""Who scrapes less often than this misses the last values."""
SAID_S = 3.0
"""A wait that may be longer is told."""
SCRAPERS = 16
"""Of more than so many the others are served all the same, and not waited for."""
FRESH_S = 0.25
"""So long figures are good for everybody who scrapes while a run goes on."""
Answer = tuple[str, list[tuple[str, str]], bytes]
SENDS = Stop(
    "--metrics-port: this process sends requests itself, and serving metrics would disturb them; add --processes 1, "
    "so that another one sends"
)


class Exporter:
    """One per process that conducts; `sends` tells whether it also sends requests."""

    def __init__(self, given: Any, feed: Feed, voice: Voice, *, sends: bool) -> None:
        self.refusal: Stop | None = None
        """Why no run may begin."""
        self.address: tuple[str, int] | None = None
        """Where it listens, if it does."""
        self._feed = feed
        self._voice = voice
        self.scrapes: dict[tuple[str, str], Scrapes] = {}
        """By address and name of who scrapes."""
        self._kept: dict[Any, Answer] = {}
        """What was answered, by run, its state and by the format that was asked for."""
        self._made_at = -math.inf
        registry = CollectorRegistry()
        registry.register(Families(feed))
        self._app = make_wsgi_app(registry)
        try:
            self._listen(options.metrics_port(given), str(given.metrics_host), sends=sends)
        except Stop as stop:
            self.refusal = stop

    def check(self) -> None:
        """Raises Stop(USAGE) if what was asked for cannot be had."""
        if self.refusal is not None:
            raise self.refusal

    def linger(self, enough: Callable[[], bool]) -> None:
        """At the end of a process that somebody scrapes: wait until they have the last values, or it is enough."""
        ended = time.monotonic()
        waiting = {name: times for name, times in self.scrapes.items() if times.due(ended)}
        limit_s = min(max((1.5 * times.every_s + 1 for times in waiting.values()), default=0.0), LINGER_S)
        if limit_s > SAID_S:
            self._voice.say(f"waiting until Prometheus has the last values, at most {limit_s:.0f} s; Ctrl-C ends it")
        deadline = ended + limit_s
        while any(times.last < ended for times in waiting.values()) and time.monotonic() < deadline and not enough():
            gevent.sleep(0.05)
        if waiting:
            gevent.sleep(0.1)  # the answer goes out

    def _listen(self, port: int | None, host: str, *, sends: bool) -> None:
        if port == 0:
            return
        if sends:
            if port is not None:
                raise SENDS
            return
        at = options.METRICS_PORT if port is None else port
        try:
            server = WSGIServer(listener(host, at), self.serve, log=None, error_log=None)
            server.start()
        except OSError as error:
            why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
            where = f"{host}:{at}"
            if port is not None:
                raise Stop(
                    f"--metrics-port: cannot listen on {where}: {why}; name another port, or 0 for no metrics"
                ) from error
            self._voice.say(
                f"no metrics for Prometheus: cannot listen on {where}: {why}; name another port by --metrics-port"
            )
            return
        self.address = (host, server.server_port)

    def serve(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        """The WSGI application."""
        if environ["PATH_INFO"] != PATH:
            start("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
            return [f"nothing is here; the metrics are at {PATH}\n".encode()]
        if environ["REQUEST_METHOD"] not in {"GET", "HEAD"}:
            return self._app(environ, start)  # type: ignore[no-any-return]
        status, headers, body = self._answer(environ)
        start(status, headers)
        if environ["REQUEST_METHOD"] == "HEAD":
            return []
        who = (str(environ.get("REMOTE_ADDR")), str(environ.get("HTTP_USER_AGENT")))
        if who in self.scrapes or len(self.scrapes) < SCRAPERS:
            self.scrapes.setdefault(who, Scrapes()).note(time.monotonic())
        return [body]

    def _answer(self, environ: dict[str, Any]) -> Answer:
        """Made anew only if it is not fresh: many may scrape, and this process has workers to hear."""
        now = time.monotonic()
        if now - self._made_at > FRESH_S:
            self._kept, self._made_at = {}, now
        tally = self._feed.tally
        run = None if tally.about is None else tally.about.run
        how = (run, tally.state, environ.get("HTTP_ACCEPT"), environ.get("HTTP_ACCEPT_ENCODING"))
        if how not in self._kept:
            told: list[Any] = []
            # a query would make prometheus_client choose among families by names that it does not know
            asked = {**environ, "REQUEST_METHOD": "GET", "QUERY_STRING": ""}
            body = b"".join(self._app(asked, lambda *answered: told.extend(answered)))
            self._kept[how] = (told[0], told[1], body)
        return self._kept[how]


def listener(host: str, port: int) -> Any:
    """A socket that listens there; gevent's own way leaves one open where that fails. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as sock:
        return gevent.socket.socket(family, fileno=sock.detach())


@dataclass(slots=True)
class Scrapes:
    """When somebody scraped."""

    last: float = -math.inf
    every_s: float = math.inf

    def note(self, now: float) -> None:
        """They did, now."""
        self.last, self.every_s = now, now - self.last

    def due(self, now: float) -> bool:
        """Whether they do it again and again, and have not left."""
        return self.every_s <= LINGER_S and now - self.last <= 3 * self.every_s + 1


class Families(Collector):
    """The families as prometheus_client wants them."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    def collect(self) -> Iterator[Metric]:
        """All of them, as they are now."""
        for family in self._feed.families():
            metric = Metric(family.name.removesuffix("_total"), family.words, family.kind)
            for sample in family.samples:
                metric.add_sample(family.name + sample.suffix, dict(sample.labels), sample.value)
            yield metric
