"""The seven conditions without which no figure can be repeated, as a run had them. Reads facts; guesses nothing.

What a person told in [environment] of the scenario wins over what was found. These keys of it answer one of the seven
(any other, as `notes`, stands by itself):

    weights        model: which weights, of what quantisation, from where     "Q4_K_M from hf.co/…"
    model          model: its name
    input          input: what the prompts are
    output_limit   output limit: what else bounds answers
    hardware       hardware: what the server runs on                          "8x H100 SXM, one node"
    software       software: engine, version, flags                           "vLLM 0.11 --enable-prefix-caching"
    concurrency    concurrency: what else the server had to do
    metric         metric: the figure that this run is about

and so do the names of `record.environment` (`quantization`, `engine`, `version`, …), which stand for what was found.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from llmload.record.environment import SERVER
from llmload.report import hardware, head
from llmload.report.doubts.case import listed, percent
from llmload.report.facts import Facts, Flags
from llmload.report.hardware import number, object_of, text_of

ANSWERS: dict[str, tuple[str, ...]] = {
    "model": ("model", "weights"),
    "input": ("input",),
    "output limit": ("output_limit",),
    "hardware": ("hardware",),
    "software": ("software",),
    "concurrency": ("concurrency",),
    "metric": ("metric",),
}
"""The seven, by the names that a claim gives them, and the keys of [environment] that answer each."""
TITLE = "The seven that matter"
MARK = "?"
"""Stands beside what is unknown."""
DIGEST = 12
"""Characters of a digest that are shown."""


@dataclass(frozen=True, slots=True)
class Known:
    """One of the seven. `text` is None where it is unknown; `missing` says what would make it whole, if anything."""

    name: str
    text: str | None
    missing: str = ""

    @property
    def whole(self) -> bool:
        """Whether nothing of it is unknown."""
        return self.text is not None and not self.missing

    @property
    def shown(self) -> str:
        """The text for people, with a mark where something is unknown."""
        parts = [self.text] if self.text is not None else []
        parts += [f"{MARK} {self.missing or 'unknown'}"] if not self.whole else []
        return "  ".join(parts)


def of(facts: Facts) -> tuple[Known, ...]:
    """The seven of a run, in the order of ANSWERS."""
    seen = _Seen(facts)
    return (
        _model(seen), _input(seen), _output(seen), _hardware(seen), _software(seen), _concurrency(seen), _metric(seen),
    )  # fmt: skip


def lacking(known: Iterable[Known]) -> str:
    """A sentence on how many are unknown and who could tell them; blank where none is."""
    all_of = list(known)
    unknown = sum(item.text is None for item in all_of)
    part = sum(item.text is not None and not item.whole for item in all_of)
    counts = [f"{unknown} of {len(all_of)} unknown"] if unknown else []
    counts += [f"{part}{'' if unknown else f' of {len(all_of)}'} in part"] if part else []
    if not counts:
        return ""
    key = next(ANSWERS[item.name][-1] for item in all_of if not item.whole)
    return f"{', '.join(counts)}; tell them with [environment] in the scenario or --set environment.{key}=…"


class _Seen:
    """What is known of a run, from where each of the seven is put together. Damaged parts are as if they were not."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        found = facts.run.get("environment")
        self.environment: dict[str, Any] = object_of(found)
        told = {**object_of(facts.scenario.get("environment")), **object_of(self.environment.get("told"))}
        self.told = {key: word for key, value in told.items() if (word := text_of(value))}
        self.server = object_of(self.environment.get("server"))
        self.server |= {key: word for key, word in self.told.items() if key in SERVER}
        self.machine = object_of(self.environment.get("machine"))
        gpus = self.environment.get("gpus") or self.machine.get("gpus")
        self.gpus = [item for item in gpus if isinstance(item, dict)] if isinstance(gpus, list) else []

    def classes(self) -> Iterator[tuple[str, dict[str, Any], Flags]]:
        """Each class with what the scenario says of it and its measured successes."""
        said = {item.get("name"): item for item in self.facts.scenario.get("classes") or ()}
        for name in self.facts.workloads:
            yield name, said.get(name) or {}, self.facts.ok & self.facts.is_("workload", name)


