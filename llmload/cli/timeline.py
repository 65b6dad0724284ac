"""The picture of one answer in the terminal: what came when, every gap as a bar, stalls marked."""

from dataclasses import dataclass
from statistics import median

from rich.console import Console
from rich.text import Text

from llmload.plain import one_line
from llmload.record.record import RequestRecord

STALL_MS = 200.0
ROWS = 40
"""Rows of gaps that a person still looks at; more are drawn together."""
BAR = 36
EIGHTHS = " ▏▎▍▌▋▊▉"


@dataclass(frozen=True, slots=True)
class Row:
    """Some consecutive gaps: the first and last token they lead to (from 1), when the last came, the longest gap."""

    first: int
    last: int
    at_ms: float
    longest_ms: float
    stalls: int


def rows_of(ttft_ms: float, gaps_ms: list[float], limit: int = ROWS) -> list[Row]:
    """At most `limit` rows of equally many gaps each; the last one may hold fewer."""
    size = max(-(-len(gaps_ms) // limit), 1)
    rows, at = [], ttft_ms
    for start in range(0, len(gaps_ms), size):
        some = gaps_ms[start : start + size]
        at += sum(some)
        stalls = sum(gap > STALL_MS for gap in some)
        rows.append(Row(start + 2, start + 1 + len(some), at, max(some), stalls))
    return rows


def bar(value: float, full: float, width: int = BAR) -> str:
    """A bar of `value` out of `full`, in eighths of a cell; never empty for what is above 0."""
    eighths = max(round(value / full * width * 8), 1) if value > 0 and full > 0 else 0
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def ms(value: float | None) -> str:
    """Milliseconds as people read them."""
    return "—" if value is None else f"{value:,.1f} ms"


def line(console: Console, at_ms: float | None, what: str, rest: str = "", style: str = "") -> None:
    """One moment of the timeline."""
    when = f"{at_ms:>11,.1f}" if at_ms is not None else f"{'':>11}"
    console.print(Text.assemble((when, "dim"), "  ", (f"{what:<18}", style), one_line(rest)), soft_wrap=True)


def show(record: RequestRecord, console: Console | None = None) -> None:
    """Print the timeline, the verdict, flags and counts of a record."""
    console = console or Console(highlight=False)
    console.print(Text("  ms after sent", style="dim"))
    if record.new_connection:
        line(console, None, "connected", f"in {ms(record.connect_ms)}, before the clock")
    line(console, 0.0, "sent")
    if record.headers_ms is not None:
        line(console, record.headers_ms, "headers", f"HTTP {record.http_status}")
    if record.first_event_ms is not None and record.first_event_ms != record.ttft_ms:
        line(console, record.first_event_ms, "first event", "no text in it")
    if record.ttft_ms is not None:
        line(console, record.ttft_ms, "first token", style="bold green")
        show_gaps(console, record)
    if record.ttft_content_ms is not None and record.ttft_content_ms != record.ttft_ms:
        line(console, record.ttft_content_ms, "first answer text", "reasoning came before it")
    if record.end_ms is not None:
        line(console, record.end_ms, "end" if record.outcome == "ok" else "failed", record.finish_reason or "")
    console.print()
    show_verdict(console, record)


def show_gaps(console: Console, record: RequestRecord) -> None:
    """Each gap as a bar, or, where there are many, the longest of several."""
    if record.ttft_ms is None or not record.gaps_ms:
        return
    rows = rows_of(record.ttft_ms, record.gaps_ms)
    full = max(*record.gaps_ms, 1.0)
    for row in rows:
        name = f"token {row.last}" if row.first == row.last else f"tokens {row.first}-{row.last}"
        stall = f"  {'STALL' if row.stalls == 1 else f'{row.stalls} STALLS'}" if row.stalls else ""
        gap = f"+{row.longest_ms:,.1f}"
        style = "red" if row.stalls else ""
        line(console, row.at_ms, name, f"{gap:>10} {bar(row.longest_ms, full)}{stall}", style)
    if rows[0].first != rows[0].last:
        each = rows[0].last - rows[0].first + 1
        line(console, None, "", f"each bar is the longest of {each} gaps")


def show_verdict(console: Console, record: RequestRecord) -> None:
    """Outcome, flags and counts."""
    good = record.outcome == "ok"
    console.print(Text.assemble("outcome   ", (record.outcome, "bold green" if good else "bold red")), soft_wrap=True)
    if record.error:
        console.print(Text(f"error     {one_line(record.error)}"), soft_wrap=True)
    if record.retry_after_s is not None:
        console.print(f"wait      the server asks to wait {record.retry_after_s:g} s")
    gaps = record.gaps_ms
    if record.ttft_ms is not None:
        parts = [f"first token {ms(record.ttft_ms)}"]
        if gaps:
            parts.append(f"median gap {ms(median(gaps))}")
            parts.append(f"longest gap {ms(max(gaps))}")
        parts.append(f"last token {ms(record.last_token_ms)}")
        console.print(Text("times     " + ", ".join(parts)), soft_wrap=True)
    console.print(Text(f"tokens    {one_line(tokens_of(record))}"), soft_wrap=True)
    if record.flags:
        console.print(Text.assemble("flags     ", (", ".join(record.flags), "yellow")), soft_wrap=True)
    if record.stamp_lag_ms is None and record.headers_ms is not None:
        console.print("stamps    of the read, not of the kernel: later than the arrival by this machine's own delays")
    elif record.stamp_lag_ms is not None:
        console.print(f"stamps    of the kernel; read at most {ms(record.stamp_lag_ms)} later")


def tokens_of(record: RequestRecord) -> str:
    """Counts of tokens and who counted them."""
    parts = []
    if record.input_tokens is not None:
        cached = f", {record.cached_tokens} cached" if record.cached_tokens else ""
        parts.append(f"{record.input_tokens} in ({record.input_tokens_source}{cached})")
    if record.output_tokens is not None:
        hidden = f", {record.hidden_tokens} hidden" if record.hidden_tokens else ""
        parts.append(f"{record.output_tokens} out ({record.output_tokens_source}{hidden})")
    parts.append(f"{record.events} token events, {record.coalesced} of them in one read with the one before")
    if record.served_model:
        parts.append(f"model {record.served_model}")
    return ", ".join(parts)
