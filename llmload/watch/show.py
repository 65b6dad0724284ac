"""A running run on the screen: a table that is redrawn on a terminal, a plain line now and then elsewhere.

Both are made of one `View` (follow.py) and nothing else. Knows no files and no clock.
"""

from collections import Counter
from collections.abc import Sequence
from math import ceil

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from llmload.load.scenario import Scenario
from llmload.load.soak import HOUR_S
from llmload.load.spans import span
from llmload.watch.follow import Step, View

MARKS = {"warm-up": "▸", "window": "▸", "drain": "▸", "done": "✓"}

ENDS = {
    "cap": "its cap",
    "failures": "too many failures in a row",
    "budget": "the budget",
    "stopped": "your stop",
    "fault": "a fault",
}
"""Why a step ended, where it was not its window."""


def amount(value: float | None, unit: str = "") -> str:
    """A figure for the eye: three digits, thousands with commas; nothing where nothing was measured."""
    if value is None:
        return "-"
    text = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"{text} {unit}".rstrip()


def phase(step: Step, scenario: Scenario) -> str:
    """What a step does at the moment, and what it waits for."""
    if step.phase == "warm-up":
        return f"warm-up, {step.warmup} request{'s' * (step.warmup != 1)}"
    if step.phase == "window":
        return f"window {window(step, scenario)}"
    if step.phase == "drain":
        return f"drain, {span(round(step.phase_s or 0.0))}"
    return f"ended by {ENDS[step.ended_by]}" if step.ended_by in ENDS else step.phase


def window(step: Step, scenario: Scenario) -> str:
    """How long a window is open, and what it waits for: its seconds, then the class that has fewest."""
    load, gone = scenario.load.of_step(step.index), step.window_s or 0.0
    now = span(round(gone))
    if gone < load.window_s:
        return f"{now} of {span(load.window_s)}"
    fewest = min((item.name for item in scenario.classes), key=lambda name: step.by_class[name])
    got, wanted = step.by_class[fewest], load.window_requests
    return f"{now}, {got} of {wanted} {fewest}" if got < wanted else now


def failures(steps: Sequence[Step]) -> str:
    """What became of the requests that failed, the most frequent first; empty if none did."""
    total = sum((step.outcomes for step in steps), Counter[str]())
    return ", ".join(f"{count} {outcome}" for outcome, count in total.most_common())


def through(step: Step, scenario: Scenario) -> str:
    """The latest part of a long window against its first: whether the server is still what it was."""
    place, first = step.latest, step.parts.get(0)
    if step.part_s is None or place is None or first is None:
        return ""
    now, window_s = step.parts[place], scenario.load.of_step(step.index).window_s
    words = (
        f"{'hour' if step.part_s == HOUR_S else 'part'} {place + 1} of {max(place + 1, ceil(window_s / step.part_s))}"
    )
    words += "" if step.part_s == HOUR_S else f" ({span(step.part_s)} each)"
    late, early = now.ttft_ms.percentile(95), first.ttft_ms.percentile(95)
    if late is not None and early:
        words += (
            f": TTFT p95 {amount(late, 'ms')}, {amount(early, 'ms')} in the first ({(late / early - 1) * 100:+.0f} %)"
        )
    return (
        f"{words}; failed {now.failed / now.ended * 100:.1f} %, {first.failed / first.ended * 100:.1f} % in the first"
    )


def left(view: View) -> str:
    """How much longer."""
    if view.remaining_s is None:
        return ""
    return f"{'at least' if view.at_least else 'about'} {span(round(view.remaining_s))} left"


def line(view: View, scenario: Scenario) -> str:
    """The run in one line, for logs and pipes."""
    if view.current is None:
        return "starting"
    step = view.steps[view.current]
    load = [f"{amount(view.in_flight)} of {step.concurrency} in flight"]
    if step.rate is not None:
        load = [f"{amount(step.reached_per_s)} of {step.rate:g} requests/s", f"{amount(view.in_flight)} in flight"]
    parts = [
        f"step {step.index + 1} of {len(view.steps)}",
        *load,
        phase(step, scenario),
        f"{step.ok} ok",
        f"{step.failed} failed" + (f" ({failures([step])})" if step.failed else ""),
        f"{step.not_sent} not sent" if step.not_sent else "",
        f"TTFT p50 {amount(step.ttft_p50_ms, 'ms')}",
        f"{amount(step.tokens_per_s)} tokens/s",
        through(step, scenario),
        left(view),
    ]
    return " · ".join(part for part in parts if part)


def picture(view: View, scenario: Scenario) -> RenderableType:
    """The run as a table, one row for each step; above it how far it has come, below it what failed."""
    table = Table(box=None, padding=(0, 1), header_style="dim", pad_edge=False)
    table.add_column("")
    load = ("requests/s", "in flight") if scenario.load.kind == "rate" else ("in flight",)
    for name in (*load, "ok", "failed", "TTFT p50", "tokens/s"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", overflow="ellipsis", no_wrap=True)
    for step in view.steps:
        row(table, step, view, scenario)
    parts: list[RenderableType] = [head(view), Text(), table]
    parts += [Text(f"\n{words}", "cyan") for step in view.steps if (words := through(step, scenario))]
    if failed := failures(view.steps):
        parts.append(Text(f"\nfailed: {failed}", "red"))
    if unsent := ", ".join(f"{step.not_sent} at {step.label}" for step in view.steps if step.not_sent):
        parts.append(Text(f"\nnot sent: {unsent}", "yellow"))
    return Group(*parts)


def row(table: Table, step: Step, view: View, scenario: Scenario) -> None:
    """One step of the table."""
    if step.phase == "to come":
        table.add_row("", f"{step.rate:g}" if step.rate is not None else step.label, style="dim")
        return
    live = step.index == view.current
    load = [f"{amount(view.in_flight)}/{step.concurrency}" if live else step.label]
    if step.rate is not None:
        load = [f"{amount(step.reached_per_s)}/{step.rate:g}", amount(view.in_flight) if live else ""]
    mark, colour = MARKS[step.phase], "cyan" if live else "green"
    if step.phase == "done" and not step.ok:
        mark, colour = "✗", "red"
    note = phase(step, scenario) if live or step.ended_by in ENDS else ""
    table.add_row(
        Text(mark, colour),
        *load,
        str(step.ok),
        Text(str(step.failed), "red" if step.failed else ""),
        amount(step.ttft_p50_ms, "ms"),
        amount(step.tokens_per_s),
        Text(note, "cyan" if live else "yellow"),
        style="bold" if live else "",
    )


def head(view: View) -> RenderableType:
    """The line above the table: bar, time gone, time left."""
    gone, more = view.elapsed_s or 0.0, view.remaining_s or 0.0
    grid = Table.grid(padding=(0, 2))
    bar = ProgressBar(total=max(gone + more, 1.0), completed=gone, width=30, complete_style="cyan")
    grid.add_row(bar, Text(f"{span(round(gone))} gone", "dim"), Text(left(view)))
    return grid
