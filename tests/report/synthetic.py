"""Run folders made up for the tests: small ones with numbers worked by hand, and big believable ones to look at.

`record` fills in a plain attempt, so that a test names only what matters to it. `write` makes a folder of records and
steps. `believable` plays a server whose answers slow down as more are in flight, with failures, for pictures.
"""

import heapq
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from llmload.record.record import RequestRecord
from llmload.record.runfolder import write_json

START = 1_796_000_000.0
"""Wall clock at which made-up runs begin."""


def record(
    seq: int,
    *,
    sent: float = 0.0,
    ttft: float | None = 100.0,
    gaps: Sequence[float] = (10.0,) * 9,
    outcome: str = "ok",
    end: float | None = None,
    **more: Any,
) -> dict[str, Any]:
    """An attempt sent `sent` seconds after START; ten tokens at 100, 110 … 190 ms unless told otherwise.

    A failure has no first token unless it is given one, and ends after `end` ms.
    """
    if outcome != "ok" and "ttft_kept" not in more:
        ttft, gaps = None, ()
    more.pop("ttft_kept", None)
    events = 0 if ttft is None else len(gaps) + 1
    last = None if ttft is None else round(ttft + sum(gaps), 6)
    facts: dict[str, Any] = {
        "run": "synthetic", "worker": "w1", "seq": seq, "step": 0, "concurrency": 1, "phase": "measure",
        "workload": "short", "prompt": f"short-{seq % 100}", "sent_at": START + sent, "outcome": outcome,
        "ttft_ms": ttft, "ttft_content_ms": ttft, "first_event_ms": ttft, "gaps_ms": list(gaps), "last_token_ms": last,
        "end_ms": end if end is not None else last, "events": events, "served_model": "m",
        "input_tokens": 200, "requested_input_tokens": 200, "input_tokens_source": "server",
        "output_tokens": events or None, "output_tokens_source": "server" if events else None,
        "requested_output_tokens": 10, "finish_reason": "length" if outcome == "ok" else None,
        "http_status": 200 if outcome == "ok" else None, "stamp_lag_ms": 0.02,
    }  # fmt: skip
    return RequestRecord(**(facts | more)).as_dict()


def step(
    index: int = 0, concurrency: int | None = 1, begin: float | None = 0.0, end: float | None = 10.0, **more: Any
) -> dict[str, Any]:
    """A step of run.json whose window lies `begin` to `end` seconds after START."""
    facts = {
        "step": index,
        "concurrency": concurrency,
        "rate": None,
        "started_at": START + (begin or 0.0) - 1,
        "window_started_at": None if begin is None else START + begin,
        "window_ended_at": None if end is None else START + end,
        "ended_at": None if end is None else START + end + 1,
        "ended_by": None if end is None else "window",
        "abandoned": 0,
    }
    return facts | more


def planned(seq: int, at: float, *, rate: float, late: float = 0.0, **more: Any) -> dict[str, Any]:
    """An attempt of an open loop: planned `at` seconds after START and sent `late` seconds later."""
    return record(seq, sent=at + late, scheduled_at=START + at, concurrency=None, rate=rate, **more)


def unsent(seq: int, at: float, *, rate: float, **more: Any) -> dict[str, Any]:
    """An arrival of an open loop that found no room."""
    facts = {"outcome": "not_sent", "sent_at": None, "stamp_lag_ms": None, "error": "64 in flight already"}
    return planned(seq, at, rate=rate, **(facts | more))


def by_rate(*rates: float, **more: Any) -> dict[str, Any]:
    """The load of a scenario by rate."""
    facts: dict[str, Any] = {
        "kind": "rate", "steps": [], "rates": list(rates), "arrivals": "constant", "burstiness": 1.0,
        "max_in_flight": 512, "warmup_requests": 0, "warmup_s": 5.0, "window_s": 20.0, "window_requests": 0,
        "window_cap_s": 600.0, "drain_limit_s": 120.0, "max_failures_in_a_row": 50,
    }  # fmt: skip
    return facts | more


