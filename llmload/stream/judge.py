"""From the facts of one attempt to its record: outcome, counts, flags. Pure; the order of the questions is the rule.

`records.md` of the project says what each outcome and flag means; this file is where it is decided. Stamps are
nanoseconds of one monotonic clock, the record's times are milliseconds after `sent`.
"""

from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from itertools import pairwise
from typing import Literal, Protocol

from llmload.record.record import RequestRecord, Tags
from llmload.stream import chunk as chunks
from llmload.stream import usage as usages
from llmload.stream import words
from llmload.stream.reading import StreamReading
from llmload.stream.sse import Parser

LATE_USAGE_NS = 100_000_000
BURST_NS = 2_000_000
"""Tokens that all lie within 2 ms, and within a hundredth of the time they took to come, came in one burst."""
NATURAL_ENDS = frozenset(
    {"stop", "eos", "eos_token", "end_turn", "stop_sequence", "tool_calls", "function_call"}
)  # fmt: skip
"""Finish reasons of an answer that ended by itself, so that fewer tokens than asked for are no loss."""
ABORTED = frozenset({"abort", "aborted", "cancelled", "canceled", "error"})
BY_STATUS = {429: "rate_limited", 503: "overloaded", 529: "overloaded"}
BY_STATUS |= dict.fromkeys([502, 504, *range(520, 525)], "gateway_error")
BY_LIMIT = {"ttft": "ttft_timeout", "stall": "stall_timeout", "total": "total_timeout", "cancelled": "cancelled"}


class Quote(Protocol):
    """Makes one line without secrets of somebody's words."""

    def __call__(self, text: str, limit: int = words.LIMIT) -> str:
        """The words, at most so many characters of them."""


EndKind = Literal["whole", "enough", "cut", "protocol", "ttft", "stall", "total", "cancelled"]


@dataclass(frozen=True, slots=True)
class Ending:
    """How an exchange ended: `whole` body, `enough` read of it, `cut`, broken `protocol`, a limit, or cancelled."""

    kind: EndKind
    at: int
    words: str = ""
    """What happened, for people."""


@dataclass(slots=True)
class Answer:
    """What HTTP says of an answer, apart from a streamed body."""

    status: int | None = None
    """None until the whole head was read."""
    reason: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    """Names in lower case."""
    headers_at: int | None = None
    began: bool = False
    """At least one byte came."""
    body: bytes = b""
    """The body, or its beginning, where it is not read as a stream."""
    compressed: bool = False


@dataclass(slots=True)
class Attempt:
    """All facts of one attempt that was sent, for `record` to judge."""

    tags: Tags
    sent: int
    sent_at: float
    answer: Answer
    reading: StreamReading
    ending: Ending
    new_connection: bool
    connect_ms: float | None = None
    stamp_lag_ms: float | None = None
    streaming: bool = True
    words_sent: int = 0
    ignore_eos: bool = False


def failed(tags: Tags, sent_at: float, outcome: str, error: str, end_ms: float | None = None) -> RequestRecord:
    """The record of an attempt that never got as far as its first byte; times count from the start of connecting."""
    record = empty(tags, sent_at, outcome)
    record.error = error
    record.end_ms = end_ms
    return record


def empty(tags: Tags, sent_at: float | None, outcome: str) -> RequestRecord:
    """A record that says no more than where the attempt belongs."""
    return RequestRecord(
        run=tags.run, worker=tags.worker, seq=tags.seq, step=tags.step, concurrency=tags.concurrency, rate=tags.rate,
        phase=tags.phase, workload=tags.workload, prompt=tags.prompt, scheduled_at=tags.scheduled_at, sent_at=sent_at,
        requested_input_tokens=tags.requested_input_tokens, requested_output_tokens=tags.requested_output_tokens,
        outcome=outcome,
    )  # fmt: skip


