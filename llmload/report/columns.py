"""The columns of every table, in one plain list: adding a column is adding an entry.

A column is a figure of a row of summary.json, with its heading and how it is written. Terminal, Markdown and HTML
show the same tables; table.csv holds every figure there is and needs no list.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llmload.record.samples import SPOIL
from llmload.report import cost
from llmload.report.figures import look_up
from llmload.report.percentiles import mark
from llmload.report.rows import ALL

TABLES = {
    "felt": "What users felt: successes only",
    "tried": "All attempts: a failure counts as never finished",
    "planned": "From the schedule: latency counted from the moment at which a request was planned, successes only",
    "load": "The load, and what it brought",
    "cost": "What it cost",
    "gpu": "What the GPUs did",
    "server": "What the server said of itself",
}
"""The tables, in order, with their titles. `planned` is that of an open loop."""
WHOLE = ("load", "cost", "gpu", "server")
"""Those that have one line for each step."""
IF_SAMPLED = ("gpu", "server")
"""Those that are there where something was sampled …"""
IF_PRICED = ("cost",)
"""… and where something has a price."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `group` is the heading over the headings of several, `key` a figure's dotted name."""

    key: str
    """A figure of a row, or of DERIVED."""
    group: str
    heading: str
    write: str
    """How it is written: a key of WRITERS."""
    tables: tuple[str, ...]


def _reached(row: dict[str, Any]) -> float | None:
    """Requests per second that were really sent, in open loop."""
    return row["started"] / row["window_s"] if row["rate"] is not None and row["window_s"] else None


def _memory(row: dict[str, Any]) -> float | None:
    """Memory in use, in GiB."""
    used: float | None = (row["gpu"] or {}).get("memory_used_max_bytes")
    return None if used is None else used / 2**30


def _above_idle(row: dict[str, Any]) -> float | None:
    """Joules per output token, without what the GPUs draw when they have nothing to do."""
    gpu = row["gpu"] or {}
    per_token: float | None = gpu.get("joules_per_output_token")
    if gpu.get("joules_idle_subtracted") is None or not per_token:
        return None
    over_idle: float = per_token * gpu["joules_idle_subtracted"] / gpu["energy_joules"]
    return over_idle


def _held_down(*reasons: str) -> Callable[[dict[str, Any]], float | None]:
    """Seconds in which these held clocks down, of all GPUs together."""

    def seconds(row: dict[str, Any]) -> float | None:
        told = (row["gpu"] or {}).get("throttled_seconds")
        return None if told is None else sum(told.get(reason, 0.0) for reason in reasons)

    return seconds


def _paid(key: str) -> Callable[[dict[str, Any]], float | None]:
    """A figure of the row that stands beside what it cost; None where that is not known."""

    def figure(row: dict[str, Any]) -> float | None:
        value: float | None = row[key]
        return None if row["cost"] is None else value

    return figure


DERIVED: dict[str, Callable[[dict[str, Any]], float | None]] = {
    "reached_per_s": _reached,
    "gpu_memory_gib": _memory,
    "gpu_above_idle": _above_idle,
    "gpu_capped_s": _held_down("sw_power_cap"),
    "gpu_throttled_s": _held_down(*SPOIL),
    "cost_tokens_per_s": _paid("output_tokens_per_s"),
    "cost_requests_per_s": _paid("requests_per_s"),
    "cost_goodput_share": _paid("goodput_share"),
}
"""Figures of a table that are made of others of its row."""
IF_NOT_SENT = ("planned", "not_sent")
"""Columns that say nothing as long as everything was sent."""


def _number(value: float) -> str:
    """Three digits and more where they are there: 0.042, 1.23, 45.6, 789, 12,345."""
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}"


WRITERS: dict[str, Callable[[Any], str]] = {
    "count": lambda value: f"{value:,}",
    "number": _number,
    "seconds": lambda ms: f"{ms / 1000:,.2f}" if ms < 99_995 else f"{ms / 1000:,.0f}",
    "window": lambda s: f"{s:,.1f}" if s < 1000 else f"{s:,.0f}",
    "percent": lambda share: "0" if share == 0 else f"{share * 100:.1f}",
    "seen": lambda s: "0" if s == 0 else _number(s),
    "money": cost.written,
}

