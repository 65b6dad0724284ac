"""How it is measured: connections, window, time limits, generator, network, versions of what measured. Pure."""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from llmload.compare.differing.part import (
    Part,
    Read,
    Sort,
    Texts,
    at,
    every,
    number,
    plain,
    set_to,
    setting,
    table,
    walk,
)
from llmload.report.building import Built

RTT_FACTOR = 2.0
"""Round trips are alike up to so many times the shorter one …"""
RTT_MS = 1.0
"""… and so many milliseconds."""

REPEAT = "measure again where this machine does nothing else, or --accept bound"

TIME_LIMITS = ("connect_s", "ttft_s", "stall_s", "total_s")
PLAN = (
    ("kind", "kind of load"),
    ("arrivals", "arrivals"),
    ("burstiness", "burstiness"),
    ("max_in_flight", "most in flight"),
    ("window_s", "seconds"),
    ("window_requests", "requests of each class"),
    ("window_cap_s", "cap in seconds"),
    ("warmup_requests", "warm-up requests"),
    ("warmup_s", "warm-up seconds"),
    ("drain_limit_s", "drain seconds"),
    ("hold_s", "hold"),
    ("max_requests", "cap on requests"),
    ("max_tokens_total", "cap on tokens"),
)


def levels(built: Built) -> tuple[str, ...] | None:
    """What was asked for, level by level."""
    return tuple(dict.fromkeys(step.label for step in built.facts.steps)) or None


def connections(built: Built) -> str | None:
    """Whether connections were kept."""
    fresh = walk(built, "sending", "fresh")
    if isinstance(fresh, bool):
        return "fresh" if fresh else "keep-alive"
    found = setting("connections")(built)
    return None if found is None else str(found)


def limit(name: str) -> Read:
    """A time limit as it was in force."""

    def read(built: Built) -> Any:
        found = number(walk(built, "sending", name))
        return setting("limits", name)(built) if found is None else found

    return read


def workers(built: Built) -> int | None:
    """How many processes sent."""
    return len(table(walk(built, "workers"))) or None


def bound(built: Built) -> tuple[str, ...] | None:
    """Levels at which the generator was the bottleneck; None where nobody watched it."""
    watched = [item for item in built.steps if item.health.bound is not None]
    return tuple(item.step.label for item in watched if item.health.bound) if watched else None


def together(rounds: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Levels that any of the rounds has, ascending: which round had it first is no difference between sides."""
    found = {label for labels in rounds for label in labels}
    return tuple(sorted(found, key=lambda label: ([int(digits) for digits in re.findall(r"\d+", label)], label)))


def place(built: Built) -> str | None:
    """Whether the endpoint is on the machine that measures."""
    loopback = walk(built, "environment", "client", "path", "loopback")
    if not isinstance(loopback, bool):
        return None
    return "on the machine that measures" if loopback else "another machine"


def rtt(built: Built) -> float | None:
    """The median round trip to the endpoint in milliseconds."""
    return number(walk(built, "environment", "client", "path", "rtt_ms", "p50"))


def round_trips(one: float, other: float) -> Texts | None:
    """Round trips that differ by more than a factor and a millisecond."""
    near, far = sorted((one, other))
    return None if far <= RTT_FACTOR * near + RTT_MS else (f"{one:.3g} ms", f"{other:.3g} ms")


def proxy(built: Built) -> Any:
    """The proxy in between; `not set` where there is none."""
    path = table(walk(built, "environment", "client", "path"))
    sending = table(walk(built, "sending"))
    if "proxy" not in path and "proxy" not in sending:
        return None
    return set_to(path.get("proxy") or sending.get("proxy"))


def scheme(built: Built) -> str | None:
    """Whether it is spoken to by http or https."""
    url = plain(walk(built, "sending", "base_url"))
    try:
        return (urlsplit(url).scheme or None) if isinstance(url, str) else None
    except ValueError:
        return None


def versions(built: Built) -> dict[str, Any] | None:
    """Versions of what measured."""
    return {str(name): set_to(value) for name, value in table(walk(built, "versions")).items()} or None


MEASURING: tuple[Sort, ...] = (
    Sort("connections", "kept connections or fresh ones", (Part("connections", "connections", connections),)),
    Sort(
        "window",
        "how long and by what a level is measured: kind of load, window, warm-up, drain, caps",
        (
            *(Part(name, words, setting("load", name)) for name, words in PLAN),
            Part("levels", "levels", levels, note=True),
        ),
    ),
    Sort(
        "limits",
        "time limits of a request",
        tuple(Part(name, name, limit(name)) for name in TIME_LIMITS),
    ),
    Sort(
        "generator",
        "the machine that measures, its workers, and levels at which it was the bottleneck",
        (
            Part("client_host", "host", at("environment", "client", "host")),
            Part("client_cpu", "CPU", at("environment", "client", "cpu")),
            Part("client_cores", "cores", at("environment", "client", "cores")),
            Part("client_virtual", "guest or container", at("environment", "client", "virtual")),
            Part("workers", "workers", workers),
            Part("bound", "generator-bound levels", bound, pool=together, within=False, of_levels=True, cure=REPEAT),
        ),
    ),
    Sort(
        "network",
        "the way to the endpoint: this machine or another, round trip (over twice as long and 1 ms), proxy",
        (
            Part("place", "the endpoint is", place),
            Part("rtt", "round trip", rtt, round_trips),
            Part("proxy", "proxy", proxy),
            Part("scheme", "scheme", scheme, note=True),
        ),
    ),
    Sort("versions", "versions of llmload, Python and packages", (Part("versions", "", versions, every, note=True),)),
)
