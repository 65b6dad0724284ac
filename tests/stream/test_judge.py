"""From facts to the record: outcomes, times, counts and flags, worked by hand."""

import json
from typing import Any

import pytest

from llmload.record.record import FLAGS, OUTCOMES, RequestRecord, Tags
from llmload.stream import judge, words
from llmload.stream.judge import Answer, Attempt, Ending
from llmload.stream.reading import StreamReading

MS = 1_000_000
SENT = 5 * MS
TAGS = Tags("r", "w", 0, 0, 1, "measure", "short", "p1", requested_output_tokens=3)


def event(payload: Any) -> bytes:
    """One event."""
    return f"data: {payload if isinstance(payload, str) else json.dumps(payload)}\n\n".encode()


def said(content: str = "", finish: str | None = None, **more: Any) -> bytes:
    """A chat chunk as an event."""
    delta = {"content": content} if content or not finish else {}
    return event({"id": "c1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more})


def counted(prompt: Any, output: Any, **more: Any) -> bytes:
    """A usage chunk as an event."""
    return event({"id": "c1", "choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": output, **more}})


def reading_of(*reads: tuple[float, bytes]) -> StreamReading:
    """A reading of reads at milliseconds after `sent`."""
    reading = StreamReading()
    for at_ms, data in reads:
        reading.feed(SENT + int(at_ms * MS), data)
    reading.close()
    return reading


def record_of(
    *reads: tuple[float, bytes], kind: judge.EndKind = "whole", at_ms: float = 500, key: str | None = None, **facts: Any
) -> RequestRecord:
    """The record of an attempt with status 200, or with the answer that `facts` name."""
    given: dict[str, Any] = {
        "tags": TAGS, "sent": SENT, "sent_at": 1000.0, "new_connection": True,
        "answer": Answer(200, "OK", {}, SENT + MS, began=True),
        "reading": reading_of(*reads), "ending": Ending(kind, SENT + int(at_ms * MS), "it ended"),
    }  # fmt: skip
    return judge.record(Attempt(**(given | facts)), words.secret_remover(key))


PLAIN = ((200, said("A")), (250, said("B")), (300.5, said("C")), (320, said(finish="stop")), (340, counted(5, 3)))


def test_every_time_of_a_plain_stream() -> None:
    """Times are milliseconds after sent, gaps those between token events."""
    row = record_of(*PLAIN, (400, event("[DONE]")))
    assert (row.outcome, row.error, row.http_status, row.headers_ms) == ("ok", None, 200, 1.0)
    assert (
        row.first_event_ms, row.ttft_ms, row.ttft_content_ms, row.gaps_ms, row.last_token_ms, row.end_ms,
    ) == (200.0, 200.0, 200.0, [50.0, 50.5], 300.5, 400.0)  # fmt: skip
    assert (
        row.events, row.coalesced, row.input_tokens, row.input_tokens_source, row.output_tokens,
        row.output_tokens_source, row.output_chars,
    ) == (3, 0, 5, "server", 3, "server", 3)  # fmt: skip
    assert (
        row.flags,
        row.finish_reason,
        row.served_model,
        row.hidden_tokens,
        row.text,
    ) == ([], "stop", "m", None, None)


@pytest.mark.parametrize(
    ("reads", "kind", "outcome", "end_ms"),
    [
        (PLAIN, "whole", "ok", 320.0),
        (PLAIN, "cut", "ok", 320.0),
        (PLAIN, "stall", "ok", 320.0),
        (PLAIN[:3], "whole", "stream_truncated", 500.0),
        (PLAIN[:3], "cut", "stream_truncated", 500.0),
        (PLAIN[:3], "stall", "stall_timeout", 500.0),
        (PLAIN[:3], "total", "total_timeout", 500.0),
        (PLAIN[:3], "cancelled", "cancelled", 500.0),
        (PLAIN[:3], "protocol", "protocol_error", 500.0),
        ((), "whole", "empty_stream", 500.0),
        ((), "cut", "empty_stream", 500.0),
        ((), "ttft", "ttft_timeout", 500.0),
        (((9, b": hi\n\n"),), "cut", "stream_truncated", 500.0),
        (((9, event("[DONE]")),), "whole", "empty_stream", 9.0),
        (((9, said(finish="stop")), (10, event("[DONE]"))), "whole", "ok", 10.0),
        ((*PLAIN[:3], (400, event("[DONE]"))), "whole", "ok", 400.0),
        ((*PLAIN[:2], (270, said(finish="abort"))), "whole", "aborted", 270.0),
        ((*PLAIN[:2], (270, said(finish="content_filter"))), "whole", "content_filtered", 270.0),
        ((*PLAIN[:2], (270, event("junk")), (300, said(finish="stop"))), "whole", "protocol_error", 300.0),
        ((*PLAIN[:2], (270, said(finish="error", error={"message": "up"}))), "whole", "stream_error", 270.0),
        (((9, event({"error": {"code": 429}})),), "enough", "rate_limited", 9.0),
        (((9, b'{"error": {"message": "no room", "code": 503}}'),), "whole", "overloaded", 500.0),
        (((9, b'{"choices": [], "object": "chat.completion"}'),), "whole", "not_sse", 500.0),
        (((9, b"<html><body>Hi</body></html>"),), "enough", "not_sse", 500.0),
        ((*PLAIN[:2], (270, b"data: "), *((270, b"x" * (1 << 23)),) * 2), "enough", "protocol_error", 500.0),
        (((9, b"<html>"), *((9, b"x" * (1 << 23)),) * 2), "enough", "not_sse", 500.0),
        (((9, b"<html><body>Hi</body></html>"),), "ttft", "ttft_timeout", 500.0),
        (((9, b'{"id": "c1", "choi'),), "cancelled", "cancelled", 500.0),
        (((9, b'{"id": "c1", "choi'),), "cut", "not_sse", 500.0),
        (((9, b'{"error": {"message": "no room", "code": 503}}'),), "ttft", "overloaded", 500.0),
        (((9, b"da"),), "cut", "stream_truncated", 500.0),
        (((9, b"dat"),), "ttft", "ttft_timeout", 500.0),
        (((9, b"eve"),), "total", "total_timeout", 500.0),
        (((9, b"d"),), "cancelled", "cancelled", 500.0),
        (((9, b"id"),), "whole", "empty_stream", 500.0),
    ],
)
def test_outcomes_of_a_body(
    reads: tuple[tuple[float, bytes], ...], kind: judge.EndKind, outcome: str, end_ms: float
) -> None:
    """What the stream said comes before how it ended; the end is [DONE], the finish reason, or the failure."""
    row = record_of(*reads, kind=kind)
    assert (outcome, end_ms) == (row.outcome, row.end_ms)
    assert (row.error is None) == (outcome == "ok")


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (429, "rate_limited"), (503, "overloaded"), (529, "overloaded"), (502, "gateway_error"), (504, "gateway_error"),
        (520, "gateway_error"), (524, "gateway_error"), (525, "http_error"), (301, "redirect"), (307, "redirect"),
        (201, "http_error"), (204, "http_error"), (400, "http_error"), (401, "http_error"), (500, "http_error"),
    ],
)  # fmt: skip
def test_outcomes_of_a_status(status: int, outcome: str) -> None:
    """Any status but 200 is a failure, whichever way its body ended."""
    body = b'{"error": {"message": "so\\nit is"}}'
    row = record_of(answer=Answer(status, "Oh", {}, SENT + MS, began=True, body=body), kind="enough")
    assert (outcome, f"HTTP {status} Oh: so it is") == (row.outcome, row.error)
    assert (row.ttft_ms, row.first_event_ms, row.gaps_ms, row.events, row.output_chars) == (None, None, [], 0, None)


