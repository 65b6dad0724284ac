"""A claim: who says what, of which figure, by which factor, under which conditions. From claim.toml or a phrase.

    who = "Example Ltd"                        # all of these may be left out …
    when = 2026-11-03
    where = "https://example.com/blog/14x"
    text = "Up to 14x faster than before"
    figure = "e2e_p95"                         # … but not these two: what is to be measured, by which factor
    factor = 14                                # or "14x", "50 % faster", "50 % less"
    concurrency = 32                           # where it is said to hold; left out: not said
    workload = "short"

    [stated]                                   # the seven conditions, as the claimant stated them
    model = "Llama 3.1 8B Instruct, FP8"
    input = "200 tokens"
    output_limit = 89
    hardware = "1x H100 80GB"
    software = "vLLM 0.9.1"
    concurrency = 32
    metric = "p95 latency, end to end"

Reads one file and judges nothing; what a phrase means is `phrase`.
"""

import datetime
import os
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from llmload.compare import figures
from llmload.compare.claims import phrase
from llmload.compare.figures import Figure
from llmload.compare.words import X
from llmload.exits import Stop
from llmload.load import values
from llmload.load.override import guess
from llmload.plain import one_line


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that can fail."""

    text: str
    """As written: `14x e2e_p95`, or the sentence of the file."""
    figure: Figure
    factor: float
    """The gain that is claimed: 14 for 14 times faster; 1.5 for 50 % faster."""
    concurrency: float | None = None
    """Where it is said to hold; None: not said."""
    workload: str | None = None
    who: str | None = None
    when: str | None = None
    where: str | None = None
    stated: dict[str, str] = field(default_factory=dict)
    """Conditions that were stated, by their name in `conditions.CONDITIONS`."""


def _words(value: Any) -> str:
    """A text, or a number as one."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}" if abs(value) < 10**6 else str(value)
    return one_line(values.text(value)).strip()


def _moment(value: Any) -> str:
    """A date of TOML, or a text."""
    return (
        value.isoformat() if isinstance(value, datetime.date | datetime.time) else one_line(values.text(value)).strip()
    )


def _class(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", value):
        raise ValueError(f"expected the name of a class such as short, or all, got {values.shown(value)}")
    return value


def _factor(value: Any) -> str:
    """A factor as a text, which its figure gives its meaning."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{values.number(0, phrase.LARGEST, above=True)(value):.10f}".rstrip("0").rstrip(".") + "x"
    return values.text(value)


TOP: dict[str, Callable[[Any], Any]] = {
    "who": _words,
    "when": _moment,
    "where": _words,
    "text": _words,
    "figure": values.text,
    "factor": _factor,
    "concurrency": values.number(high=1_000_000, above=True),
    "workload": _class,
    "stated": dict,
}
STATED: dict[str, Callable[[Any], Any]] = dict.fromkeys(
    ("model", "input", "output_limit", "hardware", "software", "concurrency", "metric"), _words
)
MEANT = {"sentence": "text", "claim": "text", "quote": "text", "source": "where", "url": "where", "class": "workload"}
"""Keys that a person may try first, and what they are called here."""
NEEDED = {"figure": '"e2e_p95"', "factor": "14"}


def read(text: str) -> Claim:
    """A claim from a path that ends in .toml, or from a phrase. Raises Stop(USAGE) with what is wrong with it."""
    if text.strip().lower().endswith(".toml"):
        return _Reader(text.strip()).claim()
    found = phrase.parse(text, f"--claim {one_line(text)!r}")
    stated = {"metric": found.figure.words}
    if found.level is not None:
        stated["concurrency"] = f"{found.level:g}"
    return Claim(one_line(text).strip(), found.figure, found.factor, found.level, found.workload, stated=stated)


class _Reader:
    """Turns a claim.toml into a claim; remembers the file for its sentences."""

    def __init__(self, path: str) -> None:
        self.shown = path
        self.path = Path(path)

    def raw(self) -> dict[str, Any]:
        """The file. Raises Stop(USAGE) if it cannot be read."""
        if not os.path.isfile(self.path):  # noqa: PTH113  (Path's own raises for a name that is too long)
            raise Stop(f"{self.shown}: no such file; expected a claim.toml, or a phrase such as '14x e2e_p95'")
        try:
            return tomllib.loads(self.path.read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise Stop(f"{self.shown}: cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise Stop(f"{self.shown}: no UTF-8 text: {error.reason} at byte {error.start}") from error
        except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
            raise Stop(f"{self.shown}: no valid TOML: {error}") from error

    def stop(self, table: str, key: str, problem: str) -> Stop:
        """One sentence about one key."""
        return Stop(f"{self.shown}: {f'{table} ' if table else ''}{one_line(key)}: {problem}")

    def read(self, table: str, raw: dict[str, Any], keys: dict[str, Callable[[Any], Any]]) -> dict[str, Any]:
        """A table with every value parsed. Raises Stop for a key that is unknown or a value that does not fit."""
        found = {}
        for key, value in raw.items():
            if key not in keys:
                raise self.stop(table, key, f"unknown key; {_elsewhere(table, key, keys)}")
            if keys[key] is dict:
                if not isinstance(value, dict):
                    raise self.stop(table, key, f"expected a table [{key}], got {values.shown(value)}")
                found[key] = value
                continue
            try:
                found[key] = keys[key](value)
            except ValueError as error:
                raise self.stop(table, key, str(error)) from None
        return found

    def claim(self) -> Claim:
        """The whole file."""
        own = self.read("", self.raw(), TOP)
        stated = self.read("[stated]", own.pop("stated", {}), STATED)
        for key, example in NEEDED.items():
            if key not in own:
                raise self.stop("", key, f"missing; a claim can only be tested with it, such as {key} = {example}")
        figure = figures.find(own.pop("figure"), f"{self.shown}: figure")
        factor = phrase.factor(own.pop("factor"), figure, f"{self.shown}: factor")
        named = {name.replace("_", " "): text for name, text in stated.items()}
        level = own.pop("concurrency", None)
        if level is None:
            level = _level(named.get("concurrency", ""))
        else:
            named.setdefault("concurrency", f"{level:g}")
        text = own.pop("text", f"{factor:g}{X} {figure.words}")
        return Claim(text, figure, factor, level, **own, stated=named)


def _level(text: str) -> float | None:
    """A concurrency that was stated as a number alone."""
    return float(text) if re.fullmatch(r"\d+(?:\.\d+)?", text) and float(text) > 0 else None


def _elsewhere(table: str, key: str, keys: dict[str, Callable[[Any], Any]]) -> str:
    """Where a key belongs, or what there is instead."""
    if table and key in TOP:
        return "it belongs to the top of the file, before the first [table]"
    if not table and key in STATED:
        return "it belongs to [stated]"
    near = f"; did you mean {MEANT[key]}?" if MEANT.get(key) in keys else guess(key.replace(" ", "_"), keys)
    return f"expected one of: {', '.join(keys)}{near}"
