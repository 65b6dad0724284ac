"""Rules for boards, those of Grafana's dashboard-linter and our own: each gives sentences, none if all is well.

Queries are read as Prometheus reads them, so that a rule sees a counter inside `rate` and not a word before a bracket.
"""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Any

import promql_parser as promql

from tests.dashboards.boards import panels

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
SPANS = {"$__rate_interval": 61, "$__interval": 62, "$__range": 63}
"""What stands for them while a query is read, in seconds."""
FIXED = {
    ("llmload-load", 403): "1m, as the recording rule beside it",
    ("llmload-soak", 103): "30m, a slope of memory", ("llmload-soak", 402): "30m, a slope of memory",
    ("llmload-soak", 602): "10m, so that a restart is seen",
}  # fmt: skip
"""Panels whose windows do not follow the chosen time, and why."""
PLAIN = {
    ("llmload-load", 101): "since the run began", ("llmload-load", 104): "since the run began",
    ("llmload-load", 106): "set once, at the end of a run", ("llmload-soak", 106): "set once, at the end of a run",
    ("llmload-soak", 603): "set once, at the end of a run", ("llmload-gpu", 604): "a level: the first event counts",
    ("llmload-gpu", 605): "a level: the first event counts",
}  # fmt: skip
"""Panels that show counters as they stand, and why."""
MATCHERS = {
    r"llmload_(gpu|host)_": {"job": "$gpu_job", "instance": "$gpu_host"},
    r"llmload_": {"job": "$job", "instance": "$instance"},
    r"server:": {"instance": "$engine"},
}
"""Which series are held to which variables; the first that fits."""
ONE_RUN = r"(run|gpu):|up$|ALERTS$"
"""Series that have no such labels, or need none."""

Board = dict[str, Any]
Found = Iterator[str]


def named(panel: dict[str, Any]) -> str:
    """A panel, for people."""
    return f"panel {panel.get('id')} {panel.get('title')!r}"


def frame(board: Board) -> Found:
    """A board can be linked to, is refreshed, and is not edited."""
    wanted = {"editable": False, "graphTooltip": 1, "tags": ["llmload"], "schemaVersion": 42}
    for key, value in wanted.items():
        if board.get(key) != value:
            yield f"{key} is {board.get(key)!r}, expected {value!r}"
    if not re.fullmatch(r"llmload-[a-z]{2,32}", str(board.get("uid"))):
        yield f"uid {board.get('uid')!r} is not a short name of ours"
    for key in ("id", "__inputs", "__requires"):
        if key in board:
            yield f"{key} is for boards that are imported by hand"
    if not re.fullmatch(r"\d+[smh]", str(board.get("refresh"))):
        yield f"refresh is {board.get('refresh')!r}"
    if not any(link["type"] == "dashboards" and link["keepTime"] and link["includeVars"] for link in board["links"]):
        yield "no link to the other boards that keeps time and variables"


def choices(board: Board) -> Found:
    """Variables and marks are of the chosen datasource, and follow the chosen time."""
    variables = board["templating"]["list"]
    if variables[0]["type"] != "datasource" or variables[0]["name"] != "datasource":
        yield "the first variable is not the datasource"
    for item in variables[1:]:
        if (item["datasource"], item["refresh"], item["allValue"], item["includeAll"]) != (SOURCE, 2, ".+", True):
            yield f"variable {item['name']} is not asked anew with the time, or has no All"
    for mark in board["annotations"]["list"]:
        if mark["datasource"] != SOURCE:
            yield f"annotation {mark['name']} has another datasource"


def words(board: Board) -> Found:
    """Every panel says what it is, how it is made and what to do, and what its numbers are."""
    for panel in panels(board):
        defaults = panel["fieldConfig"]["defaults"]
        if not panel.get("title"):
            yield f"{named(panel)} has no title"
        told = panel.get("description") or ""
        if len(told) < 40 or not told.endswith("."):
            yield f"{named(panel)} has no description"
        if not defaults.get("unit"):
            yield f"{named(panel)} has no unit"
        if not defaults.get("noValue"):
            yield f"{named(panel)} does not say what it means if there is nothing"
        if panel["type"] == "timeseries" and not panel["options"]["legend"]["calcs"]:
            yield f"{named(panel)} has a legend without figures"
        if not defaults.get("thresholds") and panel["type"] != "heatmap":
            yield f"{named(panel)} has no thresholds"


def places(board: Board) -> Found:
    """Numbers are fixed and different, and no panel lies on another."""
    taken: dict[tuple[int, int], Any] = {}
    numbers: set[Any] = set()
    row = 0
    for panel in board["panels"]:
        if not panel.get("id") or panel["id"] in numbers:
            yield f"{named(panel)} has no number of its own"
        numbers.add(panel.get("id"))
        if panel["type"] == "row":
            row = panel["id"]
        elif panel.get("id", 0) // 100 * 100 != row:
            yield f"{named(panel)} has a number of another row than {row}"
        place = panel["gridPos"]
        if place["x"] + place["w"] > 24:
            yield f"{named(panel)} goes over the edge"
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                if taken.setdefault((x, y), panel["title"]) != panel["title"]:
                    yield f"{named(panel)} lies on {taken[x, y]!r}"


