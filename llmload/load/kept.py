"""A scenario that was run already, out of its run folder, back as the tables of a scenario file.

So what is changed on the command line passes through the same reader, and is refused in the same words, as in a file.
Beside the tables stands what no file says: how long each prompt was cut, and which data files they came from. This
file reads JSON and knows no load and no request.
"""

import dataclasses
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from llmload.exits import Stop
from llmload.load.scenario import SLO, Scenario, WorkloadClass

RUN = "run.json"
PROMPTS = "prompts"
"""A folder beside run.json with the data files of classes, as `llmload pack --with-prompts` leaves them."""
BY_HAND = "hand"
_NO_KEYS = {"fitted", "file", "classes", "digest"}
"""Members of a resolved scenario that no scenario file has, or has under another name."""
_OF_TEXTS = ("source", "prompts", "input_tokens", "shared_prefix_tokens")
"""What decides, with the seed, which built-in texts a class has, and how long."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a run folder, or a file with a resolved scenario, tells."""

    path: Path
    run: str | None
    """Id of the run; None for a file that is no run.json."""
    scenario: dict[str, Any]
    fitted: dict[str, int] | None
    """Characters of each built-in prompt; None if nobody wrote that down."""

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 of the data file of each class that has one."""
        return {str(row.get("name")): row["digest"] for row in self._classes if isinstance(row.get("digest"), str)}

    @property
    def file(self) -> str | None:
        """The scenario file that it was read from at first."""
        return file if isinstance(file := self.scenario.get("file"), str) else None

    @property
    def _classes(self) -> list[dict[str, Any]]:
        rows = self.scenario.get("classes")
        return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []

    def tables(self, kind_of: dict[str, str]) -> dict[str, Any]:
        """As a scenario file would have it. `kind_of` tells which keys of [load] belong to one kind alone."""
        raw = _stated(self.scenario, Scenario)
        if self.scenario.get("temperature", 0) is None:
            raw["temperature"] = "none"  # not said would be the default, which is another
        for name in ("load", "limits", "slo", "cost", "capabilities"):
            if isinstance(table := raw.get(name), dict):
                raw[name] = {key: value for key, value in table.items() if value is not None}
        if isinstance(load := raw.get("load"), dict):
            raw["load"] = _of_kind(load, kind_of)
        raw["class"] = [self._class(row) for row in self._classes]
        return raw

    def same_texts(self, resolved: dict[str, Any]) -> bool:
        """Whether a resolved scenario has the texts that this one had, so that they may be cut alike."""

        def texts(scenario: dict[str, Any], classes: list[dict[str, Any]]) -> Any:
            return scenario.get("seed"), [(row.get("name"), *(row.get(key) for key in _OF_TEXTS)) for row in classes]

        return bool(texts(self.scenario, self._classes) == texts(resolved, resolved["classes"]))

    def _class(self, row: dict[str, Any]) -> dict[str, Any]:
        own = _stated(row, WorkloadClass)
        if isinstance(slo := own.get("slo"), dict):
            own["slo"] = _stated(slo, SLO)
        if own.get("source") != "file":
            return own
        for key in ("input_tokens", "prompts", "shared_prefix_tokens", "shared_prefix_share"):
            own.pop(key, None)
        if isinstance(own.get("path"), str):
            own["path"] = _data(self.path.parent, row)
        return own


def find(name: str) -> Path | None:
    """The JSON file that a run folder, or the name of one, stands for; None if it is neither."""
    if os.path.isfile(name) and name.endswith(".json"):  # noqa: PTH113  (as above)
        return Path(name)
    run = os.path.join(name, RUN)  # noqa: PTH118  (as above)
    return Path(run) if os.path.isfile(run) else None  # noqa: PTH113  (as above)


def run_of(name: str) -> str | None:
    """The id of the run that a name of a scenario stands for, if it stands for a run. Raises Stop(USAGE)."""
    path = find(name)
    return None if path is None else read(path).run


def read(path: Path) -> Kept:
    """run.json, or a file with nothing but a resolved scenario. Raises Stop(USAGE) if it holds none."""
    try:
        value = orjson.loads(path.read_bytes())
    except OSError as error:
        raise Stop(f"{path}: cannot be read: {error.strerror}") from error
    except orjson.JSONDecodeError as error:
        raise Stop(f"{path}: no valid JSON: {error.msg}; expected run.json of a run") from error
    run = value.get("run") if isinstance(value, dict) else None
    scenario = value.get("scenario", value) if isinstance(value, dict) else None
    if not isinstance(scenario, dict) or not isinstance(scenario.get("classes"), list) or not scenario["classes"]:
        raise Stop(f"{path}: holds no scenario with classes; expected run.json of a run")
    if not all(isinstance(row, dict) for row in scenario["classes"]):
        raise Stop(f"{path}: scenario.classes: expected a list of objects")
    if run is not None and value.get("sequence", True) is None:
        raise Stop(f"{path}: a locustfile of its own sent what it liked there; run that locustfile again")
    preflight = value.get("preflight")
    fit = preflight.get("fit") if isinstance(preflight, dict) else scenario.get("fitted")
    return Kept(path, None if run is None else str(run), scenario, _fit(path, fit))


def with_data(folder: Path, scenario: dict[str, Any]) -> dict[str, Any]:
    """A resolved scenario of a run folder whose data files stand where they lie now."""
    rows = [{**row, "path": _data(folder, row)} if row.get("path") else row for row in scenario["classes"]]
    return {**scenario, "classes": rows}


def _data(folder: Path, row: dict[str, Any]) -> str:
    """Where the data file of a class lies: where it lay if it is still the same, else beside run.json."""
    path = str(row["path"])
    packed = folder / PROMPTS / f"{row.get('name')}{Path(path).suffix}"
    return str(packed.absolute()) if packed.is_file() and _sha256(path) != row.get("digest") else path


def _sha256(path: str) -> str | None:
    """SHA-256 of a file, None if it cannot be read."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def _fit(path: Path, fit: Any) -> dict[str, int] | None:
    if fit is None:
        return None
    if not isinstance(fit, dict) or not all(type(size) is int and size > 0 for size in fit.values()):
        raise Stop(f"{path}: the lengths of prompts (fit): expected whole numbers of characters by prompt")
    return fit


def _stated(row: dict[str, Any], record: Any) -> dict[str, Any]:
    """Members of a record that a scenario file can have, those that say nothing left out."""
    names = {item.name for item in dataclasses.fields(record)} - _NO_KEYS
    return {name: value for name, value in row.items() if name in names and value is not None}


def _of_kind(load: dict[str, Any], kind_of: dict[str, str]) -> dict[str, Any]:
    """[load] without the keys that its kind does not have."""
    kind = load.get("kind", "steps")
    if kind == BY_HAND:  # no file says so: it is for the command line to give levels
        load = {key: value for key, value in load.items() if key not in ("kind", "steps", "rates")}
        kind = "steps"
    load = {key: value for key, value in load.items() if kind_of.get(key, kind) == kind}
    if load.get("arrivals") != "gamma":
        load.pop("burstiness", None)
    return load
