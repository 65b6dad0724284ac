"""The look at an endpoint before the clock: what it serves, what it takes, and whether the longest request fits.

At most three completion requests, all of them before the clock and in no record:

1. a short one: streaming, usage, names of fields, bursts, first token, stamps;
2. only if prompt lengths can be counted by nothing better than characters per token: a piece of the scenario's own
   text, so that this ratio is learnt from it;
3. the longest of the scenario with its real limit of output tokens, left at its first token: whether prompt and
   answer fit the context is then the server's own judgement, and it costs one prefill.

Besides, one small request for each thing that the scenario states in [capabilities] (capable.py), and only for those.

The last of the three also finds out whether `ignore_eos` and `min_tokens`, where a class asks for them, are taken.

A refused field, or a failure that may pass (429, a cut stream), costs one of the three; the second kind is then left
out, and if no try is left, so is the third, and the findings say so. A server that answers 503 because it is loading
is waited for: its /health is asked meanwhile, and a completion again only when that says ready or says nothing. A
completion that was turned away with 503 was none and does not count. The model list, the tokenizer and the pages by
which a server tells what it is (identity.py) are no completions either.

Knows no Locust, no run folder and no screen: it returns findings and says lines.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gevent.pool import Pool

from llmload.exits import Stop
from llmload.load import lengths
from llmload.load.call import Call
from llmload.load.lengths import Counter
from llmload.load.mix import Mix
from llmload.load.scenario import Scenario
from llmload.send import advice, capable, counted, counting, identity, models, refusals
from llmload.send.asking import Asker, Reply
from llmload.send.counted import Remembering
from llmload.send.findings import Findings, screen
from llmload.send.look import Look, fetch, pause, send, wait_until_ready
from llmload.send.settings import Sending
from llmload.send.short import PASSING, SHORT, ask_short
from llmload.send.target import Target, resolve

__all__ = ["Findings", "SendOptions", "run"]


ASKED_AT_ONCE = 16
"""Prompts that are counted at the same time: some six hundred are, and a server may be far away."""


@dataclass(frozen=True, slots=True)
class SendOptions:
    """What the command line says about reaching the endpoint. `connect_timeout` in seconds; None: the scenario's."""

    model: str | None = None
    proxy: str | None = None
    ca: str | None = None
    insecure: bool = False
    allow_http_key: bool = False
    connect_timeout: float | None = None
    metrics: bool = True
    """Whether the server's /metrics may be asked what it is."""


def run(scenario: Scenario, host: str, options: SendOptions, say: Callable[[str], None]) -> tuple[Sending, Findings]:
    """Find out how to send to `host`, say it, and return it. `say` gets one line of plain text at a time.

    Raises Stop: USAGE for a URL or a tokenizer file that is none, UNMEASURABLE for everything that the endpoint
    refuses: nobody listens, TLS, key, model, both names of the output limit, the longest request.
    """
    target = resolve(host)
    key = os.environ.get(scenario.key_env) or None
    sending = first_settings(scenario, target, options)
    found = Findings(target.base_url, sending.model, streaming=scenario.stream, limit_field=sending.limit_field)
    found.tokenizer = Path(scenario.tokenizer).name if scenario.tokenizer else None
    deadline = time.monotonic() + scenario.ready_timeout_s
    with Asker(sending, key) as asker:
        look = Look(scenario, target, sending, key, asker, say, found, deadline, metrics=options.metrics)
        listed = choose_model(look, options.model or scenario.model)
        by = counter(look)
        ask_short(look, learn=by is None)
        count = Remembering(by or by_characters(look))
        fit(look, count)
        mix = Mix(scenario, found.fit)
        ask_longest(look, count, mix)
        if by is not None:
            count_prompts(look, mix, count)
        identity.ask(look, listed)
        identity.ask_tokenizer(look, by, lambda body: tokenized(look, body))
        capable.check(look)
    for line in screen(found):
        say(line)
    return look.sending, found


def first_settings(scenario: Scenario, target: Target, options: SendOptions) -> Sending:
    """How to send, before anything is known of the server."""
    field_name = scenario.max_tokens_field
    return Sending(
        base_url=target.base_url,
        model=options.model or scenario.model or "",
        api=scenario.api,
        stream=scenario.stream,
        fresh=scenario.connections == "fresh",
        connect_s=options.connect_timeout or scenario.limits.connect_s,
        ttft_s=scenario.limits.ttft_s,
        stall_s=scenario.limits.stall_s,
        total_s=scenario.limits.total_s,
        limit_field="max_tokens" if field_name == "auto" else field_name,
        stream_usage=scenario.stream and scenario.stream_usage != "off",
        key_env=scenario.key_env,
        proxy=options.proxy,
        ca=options.ca,
        insecure=options.insecure,
        allow_http_key=options.allow_http_key,
        headers=scenario.headers,
        extra_body=scenario.extra_body,
        temperature=scenario.temperature,
        tokenizer=scenario.tokenizer,
    )


def choose_model(look: Look, asked: str | None) -> Reply:
    """Read the list of models, waiting while the server loads, and settle which one is asked for; gives the list."""
    while (reply := fetch(look, "models")).status == 503:
        wait_until_ready(look, reply.words, 1.0)
    found = look.found
    found.address, found.server = look.asker.address, reply.headers.get("server")
    found.model, offer = models.choose(look.sending, reply, asked, key=look.key is not None)
    look.lists = offer is not None
    found.models = [model.name for model in offer or ()]
    found.context = next((model.context for model in offer or () if model.name == found.model), None)
    look.sending = replace(look.sending, model=found.model)
    return reply


