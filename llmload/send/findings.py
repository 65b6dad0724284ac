"""What the preflight found out about an endpoint, as JSON for run.json and as one screen for people. Pure."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(slots=True)
class Findings:
    """Facts about the endpoint, found before the clock. What was not found out is None."""

    base_url: str
    """As resolved; requests go below it."""
    model: str
    address: str | None = None
    """Host and port that were connected to."""
    models: list[str] = field(default_factory=list)
    """Models that the endpoint lists; empty if it lists none."""
    streaming: bool = True
    usage: bool | None = None
    """Whether the server counts tokens in its answers."""
    tokenizer: str | None = None
    """File that counts them where the server does not."""
    stream_options_refused: bool = False
    limit_field: str = "max_tokens"
    """The name under which it takes the limit of output tokens."""
    bursts: bool | None = None
    """More than four tokens in one read: something on the way holds them back."""
    first_ttft_ms: float | None = None
    kernel_stamps: bool | None = None
    server: str | None = None
    """The `server` header."""
    count_source: str | None = None
    """Who counts prompt tokens: `server /tokenize`, `tokenizer FILE`, `ratio`; None if no length is fitted."""
    chars_per_token: float | None = None
    overhead_tokens: int | None = None
    """Tokens that the chat template adds to a prompt."""
    fit: dict[str, int] = field(default_factory=dict)
    """Characters kept of each prompt, by prompt id."""
    tokens: dict[str, int] = field(default_factory=dict)
    """Tokens of each prompt behind a head, as counted by the server or a tokenizer, by prompt id (prompts.jsonl)."""
    context: int | None = None
    """Tokens of context of one request, as the endpoint tells."""
    longest_class: str | None = None
    longest: int | None = None
    """Prompt and answer tokens of the longest request, which the server took; None if it was not found out."""
    requests: int = 0
    """Completion requests that were sent for all this."""
    notes: list[str] = field(default_factory=list)
    """Sentences on what is unusual."""

    def as_dict(self) -> dict[str, Any]:
        """The findings as JSON; tokens by prompt stand in prompts.jsonl."""
        found = asdict(self)
        del found["tokens"]
        return found


def number(value: float) -> str:
    """Three digits, thousands with commas."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def screen(found: Findings) -> list[str]:
    """The findings in one screen, a line each."""
    reached = ", ".join(part for part in (found.address, found.server and f"server {found.server}") if part)
    rows = [("endpoint", found.base_url + (f"  ({reached})" if reached else ""))]
    only = " (the only one it serves)" if found.models == [found.model] else ""
    rows.append(("model", found.model + only))
    rows.append(("streaming", streaming(found)))
    rows.append(("usage", usage(found)))
    if found.limit_field != "max_tokens":
        rows.append(("output limit", f"as {found.limit_field}; max_tokens is refused"))
    if found.first_ttft_ms is not None:
        rows.append(("first token", f"after {number(found.first_ttft_ms)} ms"))
    if found.kernel_stamps is not None:
        rows.append(
            ("time stamps", "by the kernel" if found.kernel_stamps else "at the read; the kernel gives none here")
        )
    if found.count_source is not None:
        rows.append(("prompt length", counted(found)))
    if found.longest is not None:
        rows.append(("longest", f"class {found.longest_class}: {found.longest:,} tokens with its answer, taken"))
    lines = [f"Looked at the endpoint in {found.requests} requests, before the clock and in no record:"]
    lines += [f"  {name:<14} {text}" for name, text in rows]
    return lines + [f"  {'note':<14} {text}" for text in found.notes]


def streaming(found: Findings) -> str:
    """The line on streaming."""
    if not found.streaming:
        return "no, as the scenario asks: whole answers, no first-token times"
    if found.bursts is None:
        return "yes"
    return "yes, but tokens come in bursts" if found.bursts else "yes, token by token"


def usage(found: Findings) -> str:
    """The line on token counts in answers."""
    if found.usage is None:
        return "not known"
    if found.usage:
        return "told by the server"
    if found.tokenizer:
        return f"not told; output tokens are counted by tokenizer {found.tokenizer}"
    return "not told; output tokens are estimated, one per event"


def counted(found: Findings) -> str:
    """The line on prompt lengths."""
    parts = [f"counted by {found.count_source}" if found.count_source != "ratio" else "estimated"]
    if found.count_source == "ratio" and found.chars_per_token is not None:
        parts.append(f"{found.chars_per_token:.2f} characters per token")
    if found.overhead_tokens:
        parts.append(f"template adds {found.overhead_tokens} tokens")
    parts.append(f"{len(found.fit)} prompts fitted")
    return ", ".join(parts)
