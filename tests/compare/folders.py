"""Run folders as a server of known speed would leave them, made in milliseconds, for comparisons of many.

A server is played request by request: N in flight (or arrivals by rate), a queue where it has slots, a first token and
gaps of a known mean with a spread over requests, failures that come at once. All of it is drawn from `seed`; the
prompts are not, so that two runs of one scenario ask the same prompts in the same order, as real ones do.
"""

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from llmload.load import reading
from llmload.load.scenario import SLO, Lengths, Load, Scenario, WorkloadClass
from llmload.record.record import RequestRecord
from llmload.record.runfolder import write_json
from tests.report.sampled import gpu as gpu_of
from tests.report.sampled import look
from tests.report.synthetic import START, lines, second

Of = float | Callable[[float], float]
"""A number, or a function of what the step asks for (requests in flight, or per second)."""
PROMPTS = 100
"""Different prompts of a class."""
BASE = RequestRecord(
    run="",
    worker="w0",
    seq=0,
    step=0,
    concurrency=None,
    phase="measure",
    workload="",
    prompt="",
    sent_at=START,
    outcome="ok",
).as_dict()


@dataclass(frozen=True, slots=True)
class Class:
    """How requests of one class go. Times before the noise of the run."""

    weight: float = 1.0
    ttft_ms: Of = 100.0
    itl_ms: Of = 10.0
    """Between tokens: TPOT. An event of several tokens comes after so many of it."""
    tokens: int = 64
    """Answer as asked for, on average over prompts."""
    input_tokens: int = 200
    ttft_spread: float = 0.15
    """Standard deviation of the logarithm, over requests …"""
    pace_spread: float = 0.05
    """… of the time per token, likewise …"""
    gap_spread: float = 0.1
    """… and of gaps within a request."""
    prompt_spread: float = 0.2
    """… and of the length that is asked for, over prompts."""
    answer: float = 1.0
    """Share of the length asked for after which the answer ends by itself."""
    tokens_per_event: float = 1.0
    chars_per_token: float = 4.2
    cliff: tuple[int, float] | None = None
    """After so many tokens the gaps are so many times as long."""
    slo: dict[str, float] | None = None


@dataclass(frozen=True, slots=True)
class _Run:
    """What one run is played with."""

    name: str
    draw: np.random.Generator
    pace: float
    """Times of this run are so many times as long: its noise."""
    classes: Mapping[str, Class]
    requests: int
    slots: int | None
    fail_share: Of
    failure: Mapping[str, Any]
    fail_ms: float
    model: str
    seqs: Iterator[int] = field(default_factory=lambda: iter(range(1 << 40)))


