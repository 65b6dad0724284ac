"""The boards as they are checked in: made from code, of Grafana's own types, by rules that find what they look for."""

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.build.__main__ import BOARDS, text
from llmload.live.metrics import families
from llmload.live.tally import Tally
from llmload.load.scenario import SLO, Load
from llmload.record import samples
from tests.dashboards import boards, lint
from tests.live.played import about, worker
from tests.report.synthetic import record, step

GRAFANA = boards.FOLDER.parent
RECORDING = Path(__file__).parents[2] / "dashboards" / "prometheus" / "rules" / "recording.yml"
Board = dict[str, Any]


@pytest.fixture(params=sorted(BOARDS))
def board(request: pytest.FixtureRequest) -> Board:
    """Each board."""
    return boards.read(str(request.param))


ENDS = {"histogram": ("_bucket", "_count", "_sum")}


def exported() -> set[str]:
    """Every name that Prometheus may have of us, of itself, or of an engine."""
    found = {"up", "scrape_duration_seconds", "ALERTS"}
    for load in (Load(), Load(kind="rate", rates=(2.0,))):
        tally = Tally()
        tally.begin(about("short", slo=SLO(ttft_ms=50.0), load=load))
        tally.look([step(end=None) | {"rate": 2.0, "concurrency": 1}], [worker(clock_offset_ms=1.0)])
        tally.record(orjson.dumps(record(0)))
        found |= {f"{f.name}{end}" for f in families(tally) for end in ENDS.get(f.kind, ("",))}
    found |= {samples.name_of(samples.GPU_PREFIX, field) for field in samples.GPU_FIELDS}
    found |= {samples.name_of(samples.HOST_PREFIX, field) for field in samples.HOST_FIELDS}
    own = ("info", "up", "collect_success", "collect_timestamp_seconds", "collect_age_seconds", "paused",
           "collect_duration_seconds_bucket", "collections_total", "backend_calls_total", "nvml_errors_total",
           "amdsmi_errors_total")  # fmt: skip
    found |= {f"{samples.GPU_PREFIX}{name}" for name in own}
    text = RECORDING.read_text()
    rules = [rule for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]
    engines = re.findall(r"(?:vllm|sglang|llamacpp):\w+|tgi_\w+", text)
    return found | {rule["record"] for rule in rules} | set(engines)


def test_what_spoils_a_measurement_is_the_same_everywhere() -> None:
    """Boards and alerts name the reasons that the report warns of."""
    found = {name: text(name) for name in BOARDS} | {"alerts": RECORDING.with_name("alerts.yml").read_text()}
    named = {name: {*re.findall(r'reason=~\\?"([\w|]+)', words)} for name, words in found.items()}
    assert {name for name, reasons in named.items() if reasons} == {"alerts", "gpu", "soak"}
    assert {frozenset(one.split("|")) for reasons in named.values() for one in reasons} == {frozenset(samples.SPOIL)}


KNOWN = exported()


@pytest.mark.parametrize("name", sorted(BOARDS))
def test_building_anew_changes_nothing(name: str) -> None:
    """What is checked in is what the code makes; else: make dashboards."""
    assert (boards.FOLDER / f"{name}.json").read_text() == text(name)


def test_only_these_boards_are_provisioned() -> None:
    """No file of a board that is no longer made."""
    assert {path.stem for path in boards.FOLDER.glob("*")} == set(BOARDS)


def test_grafanas_own_types_lose_nothing(board: Board) -> None:
    """Read and written by the SDK of Grafana's schema, every key is there again: a misspelt one would be lost."""
    assert json.loads(json.dumps(Dashboard.from_json(copy.deepcopy(board)), cls=JSONEncoder)) == board


def test_a_misspelt_key_is_lost(board: Board) -> None:
    """So the test above can fail."""
    spoiled = copy.deepcopy(board)
    panel(spoiled)["fieldConfig"]["defaults"]["unti"] = "s"
    assert json.loads(json.dumps(Dashboard.from_json(copy.deepcopy(spoiled)), cls=JSONEncoder)) != spoiled


KINDS: dict[str, type | tuple[type, ...]] = {
    "id": int, "title": str, "description": str, "type": str, "datasource": dict, "fieldConfig": dict, "gridPos": dict,
    "options": dict, "targets": list, "transformations": list, "interval": str, "transparent": bool,
    "repeatDirection": str, "expr": str, "legendFormat": str, "format": str, "instant": bool, "range": bool,
    "refId": str, "editorMode": str, "unit": str, "noValue": str, "min": (int, float), "max": (int, float),
    "decimals": (int, float), "thresholds": dict, "custom": dict, "mappings": list, "overrides": list, "defaults": dict,
    "x": int, "y": int, "w": int, "h": int,
}  # fmt: skip
"""What the keys of a panel and of a query hold."""