def _model(seen: _Seen) -> Known:
    sending = object_of(seen.facts.run.get("sending"))
    name = text_of(seen.server.get("model") or sending.get("model") or seen.facts.scenario.get("model"))
    server, bits = seen.server, text_of(seen.server.get("quantization_bits"))
    digest = text_of(server.get("model_digest"))
    found = [
        text_of(server.get("model_root")) if server.get("model_root") != name else "",
        _parameters(server.get("parameters")),
        text_of(server.get("weights_format")),
        text_of(server.get("quantization")),
        f"{bits} bits a weight" if bits else "",
        f"digest {digest.removeprefix('sha256:')[:DIGEST]}" if digest else "",
    ]
    weights = seen.told.get("weights") or ", ".join(part for part in found if part)
    text = ", ".join(part for part in (name, weights) if part) or None
    exact = seen.told.get("weights") or digest or server.get("quantization") or server.get("weights_format")
    return Known("model", text, "" if exact or text is None else "which weights: format, bits, from where")


def _input(seen: _Seen) -> Known:
    counted, sources, uncounted = [], [], []
    tokens, asked = seen.facts.numbers("input_tokens"), seen.facts.numbers("requested_input_tokens")
    for name, said, chosen in seen.classes():
        mean = _mean(tokens[chosen])
        wanted = _mean(asked[chosen])
        if mean is None:
            uncounted.append(name)
        off = f" (of {wanted:,.0f})" if mean and wanted and abs(mean / wanted - 1) > 0.1 else ""
        counted.append(f"{name} {f'{mean:,.0f}{off}' if mean is not None else '?'}")
        sources.append(_source(said))
    by = seen.facts.words("input_tokens_source")[seen.facts.ok]
    names = {"server": "the server", "tokenizer": "a tokenizer file"}
    who = " and ".join(sorted({names.get(word, word) for word in by.tolist() if word is not None}))
    parts = [seen.told.get("input", "")]
    if len(uncounted) < len(counted):
        parts.append(f"{listed(counted)} tokens (mean, by {who})")
    text = listed(dict.fromkeys(word for word in sources if word), 3)
    if text:
        seed = seen.facts.run.get("seed", seen.facts.scenario.get("seed"))
        busting = seen.facts.scenario.get("cache_busting", True)
        heads = "each with its own head" if busting else "which may repeat (cache busting off)"
        parts.append(f"{text}{f', seed {seed}' if seed is not None else ''}, {heads}")
    missing = "tokens: nobody counted" if uncounted and len(uncounted) == len(counted) else ""
    if not text and "input" not in seen.told:
        missing = missing or "which prompts"
    whole = "; ".join(part for part in parts if part)
    return Known("input", whole or None, missing if whole else "")


def _source(said: dict[str, Any]) -> str:
    """Where the prompts of a class come from."""
    source, digest = text_of(said.get("source")), text_of(said.get("digest"))
    if source.startswith("builtin:"):
        return "built-in prompts"
    if source == "file":
        name = text_of(said.get("path")).replace("\\", "/").rpartition("/")[2]
        return f"{name or 'a data file'}{f' (sha256 {digest[:DIGEST]})' if digest else ''}"
    return source


def _output(seen: _Seen) -> Known:
    limits, reached, ignoring, unlimited = [], [], [], []
    tokens, asked = seen.facts.numbers("output_tokens"), seen.facts.numbers("requested_output_tokens")
    for name, said, chosen in seen.classes():
        wanted = asked[chosen & ~np.isnan(asked)]
        if said.get("ignore_eos"):
            ignoring.append(name)
        if not len(wanted):
            unlimited.append(name)
            limits.append(f"{name} {text_of(said.get('max_tokens')) or '?'}")
            continue
        low, high = wanted.min(), wanted.max()
        both = chosen & ~np.isnan(asked) & ~np.isnan(tokens)
        reached.append(percent((tokens[both] >= asked[both]).mean()) if both.any() else "?")
        limits.append(f"{name} {low:,.0f}{f' to {high:,.0f}' if high > low else ''}")
    known = len(unlimited) < len(limits) or any(not item.endswith("?") for item in limits)
    parts = [seen.told.get("output_limit", ""), f"{listed(limits)} tokens" if known else ""]
    if reached and set(reached) != {"?"}:
        parts.append(f"reached by {reached[0] if len(set(reached)) == 1 else listed(reached)}")
    if ignoring:
        parts.append(f"end-of-sequence ignored{'' if len(ignoring) == len(limits) else f' in {listed(ignoring)}'}")
    return Known("output limit", "; ".join(part for part in parts if part) or None)


