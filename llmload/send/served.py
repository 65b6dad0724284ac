"""What a server's own pages tell of it, by the names of `record.environment.SERVER`: one reader per page. Pure.

A reader takes a page as JSON (of /metrics: its text) and gives what it knows of it; for a page that is not of its form
it gives nothing, as gateways answer anything. Adding an engine is adding its entry to ENGINES.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Facts = dict[str, Any]
Reader = Callable[[Any], Facts]

METRICS = "/metrics"
TAGS = "/api/tags"
"""Tells of all models: read by `ollama_tags`, which has to know whose digest is wanted."""


def word(value: Any) -> str | None:
    """A text that says something."""
    return value.strip() or None if isinstance(value, str) else None


def whole(value: Any) -> int | None:
    """A whole number above 0, also as text."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def flag(value: Any) -> bool | None:
    """True or false, also in words."""
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value.lower()) if isinstance(value, str) else None


def table(value: Any) -> Mapping[str, Any]:
    """An object; what is none is an empty one."""
    return value if isinstance(value, dict) else {}


def known(**facts: Any) -> Facts:
    """Those that say something."""
    return {name: value for name, value in facts.items() if value is not None}


# ---- the list of models, which every server has ----------------------------------------------------------------


def of_models(page: Any, model: str) -> Facts:
    """What GET models tells of the model that is asked for: also who serves it (OWNERS)."""
    rows = table(page).get("data") if isinstance(page, dict) else page
    rows = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    row = next((row for row in rows if row.get("id") == model), None)
    if row is None:
        return {}
    meta = table(row.get("meta"))
    size, parameters = whole(meta.get("size")), whole(meta.get("n_params"))
    return known(
        engine=OWNERS.get(str(row.get("owned_by")).lower()),
        model_root=word(row.get("root")),
        context=whole(row.get("max_model_len")) or whole(meta.get("n_ctx")),
        parameters=parameters,
        quantization_bits=round(8 * size / parameters, 2) if size and parameters else None,
    )


# ---- readers, one per page -------------------------------------------------------------------------------------


def version(page: Any) -> Facts:
    """`{"version": "0.11.0"}`: vLLM, TensorRT-LLM, Ollama, the simulator. Whose it is, it does not say."""
    return known(version=word(table(page).get("version")))


def llama_props(page: Any) -> Facts:
    """/props of llama.cpp."""
    page = table(page)
    settings = table(page.get("default_generation_settings"))
    if not settings and "total_slots" not in page:
        return {}
    root, build = word(page.get("model_path")), word(page.get("build_info")) or ""
    return known(
        engine="llama.cpp",
        version=None if build.endswith("unknown") else build or None,
        model_root=root,
        slots=whole(page.get("total_slots")),
        context=whole(settings.get("n_ctx")),
        speculative_decoding=flag(settings.get("speculative")),
    )


def sglang_server(page: Any) -> Facts:
    """/server_info and /get_server_info of SGLang: its arguments. /server_info of vLLM in development holds its own."""
    page = table(page)
    if "vllm_config" in page:
        return vllm_config(page["vllm_config"])
    if "model_path" not in page or "tp_size" not in page:
        return {}
    chunk = page.get("chunked_prefill_size")
    no_cache = flag(page.get("disable_radix_cache"))
    return known(
        engine="sglang",
        version=word(page.get("version")),
        model_root=word(page.get("model_path")),
        quantization=word(page.get("quantization")),
        tensor_parallel=whole(page.get("tp_size")),
        context=whole(page.get("context_length")),
        slots=whole(page.get("max_running_requests")),
        speculative_decoding=word(page.get("speculative_algorithm"))
        or (False if "speculative_algorithm" in page else None),
        prefix_cache=None if no_cache is None else not no_cache,
        chunked_prefill=chunk > 0 if isinstance(chunk, int) and not isinstance(chunk, bool) else None,
        tokenizer=word(page.get("tokenizer_path")),
    )


def sglang_model(page: Any) -> Facts:
    """/get_model_info of SGLang."""
    page = table(page)
    if "model_path" not in page:
        return {}
    return known(engine="sglang", model_root=word(page.get("model_path")), tokenizer=word(page.get("tokenizer_path")))


def tgi_info(page: Any) -> Facts:
    """/info of TGI."""
    page = table(page)
    if "model_id" not in page or "max_concurrent_requests" not in page:
        return {}
    return known(
        engine="tgi",
        version=word(page.get("version")),
        model_root=word(page.get("model_id")),
        model_digest=word(page.get("model_sha")),
        context=whole(page.get("max_total_tokens")),
        slots=whole(page.get("max_concurrent_requests")),
        quantization=word(page.get("quantize")),
    )


