"""The soak as a table, one line for each bucket. Pure.

A column for which no bucket has a figure is left out. The terminal shows fewer columns, and of many buckets every
k-th.
"""

from collections.abc import Callable
from typing import Any

from llmload.load.spans import span
from llmload.report.columns import MARKS, WRITERS, Column, Line, Table
from llmload.report.figures import look_up
from llmload.report.percentiles import mark
from llmload.report.soak import judge
from llmload.report.soak.finding import COMPARED, Soak

SHORT, WHOLE = "soak_short", "soak"
MOST_LINES = 26
"""Lines in a terminal."""

OWN: dict[str, Callable[[Any], str]] = {
    **WRITERS,
    "signed": lambda share: f"{share * 100:+.0f}" if abs(share) < 99.5 else f"{share * 100:+,.0f}",
    "gib": lambda amount: f"{amount / 2**30:.1f}",
    "kilo": lambda joules: f"{joules / 1000:,.1f}",
    "words": str,
}


def _percentiles(group: str, key: str, write: str, short: tuple[str, ...]) -> tuple[Column, ...]:
    return tuple(
        Column(f"{key}.ok.{percent}", group, percent, write, (WHOLE, SHORT) if percent in short else (WHOLE,))
        for percent in ("p50", "p95", "p99")
    )


def _changes(name: str, key: str, short: tuple[str, ...]) -> tuple[Column, ...]:
    return tuple(
        Column(
            f"change.{key}.{percent}.share",
            f"{name} change %",
            percent,
            "signed",
            (WHOLE, SHORT) if percent in short else (WHOLE,),
        )
        for percent in ("p50", "p95", "p99")
    )


COLUMNS: tuple[Column, ...] = (
    Column("started", "requests", "started", "count", (WHOLE, SHORT)),
    Column("ok", "requests", "ok", "count", (WHOLE,)),
    Column("not_ok", "requests", "fail", "count", (WHOLE, SHORT)),
    Column("success_share", "requests", "ok %", "percent", (WHOLE,)),
    *_percentiles("TTFT ms", "ttft_ms", "number", ("p50", "p95")),
    *_changes("TTFT", "ttft_ms", ("p50", "p95")),
    *_percentiles("ITL ms", "itl_ms", "number", ("p50", "p95")),
    *_changes("ITL", "itl_ms", ("p50", "p95")),
    *_percentiles("TPOT ms", "tpot_ms", "number", ()),
    *_percentiles("E2E s", "e2e_ms", "seconds", ()),
    Column("output_tokens_per_s", "tokens/s", "all", "number", (WHOLE, SHORT)),
    Column("gpu.memory_used_max_bytes", "GPU", "GiB", "gib", (WHOLE, SHORT)),
    Column("gpu.energy_joules", "GPU", "kJ", "kilo", (WHOLE,)),
    Column("gpu.joules_per_output_token", "GPU", "J/token", "number", (WHOLE, SHORT)),
    Column("server.kv_cache_usage_max", "server", "KV %", "percent", (WHOLE,)),
    Column("server.waiting_mean", "server", "queue", "number", (WHOLE,)),
    Column("server.preemptions", "server", "preempt.", "count", (WHOLE,)),
    Column("failures", "failures", "by outcome", "words", (WHOLE,)),
)
"""Every column. When the bucket begins stands before them."""

SIGNS = {
    "…": "not whole: shown, not compared",
    "↻": "the engine began anew in it",
    "!": "another than in the first full hour or part, and by an amount that matters",
}


def table(soak: Soak, name: str) -> Table:
    """The table, whole or short."""
    chosen = [column for column in COLUMNS if name in column.tables]
    rows = [_row(soak, place) for place in range(soak.cut.count)]
    chosen = [column for column in chosen if any(_cell(row, column) for row in rows)]
    every = max(1, -(-len(rows) // MOST_LINES)) if name == SHORT else 1
    lines = tuple(
        Line(_label(soak, place), "all", tuple(_cell(rows[place], column) for column in chosen), True, True, False)
        for place in range(soak.cut.count)
        if place % every == 0 or place == soak.cut.count - 1
    )
    text = "".join(line.step + "".join(line.cells) for line in lines)
    marks = {sign: meaning for sign, meaning in (MARKS | SIGNS).items() if sign in text}
    each = "" if every == 1 else f", every {every}. of {soak.cut.count}"
    title = f"The soak, {span(soak.cut.size_s)} by {span(soak.cut.size_s)}{each}: successes, by when they were sent"
    return Table(WHOLE, title, ("from", ""), tuple(chosen), lines, marks)


def _label(soak: Soak, place: int) -> str:
    """When a bucket begins."""
    signs = "…" * (place >= soak.cut.full) + "↻" * (soak.restarted(place) > 0)
    return soak.cut.at(place) + signs


def _row(soak: Soak, place: int) -> dict[str, Any]:
    row = soak.bucket(place)
    words = [f"{n} {word}" for word, n in row["outcomes"].items() if word != "ok"]
    words += [f"{row[word]} {word.replace('_', ' ')}" for word in ("lost", "not_sent") if row[word]]
    return row | {"not_ok": row["failed"] + row["lost"], "failures": ", ".join(words) or None} | {
        "moved": {key for key in COMPARED if soak.moved(place, key)}
    }  # fmt: skip


def _cell(row: dict[str, Any], column: Column) -> str:
    path = column.key.split(".")
    value = look_up(row, path)
    if value is None:
        return ""
    sign = mark(path[-1], look_up(row, [*path[:-1], "n"])) if path[-1] in ("p95", "p99") else ""
    if path[0] == "change" and (path[1], int(path[2][1:])) in row["moved"]:
        sign = "!"
    return OWN[column.write](value) + sign


FORMULAS = [
    ("from", "", "seconds, minutes or hours after the window opened; a request belongs to where it was sent"),
    (
        "change",
        "change",
        f"percentile / that of the first full hour (part) - 1; !: {judge.MATTERS * 100:.0f} % or more for certain",
    ),
    (
        "certain",
        "change",
        "its interval is off 0 (bootstrap over blocks of time; 5 % shared out among all comparisons)",
    ),
    ("fail", "not_ok", "failed and lost"),
    ("queue", "server.waiting", "mean number of requests that wait in the server"),
    ("GPU", "gpu.", "all together: the most memory in use at one time, energy"),
]
"""What stands under the table, in the form of `report.formulas`."""
