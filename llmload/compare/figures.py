"""What is compared: one list of figures, each with its place in a row and the direction that is better.

A gain is above 1 where the candidate is better: baseline / candidate of what should be low, candidate / baseline of
what should be high. Pure.
"""

import math
import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from llmload.exits import Stop
from llmload.report.figures import look_up


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a row."""

    key: str
    """As a claim writes it: `e2e_p95`."""
    group: str
    heading: str
    path: tuple[str, ...]
    """Where it stands in a row of summary.json."""
    lower: bool
    """Whether lower is better."""
    unit: str
    """ms, tokens/s, requests/s, share, bytes, J/token, characters/s."""
    every_attempt: bool = False
    """Whether failures count in it as never finished."""

    @property
    def words(self) -> str:
        """In a sentence: `E2E p95`."""
        return f"{self.group} {self.heading}".strip()


def _spread(key: str, name: str, kind: str) -> list[Figure]:
    return [
        Figure(f"{key}_{p}", name, p, (f"{key}_ms", kind, p), lower=True, unit="ms", every_attempt=kind == "all")
        for p in ("p50", "p95", "p99")
    ]


FIGURES: dict[str, Figure] = {
    figure.key: figure
    for figure in (
        *_spread("ttft", "TTFT", "all"),
        *_spread("itl", "ITL", "ok"),
        *_spread("tpot", "TPOT", "all"),
        *_spread("e2e", "E2E", "all"),
        Figure("decode", "decode speed", "per user", ("output_tokens_per_s_per_user",), lower=False, unit="tokens/s"),
        Figure("tokens", "output tokens", "per s", ("output_tokens_per_s",), lower=False, unit="tokens/s"),
        Figure("chars", "characters", "per s", ("output_chars_per_s",), lower=False, unit="characters/s"),
        Figure("requests", "requests", "per s", ("requests_per_s",), lower=False, unit="requests/s"),
        Figure("goodput", "goodput", "per s", ("goodput_per_s",), lower=False, unit="requests/s"),
        Figure("success", "success", "share", ("success_share",), lower=False, unit="share"),
        Figure("memory", "GPU", "memory", ("gpu", "memory_used_max_bytes"), lower=True, unit="bytes"),
        Figure("joules", "GPU", "J/token", ("gpu", "joules_per_output_token"), lower=True, unit="J/token"),
    )
}
"""Of `chars` the value is computed from records by `ratios.measured`: summary.json does not hold it."""


def find(text: str, where: str) -> Figure:
    """A figure as a person writes it: `e2e_p95`, `p95_e2e`, `E2E p95`. Raises Stop(USAGE) that names `where`."""
    words = re.split(r"[\s_.]+", text.strip().lower().replace("_ms", ""))
    for key in ("_".join(words), "_".join(reversed(words))):
        if key in FIGURES:
            return FIGURES[key]
    near = get_close_matches("_".join(words), FIGURES, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise Stop(f"{where}: no figure {text!r}; expected one of: {', '.join(FIGURES)}{hint}")


def value(row: dict[str, Any] | None, figure: Figure) -> float | None:
    """The figure of a row, `inf` as a number; None where it was not measured."""
    found = None if row is None else look_up(row, figure.path)
    return math.inf if found == "inf" else None if found is None else float(found)


def gain(figure: Figure, baseline: float | None, candidate: float | None) -> float | None:
    """The candidate's gain, above 1 where it is better; None where it cannot be told.

    Both infinite, or both 0, cannot be judged; a candidate that never finishes has a gain of 0.
    """
    if baseline is None or candidate is None:
        return None
    above, below = (baseline, candidate) if figure.lower else (candidate, baseline)
    if (math.isinf(above) and math.isinf(below)) or above == below == 0:
        return None
    if math.isinf(below):
        return 0.0
    return math.inf if below == 0 else above / below
