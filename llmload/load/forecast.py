"""What a run will take, before it is started: time, requests, tokens and cost of every step, for `--dry-run`.

From the scenario alone: it knows no server, so how long an answer takes is not known. Times are bounds. Requests are
those that the windows wait for; by rate they are those that arrive, whatever the server does.
"""

from dataclasses import dataclass
from math import ceil

from llmload.load import dataset, lengths
from llmload.load.mix import shares
from llmload.load.scenario import Load, Scenario, WorkloadClass
from llmload.load.spans import span

TOKENS_PER_S, TTFT_S = 50, 0.2
"""How fast an answer is taken to come where the disk is forecast: a server of middling speed."""
RECORD_BYTES, TOKEN_BYTES = 800, 7
"""A record with its line break, without gaps and for each of them: measured, 794 and 5.4 to 7."""
START_BYTES = 160
"""The line before a request in a worker's spool, which holds the record too as long as the run goes on."""
SECOND_BYTES, WORKER_BYTES = 2500, 500
"""Samples of a second: of the server and two GPUs, and of each worker."""

_CHARS_PER_TOKEN = 4
"""For prompts of a data file, which nobody has counted yet."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step before it ran. Tokens are those of its requests, warm-up included."""

    concurrency: int | None
    rate: float | None
    """One of the two is None."""
    least_s: float
    """Warm-up and window at their shortest."""
    most_s: float
    """Warm-up at its shortest, window and drain at their longest."""
    warmup: int
    """Requests of the warm-up."""
    window: int
    """Requests that the window waits for, unless its cap comes first; a fast server gets more. By rate: that arrive."""
    input_tokens: int
    output_tokens: int
    """As many as are asked for; an answer may end earlier."""

    @property
    def label(self) -> str:
        """What the step asks for."""
        return f"{self.concurrency:,}" if self.concurrency is not None else f"{self.rate:g}"


def steps(scenario: Scenario) -> list[Step]:
    """The forecast, step by step."""
    parts = shares(scenario)
    sizes = [(_input(scenario, cls), _output(cls)) for cls in scenario.classes]
    found = []
    for index, (users, rate) in enumerate(scenario.load.levels):
        load = scenario.load.of_step(index)
        # The window waits for so many of each class, and classes come in blocks of exact shares.
        blocks = max(ceil(load.window_requests / part) for part in parts)
        if rate is not None:
            window_s = longest_s = min(max(load.window_s, blocks * sum(parts) / rate), load.window_cap_s)
            warmup, window = round(rate * load.warmup_s), round(rate * window_s)
            counts = [(warmup + window) * part / sum(parts) for part in parts]
        else:
            window_s, longest_s = load.window_s, load.window_cap_s if blocks else load.window_s
            warmup, window = (users or 0) * load.warmup_requests, blocks * sum(parts)
            counts = [float(blocks * part) for part in parts]
            for user in range(users or 0):
                for k in range(load.warmup_requests):
                    counts[(user + k) % len(counts)] += 1
        found.append(
            Step(
                concurrency=users,
                rate=rate,
                least_s=load.warmup_s + window_s,
                most_s=load.warmup_s + longest_s + load.drain_limit_s,
                warmup=warmup,
                window=window,
                input_tokens=round(sum(count * size[0] for count, size in zip(counts, sizes, strict=True))),
                output_tokens=round(sum(count * size[1] for count, size in zip(counts, sizes, strict=True))),
            )
        )
    return found


def disk(scenario: Scenario, workers: int = 1) -> tuple[int, int]:
    """Requests of a run, and bytes that its folder takes while it goes on: twice what stays.

    Windows at their shortest and answers as long as they may be; see TOKENS_PER_S for their speed.
    """
    parts = shares(scenario)
    tokens = sum(_output(cls) * part for cls, part in zip(scenario.classes, parts, strict=True)) / sum(parts)
    lasts_s = TTFT_S + tokens / TOKENS_PER_S
    plan = steps(scenario)
    requests = sum(step.least_s * (step.rate or (step.concurrency or 0) / lasts_s) for step in plan)
    seconds = sum(step.least_s for step in plan)
    each = 2 * (RECORD_BYTES + TOKEN_BYTES * tokens) + START_BYTES
    return round(requests), round(requests * each + seconds * (SECOND_BYTES + WORKER_BYTES * workers))


def cost(scenario: Scenario, input_tokens: int, output_tokens: int) -> float | None:
    """tokens/1,000,000 · price, of both kinds; None if the scenario names no price."""
    prices = (scenario.cost.per_million_input, scenario.cost.per_million_output)
    if prices == (None, None):
        return None
    return (input_tokens * (prices[0] or 0) + output_tokens * (prices[1] or 0)) / 1e6


