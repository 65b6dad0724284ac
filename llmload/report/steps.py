"""The steps of a run and their windows. Where a run was killed, windows end at the last thing that is known."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from llmload.report.lost import Lost


@dataclass(frozen=True, slots=True)
class Step:
    """One level of load. Times are wall-clock seconds of the master; None where the step never came so far."""

    index: int
    concurrency: int | None
    rate: float | None
    begin: float | None
    """The window's begin …"""
    end: float | None
    """… and its end."""
    ended_by: str | None
    abandoned: int
    cut: bool
    """The window has no end of its own: the run was killed."""
    lasted_s: float = 0.0
    """Seconds from its start to its end, ramp and warm-up included."""
    known: bool = True
    """run.json knows this step."""
    held: bool = True
    """False for a level set by hand that was left before it was held for long enough: it makes no row."""
    observed: bool = True
    """False for the step that was repeated with all sampling paused: it makes no row either (`observer`)."""

    @property
    def window_s(self) -> float | None:
        """Seconds of the window."""
        return None if self.begin is None or self.end is None else self.end - self.begin

    @property
    def asked(self) -> float | None:
        """What the step asks for, as a number: requests in flight, or per second; None where it asks for nothing."""
        return self.concurrency if self.concurrency is not None else self.rate

    @property
    def label(self) -> str:
        """What the step asks for, short: `8`, `2.5/s` in open loop, `free` where users sent as they liked."""
        if self.concurrency is not None:
            return str(self.concurrency)
        return f"{self.rate:g}/s" if self.rate is not None else "free"

    @property
    def words(self) -> str:
        """What the step asks for, in a sentence."""
        if self.concurrency is not None:
            return f"{self.concurrency} in flight"
        return f"{self.rate:g} requests/s" if self.rate is not None else f"step {self.index}"

    @property
    def named(self) -> str:
        """The step in a sentence: `the step with 8 in flight`; its index only where it asks for nothing."""
        if self.concurrency is not None:
            return f"the step with {self.words}" + ("" if self.observed else ", repeated without sampling,")
        return f"the step at {self.words}" if self.rate is not None else self.words


def loop(scenario: dict[str, Any]) -> str:
    """The model of load: `steps` or `hand` (closed loop), `rate` (open loop), `free` where users sent as they liked."""
    load = scenario.get("load") or {}
    kind = load.get("kind")
    if kind in ("rate", "hand"):
        return str(kind)
    return "steps" if load.get("steps") else "free"


def find(said: Iterable[dict[str, Any]], frame: pd.DataFrame, missing: tuple[Lost, ...]) -> tuple[Step, ...]:
    """Steps that run.json names, and any that only records know of."""
    told = {int(item["step"]): item for item in said}
    numbers = frame["step"].to_numpy(dtype=np.int64)
    found = {int(index) for index in np.unique(numbers)} | {item.step for item in missing if item.step is not None}
    result = []
    for index in sorted(told.keys() | found):
        mine = frame[numbers == index]
        item = told.get(index)
        facts = item or {}
        begin, end = facts.get("window_started_at"), facts.get("window_ended_at")
        measured = mine[mine["phase"] == "measure"]
        if begin is None and len(measured):
            begin = _number(measured["start_s"].min())
        cut = begin is not None and end is None
        if cut and begin is not None:
            last = _number(mine["end_s"].max())
            end = None if last is None else max(last, begin)
        result.append(
            Step(
                index=index,
                concurrency=facts["concurrency"] if "concurrency" in facts else _whole(_first(mine, "concurrency")),
                rate=facts["rate"] if "rate" in facts else _first(mine, "rate"),
                begin=begin,
                end=end,
                ended_by=facts.get("ended_by"),
                abandoned=int(facts.get("abandoned") or 0),
                cut=cut,
                lasted_s=max(0.0, (facts.get("ended_at") or 0.0) - (facts.get("started_at") or 0.0)),
                known=item is not None,
                held=facts.get("held") is not False,
                observed=facts.get("observed") is not False,
            )
        )
    return tuple(result)


def _number(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)


def _first(frame: pd.DataFrame, column: str) -> float | None:
    values = frame[column].dropna()
    return float(values.iloc[0]) if len(values) else None


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
