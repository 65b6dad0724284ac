"""The list of a run's prompts, and what makes their sequence: made before the clock, for prompts.jsonl and run.json."""

from typing import Any

import gevent

from llmload.drive.prepare import Prepared
from llmload.load import sequence
from llmload.load.mix import Mix
from llmload.record.prompts import Prompt

AT_A_TIME = 50
"""Prompts, between which other greenlets get a turn: a long one takes a millisecond to write."""


def listed(prepared: Prepared) -> tuple[list[Prompt], dict[str, Any]]:
    """All prompts in the scenario's order, and the member `sequence` of run.json."""
    scenario, found = prepared.scenario, prepared.findings
    mix = Mix(scenario, found.fit)
    source = "tokenizer" if (found.count_source or "").startswith("tokenizer") else "server"
    prompts = []
    for number, (workload, name, text) in enumerate(mix.prompts(), 1):
        tokens = found.tokens.get(name)
        digest = sequence.text_sha256(text)
        prompts.append(Prompt(name, workload, digest, len(text), tokens, None if tokens is None else source))
        if number % AT_A_TIME == 0:
            gevent.sleep(0)
    return prompts, {
        "seed": scenario.seed,
        "round": scenario.round,
        "prompts": len(prompts),
        "prompts_sha256": sequence.prompts_sha256((item.workload, item.prompt, item.sha256) for item in prompts),
        "calls": sequence.CALLS,
        "order_sha256": sequence.order_sha256(scenario, mix),
    }
