"""What the pages of engines tell, as these engines send them; and pages of any other kind, which tell nothing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.record.environment import SERVER
from llmload.send import served

SGLANG = {
    "model_path": "Qwen/Qwen2.5-7B-Instruct",
    "tokenizer_path": "Qwen/Qwen2.5-7B-Instruct",
    "tp_size": 2,
    "context_length": 32768,
    "quantization": "fp8",
    "disable_radix_cache": False,
    "chunked_prefill_size": 8192,
    "speculative_algorithm": None,
    "max_running_requests": 64,
    "version": "0.5.3",
}
VLLM_TEXT = (
    "model='Qwen/Qwen3-8B', speculative_config=SpeculativeConfig(method='eagle', num_spec_tokens=3), "
    "tokenizer='Qwen/Qwen3-8B', dtype=torch.bfloat16, max_seq_len=40960, tensor_parallel_size=4, "
    "quantization=None, enable_prefix_caching=True, chunked_prefill_enabled=False"
)


@pytest.mark.parametrize(
    ("place", "page", "facts"),
    [
        ("/version", {"version": "0.11.0"}, {"version": "0.11.0"}),
        (
            "/props",
            {
                "default_generation_settings": {"n_ctx": 4096, "speculative": False},
                "total_slots": 4,
                "model_path": "/m/x.gguf",
                "build_info": "b6000-abc",
                "chat_template": "{{ messages }}",
            },
            {
                "engine": "llama.cpp",
                "version": "b6000-abc",
                "model_root": "/m/x.gguf",
                "slots": 4,
                "context": 4096,
                "speculative_decoding": False,
            },
        ),
        (
            "/props",
            {"default_generation_settings": {}, "total_slots": 1, "build_info": "b0-unknown"},
            {"engine": "llama.cpp", "slots": 1},
        ),
        (
            "/server_info",
            SGLANG,
            {
                "engine": "sglang",
                "version": "0.5.3",
                "model_root": "Qwen/Qwen2.5-7B-Instruct",
                "quantization": "fp8",
                "tensor_parallel": 2,
                "context": 32768,
                "slots": 64,
                "speculative_decoding": False,
                "prefix_cache": True,
                "chunked_prefill": True,
                "tokenizer": "Qwen/Qwen2.5-7B-Instruct",
            },
        ),
        (
            "/get_server_info",
            SGLANG | {"disable_radix_cache": True, "chunked_prefill_size": -1, "speculative_algorithm": "EAGLE"},
            {
                "engine": "sglang",
                "version": "0.5.3",
                "model_root": "Qwen/Qwen2.5-7B-Instruct",
                "quantization": "fp8",
                "tensor_parallel": 2,
                "context": 32768,
                "slots": 64,
                "speculative_decoding": "EAGLE",
                "prefix_cache": False,
                "chunked_prefill": False,
                "tokenizer": "Qwen/Qwen2.5-7B-Instruct",
            },
        ),
        (
            "/server_info",
            {"vllm_config": VLLM_TEXT},
            {
                "engine": "vllm",
                "model_root": "Qwen/Qwen3-8B",
                "tensor_parallel": 4,
                "context": 40960,
                "speculative_decoding": True,
                "prefix_cache": True,
                "chunked_prefill": False,
                "tokenizer": "Qwen/Qwen3-8B",
            },
        ),
        (
            "/server_info",
            {"vllm_config": {"model_config": {"model": "m", "quantization": "awq"}, "speculative_config": None}},
            {"engine": "vllm", "model_root": "m", "quantization": "awq"},
        ),
        ("/get_model_info", {"model_path": "m"}, {"engine": "sglang", "model_root": "m"}),
        (
            "/info",
            {
                "model_id": "m/n",
                "model_sha": "abc",
                "version": "3.3.5",
                "max_total_tokens": 8192,
                "max_concurrent_requests": 128,
            },
            {
                "engine": "tgi",
                "version": "3.3.5",
                "model_root": "m/n",
                "model_digest": "abc",
                "context": 8192,
                "slots": 128,
            },
        ),
        (
            "/api/show",
            {
                "details": {"format": "gguf", "quantization_level": "Q4_K_M"},
                "model_info": {"general.parameter_count": 8030261312},
            },
            {"engine": "ollama", "weights_format": "gguf", "quantization": "Q4_K_M", "parameters": 8030261312},
        ),
    ],
)
def test_what_a_page_tells(place: str, page: Any, facts: dict[str, Any]) -> None:
    """Every value by its name in run.json."""
    (read,) = {engine.pages[place] for engine in served.ENGINES.values() if place in engine.pages}
    assert read(page) == facts
    assert set(facts) <= {*SERVER, "tokenizer"}


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            '# TYPE x gauge\nvllm:cache_config_info{block_size="16",enable_prefix_caching="True",swap="4"} 1.0\n',
            {"engine": "vllm", "prefix_cache": True},
        ),
        ("vllm:num_requests_running 0\n", {"engine": "vllm"}),
        ("# x\nvllm:spec_decode_num_drafts_total 0\n", {"engine": "vllm", "speculative_decoding": True}),
        ("# x\nsglang:token_usage 0\n", {"engine": "sglang"}),
        ("\nllamacpp:requests_processing 0", {"engine": "llama.cpp"}),
        ("# x\ntgi_queue_size 0", {"engine": "tgi"}),
        ("<html>my vllm: page</html>", {}),
        ("", {}),
    ],
)
def test_what_metrics_tell(text: str, facts: dict[str, Any]) -> None:
    """Whose they are, by the beginnings of lines."""
    assert served.metrics(text) == facts


def test_the_list_of_models() -> None:
    """The row of the model that is asked for: who serves it, what is behind its name, and the size of its weights."""
    llama = {
        "id": "m",
        "owned_by": "llamacpp",
        "meta": {"n_ctx": 1024, "n_params": 1000, "size": 687},
    }
    page = {"data": [{"id": "other", "owned_by": "vllm"}, llama]}
    expected = {"engine": "llama.cpp", "context": 1024, "parameters": 1000, "quantization_bits": 5.5}
    assert served.of_models(page, "m") == expected
    assert served.of_models({"data": [{"id": "m", "root": "a/b", "owned_by": "me"}]}, "m") == {"model_root": "a/b"}
    assert served.of_models(page, "third") == {}


def test_the_digest_of_ollama() -> None:
    """Of the model that is asked for."""
    page = {"models": [{"name": "a", "digest": "1"}, {"name": "m", "digest": "2"}]}
    assert served.ollama_tags(page, "m") == {"model_digest": "2"}
    assert served.ollama_tags(page, "x") == {}


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["data", "id", "meta", "size", "n_params", "model_path", "tp_size", "version", "vllm_config", "details",
                 "model_info", "default_generation_settings", "total_slots", "model_id", "max_concurrent_requests",
                 "chunked_prefill_size", "models", "owned_by", "build_info", "disable_radix_cache"]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@given(page=ANYTHING)
def test_no_page_is_too_odd(page: Any) -> None:
    """Whatever a gateway answers, a reader gives facts by known names, and never None."""
    readers = {read for engine in served.ENGINES.values() for read in engine.pages.values()}
    for read in readers:
        facts = read(page)
        assert set(facts) <= {*SERVER, "tokenizer"}
        assert None not in facts.values()
    served.of_models(page, "m")
    served.ollama_tags(page, "m")


def test_every_page_has_one_reader() -> None:
    """Engines may share a page, and then its reader: it tells by the form whose it is."""
    for place in {place for engine in served.ENGINES.values() for place in engine.pages}:
        assert len({engine.pages[place] for engine in served.ENGINES.values() if place in engine.pages}) == 1
    assert set(served.TELLTALES) <= {place for engine in served.ENGINES.values() for place in engine.pages}
