"""What answers: model, weights, tokenizer, engine and its flags, as runs were told of them. Pure.

Where the endpoint lies is no difference: two servers that are alike in all this may have any address.
"""

import re
from collections import Counter
from collections.abc import Mapping
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from llmload.compare.differing import prompts
from llmload.compare.differing.part import (
    Part,
    Read,
    Sort,
    Texts,
    apart,
    at,
    common,
    number,
    plain,
    shown,
    table,
    walk,
)
from llmload.record.environment import SERVER
from llmload.report.building import Built

SPELLINGS = {"true": "on", "yes": "on", "enabled": "on", "false": "off", "no": "off", "disabled": "off"}
TOKENS = 0.02
"""Share by which token counts of one text may differ: the unique head of a request is a token longer or shorter."""


def told(key: str) -> Read:
    """What [environment] of the scenario tells."""

    def read(built: Built) -> Any:
        said = plain(walk(built, "environment", "told", key))
        return plain(walk(built, "scenario", "environment", key)) if said is None else said

    return read


def server(key: str) -> Read:
    """A fact of the server in words: as it was found and as [environment] tells it; both where they contradict."""

    def read(built: Built) -> Any:
        found, said = spelt(walk(built, "environment", "server", key)), spelt(told(key)(built))
        if found is None or said is None:
            return said if found is None else found
        return found if found.casefold() == said.casefold() else f"{said} (told; the server says {found})"

    return read


def spelt(value: Any) -> str | None:
    """A value as one side's server and the other's [environment] both spell it: on, off, 8, 4096."""
    found = plain(value)
    if found is None or isinstance(found, bool):
        return None if found is None else shown(found)
    if isinstance(found, str):
        return SPELLINGS.get(found.casefold(), found)
    return f"{found:.0f}" if found == int(found) else f"{found:g}"


def base(read: Read) -> Read:
    """The last part of a path: the same file may lie anywhere."""

    def of(built: Built) -> Any:
        found = read(built)
        return re.split(r"[/\\]", found.rstrip("/\\"))[-1] if isinstance(found, str) else found

    return of


def bits(built: Built) -> float | None:
    """Bits per weight."""
    found = server("quantization_bits")(built)
    try:
        return None if found is None else number(float(found))
    except ValueError:
        return None


def served_model(built: Built) -> str | None:
    """The model that answers name most often; of several the first by its name, whichever answered first."""
    names = Counter(name for name in built.facts.words("served_model")[built.facts.ok] if isinstance(name, str))
    return str(plain(min(names, key=lambda name: (-names[name], name)))) if names else None


def probe(built: Built) -> dict[str, float] | None:
    """Tokens that the server counts in the fixed probe text, by the text's digest."""
    text = plain(walk(built, "environment", "tokenizer", "probe_sha256"))
    tokens = number(walk(built, "environment", "tokenizer", "probe_tokens"))
    return {str(text): tokens} if text is not None and tokens is not None else None


def probes(one: Mapping[str, float], other: Mapping[str, float]) -> Texts | None:
    """Counts of the same text."""
    for text in one.keys() & other.keys():
        if one[text] != other[text]:
            return f"{one[text]:g} tokens", f"{other[text]:g} tokens"
    return None


def counted(built: Built) -> dict[str, dict[Any, float]] | None:
    """Tokens of each text: those counted before the clock, and those that the server told of requests, on average."""
    facts = built.facts
    told_by = facts.measured & facts.is_("input_tokens_source", "server") & (facts.numbers("input_tokens") > 0)
    identity = prompts.identities(built)
    places = [facts.words("workload")[told_by], facts.words("prompt")[told_by]]
    grouped = pd.Series(facts.numbers("input_tokens")[told_by]).groupby(places, sort=False, dropna=False)
    sums: dict[Any, tuple[int, float]] = {}
    for (workload, name), n, total in grouped.agg(["size", "sum"]).itertuples(name=None):
        key = identity(workload, name if isinstance(name, str) else None)
        before = sums.get(key, (0, 0.0))
        sums[key] = before[0] + n, before[1] + total
    requests = {key: total / n for key, (n, total) in sums.items()}
    found = {"texts": prompts.counted(built), "requests": requests}
    return found if any(found.values()) else None


