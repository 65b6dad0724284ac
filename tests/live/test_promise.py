"""What users are promised, told to Prometheus: the bounds, and how often all of them were kept."""

import dataclasses
from pathlib import Path
from typing import Any

import orjson
import pytest

from llmload.live.metrics import families
from llmload.live.tally import Tally
from llmload.load.scenario import SLO, Scenario, WorkloadClass
from llmload.report import building
from tests.live.played import about, worker
from tests.live.test_tally import line
from tests.report.synthetic import believable, step

BOUNDS, GOOD = "llmload_slo_seconds", "llmload_requests_good_total"


def told(tally: Tally) -> dict[str, dict[tuple[str, ...], float]]:
    """The samples of both families, by their labels' values."""
    return {
        family.name: {tuple(sample.labels.values()): sample.value for sample in family.samples}
        for family in families(tally)
        if family.name in (BOUNDS, GOOD)
    }


def begun(scenario: Scenario) -> Tally:
    """A tally of a run of this scenario."""
    tally = Tally()
    tally.begin(dataclasses.replace(about(), scenario=scenario))
    tally.look([step(end=None)], [worker()])
    return tally


@pytest.mark.parametrize(
    ("slo", "record", "good"),
    [
        (SLO(ttft_ms=100), {"ttft": 100.0}, 1),
        (SLO(ttft_ms=100), {"ttft": 100.1}, 0),
        (SLO(ttft_ms=100), {"outcome": "rate_limited", "end": 5.0}, 0),
        (SLO(tpot_ms=15), {"gaps": (10.0, 20.0)}, 1),  # 30 ms for two tokens
        (SLO(tpot_ms=15), {"gaps": (10.0, 20.1)}, 0),
        (SLO(tpot_ms=15), {"gaps": ()}, 1),  # one token has no time per token …
        (SLO(itl_max_ms=15), {"gaps": ()}, 1),  # … and no gap
        (SLO(itl_max_ms=20), {"gaps": (10.0, 20.0)}, 1),
        (SLO(itl_max_ms=19), {"gaps": (20.0, 10.0)}, 0),
        (SLO(e2e_ms=130), {"gaps": (10.0, 20.0)}, 1),  # 100 + 30
        (SLO(e2e_ms=129), {"gaps": (10.0, 20.0)}, 0),
        (SLO(ttft_ms=100, e2e_ms=129), {"gaps": (10.0, 20.0)}, 0),  # all at once
    ],
)
def test_each_bound(slo: SLO, record: dict[str, Any], good: int) -> None:
    """A value that is the bound keeps it; a failure keeps none."""
    tally = begun(Scenario("synthetic", (WorkloadClass("short"),), slo=slo))
    tally.record(line(0, **record))
    assert told(tally)[GOOD] == {("short",): good}


def test_a_class_of_its_own_promise() -> None:
    """Its SLO stands for the scenario's, whole; seconds, by figure and class."""
    own = WorkloadClass("long", slo=SLO(e2e_ms=2500))
    tally = begun(Scenario("synthetic", (WorkloadClass("short"), own), slo=SLO(ttft_ms=50, itl_max_ms=200)))
    for seq, workload in enumerate(("short", "long", "long")):
        tally.record(line(seq, workload=workload, ttft=60.0))
    assert told(tally) == {
        BOUNDS: {("ttft", "short"): 0.05, ("itl_max", "short"): 0.2, ("e2e", "long"): 2.5},
        GOOD: {("short",): 0, ("long",): 2},
    }


def test_nothing_is_promised() -> None:
    """Both families are there and have no numbers: not 0 of something that is not counted."""
    tally = begun(Scenario("synthetic", (WorkloadClass("short"),)))
    tally.record(line(0))
    assert told(tally) == {BOUNDS: {}, GOOD: {}}


def test_it_is_the_reporters(tmp_path: Path) -> None:
    """Of a run with failures, three levels, three classes, one of them with a promise of its own."""
    folder = believable(tmp_path / "run", (1, 8, 32), window_s=12.0)
    path = folder / "run.json"
    run = orjson.loads(path.read_bytes())
    slo = {"ttft_ms": 90.0, "tpot_ms": 20.0, "e2e_ms": None, "itl_max_ms": 40.0}
    own = {"ttft_ms": None, "tpot_ms": None, "e2e_ms": 9000.0, "itl_max_ms": None}
    run["scenario"]["slo"] = slo
    next(item for item in run["scenario"]["classes"] if item["name"] == "long")["slo"] = own
    path.write_bytes(orjson.dumps(run))
    classes = tuple(WorkloadClass(n, slo=SLO(**own) if n == "long" else None) for n in ("short", "medium", "long"))
    tally = begun(Scenario("believable", classes, slo=SLO(**slo)))
    for row in (folder / "requests.jsonl").read_bytes().splitlines():
        if orjson.loads(row)["phase"] == "measure":
            tally.record(row)
    rows = [row for row in building.compute(folder).summary["rows"] if row["workload"] != "all"]
    good = {row["workload"]: 0.0 for row in rows}
    for row in rows:
        good[row["workload"]] += row["goodput_per_s"] * row["window_s"]
    assert all(0 < n < sum(row["ok"] for row in rows if row["workload"] == name) for name, n in good.items())
    assert told(tally)[GOOD] == {(name,): pytest.approx(n) for name, n in good.items()}
