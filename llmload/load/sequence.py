"""Whether two runs had the same prompts in the same order, as digests that can be laid side by side. Pure."""

import hashlib
from collections.abc import Iterable

import orjson

from llmload.load.head import head
from llmload.load.mix import Mix
from llmload.load.scenario import Scenario

CALLS = 1000
"""So many requests of step 0 stand for the order of all: every other step is shuffled by the same seed."""


def order_sha256(scenario: Scenario, mix: Mix) -> str:
    """SHA-256 over class, prompt, output limit and unique head of the first CALLS measured requests of step 0.

    The text of a prompt is not in it: two tokenizers may have cut it elsewhere, and prompts.jsonl tells that apart.
    """
    digest = hashlib.sha256()
    for index in range(CALLS):
        call = mix.measured(0, index)
        words = head(scenario.seed, scenario.round, "measured", 0, index) if scenario.cache_busting else None
        digest.update(orjson.dumps([call.workload, call.prompt, call.max_tokens, words]) + b"\n")
    return digest.hexdigest()


def text_sha256(text: str) -> str:
    """SHA-256 of a text as UTF-8; what no UTF-8 can hold (half a pair of surrogates) as it stands in Python."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def prompts_sha256(prompts: Iterable[tuple[str, str, str]]) -> str:
    """SHA-256 over (class, prompt id, SHA-256 of the text) of all prompts."""
    digest = hashlib.sha256()
    for prompt in prompts:
        digest.update(orjson.dumps(prompt) + b"\n")
    return digest.hexdigest()
