"""The page draws the limits that the report judges by: numbers that stand in JavaScript are those of Python."""

import json
import re

import pytest

from llmload.drive.web import routes
from llmload.live import history
from llmload.live.measured import NO_FAILURE
from llmload.report import generator, percentiles
from llmload.report.doubts import case


def found(file: str, pattern: str) -> str:
    """What stands in a file of the page, once."""
    hits: set[str] = set(re.findall(pattern, (routes.PAGES / file).read_text()))
    assert len(hits) == 1, (file, pattern, hits)
    return hits.pop()


@pytest.mark.parametrize(
    ("file", "pattern", "number"),
    [
        ("charts.js", r"BOUND_CPU = ([\d.]+)", generator.CPU_LIMIT),
        ("charts.js", r"BOUND_LAG_MS = ([\d.]+)", generator.LAG_LEAST_MS),
        ("charts.js", r"gap / ([\d.]+)", 1 / generator.LAG_OF_GAP),
        ("tables.js", r"one\.cpu > ([\d.]+)", generator.CPU_LIMIT),
        ("tables.js", r"silent_s > ([\d.]+)", case.SILENT_S),
        ("tables.js", r'"p95" && n < (\d+)', percentiles.P95_MARK),
        ("tables.js", r'"p99" && n < (\d+)', percentiles.P99_MARK),
        ("past.js", r"MOST = (\d+)", history.MOST),
        ("past.js", r"FINE = (\d+)", history.FINE),
    ],
)
def test_limits_are_those_of_the_report(file: str, pattern: str, number: float) -> None:
    """One number, wherever it is drawn, marked or judged by."""
    assert float(found(file, pattern)) == number


def test_the_same_outcomes_are_no_failures() -> None:
    """On the page and in its figures."""
    assert tuple(json.loads(found("words.js", r"!(\[[^]]+\])\.includes\(name\)"))) == NO_FAILURE
