"""Engines' pages in llmload's words: each engine's names, old and new, summed or highest as the value wants it."""

import math
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmload.gather import engines
from llmload.gather.page import read
from llmload.gather.seen import Sample, Unread
from llmload.record.samples import SERVER_FIELDS
from llmload.simulate.metrics import Metrics, Now

PAGES = Path(__file__).parent / "pages"
SHARED = {
    "prompt_tokens": 1000.0,
    "output_tokens": 300.0,
    "requests": 12.0,
    "queue_seconds_sum": 0.12,
    "queue_seconds_count": 12.0,
    "prefill_seconds_sum": 0.48,
}


def seen(name: str) -> engines.Server:
    """What a saved page tells."""
    return engines.seen(read((PAGES / f"{name}.txt").read_text(), engines.is_wanted).samples)


def test_vllm() -> None:
    """Two replicas: requests and counters are summed, of the shares of the cache the higher counts."""
    server = seen("vllm")
    assert server.engine == "vllm"
    assert server.values == {
        **SHARED,
        "running": 7.0,
        "waiting": 2.0,
        "kv_cache_usage_ratio": 0.5,
        "preemptions": 1.0,
        "prefix_queries_tokens": 1000.0,
        "prefix_hits_tokens": 10.0,
        "prompt_tokens": 1500.0,
        "ttft_seconds_sum": 0.6,
        "ttft_seconds_count": 12.0,
        "prefill_seconds_count": 12.0,
        "decode_seconds_sum": 24.0,
        "decode_seconds_count": 12.0,
        "drafted_tokens": 40.0,
        "accepted_tokens": 30.0,
        "start_time_seconds": 1764500000.0,
        "resident_memory_bytes": 1.5e9,
    }
    assert server.names["waiting"] == "vllm:num_requests_waiting"
    assert server.names["requests"] == "vllm:request_success_total"


def test_vllm_by_its_old_names() -> None:
    """V0: who was swapped out waits, too; a hit rate of -1 is none."""
    server = seen("vllm-old")
    assert server.values == {
        "running": 4.0,
        "waiting": 3.0,
        "kv_cache_usage_ratio": 0.25,
        "prompt_tokens": 1000.0,
        "queue_seconds_sum": 0.5,
        "queue_seconds_count": 10.0,
        "acceptance_ratio": 0.5,
    }
    assert server.names == {
        "running": "vllm:num_requests_running",
        "waiting": "vllm:num_requests_waiting + vllm:num_requests_swapped",
        "kv_cache_usage_ratio": "vllm:gpu_cache_usage_perc",
        "prompt_tokens": "vllm:prompt_tokens_total",
        "queue_seconds_sum": "vllm:time_in_queue_requests_sum",
        "queue_seconds_count": "vllm:time_in_queue_requests_count",
        "acceptance_ratio": "vllm:spec_decode_draft_acceptance_rate",
    }


def test_sglang() -> None:
    """Each rank shows the same requests, so only the first counts; one stage of several is prefill."""
    server = seen("sglang")
    assert server.engine == "sglang"
    assert server.values == {
        **SHARED,
        "running": 4.0,
        "waiting": 3.0,
        "kv_cache_usage_ratio": 0.28,
        "preemptions": 3.0,
        "prefix_queries_tokens": 1000.0,
        "prefix_hits_tokens": 10.0,
        "prefix_hit_ratio": 0.01,
        "ttft_seconds_sum": 0.6,
        "ttft_seconds_count": 12.0,
        "prefill_seconds_count": 12.0,
        "acceptance_ratio": 0.6,
    }
    assert server.names["prefill_seconds_sum"] == "sglang:per_stage_req_latency_seconds_sum{stage=prefill_forward}"


def test_tgi() -> None:
    """Ended are successes and failures; the batches' decode steps are no time of requests and left out."""
    server = seen("tgi")
    assert server.engine == "tgi"
    assert server.values == {**SHARED, "running": 4.0, "waiting": 2.0, "prefill_seconds_count": 6.0}


def test_llama() -> None:
    """llama.cpp counts prompt tokens without those of its cache: 6 + 4 were asked for, 4 found."""
    server = seen("llama")
    assert server.engine == "llama.cpp"
    assert server.values == {
        "running": 1.0,
        "waiting": 3.0,
        "prefix_queries_tokens": 10.0,
        "prefix_hits_tokens": 4.0,
        "prompt_tokens": 10.0,
        "output_tokens": 16.0,
        "prefill_seconds_sum": 0.552677,
        "decode_seconds_sum": 5.0477,
        "drafted_tokens": 0.0,
        "accepted_tokens": 0.0,
    }


def test_simulate_speaks_vllms_names() -> None:
    """The page of `llmload simulate` itself."""
    metrics = Metrics("m")
    metrics.begin(217, 0.25)
    metrics.over("stop", 2.0, 1.5)
    page = metrics.page(Now(running=4, waiting=1, kv_tokens=65536)).decode()
    server = engines.seen(read(page, engines.is_wanted).samples)
    assert server.engine == "vllm"
    wanted = {"running": 4.0, "waiting": 1.0, "kv_cache_usage_ratio": 0.25, "prompt_tokens": 217.0, "requests": 1.0}
    wanted |= {"queue_seconds_sum": 0.25, "queue_seconds_count": 1.0, "decode_seconds_sum": 1.5, "preemptions": 0.0}
    assert server.values | wanted == server.values


def test_no_engine() -> None:
    """A page without any name that is known is refused, not taken as an idle server."""
    with pytest.raises(Unread, match=re.escape("expected names that begin with vllm:, sglang:, tgi_, llamacpp:")):
        engines.seen([Sample("process_start_time_seconds", {}, 1.0)])


def test_every_name_is_written_so_that_it_is_read() -> None:
    """Each choice of each table parses, belongs to its engine, and its key is one of the records'."""
    keys = {field.key for field in SERVER_FIELDS}
    for prefix, names in [*engines.ENGINES.values(), ("process_", engines.PROCESS)]:
        assert set(names) <= keys
        for choice in (choice for choices in names.values() for choice in choices):
            parts = [engines.PART.fullmatch(part) for part in choice.split(" + ")]
            assert all(part is not None and part["name"].startswith(prefix) for part in parts), choice


@settings(max_examples=40)
@given(
    st.lists(
        st.builds(
            Sample,
            st.sampled_from(sorted(engines._READ)),
            st.dictionaries(st.sampled_from(["tp_rank", "engine", "stage"]), st.sampled_from(["0", "1"])),
            st.floats(min_value=-1, max_value=1e12),
        )
    )
)
def test_whatever_a_page_tells_is_finite_and_not_negative(samples: list[Sample]) -> None:
    """Any samples lead to values of known keys with the names they were found under, or to one sentence."""
    try:
        server = engines.seen(samples)
    except Unread:
        return
    assert server.values.keys() == server.names.keys() <= {field.key for field in SERVER_FIELDS}
    assert all(math.isfinite(value) and value >= 0 for value in server.values.values())
    there = {sample.name for sample in samples}
    for name in server.names.values():
        assert all(engines.PART.fullmatch(part)["name"] in there for part in name.split(" + "))