def ollama_show(page: Any) -> Facts:
    """/api/show of Ollama."""
    page = table(page)
    details, info = table(page.get("details")), table(page.get("model_info"))
    if not details:
        return {}
    return known(
        engine="ollama",
        weights_format=word(details.get("format")),
        quantization=word(details.get("quantization_level")),
        parameters=whole(info.get("general.parameter_count")),
        model_root=word(info.get("general.basename")),
    )


def ollama_tags(page: Any, model: str) -> Facts:
    """/api/tags of Ollama: its models, each with the digest of its weights."""
    rows = table(page).get("models")
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and model in (row.get("name"), row.get("model")):
            return known(model_digest=word(row.get("digest")))
    return {}


VALUE = re.compile(r"""(?<!\w)(\w+)=('[^']*'|"[^"]*"|[^,\s()]+)""")


def vllm_config(config: Any) -> Facts:
    """The configuration of vLLM as /server_info shows it in development: as text, `name=value, …`, or as JSON."""
    if isinstance(config, dict):
        flat = {name: value for part in config.values() if isinstance(part, dict) for name, value in part.items()}
    elif isinstance(config, str):
        flat = {name: value.strip("'\"") for name, value in VALUE.findall(config[: 1 << 16])}
        flat = {name: None if value == "None" else value for name, value in flat.items()}
    else:
        return {}
    chunked = flag(flat.get("enable_chunked_prefill"))
    speculative = flat["speculative_config"] is not None if "speculative_config" in flat else None
    return known(
        engine="vllm",
        model_root=word(flat.get("model")),
        quantization=word(flat.get("quantization")),
        tensor_parallel=whole(flat.get("tensor_parallel_size")),
        context=whole(flat.get("max_seq_len")) or whole(flat.get("max_model_len")),
        slots=whole(flat.get("max_num_seqs")),
        speculative_decoding=speculative,
        prefix_cache=flag(flat.get("enable_prefix_caching")),
        chunked_prefill=flag(flat.get("chunked_prefill_enabled")) if chunked is None else chunked,
        tokenizer=word(flat.get("tokenizer")),
    )


LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
CACHE = re.compile(r"^vllm:cache_config_info\{([^\n]*)\}", re.MULTILINE)


def metrics(page: Any) -> Facts:
    """/metrics, by the beginnings of its names; of vLLM also how its cache is set, and whether it speculates."""
    text = page if isinstance(page, str) else ""
    engine = next((name for name, own in ENGINES.items() if own.prefix and _has(text, own.prefix)), None)
    found = known(engine=engine)
    if engine == "vllm":
        if (cache := CACHE.search(text)) is not None:
            found |= known(prefix_cache=flag(dict(LABEL.findall(cache[1])).get("enable_prefix_caching")))
        if _has(text, "vllm:spec_decode_"):  # it has them only where it speculates
            found["speculative_decoding"] = True
    return found


def _has(text: str, prefix: str) -> bool:
    return text.startswith(prefix) or f"\n{prefix}" in text


# ---- engines ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine's pages that tell of it, in the order in which they count, and what its metrics begin with."""

    pages: Mapping[str, Reader]
    owners: tuple[str, ...] = ()
    """What its list of models calls the owner of a model."""
    prefix: str = ""


ENGINES: dict[str, Engine] = {
    "vllm": Engine({"/version": version, "/server_info": sglang_server, METRICS: metrics}, ("vllm",), "vllm:"),
    "sglang": Engine(
        {"/server_info": sglang_server, "/get_server_info": sglang_server, "/get_model_info": sglang_model},
        ("sglang",),
        "sglang:",
    ),
    "llama.cpp": Engine({"/props": llama_props}, ("llamacpp", "llama.cpp"), "llamacpp:"),
    "tgi": Engine({"/info": tgi_info}, (), "tgi_"),
    "ollama": Engine({"/api/version": version, "/api/show": ollama_show, TAGS: lambda _: {}}, ("library", "ollama")),
    "simulate": Engine({"/version": version}, ("llmload",)),
    "tensorrt-llm": Engine({"/version": version}, ("tensorrt_llm",)),
    "lmdeploy": Engine({}, ("lmdeploy",)),
}
"""Every engine that is known."""

OWNERS = {owner: name for name, engine in ENGINES.items() for owner in engine.owners}

TELLTALES: tuple[str, ...] = ("/props", "/info", "/server_info", "/get_server_info", METRICS)
"""Pages that say whose they are: asked where the list of models does not."""

POSTED = ("/api/show",)
"""Pages that are asked with the model's name, by POST."""

HEADERS = {"llama.cpp": "llama.cpp"}
"""Engines that their `server` header names."""