def record(attempt: Attempt, hide: words.Hide) -> RequestRecord:
    """The record of an attempt; `hide` takes the key out of everything that a server said."""
    answer, reading, sent = attempt.answer, attempt.reading, attempt.sent

    def ms(stamp: int | None) -> float | None:
        return None if stamp is None else round((stamp - sent) / 1e6, 3)

    def quote(text: str, limit: int = words.LIMIT) -> str:
        return words.one_line(hide(text), limit)  # hidden before it is cut, or a part of the key would stay

    outcome, error = verdict(attempt, quote)
    row = empty(attempt.tags, attempt.sent_at, outcome)
    row.error = quote(error, words.LIMIT + 80) if error else None
    row.new_connection = attempt.new_connection
    row.connect_ms = attempt.connect_ms
    row.stamp_lag_ms = attempt.stamp_lag_ms
    row.http_status = answer.status
    row.headers_ms = ms(answer.headers_at)
    row.end_ms = ms(end_of(attempt))
    if answer.status not in (None, 200):
        row.retry_after_s = retry_after(answer.headers, attempt.sent_at)
        return row
    row.first_event_ms = ms(reading.first_event_at)
    stamps = reading.stamps
    if stamps:
        row.ttft_ms = ms(stamps[0])
        row.ttft_content_ms = ms(reading.content_at)
        row.gaps_ms = [round((b - a) / 1e6, 3) for a, b in pairwise(stamps)]
        row.last_token_ms = ms(stamps[-1])
    row.events = len(stamps)
    row.coalesced = reading.coalesced
    row.served_model = reading.model and quote(reading.model)
    row.finish_reason = reading.finish and quote(reading.finish)
    told = usages.read(reading.usage or {})
    counts(row, attempt, told)
    row.flags = flags(row, attempt, told)
    return row


def recount(row: RequestRecord, attempt: Attempt, tokens: int) -> None:
    """Give a record the tokens that a tokenizer found in its text; what rests on their number is judged anew."""
    row.output_tokens, row.output_tokens_source = tokens, "tokenizer"
    row.flags = flags(row, attempt, usages.read(attempt.reading.usage or {}))


# ---- outcome ---------------------------------------------------------------------------------------------------


def verdict(attempt: Attempt, quote: Quote) -> tuple[str, str | None]:
    """Outcome and error line of an attempt."""
    answer = attempt.answer
    if answer.status is None:
        return without_head(attempt)
    if answer.status != 200:
        said = quote(words.of_body(answer.body))
        status = f"HTTP {answer.status} {quote(answer.reason, 40)}".rstrip()
        return of_status(answer.status), f"{status}: {said}" if said else f"{status}, without a body"
    if attempt.reading.error is not None:
        return of_error(attempt, quote)
    return of_stream(attempt, quote) if attempt.streaming else of_whole(attempt, quote)


def of_error(attempt: Attempt, quote: Quote) -> tuple[str, str]:
    """Status 200, and the body says that it failed."""
    reading = attempt.reading
    said = quote(chunks.words_of(reading.error))
    where = "in the stream" if attempt.streaming else "in the answer"
    return chunks.kind_of_error(reading.error), f"the server reported an error {where}: {said}"


def of_stream(attempt: Attempt, quote: Quote) -> tuple[str, str | None]:
    """Status 200 and no error so far: what kind of body it is, and whether it was whole."""
    ending, reading = attempt.ending, attempt.reading
    if not reading.is_sse and reading.stray.strip():
        return of_foreign_body(attempt, quote)
    if reading.done_at is None and ending.kind == "protocol":
        return "protocol_error", ending.words
    if reading.overlong:
        return "protocol_error", f"an event of more than {Parser.LIMIT >> 20} MiB, which was not read to its end"
    if reading.fault is not None:
        return "protocol_error", f"an event that is no JSON object: {quote(reading.fault)}"
    return of_events(attempt)