COLUMNS: tuple[Column, ...] = (
    Column("ok", "requests", "ok", "count", ("felt",)),
    Column("failed", "requests", "fail", "count", ("felt",)),
    Column("started", "attempts", "started", "count", ("tried",)),
    Column("success_share", "attempts", "ok %", "percent", ("tried",)),
    Column("ttft_ms.ok.p50", "TTFT ms", "p50", "number", ("felt",)),
    Column("ttft_ms.ok.p95", "TTFT ms", "p95", "number", ("felt",)),
    Column("ttft_ms.ok.p99", "TTFT ms", "p99", "number", ("felt",)),
    Column("itl_ms.ok.p50", "ITL ms", "p50", "number", ("felt",)),
    Column("itl_ms.ok.p99", "ITL ms", "p99", "number", ("felt",)),
    Column("tpot_ms.ok.p50", "TPOT ms", "p50", "number", ("felt",)),
    Column("e2e_ms.ok.p50", "E2E s", "p50", "seconds", ("felt",)),
    Column("e2e_ms.ok.p95", "E2E s", "p95", "seconds", ("felt",)),
    Column("output_tokens_per_s", "tokens/s", "all", "number", ("felt",)),
    Column("output_tokens_per_s_per_user", "tokens/s", "user", "number", ("felt",)),
    Column("stalls_per_1000_gaps", "stalls", "/1000", "number", ("felt",)),
    Column("coalesced_share", "coal.", "%", "percent", ("felt",)),
    Column("reached_length_share", "full", "%", "percent", ("felt",)),
    Column("ttft_ms.all.p50", "TTFT ms", "p50", "number", ("tried",)),
    Column("ttft_ms.all.p90", "TTFT ms", "p90", "number", ("tried",)),
    Column("ttft_ms.all.p95", "TTFT ms", "p95", "number", ("tried",)),
    Column("ttft_ms.all.p99", "TTFT ms", "p99", "number", ("tried",)),
    Column("tpot_ms.all.p50", "TPOT ms", "p50", "number", ("tried",)),
    Column("tpot_ms.all.p95", "TPOT ms", "p95", "number", ("tried",)),
    Column("e2e_ms.all.p50", "E2E s", "p50", "seconds", ("tried",)),
    Column("e2e_ms.all.p90", "E2E s", "p90", "seconds", ("tried",)),
    Column("e2e_ms.all.p95", "E2E s", "p95", "seconds", ("tried",)),
    Column("e2e_ms.all.p99", "E2E s", "p99", "seconds", ("tried",)),
    Column("from_schedule.ttft_ms.all.p95", "from planned", "TTFT p95", "number", ("tried",)),
    Column("from_schedule.e2e_ms.all.p95", "from planned", "E2E p95", "seconds", ("tried",)),
    Column("planned", "requests", "planned", "count", ("planned",)),
    Column("not_sent", "requests", "not sent", "count", ("planned",)),
    Column("reached_per_s", "rate", "reached", "number", ("planned",)),
    *(
        Column(f"{figure}.ok.{percent}", f"{name} {point}", percent, write, ("planned",))
        for name, key, write in (("TTFT ms", "ttft_ms", "number"), ("E2E s", "e2e_ms", "seconds"))
        for point, figure in (("planned", f"from_schedule.{key}"), ("sent", key))
        for percent in ("p50", "p95", "p99")
    ),
    Column("in_flight_mean", "in flight", "mean", "number", ("load",)),
    Column("window_s", "", "window s", "window", ("load",)),
    Column("warmup", "requests", "warm-up", "count", ("load",)),
    Column("started", "requests", "window", "count", ("load",)),
    Column("drain", "requests", "drain", "count", ("load",)),
    Column("requests_per_s", "per second", "ok", "number", ("load",)),
    Column("goodput_per_s", "per second", "good", "number", ("load",)),
    Column("input_tokens_mean", "tokens (mean)", "in", "number", ("load",)),
    Column("output_tokens_mean", "tokens (mean)", "out", "number", ("load",)),
    Column("tokens_per_event_mean", "tokens (mean)", "event", "number", ("load",)),
    Column("input_tokens_per_s", "tokens/s", "in", "number", ("load",)),
    Column("output_tokens_per_s_peak", "tokens/s", "peak", "number", ("load",)),
    Column("generator.cpu_max", "generator", "CPU %", "percent", ("load",)),
    Column("generator.loop_lag_p99_ms", "generator", "lag ms", "number", ("load",)),
    Column("generator.stamp_lag_p99_ms", "generator", "stamp ms", "number", ("load",)),
    Column("cost_tokens_per_s", "output", "tokens/s", "number", ("cost",)),
    Column("cost_requests_per_s", "requests", "ok/s", "number", ("cost",)),
    Column("cost_goodput_share", "within", "SLO %", "percent", ("cost",)),
    Column("cost.per_million_output_tokens", "cost of", "1M output tokens", "money", ("cost",)),
    Column("cost.per_1000_requests", "cost of", "1,000 requests", "money", ("cost",)),
    Column("gpu.n_gpus", "", "GPUs", "count", ("gpu",)),
    Column("gpu.power_mean_watts", "power", "W", "number", ("gpu",)),
    Column("gpu.joules_per_output_token", "J/token", "all", "number", ("gpu",)),
    Column("gpu_above_idle", "J/token", "over idle", "number", ("gpu",)),
    Column("gpu.tokens_per_s_per_gpu", "tokens/s", "a GPU", "number", ("gpu",)),
    Column("gpu.utilization_mean", "busy", "%", "percent", ("gpu",)),
    Column("gpu_memory_gib", "memory", "GiB", "number", ("gpu",)),
    Column("gpu.temperature_max_celsius", "temp.", "°C", "number", ("gpu",)),
    Column("gpu_capped_s", "clocks held down, s", "power cap", "seen", ("gpu",)),
    Column("gpu_throttled_s", "clocks held down, s", "throttled", "seen", ("gpu",)),
    Column("gpu.coverage", "seen", "%", "percent", ("gpu",)),
    Column("server.running_mean", "requests (mean)", "running", "number", ("server",)),
    Column("server.waiting_mean", "requests (mean)", "waiting", "number", ("server",)),
    Column("server.kv_cache_usage_max", "KV cache", "max %", "percent", ("server",)),
    Column("server.preemptions", "pre-", "empted", "count", ("server",)),
    Column("server.prefix_cache_hit_share", "prefix", "hits %", "percent", ("server",)),
    Column("server.queue_time_mean_ms", "ms of a request (mean)", "queue", "number", ("server",)),
    Column("server.prefill_time_mean_ms", "ms of a request (mean)", "prefill", "number", ("server",)),
    Column("server.decode_time_mean_ms", "ms of a request (mean)", "decode", "number", ("server",)),
    Column("server.speculation_acceptance", "drafts", "taken %", "percent", ("server",)),
)
"""Every column. What a step asks for (`asked`) and `class` stand before them in every table."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a table: what it is about, and its cells as text. `first` and `whole` are for the layout."""

    step: str
    workload: str
    cells: tuple[str, ...]
    first: bool
    whole: bool
    bound: bool


