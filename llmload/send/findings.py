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
    fitted_before: bool = False
    """Whether they are those of an earlier run."""
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
    served: dict[str, Any] = field(default_factory=dict)
    """What the server tells of itself, by the names of `record.environment.SERVER` …"""
    sources: dict[str, str] = field(default_factory=dict)
    """… and where each was told."""
    tokenizing: dict[str, Any] = field(default_factory=dict)
    """Its tokenizer, by the names of `record.environment.TOKENIZER`."""
    capabilities: dict[str, Any] = field(default_factory=dict)
    """What is stated in [capabilities]: `{"tools": {"stated": true, "seen": true, false or null, "words": why}, …}`."""
    capability_requests: int = 0
    """Completion requests that were sent for that, besides the others."""

    def as_dict(self) -> dict[str, Any]:
        """The findings as JSON, without what has places of its own in the run folder."""
        return {name: value for name, value in asdict(self).items() if name not in ELSEWHERE}


ELSEWHERE = ("tokens", "served", "sources", "tokenizing", "capabilities")
"""Tokens by prompt stand in prompts.jsonl, the others under `environment` and `capabilities` of run.json."""


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
    if (name := engine(found.served)) is not None:
        rows.append(("engine", name))
    rows += [(what, stated(item)) for what, item in capabilities(found)]
    more = f" and {found.capability_requests} on [capabilities]" if found.capability_requests else ""
    lines = [f"Looked at the endpoint in {found.requests} requests{more}, before the clock and in no record:"]
    lines += [f"  {name:<14} {text}" for name, text in rows]
    return lines + [f"  {'note':<14} {text}" for text in found.notes]


def engine(served: dict[str, Any]) -> str | None:
    """The line on what serves the model."""
    if "engine" not in served:
        return None
    parts = [" ".join(str(served[name]) for name in ("engine", "version") if name in served)]
    if "quantization" in served:
        parts.append(f"weights {served['quantization']}")
    if "slots" in served:
        parts.append(f"{served['slots']} slots")
    return ", ".join(parts)


def capabilities(found: Findings) -> list[tuple[str, dict[str, Any]]]:
    """What is stated of the endpoint's side, each language on its own."""
    rows = []
    for name, item in found.capabilities.items():
        each = item.get("each") or {}
        rows += [(f"answers in {code}", one) for code, one in each.items()] or [(WORDS.get(name, name), item)]
    return rows


WORDS = {"json_mode": "JSON mode"}


def stated(item: dict[str, Any]) -> str:
    """The line on one of them."""
    return f"{SEEN[item['seen']]}: {item['words']}"


SEEN = {True: "seen", False: "NOT seen", None: "not found out"}


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
    parts.append(f"{len(found.fit)} prompts {'cut as in the run before' if found.fitted_before else 'fitted'}")
    return ", ".join(parts)
