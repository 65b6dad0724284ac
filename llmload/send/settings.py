"""How requests are sent: everything the sender needs to know apart from the request itself. Never the key itself.

A plain frozen record that goes into run.json as it is and to every worker, so nothing secret may be in it: the key
stays in the environment of the process that sends, and only the variable's name is here. Durations are seconds.
"""

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, Self


@dataclass(frozen=True, slots=True)
class Sending:
    """Where requests go, in which form, over which connections and with which limits."""

    base_url: str
    """Base URL as resolved: scheme, host, path down to and including `/v1`, query if one was given."""
    model: str
    api: Literal["chat", "completions"] = "chat"
    stream: bool = True
    fresh: bool = False
    """A new connection for every request instead of kept ones."""
    connect_s: float = 10.0
    ttft_s: float = 120.0
    stall_s: float = 60.0
    total_s: float = 600.0
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    stream_usage: bool = True
    """Ask for usage in the stream (`stream_options.include_usage`)."""
    key_env: str = "OPENAI_API_KEY"
    proxy: str | None = None
    ca: str | None = None
    """File with the certificates of the authorities to trust instead of the machine's."""
    insecure: bool = False
    allow_http_key: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    extra_body: dict[str, Any] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    """Wishes of a class that the server refuses, so that its requests go without them: `ignore_eos`, `min_tokens`."""
    temperature: float | None = None
    tokenizer: str | None = None
    """File of the tokenizer that counts an answer whose tokens the server did not tell."""

    def as_dict(self) -> dict[str, Any]:
        """The settings as JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> Self:
        """The settings from JSON; members that this version does not know are passed over."""
        known = {item.name for item in fields(cls)}
        given = {name: member for name, member in value.items() if name in known}
        return cls(**given | {"left_out": tuple(given.get("left_out", ()))})
