"""Holds what a claimant stated against what a run had, one function for each of the seven conditions. Pure.

Only what two texts say beyond doubt is called the same or different: a model's or a GPU's name in words that are all
there, a number of tokens or of requests in flight, an engine and its version. Everything else cannot be told by a
machine, and people read both texts beside one another.
"""

import math
import re
from collections.abc import Callable, Collection
from typing import Any, Literal

import numpy as np

from llmload.compare.claims import phrase
from llmload.compare.differing import hardware as machines
from llmload.compare.differing import serving
from llmload.compare.differing.part import number, plain, table, tables
from llmload.compare.figures import FIGURES
from llmload.compare.ratios.cells import Deciding
from llmload.compare.words import X
from llmload.report.building import Built

Standing = Literal["as stated", "differs", "unknown", "cannot be told"]
Told = tuple[Standing, str]
"""How it stands, and one clause on why; blank where nothing is to be added."""
Hold = Callable[[str, Built, Deciding], Told]

OPEN: Told = ("cannot be told", "")
NEAR = 0.05
"""Share by which a number of tokens may differ from the one that was stated."""
MEMORY = 0.1
"""Share by which a GPU's memory may: makers count in powers of ten or of two, and keep some for themselves."""
FILLERS = frozenset({
    "a", "an", "and", "at", "by", "dgx", "for", "from", "gpu", "gpus", "hgx", "in", "it", "its", "model", "models",
    "nvidia", "of", "on", "one", "our", "per", "server", "single", "tesla", "the", "to", "using", "weights", "with",
    "x",
})  # fmt: skip
"""Words that tell nothing of a model or a GPU."""
ENGINES = {
    "vllm": "vllm", "sglang": "sglang", "tgi": "tgi", "text-generation-inference": "tgi", "llama.cpp": "llama.cpp",
    "llamacpp": "llama.cpp", "llama-cpp": "llama.cpp", "llama-server": "llama.cpp", "tensorrt-llm": "tensorrt-llm",
    "trt-llm": "tensorrt-llm", "trtllm": "tensorrt-llm", "ollama": "ollama", "lmdeploy": "lmdeploy",
    "exllamav2": "exllamav2", "mlc-llm": "mlc-llm", "simulate": "simulate",
}  # fmt: skip
"""Names of engines in the wild, and one for each."""
SPOKEN = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"end[- ]to[- ]end", "e2e"),
        (r"time[- ]to[- ]first[- ]token", "ttft"),
        (r"\b(\d\d)(?:th|nd|st|rd)? percentile\b", r"p\1"),
        (r"\bmedian\b", "p50"),
        (r"/s(?:ec|econd)?\b|\bper s(?:ec|econd)?\b", " "),
        (r"[(),;]|\b(?:latency|the|of|output)\b", " "),
    )
)
"""How figures are spoken of, and how they are called here."""
UNITS = {"token", "tokens", "tok"}

_WORD = re.compile(r"[a-z0-9]+(?:\.[0-9]+)*")
_ATOM = re.compile(r"\d+(?:\.\d+)*|[a-z]+")
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w.]*\d)")
_GPU = re.compile(r"[a-z]{1,3}\d{1,4}[a-z]{0,2}")
_COUNT = re.compile(rf"(?<![\w.])(\d+)\s*[x{X}]\s*(?=[a-z])", re.IGNORECASE)
_VERSION = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+)+)")


def words(text: str) -> list[str]:
    """The words of a text that tell something, in small letters; versions such as 3.1 stay whole."""
    return [word for word in _WORD.findall(text.lower()) if word not in FILLERS]


def atoms(text: str) -> list[str]:
    """A text as letters and numbers, one after another: `llama3.1-8B` and `Llama 3.1 8b` are the same."""
    return _ATOM.findall(text.lower())


def holds(word: str, among: list[str]) -> bool:
    """Whether the atoms of a word stand one after another among those of a text."""
    mine = atoms(word)
    return any(among[at : at + len(mine)] == mine for at in range(len(among) - len(mine) + 1))


def shape(word: str) -> str:
    """A word without its numbers: `8b` and `70b` have the same."""
    return re.sub(r"\d+(?:\.\d+)*", "#", word)


def numbers(text: str) -> list[float]:
    """The numbers that stand by themselves in a text: `1,024 tokens` has one, `H100` and `8B` none."""
    return [float(found.replace(",", "")) for found in _NUMBER.findall(text)]


def model(stated: str, built: Built, _deciding: Deciding) -> Told:
    """The model's name, size and weights, in words that must all be there."""
    reads = (
        serving.model_asked, serving.served_model, serving.told("model"), serving.told("weights"),
        *(serving.server(key) for key in ("model_root", "parameters", "weights_format", "quantization")),
    )  # fmt: skip
    known = " ; ".join(str(value) for read in reads if (value := read(built)) is not None)
    return ("unknown", "") if not known else _named(words(stated), known)


def _named(wanted: list[str], known: str) -> Told:
    there = atoms(known)
    missing = [word for word in wanted if not holds(word, there)]
    if wanted and not missing:
        return "as stated", ""
    shapes = {shape(word) for word in words(known)}
    same = {shape(word) for word in wanted if word not in missing}
    unlike = [word for word in missing if "#" in (form := shape(word)) and form != "#" and form in shapes - same]
    return ("differs", f"{unlike[0]} is not what it had") if unlike else OPEN