def make(
    path: Path,
    *,
    seed: int,
    steps: Iterable[int] = (1, 8),
    rates: Iterable[float] = (),
    workloads: Mapping[str, Mapping[str, Any]] | None = None,
    requests: int = 100,
    fail_share: Of = 0.0,
    fail_ms: float = 4.0,
    fail_outcome: str = "rate_limited",
    noise: float = 0.0,
    slots: int | None = None,
    model: str = "m",
    engine: str = "made-up",
    version: str = "1.0",
    probe_tokens: int = 97,
    name: str = "synthetic",
    gpu: Mapping[str, float] | None = None,
    started: float = 0.0,
    scenario: Mapping[str, Any] | None = None,
    environment: Mapping[str, Any] | None = None,
    run: Mapping[str, Any] | None = None,
    **every_class: Any,
) -> Path:
    """Write a whole run folder and return it. Raises nothing that a test should catch.

    `steps` are requests in flight, `rates` arrivals per second (instead, if given); `workloads` classes by name with
    fields of `Class`, and further keywords are such fields for all of them (`ttft_ms=80`, `itl_ms=lambda n: 10 + n`).
    `requests` are the measured attempts of each step. `fail_share` of the attempts fail after `fail_ms`. `noise` is
    the standard deviation of the logarithm of the run's speed from run to run. `slots` requests are served at once.
    `gpu` takes memory_bytes, watts. `started` is seconds after START. `scenario` are fields of Scenario, `environment`
    parts of `environment` there (merged one level deep; None takes a part away), `run` members of run.json.
    """
    levels = tuple(float(rate) for rate in rates)
    users = () if levels else tuple(steps)
    classes = {key: Class(**(every_class | dict(own))) for key, own in (workloads or {"short": {}}).items()}
    draw = np.random.default_rng(seed)
    status = {"rate_limited": 429, "overloaded": 503, "gateway_error": 502, "http_error": 500}.get(fail_outcome)
    failure = {"outcome": fail_outcome, "http_status": status, "error": f"{status or 'closed'}: made to fail"}
    play = _Run(
        path.name,
        draw,
        math.exp(draw.normal(0.0, noise)),
        classes,
        requests,
        slots,
        fail_share,
        failure,
        fail_ms,
        model,
    )
    told, rows = [], []
    clock = started + 1.0
    for index, level in enumerate(levels or users):
        step, mine = _step(play, index, float(level), clock, by_rate=bool(levels))
        told.append(step)
        rows += mine
        clock = step["ended_at"] - START + 0.5
    path.mkdir(parents=True, exist_ok=True)
    (path / "requests.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    lines(path / "generator.jsonl", (second(at, "w0") for at in range(int(started), int(clock) + 2)))
    lines(path / "server.jsonl", ())
    lines(path / "gpu.jsonl", () if gpu is None else _looks(gpu, started, clock, told))
    resolved = _scenario(name=name, classes=classes, users=users, rates=levels, requests=requests, more=scenario or {})
    found = _environment(
        model=model, engine=engine, version=version, probe_tokens=probe_tokens, gpu=gpu, more=environment or {}
    )
    told_of = _run_json(play, resolved, told, len(rows), (started, clock))
    write_json(path / "run.json", told_of | {"environment": found} | dict(run or {}))
    return path


def rounds(root: Path, count: int, *, seed: int, every: int = 1, first: int = 0, **how: Any) -> list[Path]:
    """`count` rounds of one side under `root`, each a minute times `every` after the one before."""
    return [make(root / f"round-{n}", seed=seed + n, started=600.0 * (first + every * n), **how) for n in range(count)]


def _of(value: Of, level: float) -> float:
    return value(level) if callable(value) else value


def _step(
    play: _Run, index: int, level: float, clock: float, *, by_rate: bool
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Play a step that begins at `clock`: run.json's part of it and its records.

    The warm-up is one attempt of each user (a second of arrivals), the window ends when the last request of its
    number was sent, and users go on until that has ended.
    """
    names = list(play.classes)
    weights = np.array([play.classes[key].weight for key in names])
    order = np.random.default_rng([7, index])  # the scenario's, not the run's: the same on both sides
    picks = order.choice(len(names), size=4096, p=weights / weights.sum())
    starts = order.permutation(PROMPTS)
    turns = [0] * len(names)
    served: list[float] = []
    rows: list[dict[str, Any]] = []
    free = [(clock + 0.001 * user, user) for user in range(1 if by_rate else int(level))]
    warm = max(1, int(level))
    begin = end = last = None
    measured = sent_in_all = 0
    while True:
        at, user = free[0]
        if end is not None and last is not None and at > last:
            break
        which = int(picks[sent_in_all % 4096])
        number = int(starts[turns[which] % PROMPTS])
        turns[which] += 1
        row = _attempt(play, names[which], number, level)
        wait = 0.0
        if play.slots is not None and row["outcome"] == "ok":
            if len(served) >= play.slots:
                wait = max(0.0, heapq.heappop(served) - at)
            heapq.heappush(served, at + wait + row["end_ms"] / 1000)
        _later(row, wait * 1000)
        if begin is None and sent_in_all >= warm:
            begin = at - 0.0005
        phase = "warmup" if begin is None else "measure" if end is None else "drain"
        done = at + row["end_ms"] / 1000
        row |= {
            "run": play.name, "seq": next(play.seqs), "step": index, "phase": phase, "sent_at": START + at,
            "concurrency": None if by_rate else int(level), "rate": level if by_rate else None,
            "scheduled_at": START + at if by_rate else None,
            "new_connection": sent_in_all < level, "connect_ms": 0.5 if sent_in_all < level else None,
        }  # fmt: skip
        rows.append(row)
        sent_in_all += 1
        if phase == "measure":
            measured += 1
            last = done if last is None else max(last, done)
            if measured == play.requests:
                end = at + 0.0005
        heapq.heapreplace(free, (at + 1 / level if by_rate else done + 0.001, user))
    over = max(row["sent_at"] + row["end_ms"] / 1000 for row in rows)
    assert begin is not None
    assert end is not None
    step = {
        "step": index, "concurrency": None if by_rate else int(level), "rate": level if by_rate else None,
        "started_at": START + clock, "window_started_at": START + begin, "window_ended_at": START + end,
        "marks_apart_ms": 0.1, "ended_at": over, "ended_by": "window", "abandoned": 0,
    }  # fmt: skip
    return step, rows


@cache
def _size(number: int) -> float:
    """How long a prompt's answer is asked to be, in standard deviations: the prompt's own, the same in every run."""
    return float(np.random.default_rng([11, number]).normal())


def _attempt(play: _Run, name: str, number: int, level: float) -> dict[str, Any]:
    """One attempt as it goes once it is served; times are milliseconds after it was sent."""
    cls, draw = play.classes[name], play.draw
    asked = max(2, round(cls.tokens * math.exp(cls.prompt_spread * _size(number))))
    tokens = max(2, round(asked * cls.answer))
    facts = BASE | {
        "workload": name, "prompt": f"{name}-{number:03}", "requested_input_tokens": cls.input_tokens,
        "requested_output_tokens": asked, "stamp_lag_ms": 0.02,
    }  # fmt: skip
    if draw.random() < _of(play.fail_share, level):
        return facts | dict(play.failure) | {"end_ms": play.fail_ms, "headers_ms": play.fail_ms}
    events = max(2, round(tokens / cls.tokens_per_event))
    first, pace, *scatter = draw.normal(size=events + 1).tolist()
    ttft = _of(cls.ttft_ms, level) * play.pace * math.exp(cls.ttft_spread * first)
    each = _of(cls.itl_ms, level) * play.pace * math.exp(cls.pace_spread * pace) * (tokens - 1) / (events - 1)
    factors = np.exp(cls.gap_spread * np.array(scatter) - cls.gap_spread**2 / 2)
    if cls.cliff is not None:
        factors[int(cls.cliff[0] / cls.tokens_per_event) :] *= cls.cliff[1]
    gaps = np.round(each * factors, 3).tolist()
    ttft = round(ttft, 3)
    end = round(ttft + sum(gaps), 3)
    return facts | {
        "headers_ms": 0.5, "first_event_ms": ttft, "ttft_ms": ttft, "ttft_content_ms": ttft, "gaps_ms": gaps,
        "last_token_ms": end, "end_ms": end, "events": events, "served_model": play.model,
        "input_tokens": cls.input_tokens, "input_tokens_source": "server", "output_tokens": tokens,
        "output_tokens_source": "server", "output_chars": round(tokens * cls.chars_per_token),
        "http_status": 200, "finish_reason": "length" if cls.answer >= 1 else "stop",
    }  # fmt: skip


def _later(row: dict[str, Any], wait_ms: float) -> None:
    """The same after a wait for a slot."""
    if wait_ms:
        for key in ("first_event_ms", "ttft_ms", "ttft_content_ms", "last_token_ms", "end_ms"):
            row[key] = round(row[key] + wait_ms, 3)


def _looks(
    told: Mapping[str, float], started: float, clock: float, steps: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """gpu.jsonl: a GPU that draws `watts` all the time, looked at twice a second and at the edges of windows."""
    watts, memory = told.get("watts", 300.0), told.get("memory_bytes", 40 << 30)
    moments = {started + 0.5 * n for n in range(int((clock - started) * 2) + 4)}
    moments |= {step[key] - START for step in steps for key in ("window_started_at", "window_ended_at")}
    for at in sorted(moments):
        yield look(
            at,
            gpu_of(
                energy_joules=5000 + watts * at, power_watts=watts, memory_used_bytes=memory,
                memory_total_bytes=80 << 30, utilization_ratio=0.9, temperature_celsius=60,
            ),
        )  # fmt: skip


def _scenario(
    *,
    name: str,
    classes: Mapping[str, Class],
    users: tuple[int, ...],
    rates: tuple[float, ...],
    requests: int,
    more: Mapping[str, Any],
) -> dict[str, Any]:
    """The scenario as run.json holds it."""
    load = Load(
        kind="rate" if rates else "steps", steps=users, rates=rates, arrivals="constant" if rates else "poisson",
        warmup_requests=1, warmup_s=0.0, window_s=1.0, window_requests=requests,
    )  # fmt: skip
    made = Scenario(
        name=name,
        model=None,
        load=load,
        classes=tuple(
            WorkloadClass(
                name=key,
                weight=cls.weight,
                source=f"builtin:{key if key in ('short', 'medium', 'long') else 'short'}",
                prompts=PROMPTS,
                input_tokens=Lengths("fixed", cls.input_tokens),
                max_tokens=Lengths("normal", cls.tokens, cls.tokens * cls.prompt_spread),
                slo=None if cls.slo is None else SLO(**cls.slo),
            )
            for key, cls in classes.items()
        ),
    )
    return reading.resolved(replace(made, **more))


def _environment(
    *,
    model: str,
    engine: str,
    version: str,
    probe_tokens: int,
    gpu: Mapping[str, float] | None,
    more: Mapping[str, Any],
) -> dict[str, Any]:
    """`environment` of run.json, by record/environment.py."""
    found: dict[str, Any] = {
        "client": {
            "host": "bench-1", "cpu": "Some CPU", "cores": 8, "memory_bytes": 32 << 30, "os": "Linux", "kernel": "6.1",
            "python": "3.11.2", "virtual": "none", "cpu_limit": None,
            "path": {"address": "10.0.0.9:8000", "loopback": False, "interface": "eth0",
                     "rtt_ms": {"n": 5, "min": 0.2, "p50": 0.3, "max": 0.5}, "proxy": None},
        },
        "server": {
            "url": "http://10.0.0.9:8000/v1", "address": "10.0.0.9:8000", "server_header": engine, "models": [model],
            "model": model, "model_root": f"/models/{model}", "engine": engine, "version": version,
            "weights_format": "safetensors", "quantization": "fp8", "quantization_bits": 8, "tensor_parallel": 1,
            "context": 32768, "speculative_decoding": False, "prefix_cache": False, "chunked_prefill": True,
            "sources": {"engine": "GET /version", "version": "GET /version"},
        },
        "tokenizer": {"name": model, "sha256": None, "probe_sha256": "0" * 64, "probe_tokens": probe_tokens,
                      "probe_source": "server /tokenize"},
        "gpus": None if gpu is None else [
            {"gpu": "0", "uuid": "GPU-0", "name": "NVIDIA H100 80GB HBM3", "memory_total_bytes": 80 << 30,
             "driver_version": "570.1", "cuda_version": "12.8", "power_limit_watts": 700.0, "mig": False,
             "processes": 1, "shared": False}
        ],
        "told": {},
    }  # fmt: skip
    for key, part in more.items():
        both = isinstance(part, Mapping) and isinstance(found.get(key), dict)
        found[key] = {**found[key], **part} if both else part
    return {key: part for key, part in found.items() if part is not None}


def _run_json(
    play: _Run, scenario: dict[str, Any], steps: list[dict[str, Any]], count: int, span: tuple[float, float]
) -> dict[str, Any]:
    """run.json, without its environment."""
    url = "http://10.0.0.9:8000/v1"
    return {
        "schema": 1,
        "run": play.name,
        "scenario": scenario,
        "seed": scenario["seed"],
        "command": ["llmload", "run", scenario["name"], "--host", "http://10.0.0.9:8000"],
        "labels": {},
        "versions": {"llmload": "0.1.0", "python": "3.11.2", "locust": "2.47.0"},
        "started_at": START + span[0],
        "sending": {"base_url": url, "model": play.model, "api": "chat", "stream": True, "limit_field": "max_tokens",
                    "stream_usage": True, "temperature": 0.0, "extra_body": {}, "headers": {}, "left_out": []},
        "files": [],
        "preflight": {
            "base_url": url, "model": play.model, "address": "10.0.0.9:8000", "models": [play.model],
            "streaming": True, "usage": True, "tokenizer": None, "stream_options_refused": False,
            "limit_field": "max_tokens", "bursts": False, "kernel_stamps": True, "count_source": "server /tokenize",
            "fit": {f"{name}-{n:03}": 4 * cls.input_tokens for name, cls in play.classes.items() for n in range(3)},
            "context": 32768, "notes": [],
        },
        "save_text": False,
        "sampling": {"every_s": 0.5, "gpu": [], "server": None, "prometheus": None, "idle": None, "notes": []},
        "ended_at": START + span[1],
        "clock_drift_s": 0.0,
        "steps": steps,
        "workers": {"w0": {"host": "bench-1", "pid": 1, "clock_offset_ms": 0.0, "clock_error_ms": 0.1}},
        "accounting": {"w0": {"started": count, "finished": count, "received": count, "lost": 0}},
        "verdict": "OK",
        "reasons": [],
        "notes": [],
    }  # fmt: skip
