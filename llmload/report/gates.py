"""Gates: `ttft_ms.p50<=500`, `success_share>=0.99@32`, `short/e2e_ms.ok.p95<3000@8`. Knows rows of summary.json only.

[CLASS/]FIGURE OP VALUE[@STEP]. FIGURE is any figure of a row, its parts joined by dots; CLASS is a workload class,
`all` where none is named; STEP is a concurrency or a rate; without one the gate must hold in every step.
A percentile without `ok` or `all` (`ttft_ms.p50`) is the one over all attempts, so that nothing passes by failing;
where there is none by definition (`itl_ms`, and `mean`, `min`, `max`, `sd`) it is the one over successes.
"inf" compares as infinite. A figure that is missing or null does not hold.
"""

import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llmload.exits import Exit, Stop
from llmload.record.record import FLAGS, OUTCOMES
from llmload.record.samples import REASONS
from llmload.report import cost
from llmload.report.figures import look_up
from llmload.report.telemetry import gpus, servers

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}

FORM = re.compile(
    r"(?:(?P<workload>[^/<>=!@]+)/)?(?P<figure>\w+(?:\.[\w-]+)*)\s*(?P<operator><=|>=|==|!=|<|>)\s*(?P<value>[^@<>=]+)"
    r"(?:@(?P<step>[^@]+))?"
)

FIGURES = (
    "window_s", "planned", "not_sent", "warmup", "drain", "started", "ok", "failed", "cancelled", "lost", "outcomes",
    "success_share", "in_flight_mean", "ttft_ms", "ttft_content_ms", "itl_ms", "tpot_ms", "e2e_ms", "requests_per_s",
    "goodput_per_s", "goodput_share", "slow_requests", "output_tokens_per_s", "output_tokens_per_s_peak",
    "output_tokens_per_s_per_user", "output_tokens_per_s_request", "input_tokens_per_s", "input_tokens_mean",
    "output_tokens_mean", "requested_output_tokens_mean", "token_source", "tokens_per_event_mean",
    "reached_length_share", "from_schedule", "cost", "prefill_share", "stalls_per_1000_gaps", "stalled_request_share",
    "coalesced_share", "flags", "gpu", "server", "generator",
)  # fmt: skip
"""What a row can have; any other name in a gate is a slip of the pen, found before a run and not after it."""

HELD = "throttled_seconds"
ATTEMPTS = ("n", "p50", "p90", "p95", "p99")
SUCCESSES = ("n", "min", "mean", "p50", "p90", "p95", "p99", "max", "sd")
_SPREAD = (*SUCCESSES, *(f"ok.{name}" for name in SUCCESSES), *(f"all.{name}" for name in ATTEMPTS))
PARTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("ttft_ms", "ttft_content_ms", "tpot_ms", "e2e_ms"), _SPREAD),
    "itl_ms": (*SUCCESSES, *(f"ok.{name}" for name in SUCCESSES)),
    "from_schedule": tuple(f"{figure}.{name}" for figure in ("ttft_ms", "e2e_ms") for name in _SPREAD),
    "outcomes": tuple(OUTCOMES),
    "flags": FLAGS,
    "generator": ("bound", "cpu_max", "loop_lag_p99_ms", "stamp_lag_p99_ms", "workers"),
    "gpu": (*(name for name in gpus.BLOCK if name != HELD), *(f"{HELD}.{reason}" for reason in REASONS)),
    "server": servers.BLOCK,
    "cost": cost.BLOCK,
}
"""What can stand behind the first dot of a figure that is a block; such a figure alone is no number."""
WORDS = ("token_source", "server.engine", "cost.currency")
FLAGGED = (("generator", "bound"),)
"""Figures that are a word, and that are true or false; all others are numbers."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One condition, as it was written and taken apart."""

    text: str
    workload: str
    figure: tuple[str, ...]
    operator: str
    value: float | str | bool
    step: float | None


@dataclass(frozen=True, slots=True)
class Judged:
    """Whether a gate holds, and the words for it."""

    gate: Gate
    holds: bool
    words: str


