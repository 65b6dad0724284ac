"""`GET /metrics` for Prometheus, served by the process that conducts, which sends nothing.

What the families are is said in `llmload.live.metrics`; here they only get their formats and their port. Nothing here
ends a run: a default port that is taken is a warning, and only one that was asked for is a refusal before the load.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import gevent
from gevent.pywsgi import WSGIServer
from locust.runners import MasterRunner
from prometheus_client import CollectorRegistry, Metric, make_wsgi_app
from prometheus_client.registry import Collector

from llmload.drive.feed import Feed
from llmload.drive.voice import Voice
from llmload.exits import Stop
from llmload.load import options

PATH = "/metrics"
LINGER_S = 20.0
"""Who scrapes less often than this misses the last values."""
SENDS = Stop(
    "--metrics-port: this process sends requests itself, and serving metrics would disturb them; add --processes 1, "
    "so that another one sends"
)


class Exporter:
    """One per process that conducts."""

    def __init__(self, runner: Any, given: Any, feed: Feed, voice: Voice) -> None:
        self.refusal: Stop | None = None
        """Why no run may begin."""
        self.address: tuple[str, int] | None = None
        """Where it listens, if it does."""
        self._feed = feed
        self._voice = voice
        self._scraped: list[float] = []
        """When the last scrapes were, two at the most."""
        registry = CollectorRegistry()
        registry.register(_Families(feed))
        self._app = make_wsgi_app(registry)
        try:
            self._listen(runner, options.metrics_port(given), str(given.metrics_host))
        except Stop as stop:
            self.refusal = stop

    def check(self) -> None:
        """Raises Stop(USAGE) if what was asked for cannot be had."""
        if self.refusal is not None:
            raise self.refusal

    def linger(self, enough: Callable[[], bool]) -> None:
        """At the end of a process that somebody scrapes: wait until they have the last values, or it is enough."""
        now = time.monotonic()
        if len(self._scraped) < 2:
            return
        every_s = self._scraped[1] - self._scraped[0]
        if now - self._scraped[1] > 3 * every_s + 1:  # nobody does any more
            return
        deadline = now + min(1.5 * every_s + 1, LINGER_S)
        while self._scraped[1] < now and time.monotonic() < deadline and not enough():
            gevent.sleep(0.05)
        gevent.sleep(0.1)  # the answer goes out

    def _listen(self, runner: Any, port: int | None, host: str) -> None:
        if port == 0:
            return
        if not isinstance(runner, MasterRunner):
            if port is not None:
                raise SENDS
            return
        server = WSGIServer(
            (host, options.METRICS_PORT if port is None else port), self._serve, log=None, error_log=None
        )
        try:
            server.start()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            where = f"{host}:{options.METRICS_PORT if port is None else port}"
            if port is not None:
                raise Stop(
                    f"--metrics-port: cannot listen on {where}: {why}; name another port, or 0 for no metrics"
                ) from error
            self._voice.say(
                f"no metrics for Prometheus: cannot listen on {where}: {why}; name another port by --metrics-port"
            )
            return
        self.address = (host, server.server_port)

    def _serve(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] != PATH:
            start("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
            return [f"nothing is here; the metrics are at {PATH}\n".encode()]
        head = environ["REQUEST_METHOD"] == "HEAD"
        answer: Iterable[bytes] = self._app({**environ, "REQUEST_METHOD": "GET"} if head else environ, start)
        self._scraped = [*self._scraped[-1:], time.monotonic()]
        return [] if head else answer


class _Families(Collector):
    """The families as prometheus_client wants them."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    def collect(self) -> Iterator[Metric]:
        for family in self._feed.families():
            metric = Metric(family.name.removesuffix("_total"), family.words, family.kind)
            for sample in family.samples:
                metric.add_sample(family.name + sample.suffix, dict(sample.labels), sample.value)
            yield metric