def _hardware(seen: _Seen) -> Known:
    names = [gpu.name or "" for gpu in seen.facts.telemetry.gpus]
    gpus = hardware.gpus(seen.gpus or [{"name": name} for name in names])
    parts = [seen.told.get("hardware", "")]
    if gpus:
        parts.append(f"seen: {gpus}" if parts[0] else gpus)
    client = object_of(seen.environment.get("client"))
    here = object_of(client.get("path")).get("loopback") is True
    box = hardware.machine(seen.machine) or (hardware.machine(client) if here else "")
    if box and not parts[0]:
        parts.append(box + ("" if gpus else "; no GPU was seen"))
    text = "; ".join(part for part in parts if part)
    return Known("hardware", text or None)


FLAGS = {
    "tensor_parallel": "tensor parallel {}",
    "context": "context {}",
    "slots": "{} slots",
    "speculative_decoding": "speculative decoding {}",
    "prefix_cache": "prefix cache {}",
    "chunked_prefill": "chunked prefill {}",
}
"""What the server tells of its settings, in words."""


def _software(seen: _Seen) -> Known:
    if "software" in seen.told:
        return Known("software", seen.told["software"])
    server, telemetry = seen.server, seen.facts.telemetry.server
    engine = text_of(server.get("engine") or (telemetry.engine if telemetry is not None else None))
    version = text_of(server.get("version"))
    if not engine:
        return Known("software", None)
    said = {True: "on", False: "off"}
    flags = [
        words.format(said[value] if isinstance(value, bool) else text_of(value))
        for name, words in FLAGS.items()
        if (value := server.get(name)) is not None and (isinstance(value, bool) or text_of(value))
    ]
    first = seen.gpus[0] if seen.gpus else {}
    flags += [
        f"{name} {word}" for key, name in (("driver_version", "driver"), ("cuda_version", "CUDA"))
        if (word := text_of(first.get(key)))
    ]  # fmt: skip
    text = ", ".join([f"{engine} {version}".strip(), *flags])
    return Known("software", text, "" if version else "its version")


def _concurrency(seen: _Seen) -> Known:
    free = seen.facts.loop == "free"
    parts = [seen.told.get("concurrency", ""), "" if free else head.load(seen.facts)]
    return Known("concurrency", "; ".join(part for part in parts if part) or None)


def _metric(seen: _Seen) -> Known:
    figures = "TTFT, ITL, TPOT and E2E" if seen.facts.streaming else "E2E (answers were not streamed)"
    sources = {word for word in seen.facts.words("output_tokens_source")[seen.facts.ok].tolist() if word is not None}
    parts = [seen.told.get("metric", ""), f"{figures} from the first byte sent; tokens/s"]
    missing = "tokens: estimated, one per event" if "events" in sources else ""
    return Known("metric", "; ".join(part for part in parts if part), missing)


def shared(facts: Facts) -> list[str]:
    """GPUs on which others hold memory too, as a sentence names them."""
    return hardware.shared(_Seen(facts).gpus)


def _parameters(value: Any) -> str:
    """Number of parameters: `7.2 billion parameters`."""
    if not number(value):
        return f"{text_of(value)} parameters" if text_of(value) else ""
    return f"{value / 1e9:.3g} billion parameters" if value >= 1e9 else f"{value / 1e6:.3g} million parameters"


def _mean(values: Any) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None