def without_head(attempt: Attempt) -> tuple[str, str]:
    """No status line was read."""
    ending = attempt.ending
    if ending.kind in BY_LIMIT:
        return BY_LIMIT[ending.kind], ending.words
    if ending.kind == "protocol":
        return "protocol_error", ending.words
    if attempt.answer.began:
        return "protocol_error", f"{ending.words} within the response head"
    if attempt.new_connection:
        return "no_response", f"{ending.words} before any byte of an answer"
    return "stale_connection", f"kept-alive {ending.words} before any byte of an answer"


def of_status(status: int) -> str:
    """Outcome of a status other than 200."""
    if status in BY_STATUS:
        return BY_STATUS[status]
    return "redirect" if 300 <= status < 400 else "http_error"


def of_foreign_body(attempt: Attempt, quote: Quote) -> tuple[str, str]:
    """Status 200 and a body that is no SSE: an error in JSON counts as what it says.

    Without one, an answer that was cut short by a limit or by us is told by that: what it would have become is open.
    """
    body, ending = attempt.reading.stray, attempt.ending
    try:
        value = chunks.load(body)
    except ValueError:
        value = None
    if isinstance(value, dict) and (error := chunks.error_of(value)) is not None:
        said = quote(chunks.words_of(error))
        return chunks.kind_of_error(error), f"status 200 with an error as JSON: {said}"
    kind = quote(attempt.answer.headers.get("content-type", "no content type"), 60)
    what = f"the body is no event stream ({kind}): {quote(body.decode('utf-8', 'replace'), 120)}"
    if ending.kind in BY_LIMIT:
        return BY_LIMIT[ending.kind], f"{ending.words}; {what}"
    return "not_sse", f"status 200, but {what}"


def of_whole(attempt: Attempt, quote: Quote) -> tuple[str, str | None]:
    """Status 200 of a request that asked for no stream."""
    ending, reading = attempt.ending, attempt.reading
    if ending.kind in BY_LIMIT:
        return BY_LIMIT[ending.kind], ending.words
    if ending.kind == "protocol":
        return "protocol_error", ending.words
    if ending.kind == "cut":
        return "stream_truncated", f"{ending.words} within the body"
    if reading.fault is not None or not (reading.parts or reading.other_chars or reading.finish):
        said = quote(attempt.answer.body.decode("utf-8", "replace"), 120)
        return "protocol_error", f"status 200, but the body is no completion as JSON: {said or 'it is empty'}"
    return by_finish(reading.finish)


def by_finish(finish: str | None) -> tuple[str, str | None]:
    """Outcome of an answer that was whole, by its finish reason."""
    if finish in ABORTED:
        return "aborted", f"the server gave up: finish reason {finish}"
    if finish == "content_filter":
        return "content_filtered", "the server's content filter ended the answer"
    return "ok", None


def of_events(attempt: Attempt) -> tuple[str, str | None]:
    """Status 200 and an SSE body, or one that never began."""
    ending, reading = attempt.ending, attempt.reading
    if reading.finish is not None or (reading.done_at is not None and reading.stamps):
        return by_finish(reading.finish)
    if reading.done_at is not None:
        return "empty_stream", "[DONE] without any token or finish reason"
    if ending.kind in BY_LIMIT:
        return BY_LIMIT[ending.kind], ending.words
    began = reading.is_sse or bool(reading.stray.strip())
    if not reading.stamps and (ending.kind != "cut" or not began):
        return "empty_stream", f"{ending.words} without any token or finish reason"
    return (
        "stream_truncated",
        f"{ending.words} after {len(reading.stamps)} tokens, with neither finish reason nor [DONE]",
    )


def end_of(attempt: Attempt) -> int:
    """When the answer ended: [DONE], or else the finish reason, or else the failure or the end of the body."""
    reading = attempt.reading
    for stamp in (reading.done_at, reading.finish_at if reading.error is None else None, reading.error_at):
        if stamp is not None:
            return stamp
    return attempt.ending.at