@pytest.mark.parametrize(
    ("began", "new", "kind", "outcome"),
    [
        (False, True, "cut", "no_response"), (False, False, "cut", "stale_connection"),
        (True, False, "cut", "protocol_error"), (True, True, "protocol", "protocol_error"),
        (False, True, "ttft", "ttft_timeout"), (False, True, "total", "total_timeout"),
        (False, False, "cancelled", "cancelled"),
    ],
)  # fmt: skip
def test_outcomes_without_a_head(began: bool, new: bool, kind: judge.EndKind, outcome: str) -> None:
    """Not a byte on a fresh connection, not a byte on a kept one, and half a head are three things."""
    row = record_of(answer=Answer(began=began), new_connection=new, kind=kind)
    assert (outcome, None, None) == (row.outcome, row.http_status, row.headers_ms)


def flags_of(*reads: tuple[float, bytes], **facts: Any) -> set[str]:
    """The flags of a record."""
    return set(record_of(*reads, **facts).flags)


DONE = (400.0, event("[DONE]"))
BURST = b"".join(map(said, "ABCDE"))
HIDDEN = counted(5, 200, completion_tokens_details={"reasoning_tokens": 198})


@pytest.mark.parametrize(
    ("flag", "reads", "facts"),
    [
        ("no_done", PLAIN, {}),
        ("no_finish_reason", (*PLAIN[:3], PLAIN[4], DONE), {}),
        ("unterminated_event", (*PLAIN[:4], (400, counted(5, 3)[:-1])), {}),
        ("text_after_finish", (*PLAIN[:2], (270, said(finish="stop")), PLAIN[2], PLAIN[4], DONE), {}),
        ("empty_deltas", ((100, said("")), *PLAIN, DONE), {}),
        ("buffered", ((200, BURST), (210, said(finish="stop")), (240, counted(5, 5)), DONE), {}),
        ("buffered", ((200, said("ABCDEFGH")), (210, said(finish="stop")), (240, counted(5, 8)), DONE), {}),
        ("compressed", (*PLAIN, DONE), {"answer": Answer(200, "OK", {}, SENT, began=True, compressed=True)}),
        ("short_output", (*PLAIN[:2], (320, said(finish="length")), (340, counted(5, 2)), DONE), {}),
        ("short_output", (*PLAIN[:2], (320, said(finish="stop")), (340, counted(5, 2)), DONE), {"ignore_eos": True}),
        ("usage_missing", (*PLAIN[:4], DONE), {}),
        ("usage_odd", (*PLAIN[:4], (340, counted(5, 2)), DONE), {}),
        ("usage_odd", (*PLAIN[:4], (340, counted(0, 3)), DONE), {}),
        ("usage_odd", (*PLAIN[:4], (340, counted(5, -1)), DONE), {}),
        ("usage_odd", (*PLAIN[:4], (340, counted(5, None)), DONE), {}),
        ("usage_odd", (*PLAIN[:4], (340, counted(5, 10**400)), DONE), {}),
        ("usage_odd", (*PLAIN[:4], (340, counted(5, 2**53 + 1)), DONE), {}),
        ("prompt_truncated", (*PLAIN, DONE), {"words_sent": 11}),
        ("id_changed", (*PLAIN[:4], (330, said(finish="stop").replace(b"c1", b"c2")), PLAIN[4], DONE), {}),
        ("late_usage", (*PLAIN[:4], (400.6, counted(5, 3)), (410, event("[DONE]"))), {}),
    ],
)  # fmt: skip
def test_each_flag(flag: str, reads: tuple[tuple[float, bytes], ...], facts: dict[str, Any]) -> None:
    """Each flag is set by what it means, and alone."""
    found = flags_of(*reads, **facts)
    assert flag in found
    assert found <= set(FLAGS)
    assert found - {flag} <= {"short_output", "no_done"}, "another flag came with it"


