"""The page of metrics: valid, under vLLM's names, with the right counts."""

from prometheus_client.parser import text_string_to_metric_families

from llmload.simulate.metrics import KV_CACHE_TOKENS, Histogram, Metrics, Now


def samples(page):
    """Value of each sample by name and the labels that matter."""
    found = {}
    for family in text_string_to_metric_families(page.decode()):
        for sample in family.samples:
            rest = {key: value for key, value in sample.labels.items() if key not in {"model_name", "engine"}}
            assert sample.labels["model_name"] == 'm"1'
            found[(sample.name, *rest.values())] = sample.value
    return found


def test_histogram_bounds_belong_to_their_bucket():
    """1 falls into le=1, the next above it into the next, and all into +Inf."""
    histogram = Histogram((1.0, 2.0))
    for seconds in (0.5, 1.0, 1.5, 9.0):
        histogram.observe(seconds)
    assert histogram.buckets() == [("1.0", 2.0), ("2.0", 3.0), ("+Inf", 4.0)]
    assert histogram.total == 12.0


def test_page():
    """Gauges of the moment, counters and histograms of all that was."""
    counts = Metrics('m"1')
    counts.begin(200, 0.0)
    counts.begin(100, 3.0)
    counts.generation_tokens = 7
    counts.first_token.observe(0.2)
    counts.between_tokens.observe(0.02)
    counts.over("length", 1.2, 0.9)
    counts.over("abort", 0.1, None)
    found = samples(counts.page(Now(2, 5, KV_CACHE_TOKENS // 4)))
    assert found[("vllm:num_requests_running",)] == 2
    assert found[("vllm:num_requests_waiting",)] == 5
    assert found[("vllm:kv_cache_usage_perc",)] == 0.25
    assert found[("vllm:prompt_tokens_total",)] == 300
    assert found[("vllm:generation_tokens_total",)] == 7
    assert found[("vllm:request_success_total", "length")] == 1
    assert found[("vllm:request_success_total", "stop")] == 0
    assert found[("vllm:request_success_total", "abort")] == 1
    assert found[("vllm:time_to_first_token_seconds_count",)] == 1
    assert found[("vllm:time_to_first_token_seconds_bucket", "0.25")] == 1
    assert found[("vllm:time_to_first_token_seconds_bucket", "0.1")] == 0
    assert found[("vllm:inter_token_latency_seconds_sum",)] == 0.02
    assert found[("vllm:request_queue_time_seconds_bucket", "0.3")] == 1
    assert found[("vllm:request_queue_time_seconds_bucket", "+Inf")] == 2
    assert found[("vllm:request_decode_time_seconds_count",)] == 1
    assert found[("vllm:e2e_request_latency_seconds_count",)] == 2


def test_a_full_cache_is_one():
    """The share of the cache never passes 1."""
    assert samples(Metrics('m"1').page(Now(1, 0, 10 * KV_CACHE_TOKENS)))[("vllm:kv_cache_usage_perc",)] == 1