def test_each_key_holds_what_it_should(board: Board) -> None:
    """Panels, their places, defaults and queries have known keys only, of the right type."""
    for item in boards.panels(board):
        parts = [item, item["gridPos"], item["fieldConfig"], item["fieldConfig"]["defaults"], *item["targets"]]
        wrong = [(item["id"], key, value) for part in parts for key, value in part.items()
                 if not isinstance(value, KINDS.get(key, ()))]  # fmt: skip
        assert wrong == []


@pytest.mark.parametrize("rule", lint.RULES, ids=lambda rule: str(rule.__name__))
def test_rules(board: Board, rule: Callable[[Board], lint.Found]) -> None:
    """No rule finds anything."""
    assert list(rule(board)) == []


def test_every_series_is_told_by_somebody(board: Board) -> None:
    """By the load generator, the sidecar, a recording rule, an engine or Prometheus."""
    assert list(lint.names(board, KNOWN)) == []


def panel(board: Board) -> dict[str, Any]:
    """The first that draws lines."""
    return next(item for item in boards.panels(board) if item["type"] == "timeseries")


def asks(expr: str) -> Callable[[Board], None]:
    """A panel that asks this."""

    def spoil(board: Board) -> None:
        panel(board)["targets"][0]["expr"] = expr

    return spoil


TTFT = "llmload_ttft_seconds_bucket"
OURS = 'job=~"$job", instance=~"$instance"'
SPOILED: list[tuple[Any, Callable[[Board], object], str]] = [
    (lint.frame, lambda board: board.update(editable=True), "editable"),
    (lint.frame, lambda board: board.update(uid="ddyfngn31dg5cf"), "uid"),
    (lint.choices, lambda board: board["templating"]["list"][2].update(refresh=1), "asked anew"),
    (lint.words, lambda board: panel(board).update(description=""), "no description"),
    (lint.words, lambda board: panel(board)["fieldConfig"]["defaults"].pop("unit"), "no unit"),
    (lint.places, lambda board: panel(board).pop("id"), "no number"),
    (lint.places, lambda board: panel(board)["gridPos"].update(y=0), "lies on"),
    (lint.sources, lambda board: panel(board)["targets"][0].pop("datasource"), "datasource"),
    (lint.sources, lambda board: panel(board)["targets"][0].update(format="heatmap"), "format"),
    (lint.variables, asks("up{job=~'$jbo'}"), "$jbo"),
    (lint.windows, asks(f"rate(llmload_requests_total{{{OURS}}}[5m])"), "window"),
    (lint.counters, asks(f"sum(llmload_requests_total{{{OURS}}})"), "as it stands"),
    (lint.counters, asks(f"rate(llmload_users{{{OURS}}}[$__rate_interval])"), "no counter"),
    (lint.quantiles, asks(f"histogram_quantile(0.9, rate({TTFT}{{{OURS}}}[$__rate_interval]))"), "not added by le"),
    (lint.quantiles, asks("avg_over_time(run:ttft_seconds:p99_5m[$__range])"), "percentile of percentiles"),
    (lint.matchers, asks('llmload_users{instance=~"$instance"}'), "no job"),
    (lint.matchers, asks("llmload_gpu_up"), "$gpu_job"),
    (lambda board: lint.names(board, KNOWN), asks("llmload_userz"), "nobody tells llmload_userz"),
]  # fmt: skip
"""A rule, what is done to a board, and a word of what the rule then says."""


@pytest.mark.parametrize(("rule", "spoil", "word"), SPOILED)
def test_a_rule_finds_what_it_looks_for(rule: Any, spoil: Callable[[Board], object], word: str) -> None:
    """On a board that has just that fault."""
    spoiled = boards.read("load")
    spoil(spoiled)
    found = list(rule(spoiled))
    assert found
    assert word in found[0]


def test_what_is_provisioned() -> None:
    """One datasource with a fixed uid, asked by POST, its interval that of Prometheus' scrapes; boards not edited."""
    [source] = yaml.safe_load((GRAFANA / "provisioning/datasources/prometheus.yml").read_text())["datasources"]
    assert (source["type"], source["uid"], source["url"]) == ("prometheus", "llmload-prometheus", "${PROMETHEUS_URL}")
    scrapes = yaml.safe_load((RECORDING.parents[1] / "prometheus.yml").read_text())["global"]
    assert source["jsonData"]["httpMethod"] == "POST"
    assert source["jsonData"]["timeInterval"] == scrapes["scrape_interval"]
    [provider] = yaml.safe_load((GRAFANA / "provisioning/dashboards/llmload.yml").read_text())["providers"]
    assert (provider["type"], provider["allowUiUpdates"]) == ("file", False)
    assert provider["options"]["path"]