def counts(one: Mapping[str, dict[Any, float]], other: Mapping[str, dict[Any, float]]) -> Texts | None:
    """Counts of the same texts, else of the same requests: their median ratio tells tokenizers apart."""
    for kind in ("texts", "requests"):
        mine, theirs = one[kind], other[kind]
        if not (both := mine.keys() & theirs.keys()):
            continue
        if abs(median(theirs[key] / mine[key] for key in both) - 1) <= TOKENS:
            return None
        means = [float(np.mean([side[key] for key in both])) for side in (mine, theirs)]
        return f"{means[0]:.1f} tokens on average", f"{means[1]:.1f} tokens on average"
    return None


def counters(built: Built) -> tuple[str, ...] | None:
    """Who counted the tokens of answers."""
    found = {str(name) for name in built.facts.words("output_tokens_source")[built.facts.ok] if name is not None}
    return tuple(sorted(found)) or None


def model_asked(built: Built) -> Any:
    """The model that was asked for."""
    sent = plain(walk(built, "sending", "model"))
    return server("model")(built) if sent is None else sent


def engine(built: Built) -> Any:
    """The engine's name: as the server told, else as its own metrics did."""
    found = server("engine")(built)
    seen = built.facts.telemetry.server
    return found if found is not None or seen is None else plain(seen.engine)


def tokenizer_name(built: Built) -> Any:
    """The tokenizer's name, told or found."""
    said = told("tokenizer")(built)
    return plain(walk(built, "environment", "tokenizer", "name")) if said is None else said


def remarks(built: Built) -> dict[str, Any] | None:
    """What [environment] tells under names that no other part reads; `notes` are for people."""
    found = {**table(walk(built, "scenario", "environment")), **table(walk(built, "environment", "told"))}
    read = {*SERVER, "tokenizer", "weights", "hardware", "software", "input", "notes"}
    return {key: plain(value) for key, value in found.items() if key not in read and plain(value) is not None} or None


SERVING: tuple[Sort, ...] = (
    Sort(
        "model",
        "the model asked for, and the one that answers name",
        (
            Part("model", "name", model_asked),
            Part("served_model", "answers name", served_model),
            Part("parameters", "parameters", server("parameters")),
        ),
    ),
    Sort(
        "weights",
        "the weights: file or repository, digest, format, quantization",
        (
            Part("weights", "as told", told("weights"), optional=True),
            Part("model_root", "file or repository", base(server("model_root"))),
            Part("model_digest", "digest", server("model_digest"), optional=True),
            Part("weights_format", "format", server("weights_format")),
            Part("quantization", "quantization", server("quantization")),
            Part("quantization_bits", "bits per weight", bits, apart(0.05)),
        ),
    ),
    Sort(
        "tokenizer",
        "the tokenizer: another name or file, or another token count for the same text",
        (
            Part("tokenizer_name", "name", tokenizer_name),
            Part("tokenizer_sha256", "digest of its file", at("environment", "tokenizer", "sha256"), optional=True),
            Part("probe_tokens", "the probe text has", probe, probes),
            Part("input_tokens", "the same prompts have", counted, counts),
            Part("counting", "tokens of answers counted by", counters),
        ),
    ),
    Sort(
        "engine",
        "the engine and its version; its flags are a sort of their own",
        (
            Part("engine", "name", engine),
            Part("engine_told", "as told", told("software"), optional=True),
            Part("version", "version", server("version")),
        ),
    ),
    Sort(
        "flags",
        "the engine's settings: speculative decoding, prefix cache, chunked prefill, tensor parallel, context, slots",
        (
            Part("speculative_decoding", "speculative decoding", server("speculative_decoding")),
            Part("prefix_cache", "prefix cache", server("prefix_cache")),
            Part("chunked_prefill", "chunked prefill", server("chunked_prefill")),
            Part("tensor_parallel", "tensor parallel", server("tensor_parallel")),
            Part("context", "context", server("context")),
            Part("slots", "slots", server("slots")),
        ),
    ),
    Sort(
        "environment",
        "what [environment] tells under names of its own",
        (Part("told", "as told", remarks, common, note=True, optional=True),),
    ),
)