def of(scenario: Scenario) -> str:
    """The forecast as text: the classes, a table of steps, and what the figures stand for."""
    load, plan, parts = scenario.load, steps(scenario), shares(scenario)
    priced = cost(scenario, 0, 0) is not None
    counted = load.window_requests or load.kind == "rate"
    rows = [
        [
            "requests/s" if load.kind == "rate" else "in flight",
            "time at least",
            "warm-up",
            "window",
            "input tokens",
            "output tokens",
        ]
    ]
    rows += [
        [
            step.label,
            span(step.least_s),
            f"{step.warmup:,}",
            f"{step.window:,}" if counted else "by time",
            f"{step.input_tokens:,}",
            f"{step.output_tokens:,}",
        ]
        for step in plan
    ]
    total_in, total_out = sum(step.input_tokens for step in plan), sum(step.output_tokens for step in plan)
    least = sum(step.least_s for step in plan)
    rows.append(
        [
            "all",
            span(least),
            f"{sum(step.warmup for step in plan):,}",
            f"{sum(step.window for step in plan):,}" if counted else "by time",
            f"{total_in:,}",
            f"{total_out:,}",
        ]
    )
    if priced:
        rows[0].append("cost")
        rows[-1].append(f"{cost(scenario, total_in, total_out):,.4f}")
        for row, step in zip(rows[1:-1], plan, strict=True):
            row.append(f"{cost(scenario, step.input_tokens, step.output_tokens):,.4f}")
    lines = [f"{scenario.name}: {scenario.description}" if scenario.description else scenario.name, ""]
    for cls, part in zip(scenario.classes, parts, strict=True):
        wanted = cls.input_tokens.notation if cls.input_tokens else f"{_input(scenario, cls):,.0f} (estimated)"
        lines.append(
            f"  {cls.name}: {part} of {sum(parts)} requests, {wanted} prompt tokens, "
            f"at most {cls.max_tokens.notation} answer tokens"
        )
    lines += ["", *_table(rows), ""]
    lines += _notes(scenario, least, sum(step.most_s for step in plan))
    return "\n".join(lines)


def _notes(scenario: Scenario, least: float, most: float) -> list[str]:
    load = scenario.load
    window = f"A window lasts {span(load.window_s)}"
    if load.hold_s is not None and load.held is not None:
        window = f"The step with {_asked(load, load.held)} is held for {span(load.hold_s)}, by time alone.\n"
        window += f"Any other window lasts {span(load.window_s)}"
    if load.window_requests:
        window += (
            f" and until {load.window_requests:,} requests of each class were sent, but no longer than "
            f"{span(load.window_cap_s)}"
        )
    if load.kind == "rate":
        window += ".\nRequests arrive by the schedule, however long answers take; one that finds "
        window += f"{load.max_in_flight:,} in flight is not sent."
        drain = "those that arrive until the last measured one has ended"
    else:
        if load.window_requests:
            window += ":\nmore requests than shown if the server is fast, fewer if it is slow."
        else:
            window += "; how many requests that makes depends on the server. Tokens shown are those of the warm-up."
        drain = "at least one for each in flight"
    warmup = span(load.warmup_s)
    lines = [
        window,
        f"In all at least {span(least)}; at most {span(most)}, and what the warm-up takes beyond {warmup} a step.",
        f"Requests of the drain come on top, {drain}.",
    ]
    if load.max_requests is not None:
        lines.append(f"The run ends at {load.max_requests:,} requests.")
    if load.max_tokens_total is not None:
        lines.append(f"The run ends when {load.max_tokens_total:,} output tokens were asked for.")
    return lines


def _asked(load: Load, index: int) -> str:
    """What a step asks for, in a sentence."""
    users, rate = load.levels[index]
    return f"{users:,} in flight" if users is not None else f"{rate:g} requests/s"


def _input(scenario: Scenario, cls: WorkloadClass) -> float:
    """Mean prompt length of a class in tokens."""
    if cls.source == "file" and cls.path is not None:
        texts = [len(str(message["content"])) for entry in dataset.load(cls.path).entries for message in entry.messages]
        return sum(texts) / len(dataset.load(cls.path).entries) / _CHARS_PER_TOKEN
    wanted = lengths.targets(scenario, cls)
    return sum(wanted) / len(wanted) + cls.shared_prefix_tokens * cls.shared_prefix_share


def _output(cls: WorkloadClass) -> float:
    """Mean answer length asked for, in tokens."""
    default = sum(lengths.draws(cls.max_tokens, 100, "")) / 100
    if cls.source == "file" and cls.path is not None:
        entries = dataset.load(cls.path).entries
        return sum(entry.max_tokens or default for entry in entries) / len(entries)
    return default


def _table(rows: list[list[str]]) -> list[str]:
    """Columns aligned to the right, two spaces between them."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return ["  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
