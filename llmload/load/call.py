"""What one request asks: made by the mix, turned into bytes by the sender. Knows no endpoint and no model."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """One request to be made. `messages` is for chat, `text` for completions; both say the same."""

    workload: str
    prompt: str
    """Id of the prompt in the scenario or data set; never its text."""
    messages: tuple[dict[str, Any], ...]
    text: str
    max_tokens: int
    requested_input_tokens: int | None = None
    temperature: float | None = None
    extra_body: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    tools: tuple[dict[str, Any], ...] = ()
    ignore_eos: bool = False
    min_tokens: int | None = None

    @property
    def words(self) -> int:
        """Words that are sent; a server that counts under half as many tokens has cut the prompt."""
        return len(self.text.split())
