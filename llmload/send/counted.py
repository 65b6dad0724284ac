"""How many tokens each prompt has, for prompts.jsonl: known from fitting them, else counted once. Sends nothing itself.

The text is counted as it is fitted: behind a head of the usual length, where the scenario has heads.
"""

import hashlib
from collections.abc import Sequence

from llmload.load import lengths
from llmload.load.lengths import Counter
from llmload.load.mix import Mix
from llmload.load.scenario import Scenario

AT_MOST = 2000
"""Prompts that are counted for this alone; of a larger data file nobody waits for the rest."""


class Remembering:
    """A counter that asks the one below it for no text twice."""

    def __init__(self, count: Counter) -> None:
        self._count = count
        self._known: dict[bytes, int] = {}

    def __call__(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        keys = [_key(text) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        if new:
            self._known.update(zip(new, self._count(list(new.values())), strict=True))
        return [self._known[key] for key in keys]

    def known(self, text: str) -> bool:
        """Whether it was counted already."""
        return _key(text) in self._known


def tokens(scenario: Scenario, mix: Mix, count: Remembering) -> dict[str, int]:
    """Tokens by prompt id. Raises what the counter raises."""
    lead = lengths.typical_lead(scenario)
    texts: dict[str, str] = {}
    new = 0
    for _, name, text in mix.prompts():
        new += not count.known(lead + text)
        if new > AT_MOST:
            break
        texts[name] = lead + text
    return dict(zip(texts, count(list(texts.values())), strict=True))


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
