"""table.csv: one line per step and class, every figure of summary.json under its dotted name; soak.csv: per bucket."""

import csv
import io

from llmload.plain import one_line
from llmload.report.building import Built
from llmload.report.export import flatten
from llmload.report.soak.finding import Soak


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


def soak(found: Soak) -> str:
    """soak.csv: a line for each bucket, every figure under its dotted name; blank is "not measured"."""
    rows = [flatten(found.bucket(place)) for place in range(found.cut.count)]
    names = dict.fromkeys(name for row in rows for name in row)
    blocks = {name for name in names if any(other.startswith(f"{name}.") for other in names)}
    out = io.StringIO()
    columns = [name for name in names if name not in blocks]  # a block that one bucket has and another not is no column
    writer = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
