"""Situations that only a whole run shows: the real command, real processes, a server that plays its part.

All runs are started together, since most of each is waiting; every test looks at one of them.
"""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from llmload.record.record import CUT_BY_DRAIN
from llmload.report import building, files, head
from tests.cli.commands import Ended, end, records, run_json, runs, start
from tests.drive.locusts import in_flight, locust
from tests.field.house import House, Pace, Seen, open_house
from tests.simulate import child

pytestmark = pytest.mark.timeout(600)  # whole runs: a machine may be slow, only a hang is a fault


def scenario(folder: Path, load: str, *classes: str) -> Path:
    """A scenario file; `load` replaces and adds lines of its [load] table."""
    path = folder / "field.toml"
    plan = "warmup_requests = 1\nwarmup_s = 0.1\nwindow_requests = 0\nwindow_cap_s = 30\ndrain_limit_s = 20\n"
    plan += "settle_s = 0.1\n"
    asked = {line.split("=")[0].strip() for line in load.splitlines()}
    plan = "".join(f"{line}\n" for line in plan.splitlines() if line.split("=")[0].strip() not in asked)
    tables = [f"[[class]]\n{text}\n" for text in classes]
    path.write_text("\n".join([f'name = "field"\n[load]\n{plan}{load}\n', *tables]))
    return path


SHORT = 'name = "short"\nsource = "builtin:short"\ninput_tokens = 40\nprompts = 5\n'
SLOW = SHORT.replace('"short"', '"slow"', 1) + 'max_tokens = 4\nweight = 1\nextra_body = { play = "slow" }'


def slow_ones(seen: Seen) -> Pace:
    """Two seconds for a request that asks for it."""
    return Pace(0.1, 0.1, 20) if seen.body.get("play") == "slow" else Pace()


def cold_levels(seen: Seen) -> Pace:
    """Three seconds longer for the first request at each new number in flight: no stall of this machine looks so."""
    return Pace(3.0 if seen.in_flight > max(seen.most_before, 1) else 0.01)


MIX = (SHORT + "max_tokens = 4\nweight = 60", SLOW)
ONE_SLOW = "steps = [3, 2]\nwindow_s = 0.6\nwindow_requests = 1\n"


@dataclass
class Under:
    """A run under way and where it is."""

    child: Any
    where: Path
    house: House | None = None
    """Its server, where that is in this process."""
    ended: Ended | None = None

    @property
    def folder(self) -> Path:
        """Its run folder, once it has ended."""
        if self.ended is None:
            self.ended = end(self.child)
        assert runs(self.where), self.ended.all
        return runs(self.where)[0]


@pytest.fixture(scope="module")
def under(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Under]]:
    """The runs, begun."""
    made: dict[str, Under] = {}
    truths = {name: tmp_path_factory.mktemp("truth") / f"{name}.jsonl" for name in ("split", "slots")}
    with ExitStack() as stack:
        split = stack.enter_context(
            child.running("--ttft-ms", "150", "--itl-ms", "25", "--truth", str(truths["split"]))
        )
        slots = stack.enter_context(
            child.running("--ttft-ms", "1", "--itl-ms", "50", "--slots", "4", "--truth", str(truths["slots"]))
        )
        houses = {
            "cold": House(pace=cold_levels, refuses=("stream_options",)),
            "awaited": House(pace=slow_ones),
            "cut": House(pace=slow_ones),
        }
        urls = {name: stack.enter_context(open_house(house)) for name, house in houses.items()}
        urls |= {"split": split.url, "slots": slots.url}
        plans: dict[str, tuple[str, ...]] = {
            "split": ("steps = [10]\nwindow_s = 1.5", SHORT + "max_tokens = 10"),
            "slots": ("steps = [8]\nwindow_s = 4\nwarmup_requests = 2", SHORT + "max_tokens = 11"),
            "cold": ("steps = [2, 3]\nwindow_s = 0.5\nwarmup_requests = 3", SHORT + "max_tokens = 4"),
            "awaited": (ONE_SLOW.replace("[3, 2]", "[3]"), *MIX),
            "cut": (ONE_SLOW + "drain_limit_s = 0.3\nsettle_s = 0.7", *MIX),
        }
        for name, (load, *classes) in plans.items():
            folder = tmp_path_factory.mktemp(name)
            if name in truths:
                (folder / "truth.jsonl").symlink_to(truths[name])
            words = ("--processes", "4") if name == "split" else ()
            file = scenario(folder, load, *classes)
            run = start("run", str(file), "--host", urls[name], *words, cwd=folder)
            made[name] = Under(run, folder, houses.get(name))
        try:
            yield made
        finally:
            for one in made.values():
                one.child.kill()
                one.child.communicate()


