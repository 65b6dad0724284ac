"""What a server takes and how it answers: the short request of a preflight, and what it says about the endpoint.

Refused fields are left out or renamed; what cannot be mended becomes a sentence (advice.py).
"""

from collections.abc import Callable
from dataclasses import replace

from llmload.exits import Stop
from llmload.load.call import Call
from llmload.load.mix import Mix
from llmload.load.scenario import Scenario
from llmload.record.record import RequestRecord
from llmload.send import advice, refusals
from llmload.send.look import Look, pause, send
from llmload.send.settings import Sending

SHORT = Call(
    workload="preflight",
    prompt="preflight",
    messages=({"role": "user", "content": "Count from one to thirty, in words."},),
    text="Count from one to thirty, in words.",
    max_tokens=24,
)

SAMPLE_CHARS = 2000
"""Characters of the scenario's text from which characters per token are learnt."""

BURST = 4
"""More tokens than these in one read are a burst."""

PASSING = {
    "rate_limited", "overloaded", "gateway_error", "no_response", "stale_connection", "stream_error",
    "stream_truncated", "empty_stream", "aborted", "ttft_timeout", "stall_timeout", "total_timeout",
}  # fmt: skip
"""Outcomes that another try may not meet again."""


def ask_short(look: Look, *, learn: bool) -> None:
    """The short request, again with what the server refuses left out; then, to `learn`, a piece of real text."""
    record = answered(look, SHORT)
    note(look, record)
    if learn and record.input_tokens and look.left > 1:
        piece = sample(look.scenario)
        more = send(look, piece)
        if more.outcome == "ok":
            note_sample(look, piece, more)
        elif more.outcome in PASSING:
            pause(look, more)


def sample(scenario: Scenario) -> Call:
    """A piece of the scenario's own text, to be answered with a single token."""
    call = Mix(scenario, None).longest()
    text = call.text[:SAMPLE_CHARS]
    return replace(SHORT, prompt="sample", messages=({"role": "user", "content": text},), text=text, max_tokens=1)


def answered(look: Look, call: Call) -> RequestRecord:
    """Send until an answer is ok, changing what the server refuses. Raises Stop if none is within the tries."""
    while True:
        record = send(look, call)
        if record.outcome == "ok":
            note_sample(look, call, record)
            return record
        if not changed(look, record) and not (record.outcome in PASSING and look.left):
            raise blamed(look, record)
        if not look.left:
            raise advice.failed(look.sending, record)
        if record.outcome in PASSING:
            pause(look, record)


def changed(look: Look, record: RequestRecord) -> bool:
    """Leave out, or rename, what a refusal names; True if something was changed and another try makes sense.

    Raises Stop(UNMEASURABLE) if the limit of output tokens is refused under every name the scenario allows.
    """
    if record.outcome != "http_error" or record.http_status not in (400, 422):
        return False
    words, sending, scenario = record.error or "", look.sending, look.scenario
    usage = refusals.about_stream_options(words) and sending.stream_usage and scenario.stream_usage == "auto"
    limit = refusals.about_limit(words)
    if not usage and not limit and sending.stream_usage and scenario.stream_usage == "auto":
        usage = not look.refused and not refusals.about_context(words)  # a refusal without a name: the likeliest guess
    if usage:
        look.refused["stream_options"] = words
        sending = replace(sending, stream_usage=False)
    if limit:
        look.refused[sending.limit_field] = words
        if scenario.max_tokens_field != "auto" or sending.limit_field == "max_completion_tokens":
            named = {name: said for name, said in look.refused.items() if name in refusals.LIMIT_FIELDS}
            raise advice.field_refused(sending, named)
        sending = replace(sending, limit_field="max_completion_tokens")
        look.found.limit_field = sending.limit_field
    look.sending = sending
    return usage or limit


def blamed(look: Look, record: RequestRecord) -> Stop:
    """The sentence for a request that failed for good."""
    status, words, models = record.http_status, record.error or "", look.found.models
    if status in (401, 403):
        return advice.unauthorized(look.sending, status, words, key=look.key is not None)
    if status == 404 and not look.lists:
        return advice.no_such_path(look.sending, words)
    if status == 404 or (status in (400, 422) and models and look.sending.model not in models):
        return advice.unknown_model(look.sending, models, words)
    return SENTENCES.get(record.outcome, advice.failed)(look.sending, record)


SENTENCES: dict[str, Callable[[Sending, RequestRecord], Stop]] = {
    "not_sse": advice.no_stream,
    "redirect": advice.redirected,
    "http_error": advice.refused,
}
"""What is said of an outcome that nothing else explains."""


def note(look: Look, record: RequestRecord) -> None:
    """What an answer says about the endpoint."""
    found = look.found
    found.usage = record.output_tokens_source == "server"
    found.stream_options_refused = "stream_options" in look.refused
    found.first_ttft_ms = record.ttft_ms
    found.kernel_stamps = record.stamp_lag_ms is not None
    if look.sending.stream and record.events > BURST:
        found.bursts = largest_burst(record.gaps_ms) > BURST
    if look.sending.proxy:
        found.notes.append(f"requests go through the proxy {look.sending.proxy}")
    if look.sending.insecure and look.target.tls:
        found.notes.append("the server's certificate is not verified (--insecure)")
    if found.bursts:
        found.notes.append("tokens come in bursts, so gaps between tokens are not the model's; is a proxy buffering?")
    if found.stream_options_refused:
        found.notes.append("stream_options is refused, so requests go without it")
    if found.models and found.model not in found.models:
        found.notes.append(f"model {found.model} answers, though it is not on the list: {advice.names(found.models)}")
    if record.served_model and record.served_model != found.model:
        found.notes.append(f"the answer names another model: {record.served_model}")
    if not look.kept and not look.sending.fresh:
        # llama.cpp announces keep-alive and closes behind every stream: a request that goes out in between is lost
        look.sending = replace(look.sending, fresh=True)
        found.notes.append("the server closes the connection behind each answer, so every request gets a new one")
    if not look.lists:
        found.notes.append("the endpoint lists no models")


def note_sample(look: Look, call: Call, record: RequestRecord) -> None:
    """Keep how many tokens the server counted for how many characters."""
    if record.input_tokens and record.input_tokens_source == "server":
        look.samples.append((len(call.text), record.input_tokens))


def largest_burst(gaps_ms: list[float]) -> int:
    """Most tokens that came out of one read: events of one read share its stamp, so their gaps are 0."""
    largest = current = 1
    for gap in gaps_ms:
        current = current + 1 if gap == 0 else 1
        largest = max(largest, current)
    return largest
