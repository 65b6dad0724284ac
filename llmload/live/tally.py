"""The tally of a run: fed as it goes on, asked for the page's JSON (`snapshot`) and for the metrics (`metrics.py`).

Lines wait until there are many or a second is over, since numpy takes as long for one as for all. Rows of steps that
are over are the reporter's own and only pass through here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from llmload.live import batch as batches
from llmload.live.groups import Groups
from llmload.live.health import Worker, Workers
from llmload.live.history import History
from llmload.live.measured import NO_FAILURE, Recent
from llmload.live.sofar import SoFar
from llmload.live.totals import Totals
from llmload.load.plan import held_s
from llmload.load.scenario import Scenario

MANY = 256
"""Lines that wait at the most."""
MARKS = 1000
"""Steps that are marked at the most, the latest: by hand there may be any number."""
PHASES = (
    ("ended_at", "done"),
    ("window_ended_at", "drain"),
    ("window_started_at", "measure"),
    ("started_at", "warmup"),
)


@dataclass(frozen=True, slots=True)
class About:
    """What is known of a run when it begins."""

    run: str
    scenario: Scenario
    started_at: float
    target: str = ""
    model: str = ""
    version: str = ""


class Tally:
    """One per process that conducts; runs follow one another in it, and a run stays until the next begins."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.about: About | None = None
        self.state = "idle"
        self.verdict: str | None = None
        self.reasons: list[str] = []
        self.ended_at: float | None = None
        self.lost = 0
        self.rows: list[dict[str, Any]] = []
        self.steps: Sequence[dict[str, Any]] = ()
        self.workers = Workers()
        self.groups = Groups()
        self.totals = Totals(Scenario("", ()))
        self.history = History()
        self._lines: list[bytes] = []
        self._so_far: SoFar | None = None
        self._recent = Recent(0.0)
        self._last10s: dict[str, Any] = {}

    # What happens

    def starting(self) -> None:
        """A run was asked for, and is being prepared."""
        self.state, self.verdict, self.reasons = "starting", None, []

    def refused(self, sentence: str) -> None:
        """It could not begin."""
        self.state, self.reasons = "idle", [sentence]

    def begin(self, about: About) -> None:
        """It begins; all of the run before is forgotten."""
        self._clear()
        self.state, self.about = "running", about
        free = about.scenario.load.kind == "steps" and not about.scenario.load.steps
        self.groups = Groups(() if free else tuple(item.name for item in about.scenario.classes))
        self.totals = Totals(about.scenario)
        self._recent = Recent(about.started_at)

    def look(self, steps: Sequence[dict[str, Any]], workers: Sequence[Worker]) -> None:
        """The steps as in run.json (they may go on changing) and the workers that are there."""
        self.steps = steps
        self.workers.look(workers)
        if steps and (self._so_far is None or self._so_far.row is not steps[-1]):
            self._so_far = SoFar(steps[-1])
            self.fold()  # lines that waited may be of the new step already

    def record(self, line: bytes) -> None:
        """A new line of requests.jsonl."""
        self._lines.append(line)
        if len(self._lines) >= MANY:
            self.fold()

    def sample(self, line: bytes) -> None:
        """A new line of generator.jsonl."""
        row = batches.parsed(line)
        if row is not None:
            lags = np.array(row.get("loop_lag_ms") or (), dtype=np.float64)
            self.totals.loop_lag.add(lags, np.zeros(len(lags), dtype=np.int16))
            self.workers.sample(row, lags)
            self._recent.events(int(row.get("events") or 0))

    def end(self, verdict: str | None, reasons: Sequence[str], lost: int, at: float) -> None:
        """The run is over and accounted for. None: the report will judge it."""
        self.fold()
        self.workers.rest()
        self.state, self.verdict, self.reasons, self.lost, self.ended_at = "ended", verdict, list(reasons), lost, at

    def judged(self, verdict: str, reasons: Sequence[str]) -> None:
        """What the report says of the run that is over: it sees more than whoever conducted it."""
        if self.state == "ended":
            self.verdict, self.reasons = verdict, list(reasons)

    def fold(self) -> None:
        """Take in the lines that wait."""
        if not self._lines or self.about is None:
            return
        lines, self._lines = self._lines, []
        workers = self.workers
        batch = batches.read(lines, self.groups, workers.offsets_s, streaming=self.about.scenario.stream)
        if not len(batch):
            return
        self.totals.add(batch, self.groups.names)
        self._recent.add(batch, self.totals.stall_ms)
        if self._so_far is not None:
            self._so_far.add(batch, self.totals.stall_ms, workers.errors_s)

    def tick(self, now: float) -> None:
        """A second is over."""
        if self.about is None or self.state != "running":
            return
        self.fold()
        recent, seconds, events = self._recent.turn(now)
        self._last10s = {name: recent.block(code, seconds) for name, code in self._classes()}
        if events:  # the classes' tokens are known when a request has ended, those of all as they come
            self._last10s["all"]["output_tokens_per_s"] = events * self.totals.tokens_per_event / seconds
        row = self.steps[-1] if self.steps else {}
        point: dict[str, Any] = {
            "t": round(now, 3),
            "step": row.get("step"),
            "concurrency": row.get("concurrency"),
            "in_flight": self.workers.in_flight,
            "cpu_max": self.workers.cpu_max,
            "loop_lag_p99_ms": self.workers.loop_lag_p99_ms,
            "stamp_lag_ms": self.workers.stamp_lag_ms,
        }
        for word in self._failures():
            point[f"failures.{word}"] = rounded(recent.count(word) / seconds)
        for name, code in self._classes():
            block = self._last10s[name]
            for figure in ("ttft", "itl", "tpot", "e2e"):
                for percent in ("p50", "p95", "p99"):
                    point[f"{name}.{figure}_{percent}"] = rounded(block[f"{figure}_ms"][percent])
            point[f"{name}.tokens_per_s"] = rounded(block["output_tokens_per_s"])
            point[f"{name}.requests_per_s"] = rounded(block["requests_per_s"])
            point[f"{name}.failed_per_s"] = rounded(recent.failed(code) / seconds)
            point[f"{name}.stalls"] = rounded(block["stalls_per_1000_gaps"])
        self.history.add(point)

    # What is asked

    def snapshot(self, now: float, since: float | None = None) -> dict[str, Any]:
        """The JSON of the page; `since` leaves out the history up to that time."""
        self.fold()
        about, totals = self.about, self.totals
        words = totals.words()
        return {
            "run": about.run if about else None,
            "scenario": about.scenario.name if about else None,
            "kind": about.scenario.load.kind if about else None,
            "host": about.target or None if about else None,
            "model": about.model or None if about else None,
            "state": self.state,
            "verdict": self.verdict,
            "reasons": self.reasons,
            "now": now,
            "started_at": about.started_at if about else None,
            "ended_at": self.ended_at,
            "step": self._step(now),
            "users": self.workers.users,
            "in_flight": self.workers.in_flight,
            "workers": self.workers.shown(),
            "totals": {
                "started": max(self.workers.started, sum(words.values()) - words.get("not_sent", 0)),
                "ok": words.get("ok", 0),
                "failed": sum(n for word, n in words.items() if word not in NO_FAILURE),
                "cancelled": words.get("cancelled", 0),
                "not_sent": words.get("not_sent", 0),
                "lost": self.lost,
                "outcomes": words,
            },
            "classes": list(self.groups.names),
            "last10s": self._last10s,
            "step_so_far": self._step_so_far(now),
            "rows": self.rows,
            "history": self._columns(since),
            "held_s": held_s(about.scenario.load) if about and about.scenario.load.kind == "hand" else None,
            "marks": [mark(row) for row in self.steps[-MARKS:]],
        }

    def _classes(self) -> list[tuple[str, int | None]]:
        return [("all", None), *((name, code) for code, name in enumerate(self.groups.names))]

    def _failures(self) -> list[str]:
        return [word for word in self.totals.words() if word not in NO_FAILURE]

    def _step(self, now: float) -> dict[str, Any] | None:
        if self._so_far is None:
            return None
        row = self._so_far.row
        since, phase = next(((row[key], word) for key, word in PHASES if row.get(key) is not None), (None, "warmup"))
        return {
            "index": row["step"],
            "concurrency": row["concurrency"],
            "rate": row.get("rate"),
            "phase": phase,
            "phase_since": since,
            "window_s": self._so_far.window_s(now),
        }

    def _step_so_far(self, now: float) -> dict[str, Any] | None:
        step = self._so_far
        if step is None:
            return None
        sketched = {"sketched": step.measured.sketched}
        return {name: step.block(code, now) | sketched for name, code in self._classes()}

    def _columns(self, since: float | None) -> dict[str, Any]:
        """The history, turned: a list for each name. Classes and outcomes stand apart: a class may have any name."""
        points = self.history.since(since)

        def column(key: str) -> list[Any]:
            return [point.get(key) for point in points]

        found: dict[str, Any] = {name: column(name) for name in ALWAYS}
        found["classes"] = {
            block: {name: column(f"{block}.{name}") for name in OF_A_CLASS} for block, _ in self._classes()
        }
        found["outcomes"] = {word: column(f"failures.{word}") for word in self._failures()}
        return found


def mark(row: dict[str, Any]) -> dict[str, Any]:
    """Where a step began, and by hand, if it was left too early for a row, how long its window was open."""
    begin, end = row["window_started_at"], row["window_ended_at"]
    return {
        "t": row["started_at"],
        **{key: row.get(key) for key in ("step", "concurrency", "rate")},
        "left_after_s": (0.0 if begin is None else end - begin) if row.get("held") is False else None,
    }


ALWAYS = ("t", "step", "concurrency", "in_flight", "cpu_max", "loop_lag_p99_ms", "stamp_lag_ms")
OF_A_CLASS = (
    *(f"{figure}_{percent}" for figure in ("ttft", "itl", "tpot", "e2e") for percent in ("p50", "p95", "p99")),
    "tokens_per_s", "requests_per_s", "failed_per_s", "stalls",
)  # fmt: skip
"""The columns of the history. `stalls` are per 1,000 gaps, failures by outcome per second."""


def rounded(value: float | None) -> float | None:
    """To a microsecond: the page draws no more."""
    return None if value is None else round(value, 3)
