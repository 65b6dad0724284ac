"""An engine's own metrics in llmload's words: under which of its names each value of SERVER_FIELDS is found. Pure.

The first name of a list that is on the page counts. A name may be a sum (`a + b`: `a` has to be there, `b` is added
where it is) and may ask for a label (`a{stage=prefill}`). Several models and replicas on a page are summed; of ratios
the highest counts, and so it does for the start of the process. Adding an engine is adding its entry to ENGINES.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from llmload.gather.seen import Sample, Unread

Names = Mapping[str, tuple[str, ...]]

VLLM: Names = {
    "running": ("vllm:num_requests_running",),
    "waiting": ("vllm:num_requests_waiting + vllm:num_requests_swapped", "vllm:num_requests_waiting_by_reason"),
    "kv_cache_usage_ratio": ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
    "preemptions": ("vllm:num_preemptions_total",),
    "prefix_queries_tokens": ("vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"),
    "prefix_hits_tokens": ("vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"),
    "prefix_hit_ratio": ("vllm:gpu_prefix_cache_hit_rate",),
    "prompt_tokens": ("vllm:prompt_tokens_total",),
    "output_tokens": ("vllm:generation_tokens_total",),
    "requests": ("vllm:request_success_total",),
    "ttft_seconds_sum": ("vllm:time_to_first_token_seconds_sum",),
    "ttft_seconds_count": ("vllm:time_to_first_token_seconds_count",),
    "queue_seconds_sum": ("vllm:request_queue_time_seconds_sum", "vllm:time_in_queue_requests_sum"),
    "queue_seconds_count": ("vllm:request_queue_time_seconds_count", "vllm:time_in_queue_requests_count"),
    "prefill_seconds_sum": ("vllm:request_prefill_time_seconds_sum",),
    "prefill_seconds_count": ("vllm:request_prefill_time_seconds_count",),
    "decode_seconds_sum": ("vllm:request_decode_time_seconds_sum",),
    "decode_seconds_count": ("vllm:request_decode_time_seconds_count",),
    "drafted_tokens": ("vllm:spec_decode_num_draft_tokens_total",),
    "accepted_tokens": ("vllm:spec_decode_num_accepted_tokens_total",),
    "acceptance_ratio": ("vllm:spec_decode_draft_acceptance_rate",),
}

SGLANG: Names = {
    "running": ("sglang:num_running_reqs",),
    "waiting": ("sglang:num_queue_reqs + sglang:num_grammar_queue_reqs",),
    "kv_cache_usage_ratio": ("sglang:token_usage", "sglang:full_token_usage"),
    "preemptions": ("sglang:num_retracted_requests_total",),
    "prefix_queries_tokens": ("sglang:prompt_tokens_total",),
    "prefix_hits_tokens": ("sglang:cached_tokens_total",),
    "prefix_hit_ratio": ("sglang:cache_hit_rate",),
    "prompt_tokens": ("sglang:prompt_tokens_total",),
    "output_tokens": ("sglang:generation_tokens_total",),
    "requests": ("sglang:num_requests_total",),
    "ttft_seconds_sum": ("sglang:time_to_first_token_seconds_sum",),
    "ttft_seconds_count": ("sglang:time_to_first_token_seconds_count",),
    "queue_seconds_sum": ("sglang:queue_time_seconds_sum",),
    "queue_seconds_count": ("sglang:queue_time_seconds_count",),
    "prefill_seconds_sum": ("sglang:per_stage_req_latency_seconds_sum{stage=prefill_forward}",),
    "prefill_seconds_count": ("sglang:per_stage_req_latency_seconds_count{stage=prefill_forward}",),
    "acceptance_ratio": ("sglang:spec_accept_rate",),
}

TGI: Names = {
    "running": ("tgi_batch_current_size",),
    "waiting": ("tgi_queue_size",),
    "prompt_tokens": ("tgi_request_input_length_sum",),
    "output_tokens": ("tgi_request_generated_tokens_sum",),
    "requests": ("tgi_request_success + tgi_request_failure",),
    "queue_seconds_sum": ("tgi_request_queue_duration_sum",),
    "queue_seconds_count": ("tgi_request_queue_duration_count",),
    "prefill_seconds_sum": ("tgi_batch_forward_duration_sum{method=prefill}",),
    "prefill_seconds_count": ("tgi_batch_forward_duration_count{method=prefill}",),
}
"""TGI tells prefill by batch (each request waits for all of its batch), and decoding by step, which is left out."""

LLAMA: Names = {
    "running": ("llamacpp:requests_processing",),
    "waiting": ("llamacpp:requests_deferred",),
    "kv_cache_usage_ratio": ("llamacpp:kv_cache_usage_ratio",),
    "prefix_queries_tokens": ("llamacpp:prompt_tokens_cached_total + llamacpp:prompt_tokens_total",),
    "prefix_hits_tokens": ("llamacpp:prompt_tokens_cached_total",),
    "prompt_tokens": ("llamacpp:prompt_tokens_total + llamacpp:prompt_tokens_cached_total",),
    "output_tokens": ("llamacpp:tokens_predicted_total",),
    "prefill_seconds_sum": ("llamacpp:prompt_seconds_total",),
    "decode_seconds_sum": ("llamacpp:tokens_predicted_seconds_total",),
    "drafted_tokens": ("llamacpp:spec_decode_num_draft_tokens_total", "llamacpp:tokens_drafted_total"),
    "accepted_tokens": ("llamacpp:spec_decode_num_accepted_tokens_total", "llamacpp:tokens_drafted_accepted_total"),
}
"""llama.cpp counts prompt tokens without those from its cache, and no requests."""

PROCESS: Names = {
    "start_time_seconds": ("process_start_time_seconds",),
    "resident_memory_bytes": ("process_resident_memory_bytes",),
}

ENGINES: dict[str, tuple[str, Names]] = {
    "vllm": ("vllm:", VLLM),
    "sglang": ("sglang:", SGLANG),
    "tgi": ("tgi_", TGI),
    "llama.cpp": ("llamacpp:", LLAMA),
}
"""Each engine with what its names begin with. `llmload simulate` speaks vLLM's."""