def sources(board: Board) -> Found:
    """Panel and query take the chosen datasource, each query has a name, and heatmaps get buckets."""
    for panel in panels(board):
        if not panel.get("targets"):
            yield f"{named(panel)} asks nothing"
        if panel.get("datasource") != SOURCE or any(item.get("datasource") != SOURCE for item in panel["targets"]):
            yield f"{named(panel)} has another datasource"
        refs = [item["refId"] for item in panel["targets"]]
        if len(set(refs)) < len(refs):
            yield f"{named(panel)} has two queries of one name"
        for item in panel["targets"]:
            if (panel["type"] == "heatmap") != (item["format"] == "heatmap"):
                yield f"{named(panel)}: format {item['format']!r} in a {panel['type']}"


def variables(board: Board) -> Found:
    """No query names a variable that is not there."""
    known = {item["name"] for item in board["templating"]["list"]} | {name[1:] for name in SPANS}
    for panel in panels(board):
        for item in panel["targets"]:
            for name in re.findall(r"\$\{?(\w+)", item["expr"]):
                if name not in known:
                    yield f"{named(panel)}: ${name} is no variable"


def windows(board: Board) -> Found:
    """Windows follow the chosen time, but for some that have a reason."""
    allowed = {"rate": {61}, "increase": {62, 63}, "resets": {62, 63}, "last_over_time": {62, 63},
               "max_over_time": {62, 63}}  # fmt: skip
    for panel, path in nodes(board):
        for outer, node in pairwise(path):
            if isinstance(node, promql.MatrixSelector) and (board["uid"], panel["id"]) not in FIXED:
                seconds = node.range / timedelta(seconds=1)
                if seconds not in allowed.get(function(outer), set()):
                    yield f"{named(panel)}: {function(outer)} over a window that does not follow the chosen time"


def counters(board: Board) -> Found:
    """A counter or bucket is never shown as it stands, but for some that have a reason; a rate is never of a gauge."""
    for panel, path in nodes(board):
        selector = path[-1]
        if not isinstance(selector, promql.VectorSelector) or (board["uid"], panel["id"]) in PLAIN:
            continue
        around = [function(node) for node in path]
        counter = re.search(r"(_total|_bucket|_count|_sum)(\||$)", name_of(selector)) is not None
        counted = any(name in {"rate", "increase", "resets"} for name in around)
        if counter != counted:
            yield f"{named(panel)}: {name_of(selector)} is {'a counter as it stands' if counter else 'no counter'}"


def quantiles(board: Board) -> Found:
    """Buckets are added by `le` before a quantile is taken, and no quantile is averaged or added afterwards."""
    for panel, path in nodes(board):
        for place, node in enumerate(path):
            quantile = function(node) == "histogram_quantile" or re.search(r":p\d", name_of(node)) is not None
            if quantile and any(str(getattr(outer, "op", "")) in {"avg", "sum"} or "avg_over" in function(outer)
                                for outer in path[:place]):  # fmt: skip
                yield f"{named(panel)}: a percentile of percentiles"
        heat = panel["type"] == "heatmap"
        if isinstance(path[-1], promql.VectorSelector) and name_of(path[-1]).endswith("_bucket"):
            sums = [node for node in path if isinstance(node, promql.AggregateExpr) and str(node.op) == "sum"]
            by = set(sums[0].modifier.labels) if sums and sums[0].modifier else set()
            if "le" not in by or (heat and by != {"le"}):
                yield f"{named(panel)}: buckets are not added by le"


def matchers(board: Board) -> Found:
    """Every series is held to the chosen job, instance and GPU."""
    for panel, path in nodes(board):
        selector = path[-1]
        name = name_of(selector)
        if not isinstance(selector, promql.VectorSelector) or re.match(ONE_RUN, name):
            continue
        given = {item.name: item.value for item in selector.matchers.matchers}
        wanted = next((wanted for prefix, wanted in MATCHERS.items() if re.match(prefix, name)), {"instance": "$"})
        for label, value in wanted.items():
            if value not in given.get(label, ""):
                yield f"{named(panel)}: {name} has no {label}=~{value}"


def names(board: Board, known: set[str]) -> Found:
    """Every series that is asked for is one that somebody tells."""
    for panel, path in nodes(board):
        if isinstance(path[-1], promql.VectorSelector):
            for name in name_of(path[-1]).split("|"):
                if name not in known:
                    yield f"{named(panel)}: nobody tells {name}"


RULES: tuple[Callable[[Board], Found], ...] = (
    frame, choices, words, places, sources, variables, windows, counters, quantiles, matchers,
)  # fmt: skip


def nodes(board: Board) -> Iterator[tuple[dict[str, Any], tuple[Any, ...]]]:
    """Every node of every query, with those that it stands in."""
    for panel in panels(board):
        for item in panel["targets"]:
            for path in walk((promql.parse(read(item["expr"])),)):
                yield panel, path


def read(expr: str) -> str:
    """A query as Prometheus may read it."""
    for name, seconds in SPANS.items():
        expr = expr.replace(f"[{name}]", f"[{seconds}s]")
    return expr


def walk(path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """A node, and all that stands in it."""
    yield path
    node = path[-1]
    inner = [getattr(node, key, None) for key in ("lhs", "rhs", "expr", "vector_selector")]
    for item in (*inner, *(getattr(node, "args", None) or ())):
        if item is not None and hasattr(item, "prettify"):
            yield from walk((*path, item))


def function(node: Any) -> str:
    """The function that a node calls."""
    return str(node.func.name) if isinstance(node, promql.Call) else ""


def name_of(node: Any) -> str:
    """The name of a selector, also where it is given as a label: several, with | between them."""
    if not isinstance(node, promql.VectorSelector):
        return ""
    own = next((item.value for item in node.matchers.matchers if item.name == "__name__"), "")
    return str(node.name or own)