def counter(look: Look) -> Counter | None:
    """Who counts prompt tokens; None if only a ratio is left. Raises Stop if what the scenario asks for is missing."""
    scenario, kind, found = look.scenario, look.scenario.token_counting, look.found
    if kind in ("auto", "server"):
        count = counting.by_server(lambda body: tokenized(look, body), look.sending.model, Pool(ASKED_AT_ONCE).map)
        if count is not None:
            found.count_source = "server /tokenize"
            return count
        if kind == "server":
            raise advice.stop(
                f"{found.base_url}: token_counting is server, and the server has no /tokenize that counts; "
                "use auto, tokenizer or ratio"
            )
    if kind != "ratio" and scenario.tokenizer:
        found.count_source = f"tokenizer {Path(scenario.tokenizer).name}"
        return counting.by_file(Path(scenario.tokenizer))
    if kind == "tokenizer":
        raise Stop("token_counting is tokenizer, and the scenario names no tokenizer file; set tokenizer to its path")
    found.count_source = "ratio"
    return None


def tokenized(look: Look, body: dict[str, Any]) -> Any:
    """What /tokenize answers, or None. A Stop is told by who waits for all answers, not by each greenlet."""
    try:
        return fetch(look, "/tokenize", body).json()
    except Stop:
        return None


def by_characters(look: Look) -> Counter:
    """Where nobody counts: by the characters per token that were learnt."""
    found = look.found
    learnt = counting.learn(look.samples)
    found.chars_per_token, found.overhead_tokens = learnt or (lengths.CHARS_PER_TOKEN, 0)
    if learnt is None and look.scenario.fitted is None:
        found.notes.append(
            f"the server counts no tokens: prompt lengths rest on {found.chars_per_token} characters per token"
        )
    return counting.by_ratio(found.chars_per_token)


def fit(look: Look, count: Counter) -> None:
    """Cut every built-in prompt to its length, as counted by whom there is; or as another run had cut it."""
    found, scenario = look.found, look.scenario
    if found.chars_per_token is None and look.samples:
        found.overhead_tokens = max(0, look.samples[0][1] - count([SHORT.text])[0])
    if scenario.fitted is not None:
        found.fit, found.fitted_before = lengths.refit(scenario, scenario.fitted), True
    elif any(item.source != "file" for item in scenario.classes):
        found.fit = lengths.fit(scenario, count, found.overhead_tokens or 0)


def count_prompts(look: Look, mix: Mix, count: Remembering) -> None:
    """Tokens of each prompt, for the list of prompts; a server that stops counting here ends no run."""
    try:
        look.found.tokens = counted.tokens(look.scenario, mix, count)
    except Stop as stop:
        look.found.notes.append(f"prompts are listed without their tokens: {stop.message}")


def ask_longest(look: Look, count: Counter, mix: Mix) -> None:
    """The longest request with its real limit, left at its first token. Raises Stop(UNMEASURABLE) if it is refused.

    It carries the wishes of all classes (refusals.WISHES); those that are refused are left out from then on.
    """
    found = look.found
    call = wishing(look.scenario, mix.longest())
    prompt = count([call.text])[0] + (found.overhead_tokens or 0)
    size = f"{'about ' if found.count_source == 'ratio' else ''}{prompt:,} prompt and {call.max_tokens:,} answer tokens"
    found.longest_class = call.workload
    if found.context and prompt + call.max_tokens > found.context:
        words = f"the endpoint tells a context of {found.context:,} tokens"
        raise advice.too_long(look.sending, call.workload, size, words)
    while look.left:
        record = send(look, call, until_first=True)
        if record.outcome in ("ok", "cancelled"):
            found.longest = (record.input_tokens or prompt) + call.max_tokens
            return
        if record.http_status in (400, 413, 422):
            words = advice.said(record)
            if record.http_status == 413 or refusals.about_context(words):
                raise advice.too_long(look.sending, call.workload, size, words)
            if not without_wishes(look, call, words):
                raise advice.longest_refused(look.sending, call.workload, size, words)
        elif record.outcome in PASSING:
            pause(look, record)
        else:
            break
    else:
        found.notes.append(f"whether the longest request ({size}) fits was not found out: no try was left")
        return
    found.notes.append(f"the longest request ({size}) did not come through: {record.outcome}: {advice.said(record)}")


def wishing(scenario: Scenario, call: Call) -> Call:
    """A call with the wishes of all classes, as far as they go together with its own limit of output tokens."""
    fewest = [cls.min_tokens for cls in scenario.classes if cls.min_tokens is not None]
    return replace(
        call,
        ignore_eos=any(cls.ignore_eos for cls in scenario.classes),
        min_tokens=min(max(fewest), call.max_tokens) if fewest else None,
    )


def without_wishes(look: Look, call: Call, words: str) -> bool:
    """Leave out, for the whole run, the wishes that a refusal names; False if it names none that was sent."""
    sent = {"ignore_eos": call.ignore_eos, "min_tokens": call.min_tokens is not None}
    named = [name for name in refusals.wishes(words) if sent[name] and name not in look.sending.left_out]
    look.sending = replace(look.sending, left_out=(*look.sending.left_out, *named))
    look.found.notes += [
        f"{name} is refused, so requests go without it and answers may be shorter: {words}" for name in named
    ]
    return bool(named)
