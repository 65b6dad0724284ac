"""From made-up records to rows, in one step."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llmload.report import building
from llmload.report.building import Built
from tests.report.synthetic import scenario, write


def built_of(
    folder: Path,
    records: Sequence[dict[str, Any]],
    steps: Sequence[dict[str, Any]] | None = None,
    run: dict[str, Any] | None = None,
    generator: Sequence[dict[str, Any]] | None = (),
    **more: Any,
) -> Built:
    """A run with a scenario of `more`, computed."""
    write(folder, records, steps, generator, scenario=scenario(**more), **(run or {}))
    return building.compute(folder)


def table_of(folder: Path, records: Sequence[dict[str, Any]], **more: Any) -> list[dict[str, Any]]:
    """All rows."""
    rows: list[dict[str, Any]] = built_of(folder, records, **more).summary["rows"]
    return rows


def rows_of(folder: Path, records: Sequence[dict[str, Any]], **more: Any) -> list[dict[str, Any]]:
    """The rows of all classes, one per step."""
    return [row for row in table_of(folder, records, **more) if row["workload"] == "all"]
