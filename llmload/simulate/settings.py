"""What a simulator is told to be. Plain values, checked by whoever reads them (`llmload/cli/simulate.py`)."""

from dataclasses import dataclass, field
from pathlib import Path

from llmload.simulate.failures import Failures
from llmload.simulate.lengths import Lengths
from llmload.simulate.timing import Timing
from llmload.simulate.tokens import LETTERS


@dataclass(frozen=True, slots=True)
class Settings:
    """One simulated endpoint."""

    host: str = "127.0.0.1"
    port: int = 0
    """0 takes a free one."""
    model: str = "simulated"
    timing: Timing = field(default_factory=Timing)
    slots: int | None = None
    """Requests in service at once; the others wait, first come first served. None: no limit."""
    failures: Failures = field(default_factory=Failures)
    seed: int = 1
    truth: Path | None = None
    max_context: int = 32_768
    tokens_per_event: int = 1
    letters_per_token: int = LETTERS
    """Of the tokenizer: fewer make more tokens of the same text."""
    answer_tokens: Lengths | None = None
    """How long answers would be by themselves; None: as long as they may be (256 tokens if nothing was asked)."""