HIGHEST = {"start_time_seconds"}
PART = re.compile(r"(?P<name>[\w:]+)(?:\{(?P<label>\w+)=(?P<value>\w+)\})?")


@dataclass(frozen=True, slots=True)
class Server:
    """What an engine tells, and under which of its names it was found."""

    engine: str
    values: dict[str, float]
    names: dict[str, str]


_READ = {
    match["name"]
    for names in (PROCESS, *(names for _, names in ENGINES.values()))
    for choices in names.values()
    for choice in choices
    for match in PART.finditer(choice)
}
_PREFIXES = tuple(prefix for prefix, _ in ENGINES.values())


def is_wanted(name: str) -> bool:
    """True for names that are read here."""
    return name in _READ


def seen(samples: Iterable[Sample]) -> Server:
    """The values of an engine's page. Raises Unread if it is no engine's that is known here."""
    found: dict[str, list[Sample]] = {}
    for sample in samples:
        # Each rank of a tensor- or pipeline-parallel engine shows the same requests.
        if sample.labels.get("tp_rank", "0") == "0" and sample.labels.get("pp_rank", "0") == "0":
            found.setdefault(sample.name, []).append(sample)
    for engine, (prefix, names) in ENGINES.items():
        if any(name.startswith(prefix) for name in found):
            values: dict[str, float] = {}
            under: dict[str, str] = {}
            for key, choices in {**names, **PROCESS}.items():
                for choice in choices:
                    if (told := _value(key, choice, found)) is not None:
                        under[key], values[key] = told
                        break
            return Server(engine, values, under)
    raise Unread(f"the page is of no engine that is known; expected names that begin with {', '.join(_PREFIXES)}")


def _value(key: str, choice: str, found: Mapping[str, list[Sample]]) -> tuple[str, float] | None:
    """The names of a choice that are there, and its value; None if the first is not."""
    under: list[str] = []
    numbers: list[float] = []
    for part in choice.split(" + "):
        match = PART.fullmatch(part)
        assert match is not None  # noqa: S101  (the tables above are written so)
        here = [
            sample.value
            for sample in found.get(match["name"], ())
            if match["label"] is None or sample.labels.get(match["label"]) == match["value"]
        ]
        here = [number for number in here if number >= 0]  # a ratio of -1 says "not known"
        if not here and not under:
            return None
        if here:
            under.append(part)
            numbers += here
    highest = key.endswith("_ratio") or key in HIGHEST
    return " + ".join(under), max(numbers) if highest else sum(numbers)
