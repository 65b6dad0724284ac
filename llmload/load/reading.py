"""Scenario files: TOML in, `Scenario` out, and for everything that is wrong one sentence with file, table and key.

The keys of a file are the fields of `scenario.py`, with a parser each in the tables below. A new key is one line
there and one field. What a value may look like is `values.py`; this file reads files and knows no load and no request.
"""

import dataclasses
import os
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import llmload
from llmload.exits import Exit, Stop
from llmload.load import dataset, kept, override, values
from llmload.load.lengths import BUILTIN_INPUT
from llmload.load.override import Given
from llmload.load.prompts import KINDS
from llmload.load.scenario import SLO, Capabilities, Cost, Limits, Load, Scenario, WorkloadClass
from llmload.load.values import Parser

LOAD: dict[str, Parser] = {
    "kind": values.choice("steps", "rate"),
    "steps": values.wholes(1, 100_000),
    "rates": values.numbers(high=100_000, above=True),
    "arrivals": values.choice("constant", "poisson", "gamma"),
    "burstiness": values.number(0.01, 1000),
    "max_in_flight": values.whole(1, 1_000_000),
    "warmup_requests": values.whole(0, 1000),
    "warmup_s": values.duration("s"),
    "window_s": values.duration("s", above=True),
    "window_requests": values.whole(0),
    "window_cap_s": values.duration("s", above=True),
    "drain_limit_s": values.duration("s"),
    "settle_s": values.duration("s"),
    "max_failures_in_a_row": values.whole(0),
    "max_requests": values.optional(values.whole(1)),
    "max_tokens_total": values.optional(values.whole(1)),
    "hold_s": values.optional(values.duration("s", above=True)),
}
LIMITS: dict[str, Parser] = {
    name: values.duration("s", above=True) for name in ("connect_s", "ttft_s", "stall_s", "total_s")
}
SLOS: dict[str, Parser] = {
    name: values.optional(values.duration("ms", above=True)) for name in ("ttft_ms", "tpot_ms", "e2e_ms", "itl_max_ms")
}
COST: dict[str, Parser] = {
    "currency": values.text,
    "gpus": values.optional(values.whole(1, 100_000)),
    **{
        name: values.optional(values.number())
        for name in (
            "per_million_input",
            "per_million_output",
            "gpu_hour",
            "gpu_month",
            "requests_per_month",
            "one_off",
            "benefit_per_month",
        )
    },
}
CAPABILITIES: dict[str, Parser] = {
    "tools": values.optional(values.flag),
    "json_mode": values.optional(values.flag),
    "context": values.optional(values.whole(1)),
    "languages": values.codes,
}
CLASS: dict[str, Parser] = {
    "name": values.text,
    "weight": values.number(above=True),
    "source": values.choice(*(f"builtin:{kind}" for kind in KINDS), "file"),
    "path": values.text,
    "prompts": values.whole(1, 100_000),
    "input_tokens": values.lengths,
    "max_tokens": values.lengths,
    "ignore_eos": values.flag,
    "min_tokens": values.optional(values.whole(0)),
    "temperature": values.optional(values.number()),
    "extra_body": values.extra_body,
    "headers": values.headers,
    "tools": values.tools,
    "slo": dict,
    "shared_prefix_tokens": values.whole(0, 1_000_000),
    "shared_prefix_share": values.number(0, 1),
    "quality_loss_points": values.number(0, 100),
}
TOP: dict[str, Parser] = {
    "name": values.text,
    "description": values.any_text,
    "seed": values.whole(0),
    "round": values.whole(0, 255),
    "model": values.text,
    "api": values.choice("chat", "completions"),
    "stream": values.flag,
    "connections": values.choice("keep-alive", "fresh"),
    "cache_busting": values.flag,
    "temperature": values.optional(values.number()),
    "key_env": values.variable,
    "max_tokens_field": values.choice("auto", "max_tokens", "max_completion_tokens"),
    "stream_usage": values.choice("auto", "on", "off"),
    "token_counting": values.choice("auto", "server", "tokenizer", "ratio"),
    "tokenizer": values.text,
    "stall_ms": values.duration("ms", above=True),
    "slow_s": values.optional(values.duration("s", above=True)),
    "ready_timeout_s": values.duration("s"),
    "extra_body": values.extra_body,
    "headers": values.headers,
    "labels": values.texts_table,
    "environment": values.texts_table,
    "load": dict,
    "limits": dict,
    "slo": dict,
    "cost": dict,
    "capabilities": dict,
    "class": list,
}
TABLES = {"load": LOAD, "limits": LIMITS, "slo": SLOS, "cost": COST, "capabilities": CAPABILITIES}
"""The tables of a file whose keys are fixed; `[[class]]` is a list of such tables."""
KIND_OF = {
    "steps": "steps", "warmup_requests": "steps",
    "rates": "rate", "arrivals": "rate", "burstiness": "rate", "max_in_flight": "rate",
}  # fmt: skip
"""The keys of [load] that mean something to one kind of load alone."""