def truth(where: Path, step: dict[str, Any]) -> list[dict[str, Any]]:
    """The server's own lines on the requests of a step."""
    lines = [json.loads(line) for line in (where / "truth.jsonl").read_bytes().splitlines()]
    return [line for line in lines if step["started_at"] <= line["received_at"] <= step["ended_at"]]


def most_at_once(rows: list[dict[str, Any]]) -> int:
    """The most records in flight at one time."""
    spans = [{"received_at": row["sent_at"], "end_at": row["sent_at"] + row["end_ms"] / 1000} for row in rows]
    return in_flight(spans, min(span["received_at"] for span in spans) - 1, max(span["end_at"] for span in spans))[0]


def test_an_uneven_split(under: dict[str, Under]) -> None:
    """J14: ten in flight over four workers are 3, 3, 2 and 2, and the server sees a peak of ten and never more."""
    one = under["split"]
    (step,) = run_json(one.folder)["steps"]
    rows = records(one.folder)
    by_worker = {worker: [row for row in rows if row["worker"] == worker] for worker in {row["worker"] for row in rows}}
    assert sorted(most_at_once(mine) for mine in by_worker.values()) == [2, 2, 3, 3]
    assert in_flight(truth(one.where, step), step["started_at"], step["ended_at"])[0] == 10


def test_all_prompts_differ(under: dict[str, Under]) -> None:
    """H05, K01, J17: over four workers no two prompts begin alike, so that no cache can answer."""
    one = under["split"]
    (step,) = run_json(one.folder)["steps"]
    heads = [line["head"] for line in truth(one.where, step)]
    assert len(heads) > 40
    assert len(set(heads)) == len(heads)


def test_more_users_than_slots(under: dict[str, Under]) -> None:
    """K03: four slots of 501 ms, eight users: half wait 0 and half 500 ms, later all 500; 8 requests a second."""
    one = under["slots"]
    rows = sorted(records(one.folder), key=lambda row: row["sent_at"])
    first = sorted(row["ttft_ms"] for row in rows[:8])
    service = 501.0
    assert first[3] < 0.5 * service < first[4]
    measured = [row["ttft_ms"] for row in rows if row["phase"] == "measure" and row["outcome"] == "ok"]
    assert sorted(measured)[len(measured) // 2] == pytest.approx(service, rel=0.25)
    (row,) = (row for row in building.compute(one.folder).summary["rows"] if row["workload"] == "all")
    assert row["output_tokens_per_s"] / 11 == pytest.approx(8, rel=0.15)
    assert row["in_flight_mean"] > 7.2


def test_warm_up_of_each_step(under: dict[str, Under]) -> None:
    """K02, J15: what is slow or cold at each new number in flight falls into the warm-up, which is counted apart."""
    folder = under["cold"].folder
    rows = records(folder)
    summary = [row for row in building.compute(folder).summary["rows"] if row["workload"] == "all"]
    for step, n in ((0, 2), (1, 3)):
        mine = [row for row in rows if row["step"] == step]
        warm = [row for row in mine if row["phase"] == "warmup"]
        assert sum(row["ttft_ms"] >= 3000 for row in warm) == 1
        assert summary[step]["warmup"] == len(warm) >= 3 * n
        assert summary[step]["ttft_ms"]["ok"]["max"] < 2900
        assert not any(row["new_connection"] for row in mine if row["phase"] == "measure")
    assert sum(row["new_connection"] for row in rows if row["step"] == 0) == 2


def test_usage_refused(under: dict[str, Under]) -> None:
    """B08m: found before the clock; the run goes without, its tokens have a named source, nothing is sent twice."""
    folder, house = under["cold"].folder, under["cold"].house
    assert house is not None
    rows, run = records(folder), run_json(folder)
    assert run["preflight"]["stream_options_refused"]
    asked = [("stream_options" in post, status) for post, status in zip(house.posts, house.answers, strict=True)]
    before = len(asked) - len(rows)
    assert 1 <= before <= 3
    assert (True, 400) in asked[:before]
    assert not any(refused for refused, _ in asked[before:])
    texts = [post["messages"][0]["content"] for post in house.posts[before:]]
    assert len(set(texts)) == len(texts) == len(rows)
    assert {row["output_tokens_source"] for row in rows if row["outcome"] == "ok"} == {"events"}
    assert {row["attempts"] for row in rows} == {1}
    built = building.compute(folder)
    assert dict(head.settings(built.facts))["tokens counted by"] == (
        "nobody: one per event, an estimate; stream_options was refused"
    )
    assert "~" in files.FORMATS["markdown"](built)


def slow_and_rest(folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, Any]]:
    """Measured slow requests of the first step, all others of it, and the step."""
    step = run_json(folder)["steps"][0]
    rows = [row for row in records(folder) if row["step"] == 0]
    slow = [row for row in rows if row["workload"] == "slow" and row["phase"] == "measure"]
    return slow, [row for row in rows if row not in slow], step


