"""table.csv: one line per step and class, every figure of summary.json under its dotted name."""

import csv
import io

from llmload.plain import one_line
from llmload.report.building import Built
from llmload.report.export import flatten


def text(built: Built) -> str:
    """The file. Blank is "not measured"; `inf` is a percentile that falls on failures."""
    flat = [flatten(row) for row in built.summary["rows"]]
    rows = [{key: one_line(cell) if isinstance(cell, str) else cell for key, cell in row.items()} for row in flat]
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    if rows:
        writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
