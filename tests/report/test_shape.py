"""A run.json that was damaged: a sentence and exit code 4, or a report; never a traceback, never all of the memory."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from llmload.exits import Exit, Stop
from llmload.record.runfolder import write_json
from llmload.report import building, files, head, questions
from llmload.report.throughput import MOST_SECONDS
from tests.report.synthetic import START, by_rate, record, scenario, step, write

WRONG: tuple[Any, ...] = ("x", -5, 1e300, True, None, [5], {"x": 5})
"""Values put in place of each value."""


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value inside a JSON value."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy with another value at a path."""
    whole = copy.deepcopy(value)
    inner = whole
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    return whole


def rich(folder: Path) -> dict[str, Any]:
    """A run in which everything that a report computes with is there."""
    made = scenario(slow_s=5.0, slo={"ttft_ms": 1.0}, labels={"a": "b"}, extra_body={"top_k": 1})
    made["classes"] = [{"name": "short", "weight": 1.0, "slo": {"e2e_ms": 5.0}, "shared_prefix_share": 0.5}]
    workers = {"w1": {"clock_offset_ms": 0.0, "clock_error_ms": 0.1, "clock_drift_s": 0.0}}
    preflight = {"overhead_tokens": 5, "notes": ["a"], "count_source": "usage"}
    accounting = {"w1": {"started": 1, "received": 1}}
    more = {"preflight": preflight, "accounting": accounting, "reasons": ["a"], "labels": {"c": "d"}}
    write(folder, [record(0)], [step(), step(1, 4, 20, 30)], scenario=made, workers=workers, **more)
    value: dict[str, Any] = orjson.loads((folder / "run.json").read_bytes())
    return value


def test_every_value_may_be_of_a_wrong_kind(tmp_path: Path) -> None:
    """Each value of run.json, replaced by seven others: a report, or Stop with code 4 that names run.json."""
    whole = rich(tmp_path)
    refused: list[Stop] = []
    for path in places(whole):
        for new in WRONG:
            write_json(tmp_path / "run.json", put(whole, path, new))
            try:
                built = building.compute(tmp_path)
            except Stop as stop:
                refused.append(stop)
                continue
            files.FORMATS["markdown"](built)
    assert len(refused) > 100
    assert {stop.code for stop in refused} == {Exit.UNJUDGED}
    assert all("run.json: " in stop.message for stop in refused)


@pytest.mark.parametrize("kind", ["rate", "hand"])
def test_every_value_of_the_other_kinds_of_load(tmp_path: Path, kind: str) -> None:
    """The load and the steps of a run by rate and by hand, replaced likewise: a report or Stop."""
    made = scenario(load=by_rate(2.0, 5.0) | {"kind": kind})
    rows = [step(0, None, rate=2.0, held=True), step(1, None, None, None, rate=5.0, held=False)]
    write(tmp_path, [record(0)], rows, scenario=made)
    whole = orjson.loads((tmp_path / "run.json").read_bytes())
    refused: list[str] = []
    for path in places(whole):
        if path[:2] != ("scenario", "load") and path[0] != "steps":
            continue
        for new in WRONG:
            write_json(tmp_path / "run.json", put(whole, path, new))
            try:
                built = building.compute(tmp_path)
            except Stop as stop:
                refused.append(stop.message)
                continue
            head.what(built.facts)
            head.settings(built.facts)
            questions.of(built)
    assert len(refused) > 50
    assert all("run.json: " in message for message in refused)


@pytest.mark.parametrize(
    ("path", "new", "words"),
    [
        (("steps", 0, "held"), "x", "run.json: steps[0].held: expected true or false, got 'x'"),
        (("scenario", "load", "kind"), 5, "run.json: scenario.load.kind: expected a text, got 5"),
        (("scenario", "load", "rates"), [2, "x"], "run.json: scenario.load.rates[1]: expected a number from 0 on, got"),
        (("scenario", "load", "rates"), [None], "run.json: scenario.load.rates[0]: expected a number from 0 on, got n"),
        (("scenario", "load", "steps"), [1, [2]], "run.json: scenario.load.steps[1]: expected a whole number from 0"),
        (("command",), ["llmload", 5], "run.json: command[1]: expected a text, got 5"),
        (("scenario", "load", "burstiness"), "x", "run.json: scenario.load.burstiness: expected a number from 0 on"),
        (("scenario", "load", "max_in_flight"), 1.5, "run.json: scenario.load.max_in_flight: expected a whole number"),
        (("steps",), 5, "run.json: steps: expected a list, got 5"),
        (("steps", 1, "step"), "a", "run.json: steps[1].step: expected a whole number from 0 to 100,000,000, got 'a'"),
        (("steps", 0, "window_started_at"), -5, "run.json: steps[0].window_started_at: expected a moment in Unix"),
        (("verdict",), [], "run.json: verdict: expected a text, got []"),
        (("workers", "w1", "clock_offset_ms"), True, "run.json: workers.w1.clock_offset_ms: expected a number, got tr"),
        (("scenario", "classes", 0, "name"), None, "run.json: scenario.classes[0].name: expected a text, got null"),
    ],
)
def test_the_sentence_names_the_key(tmp_path: Path, path: tuple[Any, ...], new: Any, words: str) -> None:
    """What, where, expected, got."""
    write_json(tmp_path / "run.json", put(rich(tmp_path), path, new))
    with pytest.raises(Stop) as stop:
        building.compute(tmp_path)
    assert words in stop.value.message


def test_a_window_of_fifty_years_needs_no_memory(tmp_path: Path) -> None:
    """Its tokens are counted, its busiest second is not known."""
    assert START > MOST_SECONDS
    write(tmp_path, [record(0)], [step(window_started_at=0.0)])
    row = building.compute(tmp_path).summary["rows"][-1]
    assert row["output_tokens_per_s"] == pytest.approx(10 / (START + 10))
    assert row["output_tokens_per_s_peak"] is None
