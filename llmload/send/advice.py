"""Sentences for people whose endpoint cannot be measured: what happened, in whose words, and what to do. Pure."""

import re

from llmload.exits import Exit, Stop
from llmload.record.record import RequestRecord
from llmload.send.settings import Sending

CONNECTING: tuple[tuple[tuple[str, ...], str], ...] = (
    (("tls:",), "is https right for this port?"),
    (("refused",), "nobody listens there: start the server, or mend --host"),
    (("dns:",), "no such host: mend --host"),
    (("time-out", "timed out"), "is the host up, and is there a firewall? (--connect-timeout is the limit)"),
    (("unreachable", "no route"), "no way leads there: mend --host, or name a proxy with --proxy"),
    (("proxy:",), "mend --proxy"),
)
"""Words of a failed connection, and what to do; the first that fits."""


def stop(sentence: str) -> Stop:
    """The endpoint cannot be measured."""
    return Stop(re.sub(r"(?<!\.)\.;", ";", sentence), Exit.UNMEASURABLE)  # a server's words end with a full stop


def unreachable(base_url: str, words: str) -> Stop:
    """No connection. What to do about a certificate is in the words already."""
    lower = words.lower()
    what = next((advice for marks, advice in CONNECTING if any(mark in lower for mark in marks)), "mend --host")
    return stop(f"{base_url}: {words}" + ("" if "; " in words and "tls" in lower else f"; {what}"))


def unauthorized(sending: Sending, status: int, words: str, *, key: bool) -> Stop:
    """401 and 403."""
    if key:
        what = f"the key in {sending.key_env} is not accepted; set the right one"
    else:
        what = f"no key was sent; put it in the environment variable {sending.key_env}"
    return stop(f"{sending.base_url}: {status}: {words}; {what}")


def names(models: list[str]) -> str:
    """Models on offer, the first twenty."""
    return ", ".join(models[:20]) + (f" and {len(models) - 20} more" if len(models) > 20 else "")


def unknown_model(sending: Sending, models: list[str], words: str) -> Stop:
    """404 for a request, while the model list is there."""
    there = f"on offer: {names(models)}; name one with --model" if models else "name one it serves with --model"
    return stop(f"{sending.base_url}: model {sending.model!r} is not served: {words}; {there}")


def no_such_path(sending: Sending, words: str) -> Stop:
    """404 for the model list and for a request."""
    return stop(
        f"{sending.base_url}: neither /models nor the endpoint itself is there: 404: {words}; "
        "this URL leads to no OpenAI-compatible API: mend --host (the part before /v1)"
    )


def no_api(base_url: str, body: bytes, words: str) -> Stop:
    """A page, or something else, where an API was expected."""
    start = body[:1000].lower()
    what = "an HTML page came back" if b"<html" in start or b"<!doctype html" in start else "no JSON came back"
    return stop(
        f"{base_url}: {what} instead of an API's answer: {words}; mend --host: it is an API's address, as "
        "http://127.0.0.1:8000/v1, not that of a web page"
    )


def no_model_named(base_url: str, models: list[str], words: str) -> Stop:
    """No model was named, and the endpoint does not have exactly one."""
    if models:
        return stop(f"{base_url}: serves {len(models)} models; name one with --model: {names(models)}")
    path = ", or mend --host if this is not where its API is" if words.startswith("HTTP 404") else ""
    return stop(f"{base_url}: names no model ({words}); name one with --model{path}")


def field_refused(sending: Sending, refused: dict[str, str]) -> Stop:
    """The limit of output tokens is refused under the name the scenario asks for, or under both."""
    said = "; ".join(f"{name}: {words}" for name, words in refused.items())
    return stop(
        f"{sending.base_url}: the limit of output tokens is refused ({said}); say which name this server takes with "
        "max_tokens_field in the scenario, or --set max_tokens_field=max_completion_tokens (or max_tokens)"
    )


def still_loading(base_url: str, seconds: float, words: str) -> Stop:
    """503 for too long."""
    return stop(
        f"{base_url}: not ready after {seconds:g} s: 503: {words}; wait until it has loaded, "
        "or wait longer with --set ready_timeout_s=…"
    )


def refused(sending: Sending, record: RequestRecord) -> Stop:
    """A refusal that is about nothing we could change."""
    return stop(
        f"{sending.base_url}: the server refuses a plain request: {said(record)}; its log may say why, and "
        "llmload probe shows one request in detail"
    )


def said(record: RequestRecord) -> str:
    """Status and words of a record."""
    words = record.error or record.outcome
    status = str(record.http_status) if record.http_status not in (None, 200) else ""
    return f"{status}: {words}" if status and status not in words else words


def failed(sending: Sending, record: RequestRecord) -> Stop:
    """No try came through."""
    return stop(
        f"{sending.base_url}: no request came through before the run: {record.outcome}: {said(record)}; "
        "llmload probe shows one request in detail"
    )


def no_stream(sending: Sending, record: RequestRecord) -> Stop:
    """200 with a body that is no stream."""
    words = record.error or ""
    if "html" in words.lower():
        return no_api(sending.base_url, b"<html", words)
    return stop(
        f"{sending.base_url}: asked for a stream, and the answer is none: {words}; an endpoint that cannot stream is "
        "measured with stream = false in the scenario, or --set stream=false"
    )


def too_long(sending: Sending, workload: str, size: str, words: str) -> Stop:
    """The longest request does not fit."""
    return stop(
        f"{sending.base_url}: the longest request of class {workload} ({size}) does not fit: {words}; "
        f"serve a longer context, or lower input_tokens or max_tokens of class {workload} in the scenario"
    )


def longest_refused(sending: Sending, workload: str, size: str, words: str) -> Stop:
    """The longest request is refused in words that are about nothing we know."""
    return stop(
        f"{sending.base_url}: the longest request of class {workload} ({size}) is refused: {words}; look at what "
        f"class {workload} asks for in the scenario (max_tokens, extra_body, tools, headers)"
    )


def redirected(sending: Sending, record: RequestRecord) -> Stop:
    """3xx, which is never followed."""
    return stop(f"{sending.base_url}: redirects: {said(record)}; name the URL it leads to with --host")
