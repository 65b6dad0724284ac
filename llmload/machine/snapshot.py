"""What `llmload env` tells of a machine, as a file: written there, read by `llmload run --environment FILE` here."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from llmload import __version__
from llmload.exits import Stop
from llmload.record.environment import CLIENT

KIND = "llmload env"
SCHEMA = 1
LARGEST = 1 << 20
"""Bytes of such a file, at most."""


def make(client: Mapping[str, Any], gpus: list[dict[str, Any]] | None, note: str | None) -> dict[str, Any]:
    """The whole of it. `gpus`: None if they were not looked at; `note` says why none was found."""
    found: dict[str, Any] = {"kind": KIND, "schema": SCHEMA, "llmload": __version__, "at": round(time.time(), 3)}
    found |= client
    if gpus is not None:
        found["gpus"] = gpus
    return found | ({"gpus_note": note} if note else {})


def read(path: Path) -> dict[str, Any]:
    """The machine that such a file tells of, as run.json has it. Raises Stop(USAGE) for what is no such file."""
    advice = "name a file that `llmload env --json --out FILE` wrote on the server's machine"
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise Stop(f"--environment {path}: cannot be read: {error.strerror}; {advice}") from None
    try:
        value = orjson.loads(data) if len(data) <= LARGEST else None
    except orjson.JSONDecodeError as error:
        raise Stop(f"--environment {path}: no JSON: {error}; {advice}") from None
    if not isinstance(value, dict) or value.get("kind") != KIND:
        raise Stop(f"--environment {path}: expected a JSON object of kind {KIND!r}; {advice}")
    if value.get("schema") != SCHEMA:
        raise Stop(f"--environment {path}: schema {value.get('schema')!r}; this llmload reads {SCHEMA}; {advice}")
    gpus = value.get("gpus", [])
    if not isinstance(gpus, list) or not all(
        isinstance(gpu, dict) and isinstance(gpu.get("uuid"), str) for gpu in gpus
    ):
        raise Stop(f"--environment {path}: gpus: expected a list of objects with a uuid; {advice}")
    if odd := next((name for name in CLIENT if isinstance(value.get(name), (dict, list))), None):
        raise Stop(f"--environment {path}: {odd}: expected a word or a number; {advice}")
    return {name: item for name, item in value.items() if name not in ("kind", "schema")}