def parse(text: str) -> Gate:
    """Take a gate apart. Raises Stop(USAGE) with what is wrong with it."""
    match = FORM.fullmatch(text.strip())
    example = "expected for example 'ttft_ms.p50<=500' or 'success_share>=0.99@32'"
    if match is None:
        raise Stop(f"--gate {text!r}: not understood; {example}", Exit.USAGE)
    figure = tuple(match["figure"].split("."))
    if figure[0] not in FIGURES:
        raise Stop(
            f"--gate {text!r}: summary.json has no figure {figure[0]!r}; expected one of: {', '.join(FIGURES)}",
            Exit.USAGE,
        )
    _part(text, figure)
    step = match["step"]
    try:
        at = None if step is None else float(step)
    except ValueError:
        raise Stop(f"--gate {text!r}: {step!r} is no concurrency and no rate; {example}", Exit.USAGE) from None
    value = _value(match["value"].strip())
    _fits(text, figure, match["operator"], value)
    return Gate(text.strip(), match["workload"] or "all", figure, match["operator"], value, at)


def _part(text: str, figure: tuple[str, ...]) -> None:
    """Raises Stop(USAGE) for a part that no row can have: such a gate could never hold, and that after the load."""
    name, part = figure[0], ".".join(figure[1:])
    parts = PARTS.get(name, ())
    if parts and part not in parts:
        slip = f"{name} has no {part!r}" if part else f"{name} is a block and no number"
        raise Stop(f"--gate {text!r}: {slip}; expected {name}. and one of: {', '.join(parts)}", Exit.USAGE)
    if part and not parts:
        raise Stop(f"--gate {text!r}: {name} has no parts; expected {name} alone", Exit.USAGE)


def _fits(text: str, figure: tuple[str, ...], sign: str, value: float | str | bool) -> None:
    """Raises Stop(USAGE) where a figure can never compare with such a value."""
    name = ".".join(figure)
    if name in WORDS or figure in FLAGGED:
        wanted, kind = ("a word", str) if name in WORDS else ("true or false", bool)
        if sign not in ("==", "!=") or not isinstance(value, kind):
            raise Stop(f"--gate {text!r}: {name} is no number; expected == or != and {wanted}", Exit.USAGE)
    elif isinstance(value, str | bool):
        word = str(value).lower() if isinstance(value, bool) else repr(value)
        raise Stop(f"--gate {text!r}: {word} is no number; expected for example '{name}{sign}500'", Exit.USAGE)


def judge(gate: Gate, rows: Sequence[dict[str, Any]]) -> Judged:
    """Hold a gate against the rows of a summary; the words name the first row in which it fails."""
    mine = [row for row in rows if row["workload"] == gate.workload]
    if not mine:
        names = dict.fromkeys(row["workload"] for row in rows)
        there = f"there are: {', '.join(names)}" if names else "the run has no rows"
        return Judged(gate, holds=False, words=f"no class {gate.workload!r}; {there}")
    if gate.step is not None:
        mine = [row for row in mine if gate.step in (row["concurrency"], row["rate"])]
        if not mine:
            return Judged(gate, holds=False, words=f"the run has no step of {gate.step:g}")
    worst = ""
    for row in mine:
        value = look_up(row, gate.figure)
        where = f"{row['concurrency']}" if row["rate"] is None else f"{row['rate']:g}/s"
        if value is None:
            return Judged(gate, holds=False, words=f"not measured at {where}")
        if not _compare(value, gate):
            return Judged(gate, holds=False, words=f"{_text(value)} at {where}")
        worst = f"{_text(value)} at {where}" if len(mine) == 1 else f"in all {len(mine)} steps"
    return Judged(gate, holds=True, words=worst)


def _compare(value: Any, gate: Gate) -> bool:
    if value == "inf":
        value = math.inf
    if isinstance(value, str) != isinstance(gate.value, str):
        return False
    return OPERATORS[gate.operator](value, gate.value)


def _value(text: str) -> float | str | bool:
    """The right side: a number, `inf`, true, false, or a word."""
    if text in ("true", "false"):
        return text == "true"
    try:
        number = float(text)
    except ValueError:
        return text
    return text if math.isnan(number) else number


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
