"""GPU samples of a run out of a Prometheus, asked for when the run is over: raw ones with their real times.

An instant query of a range selector gives the samples as they were scraped; `query_range` would make up its own. Asked
is in pieces of a minute, so that a run of hours needs no more memory than a short one, and one scrape beyond either
edge, so that a counter can be interpolated there. A query that fails is told, and never becomes a zero.
"""

import contextlib
import json
import math
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

import orjson

from llmload.gather import gpus
from llmload.gather.ask import TooLarge, Trust, ask, shown, split
from llmload.gather.lines import Lines, Notes
from llmload.gather.seen import Sample, Unread
from llmload.gather.series import interval_s, scrapes
from llmload.plain import one_line

NAMES = f"({'|'.join(gpus.PREFIXES)}).+"
PIECE_S = 60.0
SMALLEST_S = 3.0
"""A piece that is too large for Prometheus or for us is halved down to this."""
LIMIT_S = 30.0
"""How long one query may take."""
LONGEST_WAIT_S = 30.0
"""The scrape after the end is waited for, at most so long."""
USUAL_INTERVAL_S = 15.0
CLOCKS_APART_S = 1.0
MOST_FAILURES = 3
"""After so many failed queries in a row the rest is not asked for."""

NOT_PROMETHEUS = "its answer is none of a Prometheus"


