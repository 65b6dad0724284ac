"""Which text a prompt of a run had: told by prompts.jsonl where there is one, else by what it was made of.

Reads that one file of a run folder, through `record.prompts`, and computes no figure.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from llmload.compare.differing.part import Texts, number, plain, set_to, table, tables, walk
from llmload.record import prompts as record
from llmload.report.building import Built

MADE_OF = ("source", "digest", "prompts", "shared_prefix_tokens", "shared_prefix_share")
"""Settings of a class that its texts come of."""


@lru_cache(maxsize=16)
def listing(folder: Path) -> dict[str, tuple[str, int | None, str | None]]:
    """Digest of the text, tokens and who counted them of each prompt, by its id; empty where there is no prompts.jsonl.

    Raises Stop(UNJUDGED) for a line that is no prompt.
    """
    return {item.prompt: (item.sha256, item.tokens, item.tokens_source) for item in record.read(folder) or ()}


def kept(built: Built) -> dict[str, float]:
    """Characters kept of each prompt when it was fitted to its length, by its id."""
    found = table(walk(built, "preflight", "fit")) or table(walk(built, "scenario", "fitted"))
    return {name: value for name, own in found.items() if (value := number(own)) is not None}


def identities(built: Built) -> Callable[[Any, Any], tuple[Any, ...]]:
    """What tells the text of a prompt, given its class and id, from that of any other.

    The API counts: a chat template adds tokens of its own. So does the unique head.
    """
    scenario = table(built.facts.scenario)
    known, fit, seed = listing(built.folder), kept(built), plain(scenario.get("seed"))
    asked = (plain(scenario.get("api")), plain(scenario.get("cache_busting")))
    made = {
        str(row.get("name")): tuple(set_to(row.get(key)) for key in MADE_OF) for row in tables(scenario.get("classes"))
    }

    def identity(workload: Any, name: Any) -> tuple[Any, ...]:
        if name in known:
            return (name, known[name][0], *asked)
        return (name, seed, made.get(str(workload)), fit.get(name), *asked)

    return identity


def texts(built: Built) -> dict[str, Any] | None:
    """The texts of all prompts: digests by id where they are known, and characters kept by id."""
    digests = {name: facts[0] for name, facts in listing(built.folder).items()}
    found = {"sha256": digests, "kept": kept(built)}
    return found if any(found.values()) else None


def other_texts(one: Mapping[str, Any], other: Mapping[str, Any]) -> Texts | None:
    """How many prompts that both have were asked with another text; digests count where both have them."""
    for kind in ("sha256", "kept"):
        both = one[kind].keys() & other[kind].keys()
        if not both:
            continue
        unlike = [name for name in both if one[kind][name] != other[kind][name]]
        if not unlike:
            return None
        of = f"{len(both):,} prompts" if len(both) > 1 else "1 prompt"
        if kind == "sha256":
            return of, f"another text in {len(unlike):,} of them" if len(both) > 1 else "another text"
        mine, theirs = (
            f"{of} of {sum(side[kind][name] for name in both) / len(both):,.0f} characters" for side in (one, other)
        )
        return mine, f"{theirs}, {len(unlike):,} of them cut elsewhere"
    return None


def counted(built: Built) -> dict[tuple[Any, ...], float]:
    """Tokens of each text as prompts.jsonl tells them, by what tells the text and who counted; without a template."""
    heads = plain(table(built.facts.scenario).get("cache_busting"))
    known = listing(built.folder).values()
    return {(digest, heads, source): float(tokens) for digest, tokens, source in known if tokens}
