"""What was measured, on what, with which settings: the head and the record of settings of a report."""

import time
from typing import Any

import numpy as np

from llmload.load.spans import span
from llmload.report.doubts.case import listed
from llmload.report.facts import Facts

UNKNOWN = "unknown"
MOST = 12
"""Levels or workers that are named."""


def told(facts: dict[str, Any] | None) -> dict[str, Any]:
    """What of these facts is there: null is as if unsaid."""
    return {name: value for name, value in (facts or {}).items() if value is not None}


def what(facts: Facts) -> list[tuple[str, str]]:
    """What stands behind the seven conditions (`seven`), as (name, text): where, when, by whom."""
    run, scenario = facts.run, facts.scenario
    environment = run.get("environment") or {}
    server, client = environment.get("server") or {}, environment.get("client") or {}
    preflight = run.get("preflight") or {}
    sending = run.get("sending") or {}
    endpoint = sending.get("base_url") or server.get("url") or UNKNOWN
    header = server.get("server_header") or preflight.get("server")
    versions = run.get("versions") or {}
    memory = client.get("memory_bytes")
    machine = [
        client.get("host"),
        client.get("cpu"),
        f"{client['cores']} cores" if client.get("cores") else None,
        f"{memory / 2**30:.0f} GiB" if memory else None,
        " ".join(str(client[name]) for name in ("os", "kernel") if client.get(name)) or None,
    ]
    labels = {**(scenario.get("labels") or {}), **(run.get("labels") or {})}
    rows = [
        ("endpoint", f"{endpoint}  ({api(facts)}{f', server {header}' if header else ''})"),
        ("scenario", f"{scenario.get('name') or UNKNOWN}, seed {run.get('seed', scenario.get('seed', UNKNOWN))}"),
        ("when", when(run)),
        ("client", ", ".join(str(part) for part in machine if part) or UNKNOWN),
        ("versions", ", ".join(f"{name} {version}" for name, version in versions.items()) or UNKNOWN),
    ]
    if facts.brief:
        rows.insert(2, ("left out", left_out(facts)))
    if labels:
        rows.append(("labels", ", ".join(f"{name}={value}" for name, value in labels.items())))
    return rows


def api(facts: Facts) -> str:
    """The kind of endpoint."""
    kind = (facts.run.get("sending") or {}).get("api") or facts.scenario.get("api") or "chat"
    return f"{kind}, {'streamed' if facts.streaming else 'not streamed'}"


def load(facts: Facts) -> str:
    """The load in a sentence."""
    plan, steps = told(facts.scenario.get("load")), len(facts.steps)
    window = f"window of {plan.get('window_s', 0):g} s"
    if "hold_s" in plan:
        window += f", the largest held for {span(plan['hold_s'])}"
    if facts.loop == "steps":
        return f"closed loop, {', '.join(str(level) for level in plan['steps'])} in flight, {window}"
    if facts.loop == "rate":
        levels = ", ".join(f"{level:g}" for level in plan.get("rates") or ())
        most = f"at most {plan['max_in_flight']:,} in flight, " if "max_in_flight" in plan else ""
        return f"open loop, {arrivals(plan)}, {levels} requests/s, {most}{window}"
    if facts.loop == "hand" and steps:
        return f"closed loop, set by hand: {', '.join(step.label for step in facts.steps)} in flight"
    return f"{steps} step{'s' * (steps != 1)}"


def arrivals(plan: dict[str, Any]) -> str:
    """How the gaps between arrivals are distributed."""
    kinds = {
        "constant": "constant arrivals",
        "poisson": "Poisson arrivals",
        "gamma": f"arrivals in gamma gaps of burstiness {plan.get('burstiness', 1):g}",
    }
    return kinds.get(kind := str(plan.get("arrivals", "poisson")), f"{kind} arrivals")


def left_out(facts: Facts) -> str:
    """Levels set by hand that make no row."""
    n = len(facts.brief)
    held = [f"{step.words} for {span(round(step.lasted_s))}" for step in facts.brief]
    return f"{n} level{'s were' if n > 1 else ' was'} held too short for a row: {listed(held, MOST)}"


def when(run: dict[str, Any]) -> str:
    """Begin and end in UTC, and how long it took."""
    began, ended = run.get("started_at"), run.get("ended_at")
    if began is None:
        return UNKNOWN
    text = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(began))
    if ended is None:
        return f"{text} UTC, no end on record"
    return f"{text} to {time.strftime('%H:%M:%S', time.gmtime(ended))} UTC ({span(round(ended - began))})"


