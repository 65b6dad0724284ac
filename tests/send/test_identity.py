"""Who a server is, asked of servers of the tests' own; and servers that tell nothing, or worse."""

import hashlib
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from llmload.record.environment import PROBE, TOKENIZER
from llmload.send import identity
from llmload.send.findings import Findings
from tests.send.endpoint import Script
from tests.send.test_preflight import SCENARIO, look

VLLM = {"id": "m", "owned_by": "vllm", "root": "Qwen/Qwen2.5-7B-Instruct-AWQ", "max_model_len": 4096}
METRICS = '# x\nvllm:cache_config_info{enable_prefix_caching="False"} 1\n'


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of the machine's own gets into these tests."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def found(script: Script, **options: Any) -> Findings:
    """What the preflight finds out."""
    return look(script, **options)[1]


def test_an_engine_that_its_list_of_models_names() -> None:
    """Only its own pages are asked, and each value has its source."""
    script = Script(models=[VLLM], pages={"/version": {"version": "0.11.0"}, "/metrics": METRICS})
    facts = found(script)
    assert facts.served == {
        "engine": "vllm",
        "model_root": "Qwen/Qwen2.5-7B-Instruct-AWQ",
        "context": 4096,
        "version": "0.11.0",
        "prefix_cache": False,
        "weights_format": "awq",
        "quantization": "awq",
        "quantization_bits": 4,
    }
    assert set(facts.sources) == set(facts.served)
    assert facts.sources["version"] == "GET /version"
    assert facts.sources["quantization"] == "the name 'Qwen2.5-7B-Instruct-AWQ' (GET models)"
    assert sorted(place for place, _ in script.asked) == ["/metrics", "/server_info", "/version"]
    assert len(script.posts) == facts.requests  # not one completion was spent for it


def test_an_engine_that_its_pages_name() -> None:
    """A list of models that says nothing: the telltale pages are asked, then the rest of that engine's."""
    ours = {"model_path": "/w/x", "tp_size": 1, "version": "0.5", "tokenizer_path": "/w/x"}
    script = Script(pages={"/get_server_info": ours, "/get_model_info": {"model_path": "/w/x"}})
    facts = found(script)
    assert (facts.served["engine"], facts.served["version"]) == ("sglang", "0.5")
    asked = [place for place, _ in script.asked]
    assert sorted(asked[:5]) == ["/get_server_info", "/info", "/metrics", "/props", "/server_info"]
    assert asked[5:] == ["/get_model_info"]


def test_an_engine_that_its_header_names() -> None:
    """As llama.cpp does."""
    script = Script(header="llama.cpp", pages={"/props": {"total_slots": 2, "model_path": "/m/x.Q4_K_M.gguf"}})
    facts = found(script)
    assert facts.sources["engine"] == "the server header"
    told = {name: facts.served[name] for name in ("slots", "weights_format", "quantization")}
    assert told == {"slots": 2, "weights_format": "gguf", "quantization": "Q4_K_M"}


def test_ollama_is_asked_by_post() -> None:
    """Its page on a model wants the model's name."""
    script = Script(
        models=[{"id": "m", "owned_by": "library"}],
        pages={
            "/api/version": {"version": "0.12"},
            "/api/show": {"details": {"format": "gguf", "quantization_level": "Q4_0"}},
            "/api/tags": {"models": [{"name": "m", "digest": "d1"}]},
        },
    )
    facts = found(script)
    assert facts.served == {
        "engine": "ollama",
        "version": "0.12",
        "weights_format": "gguf",
        "quantization": "Q4_0",
        "quantization_bits": 4,
        "model_digest": "d1",
    }
    assert facts.sources["quantization"] == "POST /api/show"


def test_a_gateway_tells_nothing() -> None:
    """404 to everything costs five requests, and the findings are empty."""
    script = Script()
    facts = found(script)
    assert (facts.served, facts.sources) == ({}, {})
    assert len(script.asked) == 5