class Prometheus:
    """One Prometheus and which of its GPU series are wanted."""

    def __init__(self, url: str, selector: str | None, anchor_s: float, trust: Trust, notes: Notes) -> None:
        self.source = shown(url, "/").rstrip("/")
        self.looks = 0
        self.failed = 0
        self._url = url
        self._matchers = (selector or "").strip().removeprefix("{").removesuffix("}").strip().strip(",")
        self._anchor_s = anchor_s
        self._trust = trust
        self._notes = notes
        self._queries: list[str] = []
        self._series = ""
        self._told: dict[str, Any] = {"source": self.source, "version": None, "clock_offset_ms": None, "gpus": []}

    @property
    def selector(self) -> str:
        """The series that are asked for."""
        matchers = f'__name__=~"{NAMES}",__name__!~".+_bucket"'
        return "{" + matchers + (f",{self._matchers}" if self._matchers else "") + "}"

    def begin(self, limit_s: float) -> dict[str, object]:
        """Is it there, which version, and does it have series of GPUs now? What `ready` says of it."""
        try:
            with contextlib.suppress(Unread):  # others speak its language, and not all of them tell this
                self._told["version"] = self._get("status/buildinfo", limit_s).get("version")
            self._told["clock_offset_ms"] = round(self._offset_s(limit_s) * 1e3, 3)
            known = gpus.Rows()
            for samples in _scrapes(self._query(self.selector, None, limit_s)).values():
                known.told(gpus.seen(samples), 0.0)
                self._series = self._series or _matching(samples[0])
            self._told["gpus"] = known.names()
            if not known.known:
                where = f" with {{{self._matchers}}}" if self._matchers else ""
                raise Unread(
                    f"it has no series of a GPU now{where}; expected llmload_gpu_…, DCGM_FI_… or nvidia_smi_…: does it "
                    "scrape the sidecar, and does --gpu-selector fit?"
                )
        except Unread as unread:
            return {**self._told, "ok": False, "error": str(unread)}
        return {**self._told, "ok": True, "error": None}

    def fetch(self, from_s: float, to_s: float, lines: Lines) -> dict[str, object]:
        """Write what it has of this time (Unix seconds, our clock); returns what run.json says of it."""
        rows: dict[str, gpus.Rows] = {}
        try:
            offset_s = self._offset_s(LIMIT_S)
        except Unread as unread:
            self.failed += 1
            self._notes.add(f"{self.source}: no samples of the GPUs: {unread}")
            return self._told
        if abs(offset_s) > CLOCKS_APART_S:
            self._notes.add(
                f"{self.source}: its clock is {offset_s:+.1f} s from this machine's; its samples were moved by that"
            )
        step_s = self._interval_s(to_s + offset_s)
        beyond_s = 1.5 * (step_s or USUAL_INTERVAL_S)
        for scraped in self._pieces(from_s - beyond_s, to_s + beyond_s, offset_s, beyond_s):
            made = []
            for (target, moment), samples in scraped.items():
                source = f"{self.source} {target}"
                made.append(self._line(source, moment - offset_s, samples, rows.setdefault(source, gpus.Rows())))
            lines.write(*made)
            self.looks += len(made)
        if not self.looks:
            self._notes.add(f"{self.source}: it has no samples of a GPU of the time of the run")
        return self._told | {
            "clock_offset_ms": round(offset_s * 1e3, 3),
            "scrape_interval_s": None if step_s is None else round(step_s, 3),
            "gpus": [name for known in rows.values() for name in known.names()],
            "queries": self._queries[:1],
            "pieces": len(self._queries),
        }

    def _line(self, source: str, at: float, samples: list[Sample], rows: gpus.Rows) -> dict[str, object]:
        line: dict[str, object] = {"at": at, "source": source}
        try:
            seen = gpus.seen(samples)
        except Unread as unread:
            return line | {"error": str(unread)}
        for remark in seen.remarks:
            self._notes.add(f"{source}: {remark}")
        return line | rows.told(seen, at)

    def _pieces(
        self, from_s: float, to_s: float, offset_s: float, settled_s: float
    ) -> Iterator[dict[tuple[str, float], list[Sample]]]:
        """The scrapes of each piece of this time.

        What has just been scraped may not be stored yet, so the last piece, from so long ago on, is waited for.
        """
        stored_s = self._anchor_s + time.perf_counter() - settled_s
        piece_s, at, in_a_row = PIECE_S, from_s, 0
        while at < to_s:
            until = min(to_s, at + piece_s)
            if at < stored_s < until:
                until = stored_s
            now_s = self._anchor_s + time.perf_counter()
            time.sleep(min(LONGEST_WAIT_S, max(0.0, until - now_s)))
            try:
                yield self._piece(at + offset_s, until + offset_s)
                in_a_row = 0
            except Unread as unread:
                if piece_s > SMALLEST_S and (isinstance(unread, TooLarge) or "too many samples" in str(unread)):
                    piece_s /= 2
                    continue
                self._fail(at, until, unread)
                in_a_row += 1
            if in_a_row == MOST_FAILURES:
                self._notes.add(f"{self.source}: {in_a_row} queries failed in a row; later samples were not asked for")
                return
            at = until

    def _piece(self, after: float, until: float) -> dict[tuple[str, float], list[Sample]]:
        # A millisecond more than the piece is asked for: the edges are cut here.
        query = f"{self.selector}[{round((until - after) * 1e3) + 1}ms]"
        scraped = _scrapes(self._query(query, until, LIMIT_S), after, until)
        self._queries.append(query)
        return scraped

    def _fail(self, at: float, until: float, why: Unread) -> None:
        self.failed += 1
        times = " to ".join(time.strftime("%H:%M:%S", time.gmtime(moment)) for moment in (at, until))
        self._notes.add(f"{self.source}: no samples of {times} UTC: {why}")

    def _interval_s(self, now: float) -> float | None:
        """How far apart its scrapes are, as seen in one series of the last minutes; None if that is not to be had."""
        with contextlib.suppress(Unread):
            for seconds in (30, 300) if self._series else ():
                found = _scrapes(self._query(f"{self._series}[{seconds}s]", now, LIMIT_S))
                if (step_s := interval_s([moment for _, moment in found])) is not None:
                    return step_s
        return None

    def _query(self, text: str, at: float | None, limit_s: float) -> list[Any]:
        asked = {"query": text} | ({} if at is None else {"time": f"{at:.3f}"})
        data = self._get("query", limit_s, asked)
        result = data.get("result")
        if not isinstance(result, list):
            raise Unread(NOT_PROMETHEUS)
        return result

    def _offset_s(self, limit_s: float) -> float:
        """Its clock less ours, from the quickest of three answers."""
        told = []
        for _ in range(3):
            begun = time.perf_counter()
            answer = self._query("time()", None, limit_s)
            ended = time.perf_counter()
            try:
                theirs = float(answer[1])
            except (IndexError, TypeError, ValueError):
                raise Unread(NOT_PROMETHEUS) from None
            told.append((ended - begun, theirs - self._anchor_s - (begun + ended) / 2))
        return min(told)[1]

    def _get(self, what: str, limit_s: float, asked: Mapping[str, str] | None = None) -> Mapping[str, Any]:
        base = split(self._url, "/")
        url = base._replace(path=f"{base.path.rstrip('/')}/api/v1/{what}", query=urlencode(asked or {}))
        answer = ask(url, limit_s, self._trust)
        try:
            told = orjson.loads(answer.text)
            if told["status"] == "success":
                return dict(told["data"])
            said = one_line(str(told["error"]))[:300]
        except (ValueError, TypeError, LookupError):
            raise Unread(f"HTTP {answer.status}: {NOT_PROMETHEUS}") from None
        raise Unread(f"it refused the query: {said}")


def _scrapes(
    result: list[Any], after: float = -math.inf, until: float = math.inf
) -> dict[tuple[str, float], list[Sample]]:
    try:
        return scrapes(result, after, until)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise Unread(NOT_PROMETHEUS) from None


def _matching(sample: Sample) -> str:
    """A selector of this very series."""
    return sample.name + "{" + ",".join(f"{key}={json.dumps(value)}" for key, value in sample.labels.items()) + "}"