@pytest.mark.parametrize(
    ("flag", "reads", "facts"),
    [
        ("buffered", ((200, b"".join(said(x) for x in "ABCD")), (300, said(finish="stop"))), {}),
        ("buffered", tuple((200 + 5 * k, said("x")) for k in range(9)), {}),
        ("buffered", ((900, said("A")), (902, said("B")), (960, HIDDEN)), {}),
        ("short_output", (*PLAIN[:2], (320, said(finish="stop")), (340, counted(5, 2)), DONE), {}),
        ("short_output", (*PLAIN[:2], (320, said(finish="length")), DONE), {}),
        ("short_output", PLAIN[:2], {}),
        ("late_usage", (*PLAIN[:4], (400.5, counted(5, 3)), (410, event("[DONE]"))), {}),
        ("prompt_truncated", (*PLAIN, DONE), {"words_sent": 10}),
        ("id_changed", ((0, event({"id": "", "choices": []})), *PLAIN, DONE), {}),
        ("usage_missing", PLAIN[:3], {}),
        ("usage_odd", (*PLAIN[:4], (340, counted(None, 3)), DONE), {}),
    ],
)  # fmt: skip
def test_flags_that_are_not_set(flag: str, reads: tuple[tuple[float, bytes], ...], facts: dict[str, Any]) -> None:
    """The other side of each border."""
    assert flag not in flags_of(*reads, **facts)


def test_counts_that_no_sum_may_take_unmarked() -> None:
    """Zero or less although text came: the events are an estimate with a mark, and a prompt of zero is no count."""
    row = record_of(*PLAIN[:4], (340, counted(0, -1)), DONE)
    assert (
        row.input_tokens,
        row.input_tokens_source,
        row.output_tokens,
        row.output_tokens_source,
    ) == (None, None, 3, "events")
    row = record_of((9, said(finish="stop")), (10, counted(5, 1)))
    assert (row.output_tokens, row.output_tokens_source) == (1, "server")


