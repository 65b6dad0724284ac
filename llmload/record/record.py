"""The record of one attempt: the contract between those who measure and those who report.

One `RequestRecord` becomes one line of `requests.jsonl`. It holds facts; every figure is computed from it later.
A value that was not measured is `None`, never 0. Times ending in `_ms` are milliseconds after `sent`, the moment
the first byte of the request was handed to the socket, on the monotonic clock of the process that sent it;
wall-clock times (`*_at`) are Unix seconds.
"""

from dataclasses import dataclass, field, fields
from typing import Any, Literal

import orjson

SCHEMA = 1

Phase = Literal["warmup", "measure", "drain"]

OUTCOMES: dict[str, str] = {
    "ok": "status 200, an SSE body, a token or a valid finish reason, a proper end, no error anywhere",
    "connect_error": "DNS, refused, unreachable, connect time-out, TLS",
    "no_response": "a fresh connection was accepted and closed before any byte of an answer",
    "stale_connection": "a kept-alive connection was closed by the peer before any byte of the answer",
    "local_resource": "this machine had no file descriptor, port or pool slot left",
    "rate_limited": "429, or an error in the stream that says so",
    "overloaded": "503, 529, or an error in the stream that says so",
    "gateway_error": "502, 504, 520 to 524",
    "redirect": "3xx, never followed",
    "http_error": "any other status than 200",
    "not_sse": "200 with a body that is no SSE stream",
    "stream_error": "an error object or `event: error` in the stream",
    "stream_truncated": "the body ended or was cut with neither finish reason nor [DONE]",
    "empty_stream": "200, SSE, ended with no token and no finish reason",
    "protocol_error": "bytes that are neither valid HTTP nor valid SSE or JSON where a token should be",
    "aborted": "finish reason abort, cancelled or error from the server",
    "content_filtered": "finish reason content_filter",
    "ttft_timeout": "no token within the limit",
    "stall_timeout": "no further token within the limit",
    "total_timeout": "not finished within the limit",
    "cancelled": "the run ended or the user stopped it while it was in flight",
    "not_sent": "open loop: the generator could not send it in time",
}
"""Every outcome and what it means. `lost` is no outcome of a record: it is a record that never came."""

CUT_BY_DRAIN = "cut by the drain limit"
CUT_BY_STEP_END = "cut at the end of the step"
CUT_BY_USER = "stopped by the user"
CUT_BY_FAULT = "cut because the run could not go on"
CUT_BY_LEAVING = "cut because its worker had to leave"
CUT_BY_CALLER = "cut by the locustfile's own code"
"""The `error` of an attempt with outcome `cancelled`: who cut it. One that the drain limit cut counts as infinite in
percentiles over all attempts; one that the user's stop cut is left out of them; what is cut at the end of a step was
sent in another phase than its window. A fault (a full disk) stops a step as the user does; a worker that has to leave
(SIGTERM) leaves attempts that count as lost ones do. One that the locustfile's own code cut (a gevent.Timeout of its
own around a call) waited as long as its user would have: it counts as infinite."""

FLAGS = (
    "no_done", "no_finish_reason", "unterminated_event", "text_after_finish", "empty_deltas", "buffered", "compressed",
    "short_output", "usage_missing", "usage_odd", "prompt_truncated", "id_changed", "late_usage",
)  # fmt: skip


@dataclass(slots=True)
class Tags:
    """Where an attempt belongs: everything about it that is known before its first byte goes out."""

    run: str
    worker: str
    seq: int
    step: int
    concurrency: int | None
    phase: Phase
    workload: str
    prompt: str
    rate: float | None = None
    scheduled_at: float | None = None
    requested_input_tokens: int | None = None
    requested_output_tokens: int | None = None


@dataclass(slots=True)
class RequestRecord:
    """One attempt, whatever became of it. Field by field as in the README's table of the record."""

    run: str
    worker: str
    seq: int
    step: int
    concurrency: int | None
    phase: Phase
    workload: str
    prompt: str
    sent_at: float | None
    outcome: str
    schema: int = SCHEMA
    rate: float | None = None
    scheduled_at: float | None = None
    new_connection: bool = False
    connect_ms: float | None = None
    headers_ms: float | None = None
    first_event_ms: float | None = None
    ttft_ms: float | None = None
    ttft_content_ms: float | None = None
    gaps_ms: list[float] = field(default_factory=list)
    last_token_ms: float | None = None
    end_ms: float | None = None
    events: int = 0
    coalesced: int = 0
    served_model: str | None = None
    requested_input_tokens: int | None = None
    input_tokens: int | None = None
    input_tokens_source: str | None = None
    output_tokens: int | None = None
    output_tokens_source: str | None = None
    output_chars: int | None = None
    hidden_tokens: int | None = None
    cached_tokens: int | None = None
    requested_output_tokens: int | None = None
    http_status: int | None = None
    finish_reason: str | None = None
    error: str | None = None
    flags: list[str] = field(default_factory=list)
    retry_after_s: float | None = None
    attempts: int = 1
    stamp_lag_ms: float | None = None
    text: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The record as a plain dictionary; `text` only if there is one (it is kept on request only)."""
        row = {name: getattr(self, name) for name in FIELDS}
        if self.text is not None:
            row["text"] = self.text
        return row

    def to_json(self) -> bytes:
        """One line of requests.jsonl, without its line end."""
        return orjson.dumps(self.as_dict())


FIELDS = (
    "schema", "run", "worker", "seq", "step", "concurrency", "rate", "phase", "workload", "prompt", "scheduled_at",
    "sent_at", "new_connection", "connect_ms", "headers_ms", "first_event_ms", "ttft_ms", "ttft_content_ms",
    "gaps_ms", "last_token_ms", "end_ms", "events", "coalesced", "served_model", "requested_input_tokens",
    "input_tokens", "input_tokens_source", "output_tokens", "output_tokens_source", "output_chars", "hidden_tokens",
    "cached_tokens", "requested_output_tokens", "http_status", "finish_reason", "outcome", "error", "flags",
    "retry_after_s", "attempts", "stamp_lag_ms",
)  # fmt: skip
"""The fields of a line of requests.jsonl, in the order of the contract (`text` is added on request)."""

assert set(FIELDS) | {"text"} == {item.name for item in fields(RequestRecord)}  # noqa: S101  (a typo here loses data)
