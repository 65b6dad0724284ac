"""A stream read event by event: which stamps count, what coalesces, and that cuts change nothing but that."""

import itertools
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as some

from llmload.stream.reading import StreamReading


def event(payload: Any, name: str = "") -> bytes:
    """One event; a string stands for itself."""
    text = payload if isinstance(payload, str) else json.dumps(payload)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def said(
    content: Any = None, finish: str | None = None, *, index: int = 0, chunk_id: str = "c1", **delta: Any
) -> bytes:
    """A chat chunk as an event."""
    delta = delta if content is None else {"content": content, **delta}
    return event({"id": chunk_id, "model": "m", "choices": [{"index": index, "delta": delta, "finish_reason": finish}]})


def read(*reads: tuple[int, bytes]) -> StreamReading:
    """A reading of these reads, closed."""
    reading = StreamReading()
    for stamp, data in reads:
        reading.feed(stamp, data)
    reading.close()
    return reading


def test_a_plain_stream() -> None:
    """Role chunk first, then text: the first event is not the first token."""
    reading = read(
        (1, said("", role="assistant")), (2, said("A")), (3, said("B")), (4, said("C")), (5, said(finish="stop")),
        (6, event({"id": "c1", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 3}})),
        (7, event("[DONE]")), (8, said("ignored")),
    )  # fmt: skip
    assert (reading.first_event_at, reading.stamps, reading.content_at) == (1, [2, 3, 4], 2)
    assert (reading.text, reading.finish, reading.finish_at, reading.done_at) == ("ABC", "stop", 5, 7)
    assert (reading.usage_at, reading.coalesced, reading.model) == (6, 0, "m")
    assert not (reading.hollow)
    assert not (reading.id_changed)
    assert not (reading.text_after_finish)
    assert not (reading.unterminated)


def test_stamp_zero_is_a_stamp() -> None:
    """The moment 0 of the clock is as good as any other."""
    reading = read((0, said("A")), (1, event("[DONE]")))
    assert (reading.first_event_at, reading.stamps, reading.content_at, reading.done_at) == (0, [0], 0, 1)


def test_events_of_one_read_share_its_stamp_and_coalesce() -> None:
    """The first token event of a read is itself, the others came with it; other events do not count."""
    reading = read(
        (1, said("", role="assistant") + said("A")), (2, said("B") + said("C") + said(finish="stop") + said("D"))
    )
    assert (reading.stamps, reading.coalesced) == ([1, 2, 2, 2], 2)
    assert reading.text_after_finish


def test_a_thousand_events_in_one_read() -> None:
    """All get the time of that read; 999 are coalesced."""
    reading = read((5, b"".join(said(f"{k} ") for k in range(1000))))
    assert (reading.stamps, reading.coalesced) == ([5] * 1000, 999)


def test_a_torn_event_is_there_with_its_last_byte() -> None:
    """The stamp is that of the read that completes the event, and the next one in that read coalesces."""
    first, second = said("A"), said("B")
    reading = read((1, first[:-1]), (2, first[-1:] + second[:30]), (3, second[30:] + said("C")))
    assert (reading.stamps, reading.coalesced) == ([2, 3, 3], 1)


def test_the_last_event_without_its_blank_line_has_the_stamp_of_its_bytes() -> None:
    """It is used, marked, and coalesced if its read held a token before it."""
    reading = read((1, said("A")), (2, said("B") + said("C")[:-1]))
    assert (reading.stamps, reading.coalesced, reading.unterminated) == ([1, 2, 2], 1, True)
    assert read((1, said("A")), (3, b"data: [DONE]")).done_at == 3


def test_half_an_event_at_the_end_is_no_fault() -> None:
    """A cut in mid-JSON is the cut itself; it is no event either."""
    reading = read((1, said("A")), (2, said("B")[:20]))
    assert (reading.fault, reading.stamps, reading.unterminated) == (None, [1], True)
    assert read((1, said("A")[:20])).first_event_at is None


def test_text_of_other_kinds_counts_as_token_and_not_as_answer() -> None:
    """Reasoning starts the clock; its characters count, its text is not the answer."""
    reading = read((1, said(reasoning_content="tt")), (2, said("A")), (3, said(refusal="No")))
    assert (
        reading.stamps, reading.content_at, reading.text, reading.other_chars, reading.reasoned,
    ) == ([1, 2, 3], 2, "A", 4, True)  # fmt: skip


