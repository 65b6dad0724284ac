"""All sources of a run together: the first look, pausing, the last look. Knows no protocol and no stdin."""

import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from llmload.gather.ask import Trust, shown
from llmload.gather.lines import Lines, Notes
from llmload.gather.looks import GpuPage, LogFile, ServerPage
from llmload.gather.prometheus import Prometheus
from llmload.gather.source import Look, Source
from llmload.record.samples import GPU, SERVER

LIMIT_LEAST_S, LIMIT_MOST_S = 1.0, 10.0
"""One look may take as long as the time between two, but no shorter and no longer than this."""
PAUSE_S = 120
"""For so long a sidecar is paused at a time: it goes on by itself should this process be killed."""
SLACK_S = 5.0
"""A name that does not resolve may take longer than the limit of a look; so much longer is waited."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to sample; llmload/gather/__main__.py says what each means."""

    folder: str
    anchor_s: float
    every_s: float = 1.0
    gpu: tuple[str, ...] = ()
    server: str | None = None
    server_asked: bool = True
    server_log: str | None = None
    prometheus: str | None = None
    selector: str | None = None
    ca: str | None = None
    insecure: bool = False


class Sampler:
    """The sources of one order."""

    def __init__(self, order: Order) -> None:
        self.notes = Notes()
        self._order = order
        self._gpu_lines = Lines(Path(order.folder) / GPU, self.notes)
        self._server_lines = Lines(Path(order.folder) / SERVER, self.notes)
        self._limit_s = min(max(LIMIT_LEAST_S, order.every_s), LIMIT_MOST_S)
        self._resumed = threading.Event()
        self._resumed.set()
        self._posting = threading.Lock()
        """Held while sidecars are told, so that no pause that is renewed comes behind the end of it."""
        trust = Trust(order.ca, order.insecure)
        self._gpus: list[tuple[Source, GpuPage]] = []
        for url, name in named(order.gpu).items():
            page = GpuPage(name, url, self._limit_s, trust, self.notes)
            self._gpus.append((self._source(name, page, self._gpu_lines), page))
        self._server: tuple[Source, ServerPage] | None = None
        if order.server is not None:
            name = shown(order.server, "/metrics")
            server = ServerPage(name, order.server, self._limit_s, trust, self.notes)
            self._server = self._source(name, server, self._server_lines, needed=order.server_asked), server
        self._log: tuple[Source, LogFile] | None = None
        if order.server_log is not None:
            path = Path(order.server_log)
            log = LogFile(path)
            self._log = self._source(path.name, log, self._server_lines), log
        self._prometheus: Prometheus | None = None
        if order.prometheus is not None:
            self._prometheus = Prometheus(order.prometheus, order.selector, order.anchor_s, trust, self.notes)
        self._all = [source for source, _ in (*self._gpus, *filter(None, (self._server, self._log)))]

    def _source(self, name: str, look: Look, lines: Lines, *, needed: bool = True) -> Source:
        order = self._order
        return Source(name, look, lines, self.notes, anchor_s=order.anchor_s, every_s=order.every_s, needed=needed)

    def begin(self) -> dict[str, object]:
        """Look at each source once, and go on looking; returns what was seen."""
        for source in self._all:
            source.start()
        prometheus = self._prometheus and self._prometheus.begin(self._limit_s + SLACK_S)
        until = time.perf_counter() + self._limit_s + SLACK_S
        for source in self._all:
            if not source.ready.wait(max(0.0, until - time.perf_counter())):
                source.error = f"no answer within {self._limit_s + SLACK_S:g} s"
        return {
            "gpu": [_of_page(source, page) for source, page in self._gpus],
            "server": None if self._server is None else _of_server(*self._server),
            "log": None if self._log is None else _of_log(*self._log),
            "prometheus": prometheus,
        }

    def pause(self) -> list[str]:
        """Look no more, and have sidecars pause; returns the sources that go on by themselves."""
        for source in self._all:
            source.pause()
        for source in self._all:
            source.tell_paused(paused=True)
        went_on = [source.source for source, page in self._gpus if not page.is_sidecar]
        went_on += self._post("pause", f"seconds={PAUSE_S}")
        if self._prometheus is not None:
            went_on.append(self._prometheus.source)
        if self._resumed.is_set():
            self._resumed.clear()
            threading.Thread(target=self._keep_paused, daemon=True).start()
        return went_on

    def _post(self, place: str, query: str = "") -> list[str]:
        """Tell all sidecars at once to pause or to resume; returns those that did not say yes."""
        sidecars = [(source.source, page) for source, page in self._gpus if page.is_sidecar]
        with ThreadPoolExecutor(max(1, len(sidecars))) as pool:
            said = list(pool.map(lambda sidecar: sidecar[1].post(place, query), sidecars))
        return [name for (name, _), yes in zip(sidecars, said, strict=True) if not yes]

    def _keep_paused(self) -> None:
        while not self._resumed.wait(PAUSE_S / 2):
            with self._posting:
                if not self._resumed.is_set():
                    self._post("pause", f"seconds={PAUSE_S}")

    def resume(self) -> None:
        """Go on looking."""
        if self._resumed.is_set():
            return
        with self._posting:
            self._resumed.set()
            deaf = self._post("resume")
        for name in deaf:
            self.notes.add(f"{name}: could not be told to go on; it does so by itself within {PAUSE_S} s")
        for source in self._all:
            source.tell_paused(paused=False)

    def end(self, fetch: tuple[float, float] | None = None) -> dict[str, object]:
        """It is over. With a time to fetch (Unix seconds): after one last look at each source, and what Prometheus has.

        Returns what there is to say.
        """
        self.resume()
        for source in self._all:
            source.over(last=fetch is not None)
        until = time.perf_counter() + 2 * self._limit_s + SLACK_S
        for source in self._all:
            source.join(max(0.0, until - time.perf_counter()))
            source.tell()
        there = [source for source in self._all if not source.is_absent]
        looks = {source.source: source.looks for source in there}
        failed = {source.source: source.failed for source in there}
        prometheus = None
        if self._prometheus is not None and fetch is not None:
            prometheus = self._prometheus.fetch(*fetch, self._gpu_lines)
            looks[self._prometheus.source] = self._prometheus.looks
            failed[self._prometheus.source] = self._prometheus.failed
        self._gpu_lines.close()
        self._server_lines.close()
        return {"looks": looks, "failed": failed, "notes": self.notes.all(), "prometheus": prometheus}


def named(urls: Iterable[str]) -> dict[str, str]:
    """What each page is called: two that differ in what is not shown of them get numbers."""
    names: dict[str, str] = {}
    for url in dict.fromkeys(urls):
        name = shown(url, "/metrics")
        same = sum(other.partition(" ")[0] == name for other in names.values())
        names[url] = f"{name} ({same + 1})" if same else name
    return names


def _of_page(source: Source, page: GpuPage) -> dict[str, object]:
    return {**_of(source), "kind": page.kind, "gpus": page.rows.names(), "clock_offset_ms": page.clock_offset_ms}


def _of_server(source: Source, page: ServerPage) -> dict[str, object]:
    return {**_of(source), "engine": page.engine, "names": page.names}


def _of_log(source: Source, log: LogFile) -> dict[str, object]:
    return {"source": source.source, "ok": log.problem is None, "error": log.problem}


def _of(source: Source) -> dict[str, object]:
    return {"source": source.source, "ok": source.error is None, "error": source.error}