@dataclass(frozen=True, slots=True)
class Table:
    """A table as text: name, title, columns, lines, and the marks that its cells carry."""

    name: str
    title: str
    asked: tuple[str, str]
    """Both lines of the first column's heading."""
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    marks: dict[str, str]
    """Their meanings, by sign."""

    @property
    def classes(self) -> bool:
        """Whether the lines are of several classes, so that the class has to be said."""
        return len({line.workload for line in self.lines}) > 1


MARKS = {
    "*": "p95 of fewer than 100",
    "†": "p99 of fewer than 500; under 100 none is shown",
    "~": "tokens estimated, one per event, or counted in different ways",
    "‡": "the load generator was the limit: no figure of the server",
}


def tables(rows: Sequence[dict[str, Any]], sufficed: Mapping[int, int | None] | None = None) -> list[Table]:
    """All tables of a run, from the rows of its summary. A column in which nothing was measured is left out.

    `sufficed`: how many workers would have sufficed, by the step in which the generator was the limit.
    """
    classes = {row["workload"] for row in rows} - {ALL}
    shown = [row for row in rows if row["workload"] == ALL or len(classes) > 1]
    bound = {row["step"] for row in rows if (row["generator"] or {}).get("bound")}
    whole = [row for row in rows if row["workload"] == ALL]
    open_loop = any(row["rate"] is not None for row in rows)
    words = {**MARKS, "‡": _bound([(step_label(row), (sufficed or {}).get(row["step"])) for row in whole])}
    found = [
        _table(name, title, whole if name in WHOLE else shown, bound, words)
        for name, title in TABLES.items()
        if name != "planned" or open_loop
    ]
    return [table for table in found if table.columns or table.name not in (*IF_SAMPLED, *IF_PRICED)]