def test_tokens_that_a_tokenizer_found_are_judged_as_the_servers_are() -> None:
    """Two events of eight tokens in one read are a burst, and eight of nine asked for are short; both only then."""

    def record(*reads: tuple[float, bytes], **facts: Any) -> tuple[RequestRecord, Attempt]:
        tags = Tags("r", "w", 0, 0, 1, "measure", "short", "p1", requested_output_tokens=9)
        attempt = Attempt(
            tags, SENT, 1000.0, Answer(200, "OK", {}, SENT, began=True), reading_of(*reads),
            Ending("whole", SENT + 500 * MS), new_connection=True, **facts,
        )  # fmt: skip
        return judge.record(attempt, words.secret_remover(None)), attempt

    row, attempt = record(
        (200, said("one two three four") + said("five six seven eight")), (210, said(finish="stop")), DONE
    )
    assert (row.output_tokens, row.output_tokens_source, row.flags) == (2, "events", ["usage_missing"])
    judge.recount(row, attempt, 8)
    assert (row.output_tokens, row.output_tokens_source, row.flags) == (8, "tokenizer", ["buffered", "usage_missing"])
    row, attempt = record(*PLAIN[:4], DONE, ignore_eos=True)
    assert row.flags == ["short_output", "usage_missing"], "three events, nine asked for"
    judge.recount(row, attempt, 9)
    assert row.flags == ["usage_missing"]
    row, attempt = record(*PLAIN[:3], (320, said(finish="length")), DONE)
    judge.recount(row, attempt, 8)
    assert row.flags == ["usage_missing"], "a text may be cut into fewer tokens than it was made of"


def test_hidden_and_cached_tokens() -> None:
    """Hidden are reasoning tokens of which no text was streamed."""
    details = {"completion_tokens_details": {"reasoning_tokens": 7}, "prompt_tokens_details": {"cached_tokens": 4}}
    row = record_of(*PLAIN[:4], (340, counted(5, 10, **details)), DONE)
    assert (row.hidden_tokens, row.cached_tokens) == (7, 4)
    thought = event({"id": "c1", "choices": [{"index": 0, "delta": {"reasoning": "hm"}}]})
    row = record_of((100, thought), *PLAIN[:4], (340, counted(5, 10, **details)), DONE)
    assert (row.hidden_tokens, row.output_chars, row.ttft_ms, row.ttft_content_ms) == (0, 5, 100.0, 200.0)


def test_an_answer_without_a_stream() -> None:
    """E2E only: nothing of a stream is known, the last token's time neither; `end_ms` is that of the body."""
    reading = StreamReading()
    choice = {"message": {"content": "ABC"}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 5, "completion_tokens": 3}
    reading.take_whole(SENT + 500 * MS, json.dumps({"choices": [choice], "usage": usage, "model": "m"}).encode())
    row = record_of(reading=reading, streaming=False)
    assert (
        row.outcome, row.end_ms, row.last_token_ms, row.ttft_ms, row.first_event_ms, row.gaps_ms, row.events,
    ) == ("ok", 500.0, None, None, None, [], 0)  # fmt: skip
    assert (row.output_tokens, row.output_tokens_source, row.output_chars, row.flags) == (3, "server", 3, [])


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "2"}, 2.0), ({"retry-after": "1.5"}, 1.5), ({"retry-after-ms": "1500"}, 1.5), ({}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:17:10 GMT"}, 30.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None), ({"retry-after": "-3"}, None), ({"retry-after": "9e99"}, None),
    ],
)  # fmt: skip
def test_retry_after(headers: dict[str, str], expected: float | None) -> None:
    """Seconds, a date, or the private header in milliseconds; nonsense is nothing."""
    assert expected == judge.retry_after(headers, 1000.0)


def test_the_servers_words_are_one_short_line_without_the_key() -> None:
    """Line ends, control characters, length and the key, wherever it stands."""
    body = json.dumps({"error": {"message": "bad key sk-verysecret\n\tin \x1b[31m" + "x" * 5000}}).encode()
    row = record_of(answer=Answer(401, "Unauthorized", {}, SENT, began=True, body=body), key="sk-verysecret")
    assert row.error is not None
    assert row.error.startswith("HTTP 401 Unauthorized: bad key [key] in [31mxxx")
    assert len(row.error) <= 300 + len("HTTP 401 Unauthorized: ")
    body = json.dumps({"error": {"message": "y" * 295 + "sk-verysecret"}}).encode()
    row = record_of(answer=Answer(401, "", {}, SENT, began=True, body=body), key="sk-verysecret")
    assert "sk-" not in (row.error or ""), "a part of the key is left at the cut"
    stream = said("A").replace(b'"m"', b'"m sk-verysecret"')
    row = record_of((1, stream), (2, said(finish="sk-verysecret")), key="sk-verysecret")
    assert "sk-verysecret" not in str(row.as_dict())


def test_a_short_key_is_hidden_only_where_it_stands_alone() -> None:
    """Or every word with its letters would be in shreds."""
    hide = words.secret_remover("k")
    assert hide("bad key: k is unknown") == "bad key: [key] is unknown"
    assert words.secret_remover(None)("all the same") == "all the same"


def test_every_outcome_of_the_contract_is_known() -> None:
    """No outcome is made up here."""
    made = set(judge.BY_STATUS.values()) | set(judge.BY_LIMIT.values())
    assert made <= set(OUTCOMES)
