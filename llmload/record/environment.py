"""What a run was measured on, as run.json tells it under `environment`: the names, once, and who finds each out.

Plain data and pure: who looks writes these names, who reports and compares reads them. What is not known is left out or
null, never "unknown": that word is for people.

    "environment": {
      "client": {CLIENT…, "path": {PATH…}},
      "server": {SERVER…, "sources": {"engine": "GET /version", …}},
      "tokenizer": {TOKENIZER…},
      "gpus": [{GPUS…}, …], "gpus_source": "http://gpu-host:9835/metrics",
      "machine": {MACHINE…},          (what `llmload env` told on the server's machine, by --environment FILE)
      "told": {"weights": "…", …}     ([environment] of the scenario; wins over what was found)
    }
"""

CLIENT = {
    "host": "name of the machine that conducts the run",
    "cpu": "its processor",
    "cores": "logical cores",
    "memory_bytes": "its memory",
    "os": "operating system",
    "kernel": "its kernel",
    "python": "Python's version and build",
    "virtual": "kvm, vmware, docker, podman, lxc, … where it is a guest or a container, none where it is neither",
    "cpu_limit": "cores that a container may use, where it is limited",
}
PATH = {
    "address": "host and port that was connected to",
    "loopback": "true if the endpoint is on this very machine",
    "interface": "the network interface on the way",
    "rtt_ms": "round trip of TCP handshakes: {n, min, p50, max, by: kernel (its own clock) or connect (ours)}",
    "proxy": "the proxy in between, if any",
}
SERVER = {
    "url": "the endpoint as resolved",
    "address": "host and port that was connected to",
    "server_header": "its `server` header",
    "models": "models that it lists",
    "model": "the model asked for",
    "model_root": "the file, folder or repository behind that name",
    "model_digest": "digest of the weights, where it tells",
    "parameters": "number of parameters, where it tells",
    "engine": "vllm, sglang, tgi, llama.cpp, simulate, …",
    "version": "version of the engine",
    "weights_format": "gguf, safetensors, awq, gptq, …",
    "quantization": "Q4_K_M, fp8, awq, …",
    "quantization_bits": "bits per weight",
    "tensor_parallel": "GPUs that hold one copy",
    "context": "tokens of one request, prompt and answer",
    "slots": "requests that it serves at once",
    "speculative_decoding": "true, false, or the kind",
    "prefix_cache": "true or false",
    "chunked_prefill": "true or false",
}
TOKENIZER = {
    "name": "its name, where the server tells it, or that of the file",
    "sha256": "of the tokenizer's file, where there is one",
    "probe_sha256": "of the fixed text PROBE",
    "probe_tokens": "tokens that the server counts in it",
    "probe_source": "who counted: `server /tokenize`, `tokenizer FILE`, `usage`",
}
GPUS = {
    "gpu": "its number",
    "uuid": "its UUID",
    "name": "its model",
    "memory_total_bytes": "its memory",
    "driver_version": "driver",
    "cuda_version": "CUDA",
    "power_limit_watts": "power limit that is enforced",
    "sm_clock_max_hertz": "highest clock of the SMs",
    "mig": "true if it is cut by MIG",
    "processes": "processes that hold memory on it, without their names",
    "shared": "true if more than one process holds memory on it",
}
MACHINE = {
    **CLIENT,
    "llmload": "version that looked",
    "at": "when, in Unix seconds",
    "gpus": "as GPUS; not there if nobody looked for them",
    "gpus_note": "why none was found",
}

PROBE = (
    "The quick brown fox jumps over 13 lazy dogs; 327,846,000 EUR were paid on 2026-11-30. "
    'Straßenbahn, naïve café, 東京タワー, Привет мир! def add(a, b):\n    return a + b  # {"k": [1, 2.5, null]}'
)
"""Text whose count of tokens tells tokenizers apart: words, numbers, code, accents and three scripts."""