def asked(rows: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """What the numbers of the steps are: requests in flight, or the rate that was asked for; in two words."""
    return ("rate", "asked") if any(row["rate"] is not None for row in rows) else ("in", "flight")


def _bound(sufficed: Sequence[tuple[str, int | None]]) -> str:
    """What ‡ means, with how many workers would have sufficed in which step."""
    told = ", ".join(f"{n} workers would have sufficed at {label}" for label, n in sufficed if n is not None)
    return f"{MARKS['‡']}; {told}" if told else MARKS["‡"]


def _table(name: str, title: str, rows: Sequence[dict[str, Any]], bound: set[int], words: Mapping[str, str]) -> Table:
    chosen = [column for column in COLUMNS if name in column.tables]
    if not any(row["not_sent"] for row in rows):
        chosen = [column for column in chosen if column.key not in IF_NOT_SENT]
    chosen = [column for column in chosen if any(cell(row, column) for row in rows)]
    lines = []
    for place, row in enumerate(rows):
        first = place == 0 or rows[place - 1]["step"] != row["step"]
        lines.append(
            Line(
                step=step_label(row) + ("‡" if row["step"] in bound else ""),
                workload=row["workload"],
                cells=tuple(cell(row, column) for column in chosen),
                first=first,
                whole=row["workload"] == ALL,
                bound=row["step"] in bound,
            )
        )
    text = "".join(line.step + "".join(line.cells) for line in lines)
    marks = {sign: words[sign] for sign in MARKS if sign in text}
    return Table(name, title, asked(rows), tuple(chosen), tuple(lines), marks)


def step_label(row: dict[str, Any]) -> str:
    """What a step asks for: `8`, `2.5/s` in open loop, `free` where users sent as they liked."""
    if row["concurrency"] is not None:
        return str(row["concurrency"])
    return f"{row['rate']:g}/s" if row["rate"] is not None else "free"


def cell(row: dict[str, Any], column: Column) -> str:
    """A figure as text with its marks; blank where it was not measured."""
    path = column.key.split(".")
    value: Any = row.get(path[0]) if len(path) == 1 else look_up(row, path)
    if column.key in DERIVED:
        value = DERIVED[column.key](row)
    if value is None:
        return ""
    signs = ""
    if path[-1] in ("p95", "p99"):
        signs = mark(path[-1], look_up(row, [*path[:-1], "n"]))
    if path[0].startswith("output_tokens") and row["token_source"] in ("events", "mixed"):
        signs += "~"
    if path[0] in ("tpot_ms", "reached_length_share") and row["token_source"] in ("events", "mixed"):
        signs += "~"
    return ("inf" if value == "inf" else WRITERS[column.write](value)) + signs
