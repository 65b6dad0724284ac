"""Asks a server who it is: engine, version, model, settings, tokenizer. Costs no completion, and stops no run.

Pages are asked at once, each under a small limit of time and size; a page that is not there, that is HTML, that
redirects, that hangs or floods tells nothing. The key goes with these questions as with all others to the same host,
except to /metrics, which nobody here ever sends it.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gevent
from gevent.pool import Pool

from llmload.exits import Stop
from llmload.load.lengths import Counter
from llmload.record.environment import PROBE
from llmload.send import counting, served, weights
from llmload.send.asking import Asker, Reply, UnansweredError
from llmload.send.look import Look
from llmload.send.served import Facts

PAGE_S = 3.0
"""A page, and the connection to it, may take so long …"""
ALL_S = 10.0
"""… and all of them together so long."""
LARGEST = 1 << 20
"""Bytes of a page that are read."""
AT_ONCE = 8


def ask(look: Look, models: Reply) -> None:
    """Put what the server tells of itself into the findings, with where each came from. `models`: its list.

    Asks its pages: those of the engine that the list names, else those by which engines are told apart.
    """
    found: Facts = {}
    sources: dict[str, str] = {}
    listed = served.of_models(models.json(), look.found.model)
    rough = {"quantization_bits": listed.pop("quantization_bits")} if "quantization_bits" in listed else {}
    note(found, sources, listed, "GET models")
    header = (look.found.server or "").lower().partition("/")[0]
    note(found, sources, served.known(engine=served.HEADERS.get(header)), "the server header")
    engine = found.get("engine")
    with gevent.Timeout(ALL_S, False):
        asked = pages_of(engine) or served.TELLTALES
        pages = fetched(look, asked)
        take(found, sources, pages, look.found.model)
        if engine is None and (more := [page for page in pages_of(found.get("engine")) if page not in asked]):
            take(found, sources, fetched(look, more), look.found.model)
    by_name(found, sources, look.found.model if look.lists else None)
    note(found, sources, rough, "GET models (size / n_params)")
    if "engine" not in found:
        found.pop("version", None)
    told = {name: words(models, value) for name, value in found.items()}
    look.found.served = {name: value for name, value in told.items() if value != ""}
    look.found.sources = {name: source for name, source in sources.items() if name in look.found.served}


def pages_of(engine: str | None) -> tuple[str, ...]:
    """The pages by which an engine tells of itself."""
    return () if engine is None else tuple(served.ENGINES[engine].pages)


def words(reply: Reply, value: Any) -> Any:
    """A value that is fit for a file: words in one line, without the key."""
    return reply.quote(value) if isinstance(value, str) else value


def note(found: Facts, sources: dict[str, str], new: Facts, source: str) -> None:
    """Keep what is new; what was found out first stays."""
    for name, value in new.items():
        if name not in found:
            found[name], sources[name] = value, source


def take(found: Facts, sources: dict[str, str], pages: dict[str, Any], model: str) -> None:
    """Read pages, each by its reader. What is the engine's own counts only if it is the same engine."""
    readers = {place: read for engine in served.ENGINES.values() for place, read in engine.pages.items()}
    for place, page in pages.items():
        facts = served.ollama_tags(page, model) if place == served.TAGS else readers[place](page)
        if "engine" in facts and found.get("engine", facts["engine"]) != facts["engine"]:
            continue
        note(found, sources, facts, f"{'POST' if place in served.POSTED else 'GET'} {place}")


def by_name(found: Facts, sources: dict[str, str], listed: str | None) -> None:
    """What the names that the server tells of its model say of the weights."""
    for name, source in ((found.get("model_root"), "model_root"), (listed, "model")):
        if not name:
            continue
        last = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
        where = f"the name {last!r} ({sources.get(source, 'GET models')})"
        note(found, sources, served.known(weights_format=weights.file_format(name)), where)
        if "quantization" not in found and (kind := weights.quantization(name)) is not None:
            note(found, sources, served.known(quantization=kind[0], quantization_bits=kind[1]), where)
    told = found.get("quantization")
    if told and "quantization_bits" not in found and (kind := weights.quantization(told)) is not None:
        note(found, sources, served.known(quantization_bits=kind[1]), f"{sources['quantization']}: {told}")


def fetched(look: Look, places: Iterable[str]) -> dict[str, Any]:
    """Pages as JSON, of /metrics the text; None for one that tells nothing. In the order in which they were named."""
    wanted = list(places)
    sending = replace(look.sending, connect_s=min(look.sending.connect_s, PAGE_S))
    bare = replace(sending, headers={})
    with Asker(sending, look.key, limit_s=PAGE_S) as asker, Asker(bare, None, limit_s=PAGE_S) as stranger:

        def one(place: str) -> Any:
            if place == served.METRICS:
                return page(stranger, place) if look.metrics else None
            return page(asker, place, {"model": look.sending.model} if place in served.POSTED else None)

        return dict(zip(wanted, Pool(AT_ONCE).map(one, wanted), strict=True))


def page(asker: Asker, place: str, body: dict[str, Any] | None = None) -> Any:
    """One page, or None."""
    try:
        reply = asker.ask(place, body)
    except (UnansweredError, Stop):
        return None
    if reply.status != 200 or len(reply.body) > LARGEST:
        return None
    return reply.body.decode("utf-8", "replace") if place == served.METRICS else reply.json()


def ask_tokenizer(look: Look, count: Counter | None, post: counting.Post) -> None:
    """Put into the findings which tokenizer it is: its name, its file's digest, and what PROBE counts in it."""
    found, path = look.found, look.scenario.tokenizer
    if not found.count_source:
        return
    server = count if found.count_source == "server /tokenize" else None
    if server is None and look.scenario.token_counting != "auto":  # auto has tried that already
        server = counting.by_server(post, look.sending.model)
    probed, source = probe(server), "server /tokenize"
    if probed is None and path is not None:
        own = count if found.count_source.startswith("tokenizer ") else counting.by_file(Path(path))
        probed, source = probe(own), f"tokenizer {Path(path).name}"
    named = found.served.pop("tokenizer", None)
    found.sources.pop("tokenizer", None)
    found.tokenizing = {
        name: value
        for name, value in {
            "name": named or (Path(path).name if path else None),
            "sha256": digest(path) if path else None,
            "probe_sha256": hashlib.sha256(PROBE.encode()).hexdigest(),
            "probe_tokens": probed,
            "probe_source": source if probed is not None else None,
        }.items()
        if value is not None
    }


def probe(count: Counter | None) -> int | None:
    """Tokens of PROBE; None if nobody counts."""
    if count is None:
        return None
    try:
        return int(count([PROBE])[0]) or None
    except Stop:
        return None


def digest(path: str) -> str | None:
    """SHA-256 of a file."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None