def test_only_choice_zero_has_tokens() -> None:
    """Other choices have their say in usage alone."""
    reading = read((1, said("x", index=1)), (2, said("A")), (3, said(finish="stop", index=1)), (4, said("B")))
    assert (reading.stamps, reading.text, reading.finish) == ([2, 4], "AB", None)


def test_a_named_ping_is_an_event_and_no_token() -> None:
    """It need not even be JSON."""
    reading = read((1, event("hello", "ping")), (2, said("A")))
    assert (reading.first_event_at, reading.stamps, reading.fault) == (1, [2], None)


def test_faults_and_errors() -> None:
    """What is no JSON is a fault, an error is an error, a comment in a data line is neither."""
    assert read((1, event("oops"))).fault == "oops"
    assert read((1, event("[1]"))).fault == "[1]"
    assert read((1, event(": STILL PROCESSING"))).fault is None
    reading = read((1, event({"error": {"message": "boom"}})), (2, event("[DONE]")))
    assert (reading.error, reading.error_at, reading.done_at) == ({"message": "boom"}, 1, 2)
    assert read((1, event("bad", "error"))).error == "bad"
    assert read((1, b"event: error\n\n")).error == "an event named error"


def test_a_split_surrogate_pair_is_joined_and_a_lone_half_replaced() -> None:
    """Neither breaks what is written later."""
    halves = [
        b'data: {"id":"c1","choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n' % half
        for half in (b"\\ud83d", b"\\ude00")
    ]
    assert read((1, halves[0]), (2, halves[1])).text == "\U0001f600"
    assert read((1, halves[0])).text == "\ufffd"


def test_the_first_token_is_told_when_it_is_read() -> None:
    """Once, with its stamp."""
    told: list[int] = []
    reading = StreamReading(told.append)
    for stamp, data in ((1, said("", role="assistant")), (2, said("A")), (3, said("B"))):
        reading.feed(stamp, data)
    assert told == [2]


def test_a_whole_answer_has_texts_and_no_times() -> None:
    """An answer that is no stream says what it says and nothing about tokens' times."""
    reading = StreamReading()
    choice = {"index": 0, "message": {"role": "assistant", "content": "ABC"}, "finish_reason": "stop"}
    reading.take_whole(
        9, json.dumps({"id": "c", "model": "m", "choices": [choice], "usage": {"prompt_tokens": 5}}).encode()
    )
    assert (
        reading.text, reading.finish, reading.stamps, reading.first_event_at, reading.content_at,
    ) == ("ABC", "stop", [], None, None)  # fmt: skip


EVENTS = some.sampled_from(
    [
        said("A"), said("B"), said("漢字"), said(""), said("", role="assistant"), said(reasoning="r"),
        said("x", index=1), said("C", chunk_id="c2"), said("D", tool_calls=None), said(finish="stop"),
        said("E", "length"), b": ping\n\n", b"\n",
        event({"id": "c1", "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}), event("oops"),
        event({"error": {"message": "boom"}}), event({"type": "ping"}, "ping"), event("[DONE]"),
        event({"id": "t", "choices": [{"index": 0, "text": "T", "finish_reason": None}]}), b"data: {\"half\": ",
    ]
)  # fmt: skip
KEPT = [name for name in StreamReading.__slots__ if not name.startswith("_") and name != "coalesced"]


def facts(reading: StreamReading) -> dict[str, Any]:
    """Everything a reading found out, without what depends on reads."""
    return {name: getattr(reading, name) for name in KEPT}


@given(events=some.lists(EVENTS, max_size=8), cuts=some.lists(some.integers(0, 2000), max_size=10))
def test_cuts_change_nothing(events: list[bytes], cuts: list[int]) -> None:
    """At one and the same moment, whole, in random pieces and byte by byte, the same facts are found."""
    body = b"".join(events)
    edges = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    pieces = [body[a:b] for a, b in itertools.pairwise(edges)]
    expected = facts(read((7, body)))
    assert expected == facts(read(*((7, piece) for piece in pieces)))
    assert expected == facts(read(*((7, body[k : k + 1]) for k in range(len(body)))))