def scenario(**more: Any) -> dict[str, Any]:
    """A scenario as run.json holds it: one class, short, unless told otherwise."""
    facts: dict[str, Any] = {
        "name": "synthetic", "seed": 1, "round": 0, "model": "m", "api": "chat", "stream": True,
        "connections": "keep-alive", "cache_busting": True, "temperature": 0.0, "stall_ms": 200.0, "slow_s": None,
        "token_counting": "server", "slo": {"ttft_ms": None, "tpot_ms": None, "e2e_ms": None, "itl_max_ms": None},
        "limits": {"connect_s": 10.0, "ttft_s": 120.0, "stall_s": 60.0, "total_s": 600.0},
        "load": {"kind": "steps", "steps": [1], "warmup_requests": 3, "warmup_s": 5.0, "window_s": 10.0,
                 "window_requests": 100, "window_cap_s": 600.0, "drain_limit_s": 120.0, "max_failures_in_a_row": 50},
        "classes": [{"name": "short", "weight": 1.0, "slo": None, "extra_body": {}}], "extra_body": {}, "labels": {},
    }  # fmt: skip
    return facts | more


def write(
    folder: Path,
    records: Iterable[dict[str, Any]] | None,
    steps: Sequence[dict[str, Any]] | None = None,
    generator: Iterable[dict[str, Any]] | None = (),
    **more: Any,
) -> Path:
    """Make a run folder: an `OK` run unless `more` says otherwise about run.json.

    None for records or generator: that file is not touched.
    """
    folder.mkdir(parents=True, exist_ok=True)
    run = {
        "schema": 1,
        "run": "20261201T000000Z-synthetic",
        "scenario": scenario(),
        "seed": 1,
        "command": ["llmload", "run", "synthetic.toml", "--host", "http://127.0.0.1:8000"],
        "labels": {},
        "versions": {"llmload": "0.1.0", "python": "3.11.2", "locust": "2.47.0"},
        "started_at": START,
        "ended_at": START + 60,
        "environment": {
            "client": {
                "host": "bench-1",
                "cpu": "Some CPU",
                "cores": 2,
                "memory_bytes": 8 << 30,
                "os": "Linux",
                "kernel": "6.1",
            },
            "server": {
                "url": "http://127.0.0.1:8000/v1",
                "address": "127.0.0.1",
                "model": "m",
                "models": ["m"],
                "server_header": "made-up/1",
            },
        },
        "sending": {"base_url": "http://127.0.0.1:8000/v1", "model": "m", "api": "chat", "stream": True},
        "preflight": {
            "streaming": True,
            "usage": True,
            "kernel_stamps": True,
            "count_source": "server /tokenize",
            "notes": [],
        },
        "save_text": False,
        "steps": list(steps if steps is not None else [step()]),
        "workers": {"w1": {"host": "bench-1", "pid": 1, "clock_offset_ms": 0.0, "clock_error_ms": 0.1}},
        "accounting": {},
        "verdict": "OK",
        "reasons": [],
    }
    write_json(folder / "run.json", run | more)
    if records is not None:
        lines(folder / "requests.jsonl", records)
    if generator is not None:
        lines(folder / "generator.jsonl", generator)
    return folder


def lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write a .jsonl file."""
    with path.open("wb") as file:
        for row in rows:
            file.write(orjson.dumps(row) + b"\n")


def second(at: float, worker: str = "w1", cpu: float = 0.2, lag: float = 0.3, streams: int = 1) -> dict[str, Any]:
    """A line of generator.jsonl, `at` seconds after START, every tick `lag` ms late."""
    return {
        "at": START + at, "worker": worker, "cpu": cpu, "loop_lag_ms": [lag] * 50, "stamp_lag_ms": 0.05,
        "streams": streams, "events": 50, "rss_bytes": 90 << 20,
    }  # fmt: skip


CLASSES = {"short": (0.6, 217, 89), "medium": (0.3, 482, 156), "long": (0.1, 3210, 412)}
"""Weight, prompt tokens and answer tokens of the mix that `believable` plays."""


def believable(
    folder: Path,
    levels: Sequence[int] = (1, 4, 8, 16, 32),
    window_s: float = 60.0,
    *,
    seed: int = 1,
    failures: bool = True,
    workers: int = 2,
    most: int | None = None,
) -> Path:
    """A run of the shipped mix against a server that exists only here.

    Prefill of 8,000 tokens/s shared by all, decode slower with more in flight, 429 above 24 in flight, cut streams
    now and then. `most` ends a window early at so many measured requests.
    """
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(seed)
    seqs = dict.fromkeys((f"w{n + 1}" for n in range(workers)), 0)
    steps: list[dict[str, Any]] = []
    samples: list[dict[str, Any]] = []
    clock = 0.0

    def attempts() -> Iterator[dict[str, Any]]:
        nonlocal clock
        for index, level in enumerate(levels):
            begin, end, last, measured = clock + 5, clock + 5 + window_s, 0.0, 0
            free = [(clock + draw.random(), user) for user in range(level)]
            heapq.heapify(free)
            while free:
                sent, user = heapq.heappop(free)
                if sent > end:
                    continue
                phase = "warmup" if sent < begin else "measure"
                measured += phase == "measure"
                if most is not None and measured >= most:
                    end = sent
                row = _attempt(draw, level, sent)
                worker = f"w{user % workers + 1}"
                row |= {"worker": worker, "seq": seqs[worker], "step": index, "concurrency": level, "phase": phase}
                row["run"] = "20261201T000000Z-believable"
                done = sent + row["end_ms"] / 1000
                heapq.heappush(free, (done + 0.001, user))
                if failures or row["outcome"] == "ok":
                    seqs[worker] += 1
                    last = max(last, done)
                    yield row
            steps.append(step(index, level, begin, end))
            samples.extend(
                second(at, worker, cpu=0.05 + level * 0.012, lag=draw.uniform(0.1, 0.9), streams=level // workers)
                for at in range(int(begin), int(min(end, begin + 3600)) + 1)
                for worker in seqs
            )
            clock = max(end, last) + 1

    lines(folder / "requests.jsonl", attempts())
    names = [
        {"name": name, "weight": weight, "slo": None, "extra_body": {}} for name, (weight, _, _) in CLASSES.items()
    ]
    slo = {"ttft_ms": 1000.0, "tpot_ms": 50.0, "e2e_ms": None, "itl_max_ms": None}
    made = scenario(name="believable", classes=names, slo=slo, slow_s=30.0)
    made["load"] |= {"steps": list(levels), "window_s": window_s}
    return write(
        folder,
        None,
        steps,
        samples,
        scenario=made,
        run="20261201T000000Z-believable",
        ended_at=START + clock,
        workers={name: {"host": "bench-1", "pid": 1, "clock_offset_ms": 0.0, "clock_error_ms": 0.1} for name in seqs},
        accounting={name: {"started": n, "finished": n, "received": n, "lost": 0} for name, n in seqs.items()},
    )


def _attempt(draw: random.Random, level: int, sent: float) -> dict[str, Any]:
    """One attempt of the made-up server."""
    name = draw.choices(list(CLASSES), [weight for weight, _, _ in CLASSES.values()])[0]
    _, prompt, answer = CLASSES[name]
    tokens = max(2, int(draw.gauss(answer, answer * 0.15)))
    asked = max(1, int(draw.gauss(prompt, prompt * 0.05)))
    ttft = 20 + asked / 8 * (1 + level * 0.06) * draw.lognormvariate(0, 0.25) / 2
    pace = 14 * (1 + level * 0.045)
    gaps = [round(pace * draw.lognormvariate(0, 0.18), 3) for _ in range(tokens - 1)]
    for _ in range(len(gaps) // 150):
        gaps[draw.randrange(len(gaps))] = round(draw.uniform(150, 420), 3)
    facts: dict[str, Any] = {"workload": name, "prompt": f"{name}-{draw.randrange(100)}", "sent": sent}
    facts |= {"requested_input_tokens": asked, "input_tokens": int(asked * draw.uniform(0.98, 1.02))}
    chance = draw.random()
    if level > 24 and chance < 0.05:
        return record(0, outcome="rate_limited", end=4.0, http_status=429, error="429 Too Many Requests", **facts)
    if chance > 0.994:
        return record(
            0, outcome="stream_truncated", ttft=round(ttft, 3), gaps=gaps[: len(gaps) // 2], ttft_kept=True,
            error="the connection was reset after it began", requested_output_tokens=tokens, **facts,
        )  # fmt: skip
    return record(0, ttft=round(ttft, 3), gaps=gaps, requested_output_tokens=tokens, **facts)
