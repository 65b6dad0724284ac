"""Prompt lengths on a real engine: what was asked for, and what it counts."""

import json
import urllib.request
from typing import Any

import pytest

from llmload.engines import llama
from llmload.engines.start import ENGINES, serving
from llmload.exits import Stop
from llmload.load import lengths, reading
from llmload.load.mix import Mix


def post(url: str, body: dict[str, Any]) -> Any:
    """The answer to one JSON request."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


@pytest.mark.engine
@pytest.mark.slow
def test_the_engine_counts_what_was_asked_for() -> None:
    """Fitted by the engine's own /tokenize, prompts of every class are within 5 % of their length in its usage."""
    try:
        llama.check()
    except Stop as stop:
        pytest.skip(stop.message)
    scenario = reading.load("llama", [(f"class.{name}.prompts", "3") for name in ("short", "medium", "long")])
    with serving(ENGINES["llama"]) as url:

        def tokens(text: str) -> int:
            return len(post(f"{url}/tokenize", {"content": text})["tokens"])

        def usage(text: str) -> int:
            body = {"model": llama.MODEL, "messages": [{"role": "user", "content": text}], "max_tokens": 1}
            return int(post(f"{url}/v1/chat/completions", body)["usage"]["prompt_tokens"])

        overhead = usage("Say yes.") - tokens("Say yes.")
        fit = lengths.fit(scenario, lambda texts: [tokens(text) for text in texts], overhead)
        mix = Mix(scenario, fit)
        calls = [mix.measured(0, index) for index in range(6)]
        assert {call.workload for call in calls} == {"short", "medium", "long"}
        for call in calls:
            assert call.requested_input_tokens is not None
            assert abs(usage(call.text) - call.requested_input_tokens) <= 0.05 * call.requested_input_tokens