def retry_after(headers: dict[str, str], now: float) -> float | None:
    """Seconds that a server asks to wait, from `Retry-After` (seconds or a date) or `retry-after-ms`."""
    try:
        if value := headers.get("retry-after"):
            text = value.strip()
            wait = float(text) if text[:1].isdigit() else parsedate_to_datetime(text).timestamp() - now
        elif value := headers.get("retry-after-ms"):
            wait = float(value) / 1000
        else:
            return None
    except (ValueError, TypeError, OverflowError):
        return None
    return round(max(wait, 0.0), 3) if wait < 1e9 else None


# ---- counts and flags ------------------------------------------------------------------------------------------


def counts(row: RequestRecord, attempt: Attempt, told: usages.Usage) -> None:
    """Fill in tokens and characters, with who counted them."""
    reading = attempt.reading
    if told.input_tokens is not None and told.input_tokens > 0:
        row.input_tokens, row.input_tokens_source = told.input_tokens, "server"
    if told.output_tokens is not None and (told.output_tokens > 0 or not reading.stamps) and told.output_tokens >= 0:
        row.output_tokens, row.output_tokens_source = told.output_tokens, "server"
    elif reading.stamps:
        row.output_tokens, row.output_tokens_source = len(reading.stamps), "events"
    if told.reasoning_tokens is not None:
        row.hidden_tokens = 0 if reading.reasoned else max(told.reasoning_tokens, 0)
    row.cached_tokens = told.cached_tokens
    if reading.is_sse or reading.parts or reading.other_chars:
        row.output_chars = len(reading.text) + reading.other_chars


def flags(row: RequestRecord, attempt: Attempt, told: usages.Usage) -> list[str]:
    """What is noteworthy about an attempt with status 200, in the order of the contract."""
    reading = attempt.reading
    whole = row.outcome in {"ok", "aborted", "content_filtered"}
    stamps = reading.stamps
    found = {
        "no_done": attempt.streaming and whole and reading.finish is not None and reading.done_at is None,
        "no_finish_reason": whole and reading.finish is None,
        "unterminated_event": reading.unterminated,
        "text_after_finish": reading.text_after_finish,
        "empty_deltas": reading.hollow,
        "buffered": is_burst(row, attempt),
        "compressed": attempt.answer.compressed,
        "short_output": row.outcome == "ok" and is_short(row, attempt),
        "usage_missing": whole and reading.usage is None,
        "usage_odd": reading.usage is not None and is_odd(told, len(stamps)),
        "prompt_truncated": row.input_tokens is not None and row.input_tokens < attempt.words_sent / 2,
        "id_changed": reading.id_changed,
        "late_usage": bool(stamps) and reading.usage_at is not None and reading.usage_at - stamps[-1] > LATE_USAGE_NS,
    }
    return [name for name, is_set in found.items() if is_set]


def is_burst(row: RequestRecord, attempt: Attempt) -> bool:
    """True if more than four tokens were streamed and all came at once."""
    stamps = attempt.reading.stamps
    if not stamps:
        return False
    streamed = max(len(stamps), (row.output_tokens or 0) - (row.hidden_tokens or 0))
    spread = stamps[-1] - stamps[0]
    at_once = row.coalesced == len(stamps) - 1 or (spread <= BURST_NS and spread * 100 <= stamps[-1] - attempt.sent)
    return streamed > 4 and at_once


def is_short(row: RequestRecord, attempt: Attempt) -> bool:
    """True if fewer tokens came than were asked for and the answer did not end by itself, or was told not to."""
    if row.output_tokens is None or row.requested_output_tokens is None:
        return False
    if row.output_tokens >= row.requested_output_tokens:
        return False
    if row.output_tokens_source != "server" and row.finish_reason == "length":
        return False  # tokens may share an event, and a text be cut otherwise; the server says the length was reached
    return attempt.ignore_eos or row.finish_reason not in NATURAL_ENDS


def is_odd(told: usages.Usage, events: int) -> bool:
    """True if a usage tells zero or less, or fewer tokens than were seen. That it tells no prompt is not odd."""
    counts_told = (told.input_tokens, told.output_tokens)
    return any(count is not None and count <= 0 for count in counts_told) or (told.output_tokens or 0) < events