def settings(facts: Facts) -> list[tuple[str, str]]:
    """The record of settings: limits in force, connections, cache busting, who counted tokens, and so on."""
    scenario = facts.scenario
    plan, sending = told(scenario.get("load")), facts.run.get("sending") or {}
    limits = {**told(scenario.get("limits")), **{name: sending[name] for name in LIMITS if sending.get(name)}}
    preflight = facts.run.get("preflight") or {}
    slo = told(scenario.get("slo"))
    rows = [
        (
            "limits of a request",
            ", ".join(f"{text} {limits[name]:g} s" for name, text in LIMITS.items() if name in limits),
        ),
        ("connections", connections(scenario, sending)),
        (
            "cache busting",
            "on: every prompt has a head of its own"
            if scenario.get("cache_busting", True)
            else "off: prompts may repeat",
        ),
        ("tokens counted by", tokens(facts, preflight)),
        ("prompts fitted by", str(preflight.get("count_source") or scenario.get("token_counting") or UNKNOWN)),
        ("warm-up", warmup(facts, plan)),
        ("window", window(facts, plan)),
        ("drain", f"until the last measured request has ended, {plan.get('drain_limit_s', 0):g} s at most"),
        ("between steps", between(facts)),
        (
            "stop on failures",
            f"{plan['max_failures_in_a_row']} in a row" if plan.get("max_failures_in_a_row") else "never",
        ),
        (
            "temperature",
            str(scenario.get("temperature")) if scenario.get("temperature") is not None else "the server's own",
        ),
        ("SLO", ", ".join(f"{name} <= {bound:g}" for name, bound in slo.items()) or "none"),
        ("stall", f"a gap over {scenario.get('stall_ms') or 200:g} ms"),
    ]
    if scenario.get("extra_body"):
        rows.append(("extra body", ", ".join(f"{name}={value}" for name, value in scenario["extra_body"].items())))
    for item in scenario.get("classes") or ():
        share = item.get("shared_prefix_share") or 0
        prefix = (
            f", {share * 100:.0f} % with a shared prefix of {item.get('shared_prefix_tokens')} tokens" if share else ""
        )
        rows.append(
            (
                f"class {item['name']}",
                f"weight {told(item).get('weight', 1):g}, source {item.get('source', UNKNOWN)}{prefix}",
            )
        )
    rows += [("CPU of the workers", processors(facts)), ("clocks of the workers", clocks(facts))]
    rows += [("note of the preflight", str(note)) for note in preflight.get("notes") or ()]
    rows += [("sampled", sampled(facts))]
    rows += [("note of the sampling", note) for note in (facts.run.get("sampling") or {}).get("notes") or ()]
    rows.append(("command", " ".join(str(word) for word in facts.run.get("command") or ()) or UNKNOWN))
    return [(name, text) for name, text in rows if text]


def processors(facts: Facts) -> str:
    """The highest share of a core that each worker used in a second of a window; blank where nobody watched."""
    samples, inside = facts.samples, np.zeros(len(facts.samples.at), dtype=bool)
    for step in facts.steps:
        if step.begin is not None and step.end is not None:
            inside |= (samples.at >= step.begin) & (samples.at <= step.end)
    inside &= ~np.isnan(samples.cpu)
    names = sorted(set(samples.worker[inside]))
    most = [f"{name} {samples.cpu[inside & (samples.worker == name)].max() * 100:.0f} %" for name in names]
    return f"of a core at most: {', '.join(most)}" if most else ""


def clocks(facts: Facts) -> str:
    """How far each worker's clock is from the master's; blank where nobody measured it. Windows are cut by it."""
    said = [
        f"{name} {worker['clock_offset_ms']:+,.1f} ms"
        + (f" ± {worker['clock_error_ms']:,.1f}" if worker.get("clock_error_ms") is not None else "")
        for name, worker in (facts.run.get("workers") or {}).items()
        if worker.get("clock_offset_ms") is not None
    ]
    return f"against the master's: {listed(said, MOST)}; windows are cut by these" if said else ""


def sampled(facts: Facts) -> str:
    """Where the samples of GPUs and server came from, and by whose clock: values stand at our moment less their age."""
    told = []
    for source in facts.telemetry.sources:
        n = sum(gpu.source == source.name for gpu in facts.telemetry.gpus)
        server = facts.telemetry.server
        what = [f"{n} GPU{'s' * (n > 1)}"] if n else []
        what += [server.engine or "the server"] if server is not None and server.source == source.name else []
        clock = "" if source.offset_ms is None else f" (its clock {source.offset_ms:+,.0f} ms, not used)"
        failed = f", {source.failed} failed" if source.failed else ""
        told.append(f"{f'{what[0]} from ' if what else ''}{source.name}{clock}: {source.looks:,} looks{failed}")
    return "; ".join(told)


def warmup(facts: Facts, plan: dict[str, Any]) -> str:
    """How long a warm-up lasts."""
    wanted = f"{plan.get('warmup_requests', '?')} requests a user" if facts.closed_loop else "every class served"
    return f"{wanted} and {plan.get('warmup_s', 0):g} s at least"


def window(facts: Facts, plan: dict[str, Any]) -> str:
    """When a window closes."""
    if facts.loop == "hand":
        return "for as long as the level was held"
    wanted = f"{plan.get('window_s', 0):g} s and {plan.get('window_requests', '?')} requests of each class"
    return f"{wanted}, {plan.get('window_cap_s', 0):g} s at most"


def between(facts: Facts) -> str:
    """What was cut at the end of steps, so that its dead work may have burdened the next one."""
    plan = told(facts.scenario.get("load"))
    cut = [f"{step.abandoned} at the end of {step.words}" for step in facts.steps if step.abandoned]
    pause = f"a pause of {plan.get('settle_s', 0):g} s where requests were cut"
    return f"{pause}; cut: {', '.join(cut)}" if cut else f"{pause}; none were"


LIMITS = {"connect_s": "connect", "ttft_s": "first token", "stall_s": "between tokens", "total_s": "in all"}


def connections(scenario: dict[str, Any], sending: dict[str, Any]) -> str:
    """How connections were used."""
    fresh = sending.get("fresh") or scenario.get("connections") == "fresh"
    words = ["a new one for each request" if fresh else "kept alive"]
    if sending.get("proxy"):
        words.append(f"through the proxy {sending['proxy']}")
    if sending.get("insecure"):
        words.append("certificates NOT verified")
    return ", ".join(words)


def tokens(facts: Facts, preflight: dict[str, Any]) -> str:
    """Who counted output tokens."""
    sources = sorted({source for source in facts.words("output_tokens_source") if source is not None})
    names = {
        "server": "the server (usage)",
        "tokenizer": "a tokenizer file",
        "events": "nobody: one per event, an estimate",
    }
    words = [names.get(source, source) for source in sources] or [UNKNOWN]
    refused = ["stream_options was refused"] if preflight.get("stream_options_refused") else []
    return "; ".join([*words, *refused])
