"""What is asked: prompts, limits and lengths of answers, sampling, API, cache busting. Pure.

Of classes only those count that both sides have; that there are others is a difference of the prompts.
"""

from typing import Any

from llmload.compare.differing import lengths, prompts
from llmload.compare.differing.part import (
    Part,
    Read,
    Sort,
    by_class,
    common,
    plain,
    set_to,
    setting,
    table,
    tables,
    walk,
)
from llmload.compare.differing.serving import told
from llmload.report.building import Built


def of_class(key: str) -> Read:
    """A setting of each class; unknown where the scenario does not have it."""
    return by_class(lambda _scenario, row: set_to(row[key]) if key in row else None)


def classes(built: Built) -> tuple[str, ...] | None:
    """The names of all classes, in no order."""
    return tuple(sorted(built.facts.workloads)) or None


def temperature(scenario: dict[str, Any], row: dict[str, Any]) -> Any:
    """A class's temperature: its own, else the scenario's."""
    if row.get("temperature") is not None:
        return plain(row["temperature"])
    return set_to(scenario["temperature"]) if "temperature" in scenario else None


def body(scenario: dict[str, Any], row: dict[str, Any]) -> Any:
    """What else a class's requests hold: the scenario's, with its own on top."""
    if "extra_body" not in scenario and "extra_body" not in row:
        return None
    return set_to({**table(scenario.get("extra_body")), **table(row.get("extra_body"))})


def headers(scenario: dict[str, Any], row: dict[str, Any]) -> Any:
    """Headers that a scenario adds to a class's requests."""
    if "headers" not in scenario and "headers" not in row:
        return None
    return set_to({**table(scenario.get("headers")), **table(row.get("headers"))})


def bounds(scenario: dict[str, Any], row: dict[str, Any]) -> Any:
    """A class's SLO: its own, else the scenario's; bounds that are not set are left out."""
    if "slo" not in scenario and "slo" not in row:
        return None
    own = table(row.get("slo")) or table(scenario.get("slo"))
    return set_to({name: bound for name, bound in own.items() if bound is not None})


def left_out(built: Built) -> tuple[str, ...] | None:
    """Wishes that the server refused, so that requests went without them."""
    found = walk(built, "sending", "left_out")
    return tuple(sorted(str(name) for name in found)) if isinstance(found, list | tuple) else None


def tools(_scenario: dict[str, Any], row: dict[str, Any]) -> Any:
    """How many tools a class's requests name, and which."""
    if "tools" not in row:
        return None
    names = [table(tool.get("function")).get("name") for tool in tables(row["tools"])]
    return ", ".join(str(name) for name in names) or "none"


ASKING: tuple[Sort, ...] = (
    Sort(
        "prompts",
        "the prompts: classes, weights, sources, data files, wanted lengths, seed (and so the order), texts",
        (
            Part("input", "as told", told("input"), optional=True),
            Part("classes", "classes", classes),
            Part("weights_of_classes", "weights", of_class("weight"), common),
            Part("sources", "sources", of_class("source"), common),
            Part("data", "digest of the data file", of_class("digest"), common),
            Part("prompts_of_classes", "different prompts", of_class("prompts"), common),
            Part("wanted_input_tokens", "wanted input tokens", of_class("input_tokens"), common),
            Part("seed", "seed", setting("seed")),
            Part("texts", "texts", prompts.texts, prompts.other_texts),
        ),
    ),
    Sort("output_limits", "how long answers may get", (Part("max_tokens", "limit", of_class("max_tokens"), common),)),
    Sort(
        "output_lengths",
        "how long answers are, by class and level: over 5 % and beyond chance; in characters where tokenizers differ",
        (
            Part("output_tokens", "", lengths.tokens, lengths.hold("tokens"), lengths.pool),
            Part("output_chars", "", lengths.characters, lengths.hold("characters"), lengths.pool),
        ),
    ),
    Sort(
        "sampling",
        "temperature, extra_body, ignore_eos, min_tokens",
        (
            Part("temperature", "temperature", by_class(temperature), common),
            Part("extra_body", "extra_body", by_class(body), common),
            Part("ignore_eos", "ignore_eos", of_class("ignore_eos"), common),
            Part("min_tokens", "min_tokens", of_class("min_tokens"), common),
            Part("left_out", "refused by the server", left_out, optional=True),
        ),
    ),
    Sort(
        "api",
        "chat or completions, streamed or not, tools, further headers",
        (
            Part("api_kind", "API", setting("api")),
            Part("stream", "streaming", setting("stream")),
            Part("tools", "tools", by_class(tools), common),
            Part("headers", "headers", by_class(headers), common),
        ),
    ),
    Sort(
        "cache_busting",
        "whether every prompt has a head of its own, and what prefix prompts share",
        (
            Part("heads", "unique heads", setting("cache_busting")),
            Part("shared_prefix_tokens", "tokens of a shared prefix", of_class("shared_prefix_tokens"), common),
            Part("shared_prefix_share", "share of requests with it", of_class("shared_prefix_share"), common),
        ),
    ),
    Sort("slo", "what users are promised, which goodput counts by", (Part("slo", "SLO", by_class(bounds), common),)),
)