def hardware(stated: str, built: Built, _deciding: Deciding) -> Told:
    """The GPUs' model, their number and their memory."""
    gpus = machines.gpus(built)
    known = " ; ".join(
        str(value) for value in (machines.named(built), serving.told("hardware")(built)) if value is not None
    )
    if not known:
        return "unknown", ""
    if (count := _COUNT.search(stated)) and gpus and int(count[1]) != len(gpus):
        return "differs", f"{count[1]} GPUs were stated, {len(gpus)} seen"
    there = atoms(known)
    wanted = words(_COUNT.sub("", stated))
    missing = [word for word in wanted if not holds(word, there) and not _memory(word, gpus)]
    if wanted and not missing:
        return "as stated", ""
    models = {word for word in words(known) if _GPU.fullmatch(word)}
    unlike = [word for word in wanted if _GPU.fullmatch(word)]
    if not models or not unlike or not set(unlike) <= set(missing):
        return OPEN
    return "differs", f"{unlike[0]} is not what it had"


def _memory(word: str, gpus: Collection[dict[str, Any]]) -> bool:
    """Whether a word such as 80gb is the memory of every GPU."""
    found = re.fullmatch(r"(\d+)gi?b", word)
    sizes = [number(gpu.get("memory_total_bytes")) for gpu in gpus]
    if found is None or not sizes:
        return False
    return all(size is not None and abs(size / 2**30 / float(found[1]) - 1) <= MEMORY for size in sizes)


def software(stated: str, built: Built, _deciding: Deciding) -> Told:
    """The engine, and its version where one was stated."""
    told = serving.told("software")(built)
    engine, version = serving.engine(built), serving.server("version")(built)
    if engine is None and told is None:
        return "unknown", ""
    wanted, had = _engines(stated, engine), _engines(f"{engine or ''} {told or ''}", engine)
    if not wanted or not had:
        return OPEN
    if not wanted & had:
        return "differs", f"{', '.join(sorted(had))} is not {', '.join(sorted(wanted))}"
    named = _VERSION.findall(stated)
    if not named:
        return "as stated", "its version was not stated"
    own = _VERSION.search(f"{version or ''} {told or ''}")
    if own is None:
        return "unknown", "its version is not known"
    same = any(f"{own[1]}.".startswith(f"{version}.") for version in named)  # both sides' versions may be stated
    return ("as stated", "") if same else ("differs", f"version {own[1]} is not {' or '.join(named)}")


def _engines(text: str, own: Any) -> set[str]:
    """The engines that a text names, one of an unheard name among them if it is the run's own."""
    names = {**ENGINES, **({str(own).lower(): str(own).lower()} if own and str(own).lower() not in ENGINES else {})}
    return {
        engine
        for name, engine in names.items()
        if re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", text.lower())
    }


def output_limit(stated: str, built: Built, deciding: Deciding) -> Told:
    """The limit of output tokens, of the class that decides or of all."""
    wanted = numbers(stated)
    rows = tables(table(built.facts.scenario).get("classes"))
    mine = [row for row in rows if deciding.workload in ("all", row.get("name"))]
    limits = [plain(row.get("max_tokens")) for row in mine]
    if not limits or None in limits:
        return "unknown", ""
    if len(wanted) != 1 or not all(isinstance(limit, int | float) for limit in limits):
        return OPEN
    other = [f"{limit:g}" for limit in limits if limit != wanted[0]]
    return (
        ("differs", f"limits of {', '.join(dict.fromkeys(other))} are not {wanted[0]:g}")
        if other
        else ("as stated", "")
    )


def tokens(stated: str, built: Built, deciding: Deciding) -> Told:
    """The input, where it was stated as a number of tokens: against the mean of what decides."""
    wanted = numbers(stated)
    bare = re.fullmatch(r"\s*[\d,.]+\s*", stated) is not None
    if len(wanted) != 1 or not (bare or UNITS & set(words(stated))):
        return OPEN
    facts = built.facts
    chosen = facts.ok if deciding.workload == "all" else facts.ok & facts.is_("workload", deciding.workload)
    counted = facts.numbers("input_tokens")[chosen]
    counted = counted[~np.isnan(counted)]
    if not len(counted):
        return "unknown", "nobody counted the tokens"
    mean = float(counted.mean())
    same = math.isclose(mean, wanted[0], rel_tol=NEAR)
    return (
        ("as stated", "as a number of tokens")
        if same
        else ("differs", f"{mean:,.0f} tokens on average, not {wanted[0]:,g}")
    )


def concurrency(stated: str, _built: Built, deciding: Deciding) -> Told:
    """The requests in flight, or the rate, where a number was stated: against the level that decides."""
    wanted = numbers(stated)
    if len(wanted) != 1:
        return OPEN
    if wanted[0] == deciding.level.asked:
        return "as stated", ""
    return "differs", f"{deciding.level.words} decide, not {wanted[0]:g}"


def metric(stated: str, _built: Built, deciding: Deciding) -> Told:
    """The figure, where a text names one of them beyond doubt."""
    text = stated.lower()
    for pattern, name in SPOKEN:
        text = pattern.sub(name, text)
    spoken = {figure.words.lower(): figure for figure in FIGURES.values()}
    found = spoken.get(stated.strip().lower()) or phrase.known(" ".join(dict.fromkeys(text.split())))
    if found is None:
        return OPEN
    return ("as stated", "") if found == deciding.figure else ("differs", f"{deciding.figure.words} decides")


HOLDS: dict[str, Hold] = {
    "model": model,
    "input": tokens,
    "output limit": output_limit,
    "hardware": hardware,
    "software": software,
    "concurrency": concurrency,
    "metric": metric,
}
