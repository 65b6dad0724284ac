"""What a run is measured on, as run.json has it under `environment`: put together from who found out each part.

The client looks at itself (machine/), the preflight asked the server (send/), the sampler has the GPUs' first look,
and a file of `llmload env` and the scenario tell the rest. Names are those of record/environment.py. Stops no run.
"""

import itertools
from pathlib import Path
from typing import Any

import orjson

from llmload.drive.prepare import Prepared
from llmload.drive.sampling import Sampling
from llmload.load.sources import hidden
from llmload.machine import facts, gpus, path
from llmload.record import runfolder, samples
from llmload.send import capable

LOOKS = 64
"""Lines of gpu.jsonl that are read: what a GPU is stands in the first, and who holds memory on it in all of them."""


def environment(prepared: Prepared, sampling: Sampling | None) -> dict[str, Any]:
    """All that is known when a run begins."""
    found, sending = prepared.findings, prepared.sending
    proxy = None if sending.proxy is None else hidden(sending.proxy)
    served, sources = dict(found.served), dict(found.sources)
    if (
        sampling is not None
        and (server := sampling.facts["server"])
        and server.get("engine")
        and "engine" not in served
    ):
        served["engine"], sources["engine"] = server["engine"], str(server["source"])
    if found.context is not None:
        served.setdefault("context", found.context)
        sources.setdefault("context", "GET models")
    told = {
        "client": {**facts.client(), "path": path.way(found.address, proxy)},
        "server": {
            "url": found.base_url,
            "address": found.address,
            "model": found.model,
            "models": found.models,
            "server_header": found.server,
            **served,
            "sources": sources,
        },
        "tokenizer": found.tokenizing,
        "told": dict(prepared.scenario.environment),
    }
    if prepared.machine is not None:
        told["machine"] = prepared.machine
    return told | of_gpus(prepared, sampling)


def of_gpus(prepared: Prepared, sampling: Sampling | None) -> dict[str, Any]:
    """The GPUs and who told of them: what is sampled, else the file of `llmload env`. Nothing if nobody did."""
    rows, sources = ([], []) if sampling is None else gpus.of_lines(looks(prepared.folder / samples.GPU))
    if not rows and prepared.machine is not None:
        rows, sources = prepared.machine.get("gpus") or [], ["--environment"]
    return {"gpus": rows, "gpus_source": ", ".join(map(hidden, sources))} if rows else {}


def looks(file: Path) -> list[dict[str, Any]]:
    """The first lines of gpu.jsonl, as far as they can be read."""
    found = []
    for line in itertools.islice(runfolder.lines(file), LOOKS):
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def notes(told: dict[str, Any], capabilities: dict[str, Any]) -> list[str]:
    """What is to be known of it: a GPU that is shared, and what is stated of the endpoint and was not seen."""
    return gpus.notes(told.get("gpus") or ()) + capable.notes(capabilities)
