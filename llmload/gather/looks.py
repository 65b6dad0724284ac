"""What can be looked at: a page about GPUs, an engine's page, a server's log. Each makes its part of a line."""

import time
from collections.abc import Callable
from pathlib import Path

from llmload.gather import engines, gpus
from llmload.gather.ask import Trust, ask, page, split
from llmload.gather.lines import Notes
from llmload.gather.log import Log
from llmload.gather.page import read
from llmload.gather.seen import Sample, Unread
from llmload.gather.source import Told
from llmload.plain import one_line

PATH = "/metrics"
Making = tuple[float, float, Callable[[float], Told]]


class Paged:
    """A page that is fetched and parsed; what broken lines it has is told once."""

    def __init__(self, name: str, url: str, limit_s: float, trust: Trust, notes: Notes) -> None:
        self._name = name
        self._url = url
        self._limit_s = limit_s
        self._trust = trust
        self._notes = notes
        self._is_told = False

    def ask(self) -> Making:
        """Fetch the page."""
        answer = page(split(self._url, PATH), self._limit_s, self._trust)
        return answer.begun, answer.ended, lambda at: self._told(answer.text, at)

    def _told(self, text: str, at: float) -> Told:
        raise NotImplementedError

    def _samples(self, text: str, is_wanted: Callable[[str], bool]) -> list[Sample]:
        found = read(text, is_wanted)
        if found.broken and not self._is_told:
            self._is_told = True
            number = len(found.broken)
            line = one_line(found.broken[0])[:80]
            self._notes.add(
                f"{self._name}: {number} line{'s' * (number > 1)} of its page left out, as no sample: {line}"
            )
        return found.samples


class GpuPage(Paged):
    """A page about GPUs."""

    def __init__(self, name: str, url: str, limit_s: float, trust: Trust, notes: Notes) -> None:
        super().__init__(name, url, limit_s, trust, notes)
        self.rows = gpus.Rows()
        self.kind: str | None = None
        self.clock_offset_ms: object = None
        """The clock of its machine less ours, as first told."""

    def _told(self, text: str, at: float) -> Told:
        seen = gpus.seen(self._samples(text, gpus.is_wanted))
        self.kind = seen.kind
        for remark in seen.remarks:
            self._notes.add(f"{self._name}: {remark}")
        told = self.rows.told(seen, at)
        if self.clock_offset_ms is None:
            self.clock_offset_ms = told["clock_offset_ms"]
        return told

    @property
    def is_sidecar(self) -> bool:
        """True if it is a `llmload sidecar`, which can be told to pause."""
        return self.kind == "llmload"

    def post(self, place: str, query: str = "") -> bool:
        """Tell a sidecar to pause or to resume; False if it did not say yes."""
        try:
            url = split(self._url, PATH)
            beside = url.path.rpartition("/")[0]
            answer = ask(url._replace(path=f"{beside}/{place}", query=query), self._limit_s, self._trust, "POST")
        except Unread:
            return False
        return answer.status in {200, 204}


class ServerPage(Paged):
    """The page of an engine."""

    def __init__(self, name: str, url: str, limit_s: float, trust: Trust, notes: Notes) -> None:
        super().__init__(name, url, limit_s, trust, notes)
        self.engine: str | None = None
        self.names: dict[str, str] = {}

    def _told(self, text: str, _at: float) -> Told:
        server = engines.seen(self._samples(text, engines.is_wanted))
        told: dict[str, object] = {"engine": server.engine, "values": server.values}
        if (server.engine, server.names) != (self.engine, self.names):
            self.engine, self.names = server.engine, server.names
            told["names"] = server.names
        return told


class LogFile:
    """The log of a server."""

    def __init__(self, path: Path) -> None:
        self._log = Log(path)
        self.problem = self._log.problem

    def ask(self) -> Making:
        """Read what was added to it."""
        begun = time.perf_counter()
        errors = self._log.look()
        return begun, time.perf_counter(), lambda _: {"values": {"log_errors": errors}}