def test_in_flight_at_the_end_is_awaited(under: dict[str, Under]) -> None:
    """J07: it lasts longer than its window: it is awaited in the drain while the others go on sending, and counts."""
    folder = under["awaited"].folder
    slow, rest, step = slow_and_rest(folder)
    last = max(row["sent_at"] + row["end_ms"] / 1000 for row in slow)
    assert last > step["window_ended_at"] + 0.5
    assert {row["outcome"] for row in slow} == {"ok"}
    drain = [row for row in rest if row["phase"] == "drain"]
    assert all(row["sent_at"] > step["window_ended_at"] - 0.1 for row in drain)
    late = [row for row in drain if last - 0.5 < row["sent_at"] < last]
    assert len(late) >= 5
    assert step["ended_at"] >= last
    (_, row, whole) = building.compute(folder).summary["rows"]
    assert (row["ok"], row["failed"]) == (len(slow), 0)
    assert whole["e2e_ms"]["ok"]["max"] > 1900
    assert whole["drain"] == len(drain)


def test_what_the_drain_limit_cuts_is_infinite(under: dict[str, Under]) -> None:
    """J07: cut by the limit it keeps its partial facts, counts as never finished, and is not dropped."""
    folder = under["cut"].folder
    slow, _, _ = slow_and_rest(folder)
    cut = [row for row in slow if row["outcome"] == "cancelled"]
    assert cut
    assert {row["error"] for row in cut} == {CUT_BY_DRAIN}
    assert all(row["ttft_ms"] is not None and row["gaps_ms"] for row in cut)
    rows = building.compute(folder).summary["rows"]
    row = next(row for row in rows if (row["step"], row["workload"]) == (0, "slow"))
    assert (row["started"], row["failed"], row["cancelled"]) == (len(slow), len(cut), 0)
    assert row["e2e_ms"]["all"]["p95"] == "inf"


def test_dead_work_between_steps(under: dict[str, Under]) -> None:
    """K05: behind a step that cut requests the tool waits, and the report says how many it abandoned."""
    folder = under["cut"].folder
    first, second = run_json(folder)["steps"]
    cut = sum(row["outcome"] == "cancelled" and row["step"] == 0 for row in records(folder))
    assert first["abandoned"] == cut > 0
    assert second["started_at"] - first["ended_at"] >= 0.7
    built = building.compute(folder)
    assert f"cut: {cut} at the end of 3 in flight" in dict(head.settings(built.facts))["between steps"]
    assert any("had not ended within the drain limit" in warning for warning in built.warnings)


BUSY = """
import time
import gevent
from locust import events
from llmload.drive.locustfile import Mix, Steps

def busy():
    while True:
        until = time.perf_counter() + 0.3
        while time.perf_counter() < until:
            pass
        gevent.sleep(0.2)

@events.init.add_listener
def begin(environment, **_):
    gevent.spawn(busy)
"""


def test_a_generator_kept_busy(tmp_path: Path) -> None:
    """I01, I05: 300 ms of every 500 are taken: events pile up and say so, and the step is marked as the generator's."""
    (tmp_path / "busy.py").write_text(BUSY)
    file = scenario(tmp_path, "steps = [20]\nwindow_s = 3", SHORT + "max_tokens = 20")
    with (
        child.running("--ttft-ms", "100", "--itl-ms", "25") as server,
        locust(tmp_path, "--scenario", str(file), "-H", server.url, file=tmp_path / "busy.py") as running,
    ):
        left = running.end()
    assert left.code == 0, left.words
    built = building.compute(left.folder)
    rows = [row for row in left.records if row["phase"] == "measure"]
    assert Counter(row["outcome"] for row in rows) == {"ok": len(rows)}
    assert sum(row["coalesced"] for row in rows) > len(rows)
    assert all(sum(gap == 0 for gap in row["gaps_ms"]) >= row["coalesced"] for row in rows)
    figures = built.summary["rows"][-1]["generator"]
    assert figures["bound"] is True
    assert figures["cpu_max"] > 0.2
    assert figures["loop_lag_p99_ms"] > 200
    assert figures["stamp_lag_p99_ms"] > 100
    assert built.verdict.word == "DEGRADED"
    assert "generator-bound" in " ".join(built.verdict.reasons)
    assert any("These figures say nothing about the server" in warning for warning in built.warnings)
    text = files.FORMATS["markdown"](built)
    assert "| 20‡ |" in text
    assert "CPU of the workers" in text