@pytest.mark.parametrize(
    "page",
    [
        "<!DOCTYPE html><html>welcome</html>",
        302,
        500,
        401,
        [],
        3,
        {"version": {"major": 1}},
        {"version": 0.11},
        "x" * (identity.LARGEST + 1),
        '{"version": ' + "[" * 5000,
    ],
)
def test_odd_pages_are_harmless(page: Any) -> None:
    """HTML, redirects, refusals, other JSON, too much of anything, and what nests too deeply."""
    pages = dict.fromkeys(("/version", "/props", "/info", "/server_info", "/get_server_info", "/metrics"), page)
    script = Script(models=[VLLM], pages=pages)
    facts = found(script)
    assert "version" not in facts.served
    assert "/elsewhere" not in {place for place, _ in script.asked}


def test_a_page_that_never_answers_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """All pages are asked at once, so that several of them cost the time of one."""
    monkeypatch.setattr(identity, "PAGE_S", 0.3)
    script = Script(pages=dict.fromkeys(("/props", "/info", "/server_info", "/get_server_info", "/metrics")))
    begun = time.monotonic()
    assert found(script).served == {}
    assert time.monotonic() - begun < 10  # where one answered, ten seconds later, it would be more


def test_the_key_goes_to_the_pages_and_not_to_the_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with every other question to the same host; a page of metrics is never sent it. No value repeats it."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefghijkl")
    pages = {"/version": {"version": "for sk-abcdefghijkl"}, "/metrics": METRICS}
    script = Script(models=[VLLM], key="sk-abcdefghijkl", pages=pages)
    facts = found(script)
    sent = dict(script.asked)
    assert sent["/version"] == "Bearer sk-abcdefghijkl"
    assert sent["/metrics"] is None
    assert facts.served["version"] == "for [key]"


def test_metrics_are_not_asked_where_they_are_off() -> None:
    """`--server-metrics off` says so."""
    script = Script(pages={"/metrics": METRICS})
    assert found(script, metrics=False).served == {}
    assert "/metrics" not in {place for place, _ in script.asked}


def test_the_tokenizer_of_a_server() -> None:
    """One text that is always the same, counted by the server; its digest says which text that was."""
    facts = found(Script(tokenize="vllm")).tokenizing
    assert facts == {
        "probe_sha256": hashlib.sha256(PROBE.encode()).hexdigest(),
        "probe_tokens": len(PROBE) // 4,
        "probe_source": "server /tokenize",
    }
    assert set(facts) <= set(TOKENIZER)


def test_where_nobody_counts_nothing_is_said() -> None:
    """No completion is spent for it."""
    script = Script()
    facts = found(script)
    assert "probe_tokens" not in facts.tokenizing
    assert len(script.posts) == 3


@pytest.mark.parametrize(
    ("tokenize", "kind", "source", "tokens"),
    [
        ("llama", "auto", "server /tokenize", len(PROBE) // 4),
        ("llama", "tokenizer", "server /tokenize", len(PROBE) // 4),  # the server's own word is asked for all the same
        (None, "auto", "tokenizer tokenizer.json", len(PROBE.split())),
        (None, "ratio", "tokenizer tokenizer.json", len(PROBE.split())),
    ],
)
def test_the_file_of_a_tokenizer(tmp_path: Path, tokenize: str | None, kind: Any, source: str, tokens: int) -> None:
    """Its name and digest; it counts where the server does not."""
    path = tmp_path / "tokenizer.json"
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0}, unk_token="?"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(path))
    _, facts = look(Script(tokenize=tokenize), replace(SCENARIO, tokenizer=str(path), token_counting=kind))
    assert facts.tokenizing["name"] == "tokenizer.json"
    assert facts.tokenizing["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (facts.tokenizing["probe_source"], facts.tokenizing["probe_tokens"]) == (source, tokens)


def test_words_of_which_nothing_is_left_are_not_told() -> None:
    """A lone surrogate says no quantization."""
    page = {"details": {"format": "\ud800", "quantization_level": "\u202e"}, "model_info": 3}
    script = Script(models=[{"id": "m", "owned_by": "library"}], pages={"/api/show": page})
    facts = found(script)
    assert facts.served == {"engine": "ollama"}
    assert facts.sources == {"engine": "GET models"}