_CLASS_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
TAKEN_NAMES = {"all"}
"""`all` is the report's row for all classes together."""


def load(name_or_path: str, overrides: Sequence[tuple[str, str]] = ()) -> Scenario:
    """Read a scenario file, or a shipped scenario by its bare name, with `overrides` (dotted key, value) on top.

    A key of a class is `class.NAME.key`. Relative paths in the file are taken from the file's folder. A run folder is
    the scenario that was run there, with its prompts as they were cut. Raises Stop(USAGE) that names file, table and
    key.
    """
    if (path := kept.find(name_or_path)) is not None:
        return again(kept.read(path), overrides)
    path = find(name_or_path)
    shown = str(path) if name_or_path.endswith(".toml") else name_or_path
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Stop(f"{shown}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Stop(f"{shown}: no UTF-8 text: {error.reason} at byte {error.start}") from error
    except tomllib.TOMLDecodeError as error:
        raise Stop(f"{shown}: no valid TOML: {error}") from error
    for key, text in overrides:
        override.put(shown, raw, key, text)
    return _Reader(shown, path).scenario(raw)


def again(found: kept.Kept, overrides: Sequence[tuple[str, str]]) -> Scenario:
    """The scenario of a run, with `overrides` on top; prompts stay as they were cut unless these ask for others.

    Raises Stop(USAGE) that names file, table and key, also for a data file that is another one now.
    """
    shown, raw = str(found.path), found.tables(KIND_OF)
    for key, text in overrides:
        override.put(shown, raw, key, text)
    if isinstance(found.scenario.get("load"), dict) and found.scenario["load"].get("kind") == kept.BY_HAND:
        given = raw["load"]
        if not {"steps", "rates"} & set(given):
            raise Stop(f"{shown}: its load was set by hand, so there is no plan to repeat; name one as --steps 1,4,8")
    scenario = _Reader(shown, found.path).scenario(raw)
    for cls in scenario.classes:
        expected = found.digests.get(cls.name)
        if expected is not None and cls.digest != expected:
            raise Stop(
                f"{shown}: class {cls.name}: {cls.path or cls.source}: not the prompts of that run: expected SHA-256 "
                f"{expected[:12]}…, got {(cls.digest or 'none')[:12]}…; name the same file with "
                f"--set class.{cls.name}.path=FILE"
            )
    scenario = dataclasses.replace(scenario, file=found.file)
    same = found.same_texts(resolved(scenario))
    return dataclasses.replace(scenario, fitted=found.fitted if same else None)


def shipped() -> dict[str, Path]:
    """The scenarios that come with llmload, by name."""
    package = Path(llmload.__file__).parent
    for folder in (package / "scenarios", package.parent / "scenarios"):
        if folder.is_dir():
            return {path.stem: path for path in sorted(folder.glob("*.toml"))}
    return {}


def find(name_or_path: str) -> Path:
    """The file of a scenario. Raises Stop(USAGE) with what there is when there is none."""
    path = Path(name_or_path)
    if os.path.isfile(path):  # noqa: PTH113  (Path's own raises for a name that is too long, or a folder that is closed)
        return path
    known = shipped()
    if name_or_path in known:
        return known[name_or_path]
    what = "a folder, no scenario file" if os.path.isdir(path) else "no such scenario file"  # noqa: PTH112
    raise Stop(f"{name_or_path}: {what}; shipped scenarios: {', '.join(known)}{override.guess(path.stem, known)}")


def resolved(scenario: Scenario) -> dict[str, Any]:
    """The scenario as JSON for run.json, every default filled in."""
    data = dataclasses.asdict(scenario)
    data["load"]["steps"], data["load"]["rates"] = list(scenario.load.steps), list(scenario.load.rates)
    for row, cls in zip(data["classes"], scenario.classes, strict=True):
        row["input_tokens"] = values.lengths_json(cls.input_tokens)
        row["max_tokens"] = values.lengths_json(cls.max_tokens)
        row["tools"] = list(row["tools"])
    data["classes"] = list(data["classes"])
    data["capabilities"]["languages"] = list(scenario.capabilities.languages)
    return data


def from_resolved(data: dict[str, Any]) -> Scenario:
    """The way back from `resolved`. Members that this version does not know are left out, missing ones get defaults."""
    classes = []
    for row in data["classes"]:
        own = _known(WorkloadClass, row)
        own["max_tokens"] = values.lengths(row["max_tokens"])
        own["input_tokens"] = None if row.get("input_tokens") is None else values.lengths(row["input_tokens"])
        own["tools"] = tuple(row.get("tools", ()))
        own["slo"] = None if row.get("slo") is None else SLO(**_known(SLO, row["slo"]))
        classes.append(WorkloadClass(**own))
    own = _known(Scenario, data)
    own["classes"] = tuple(classes)
    own["load"] = Load(**_known(Load, data["load"]))
    own["load"] = dataclasses.replace(own["load"], steps=tuple(own["load"].steps), rates=tuple(own["load"].rates))
    own["limits"] = Limits(**_known(Limits, data["limits"]))
    own["slo"] = SLO(**_known(SLO, data["slo"]))
    own["cost"] = Cost(**_known(Cost, data.get("cost") or {}))
    own["capabilities"] = Capabilities(**_known(Capabilities, data.get("capabilities") or {}))
    own["capabilities"] = dataclasses.replace(own["capabilities"], languages=tuple(own["capabilities"].languages))
    return Scenario(**own)


def _known(record: Any, data: dict[str, Any]) -> dict[str, Any]:
    return {item.name: data[item.name] for item in dataclasses.fields(record) if item.name in data}


class _Reader:
    """Turns the raw tables of one file into a scenario; remembers the file for its sentences."""

    def __init__(self, shown: str, path: Path) -> None:
        self.shown = shown
        self.path = path

    def stop(self, table: str, key: str, problem: str) -> Stop:
        """One sentence about one key."""
        return Stop(f"{self.shown}: {f'{table} ' if table else ''}{key}: {problem}", Exit.USAGE)

    def read(self, table: str, raw: Any, keys: dict[str, Parser]) -> dict[str, Any]:
        """A table with every value parsed; raises Stop for a key that is unknown or a value that does not fit."""
        if not isinstance(raw, dict):
            got = values.shown(raw.text if isinstance(raw, Given) else raw)
            raise Stop(f"{self.shown}: {table}: expected a table, got {got}", Exit.USAGE)
        for key, value in raw.items():
            if key not in keys:
                problem = f"unknown key; {self.elsewhere(table, key) or _expected(key, keys)}"
                raise self.stop(*_place(table, key, value), problem)
        return {key: self.parse(table, key, value, keys[key]) for key, value in raw.items()}

    def elsewhere(self, table: str, key: str) -> str:
        """Where a key belongs that is known in another table, the commonest slip in TOML."""
        if table and key in TOP:
            return "it belongs to the top of the file, before the first [table]"
        homes = [f"[{name}]" for name, keys in TABLES.items() if key in keys and table != f"[{name}]"]
        if not table and key in CLASS:
            homes.append("[[class]]")
        return f"it belongs to {' or '.join(homes)}" if homes else ""

    def parse(self, table: str, key: str, value: Any, parser: Parser) -> Any:
        """One value. What came from the command line is tried as a text and as TOML."""
        if parser in {dict, list}:
            return value
        tries = [override.plain(value)]
        if isinstance(value, Given):
            tries.insert(0, value.text)
        problem = ""
        for form in tries:
            try:
                return parser(form)
            except ValueError as error:
                problem = str(error)
        raise self.stop(*_place(table, key, value), problem)

    def scenario(self, raw: dict[str, Any]) -> Scenario:
        """The whole file."""
        spread_duration(raw.get("load"))
        own = self.read("", raw, TOP)
        for table, keys in TABLES.items():
            own[table] = self.read(f"[{table}]", own.get(table, {}), keys)
        self.lift_cap(raw.get("load", {}), own["load"])
        self.one_kind(raw.get("load", {}), own["load"])
        rows = own.pop("class", [])
        if not isinstance(rows, list) or not rows:
            raise Stop(
                f"{self.shown}: [[class]]: expected at least one table, got none; add one such as:\n"
                '[[class]]\nname = "short"'
            )
        classes = tuple(self.workload(row, at) for at, row in enumerate(rows))
        names = [cls.name for cls in classes]
        for name in names:
            if names.count(name) > 1:
                raise self.stop("[[class]]", "name", f"expected names that differ, got {name!r} twice")
        if "tokenizer" in own:
            own["tokenizer"] = self.file("", "tokenizer", own["tokenizer"])
        scenario = Scenario(
            **{
                "name": self.path.stem,
                **own,
                "file": str(self.path),
                "classes": classes,
                "load": Load(**own["load"]),
                "limits": Limits(**own["limits"]),
                "slo": SLO(**own["slo"]),
                "cost": Cost(**own["cost"]),
                "capabilities": Capabilities(**own["capabilities"]),
            }
        )
        self.check(scenario)
        return scenario

    def workload(self, raw: Any, at: int) -> WorkloadClass:
        """One [[class]]."""
        name = raw.get("name") if isinstance(raw, dict) else None
        table = f"[[class]] {name}" if isinstance(name, str) and name else f"[[class]] number {at + 1}"
        own = self.read(table, raw, CLASS)
        if "name" not in own:
            raise self.stop(table, "name", "missing; every class has a name, such as short")
        if not _CLASS_NAME.fullmatch(own["name"]) or own["name"] in TAKEN_NAMES:
            raise self.stop(
                table, "name", f"expected letters, digits, - and _, and not all, got {values.shown(own['name'])}"
            )
        if "slo" in own:
            own["slo"] = SLO(**self.read(f"{table} [slo]", own["slo"], SLOS))
        self.source(table, own)
        if own.get("shared_prefix_tokens") and "shared_prefix_share" not in own:
            own["shared_prefix_share"] = 1.0
        if own.get("shared_prefix_share") and not own.get("shared_prefix_tokens"):
            raise self.stop(table, "shared_prefix_share", "needs shared_prefix_tokens, the length of that prefix")
        cls = WorkloadClass(**own)
        if cls.min_tokens is not None and cls.min_tokens > cls.max_tokens.a:
            raise self.stop(
                table,
                "min_tokens",
                f"expected no more than max_tokens ({cls.max_tokens.notation}), got {cls.min_tokens}",
            )
        return cls

    def source(self, table: str, own: dict[str, Any]) -> None:
        """Where the prompts of a class come from: fills source, path, digest and input_tokens."""
        if "source" not in own:
            if "path" in own:
                own["source"] = "file"
            elif own["name"] in KINDS:
                own["source"] = f"builtin:{own['name']}"
            else:
                raise self.stop(
                    table, "source", f"missing; expected one of {', '.join(f'builtin:{kind}' for kind in KINDS)}, file"
                )
        if own["source"] == "file":
            for key in ("input_tokens", "prompts", "shared_prefix_tokens", "shared_prefix_share"):
                if key in own:
                    raise self.stop(table, key, 'belongs to built-in prompts; those of source = "file" go as they are')
            if "path" not in own:
                raise self.stop(table, "path", 'missing; source = "file" needs the path of its data file')
            own["path"] = self.file(table, "path", own["path"])
            try:
                own["digest"] = dataset.load(own["path"]).digest
            except Stop as stop:
                raise self.stop(table, "path", stop.message) from None
        elif "path" in own:
            raise self.stop(table, "path", 'belongs to source = "file"')
        else:
            own.setdefault("input_tokens", BUILTIN_INPUT[own["source"]])

    def file(self, table: str, key: str, path: str) -> str:
        """A path of the file, absolute. Raises Stop if nothing is there."""
        found = (self.path.parent / Path(path).expanduser()).resolve()
        if not found.is_file():
            raise self.stop(table, key, f"no such file: {found}; a relative path starts at the scenario's folder")
        return str(found)

    def lift_cap(self, raw: dict[str, Any], own: dict[str, Any]) -> None:
        """A window longer than the cap: a slip where both were typed together, else the cap is lifted with it."""
        window = own.get("window_s", Load().window_s)
        cap = own.get("window_cap_s", Load().window_cap_s)
        if cap >= window:
            return
        if "window_cap_s" in own and isinstance(raw.get("window_s"), Given) <= isinstance(raw["window_cap_s"], Given):
            raise self.stop("[load]", "window_cap_s", f"expected at least window_s ({window:g}), got {cap:g}")
        own["window_cap_s"] = window

    def one_kind(self, raw: dict[str, Any], own: dict[str, Any]) -> None:
        """Take out the keys of the other kind of load where the kind was typed, and refuse them where it was not.

        So `--rates 2,5` makes a load by rate of any scenario, and a key that would do nothing is told.
        """
        kind = own.get("kind", Load().kind)
        for key in [key for key in own if KIND_OF.get(key, kind) != kind]:
            if isinstance(raw[key], Given) or not isinstance(raw.get("kind"), Given):
                problem = f'belongs to kind = "{KIND_OF[key]}", and this load is of kind = "{kind}"'
                raise self.stop(*_place("[load]", key, raw[key]), f"{problem}; set load.kind, or take {key} out")
            del own[key]
        if kind != "rate":
            return
        own["steps"], own["warmup_requests"] = (), 0
        if "rates" not in own:
            problem = 'missing; kind = "rate" needs arrivals per second, step by step, such as rates = [2, 5]'
            raise self.stop("[load]", "rates", problem)
        if "burstiness" in own and own.get("arrivals") != "gamma":
            if isinstance(raw["burstiness"], Given) or not isinstance(raw.get("arrivals"), Given):
                problem = 'belongs to arrivals = "gamma"; set arrivals, or take burstiness out'
                raise self.stop(*_place("[load]", "burstiness", raw["burstiness"]), problem)
            del own["burstiness"]

    def check(self, scenario: Scenario) -> None:
        """What several keys say together."""
        plan = scenario.load
        covered = min(plan.steps, default=0) + plan.warmup_requests - 1
        if plan.warmup_requests and covered < len(scenario.classes):
            raise self.stop(
                "[load]", "warmup_requests",
                f"expected at least {len(scenario.classes) - min(plan.steps) + 1}, so that {min(plan.steps)} in flight "
                f"warm up each of the {len(scenario.classes)} classes, got {plan.warmup_requests}",
            )  # fmt: skip
        if scenario.token_counting == "tokenizer" and scenario.tokenizer is None:
            raise self.stop("", "tokenizer", 'missing; token_counting = "tokenizer" needs the path of a tokenizer.json')
        if scenario.cost.gpu_hour is not None and scenario.cost.gpu_month is not None:
            raise self.stop("[cost]", "gpu_month", "a GPU has one price: give gpu_hour or gpu_month, not both")
        if scenario.api == "completions":
            for cls in scenario.classes:
                if cls.tools:
                    raise self.stop(f"[[class]] {cls.name}", "tools", 'belongs to api = "chat"')


def spread_duration(load: Any) -> None:
    """Turn --duration into the keys that it stands for: the hold of a soak, else the window of each step.

    What `--set` says of one of these keys stays.
    """
    if not isinstance(load, dict) or not isinstance(load.get("duration_s"), Given):
        return
    given = load.pop("duration_s")
    hold = load.get("hold_s")
    soak = (hold.text if isinstance(hold, Given) else hold) not in (None, "none")
    keys = {"hold_s": given.text} if soak else {"window_s": given.text, "window_requests": "0"}
    for key, text in keys.items():
        if not isinstance(load.get(key), Given):
            load[key] = Given(text, f"load.{key}")


def _place(table: str, key: str, value: Any) -> tuple[str, str]:
    """Table and key as a person knows them: what was typed on the command line is named as it was typed."""
    return ("", f"{value.key} (from the command line)") if isinstance(value, Given) else (table, key)


def _expected(key: str, keys: dict[str, Parser]) -> str:
    return f"expected one of: {', '.join(keys)}{override.guess(key, list(keys))}"
