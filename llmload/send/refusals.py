"""What a server's refusal is about: read from its own words, as there is no standard for them. Pure.

Servers name the member of the body that they do not take (`Unsupported parameter: 'max_tokens' …`,
`unknown field stream_options`), and they say when a prompt is too long. A sentence about the context may name
`max_tokens` as well, so the context is looked for first.
"""

import re

LIMIT_FIELDS = ("max_tokens", "max_completion_tokens")

WISHES = ("ignore_eos", "min_tokens")
"""Members of the body that only some engines know, and that a request can do without."""

CONTEXT = re.compile(
    r"context (?:length|size|window)|maximum context|context_length|exceed_context|too long|too large|"
    r"longer than|(?:limit|maximum) is \d|prompt has \d+ tokens|exceeds? the (?:available|maximum|model)|input length",
    re.IGNORECASE,
)
"""Words with which engines and gateways refuse a prompt for its length."""


def about_context(words: str) -> bool:
    """True if a refusal says that prompt and answer do not fit."""
    return CONTEXT.search(words) is not None


def about_stream_options(words: str) -> bool:
    """True if a refusal names `stream_options` or what is in it."""
    return "stream_options" in words or "include_usage" in words


def about_limit(words: str) -> bool:
    """True if a refusal names the limit of output tokens, under either name, and not the context."""
    return any(name in words for name in LIMIT_FIELDS) and not about_context(words)


def wishes(words: str) -> tuple[str, ...]:
    """The wishes that a refusal names, if it is not about the context."""
    return () if about_context(words) else tuple(name for name in WISHES if name in words)
