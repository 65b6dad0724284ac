"""A made-up run played into a tally as a conductor would: records at their ends, a beat each second, growing rows."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

from llmload.live.health import Worker
from llmload.live.tally import About, Tally
from llmload.load.scenario import SLO, Scenario, WorkloadClass
from tests.report.synthetic import START

TIMES = ("window_started_at", "window_ended_at", "ended_at")


def about(*names: str, **more: Any) -> About:
    """A run of these classes."""
    scenario = Scenario("synthetic", tuple(WorkloadClass(name) for name in names or ("short",)), **more)
    return About("a-run", scenario, START)


def worker(name: str = "w1", **more: Any) -> Worker:
    """A worker that stands still."""
    return Worker(
        **{"worker": name, "host": "bench-1", "users": 1, "in_flight": 1, "started": 0, "silent_s": 0.1, **more}
    )


def rows_at(rows: list[dict[str, Any]], now: float) -> Iterator[dict[str, Any]]:
    """The rows of run.json as they stood at a moment."""
    for row in rows:
        if row["started_at"] <= now:
            yield {**row, **{name: None for name in TIMES if (row[name] or 0) > now}}


def play(folder: Path, tally: Tally, told: Callable[[dict[str, Any], float], None]) -> None:
    """Play a run folder; `told` hears of each step when all its records have come and the next one is to begin."""
    run = orjson.loads((folder / "run.json").read_bytes())
    records = [orjson.loads(line) for line in (folder / "requests.jsonl").read_bytes().splitlines()]
    things = sorted(
        [(row["sent_at"] + row["end_ms"] / 1000, row) for row in records]
        + [(START + second, None) for second in range(int(run["ended_at"] - START) + 2)],
        key=lambda thing: thing[0],
    )
    tally.begin(about("short", "medium", "long", slo=SLO(ttft_ms=1000.0)))
    growing: list[dict[str, Any]] = []
    for now, row in things:
        for current in rows_at(run["steps"], now):
            if current["step"] >= len(growing):
                if growing:
                    told(growing[-1], now)
                growing.append(current)
            growing[current["step"]].update(current)
        tally.look(growing, [worker("w1"), worker("w2")])
        if row is not None:
            tally.record(orjson.dumps(row))
        else:
            tally.tick(now)
    told(growing[-1], now)
