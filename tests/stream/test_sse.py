"""The SSE parser: line ends, tearing, comments, marks, ends; the same blocks however the bytes are cut."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as some

from llmload.stream.sse import Parser


def whole(*pieces: bytes) -> list[tuple[bytes, bytes]]:
    """All blocks of a body that came in these pieces, the one cut off at its end included."""
    parser = Parser()
    return [block for piece in pieces for block in parser.feed(piece)] + parser.finish()


def test_one_event_in_one_read_is_complete_at_once() -> None:
    """The usual read gives its event without waiting for more, the first of the body and every later one."""
    parser = Parser()
    assert parser.feed(b'data: {"a":1}\n\n') == [(b"", b'{"a":1}')]
    assert parser.feed(b'data: {"a":2}\n\n') == [(b"", b'{"a":2}')]
    assert parser.finish() == []


@pytest.mark.parametrize("eol", [b"\n", b"\r\n", b"\r"])
def test_all_three_line_ends_are_equal(eol: bytes) -> None:
    """LF, CR LF and CR end a line; two in a row end an event when they come."""
    parser = Parser()
    assert parser.feed(b"data: A" + eol + eol) == [(b"", b"A")]
    assert parser.feed(b"data: B" + eol + eol) == [(b"", b"B")]


def test_a_torn_cr_lf_ends_one_line_and_not_two() -> None:
    """The LF that belongs to a CR of the read before is passed over."""
    parser = Parser()
    assert parser.feed(b"data: A\r") == []
    assert parser.feed(b"\n") == []
    assert parser.feed(b"data: B\r\n\r"[:9]) == []
    assert parser.feed(b"\r") == [(b"", b"A\nB")]
    assert parser.feed(b"\n") == []


def test_fields_comments_and_marks() -> None:
    """Names are kept, id and retry are known, comments give nothing, one blank behind the colon is dropped."""
    body = b"\xef\xbb\xbf: hi\n\nevent: ping\nid: 1\nretry: 5\ndata:x\ndata:  y\ndata\n\n\n\ndata: [DONE]\n\n"
    assert whole(body) == [(b"ping", b"x\n y\n"), (b"", b"[DONE]")]


def test_unicode_separators_end_no_line() -> None:
    """U+2028, U+2029 and U+0085 are characters."""
    text = "A\u2028B\u2029C\u0085D".encode()
    assert [(b"", text)] == whole(b"data: " + text + b"\n\n")


def test_the_last_event_is_kept_without_its_blank_line_and_line_end() -> None:
    """The end of the body ends an event that lacks its own end."""
    assert whole(b"data: A\n") == [(b"", b"A")]
    assert whole(b"data: A") == [(b"", b"A")]
    assert whole(b"event: error\ndata: A") == [(b"error", b"A")]


@pytest.mark.parametrize(
    "body", [b'{"error": "boom"}', b"<html>\n<body>\n</html>\n", b'{"a":1}\n{"a":2}\n', b"Internal error"]
)
def test_what_is_no_sse_is_told_apart_and_kept(body: bytes) -> None:
    """A body without a single line that SSE knows is `stray`, whole, with and without a last line end."""
    parser = Parser()
    assert parser.feed(body) + parser.finish() == []
    assert not parser.known
    assert parser.stray.rstrip(b"\n") == body.rstrip(b"\n")


@pytest.mark.parametrize("body", [b"d", b"dat", b"eve", b"i", b"retr", b"\xef", b"\xef\xbb\xbf", b"\xef\xbb\xbfda"])
def test_a_body_that_was_cut_within_its_first_name_is_nothing_foreign(body: bytes) -> None:
    """The beginning of a field's name gives no block and is no stray line; behind a foreign line it is one more."""
    parser = Parser()
    assert parser.feed(body) + parser.finish() == []
    assert (parser.known, parser.stray) == (True, b"")
    other = Parser()
    assert other.feed(b"junk\n" + body) + other.finish() == []
    assert not other.known


def test_a_mark_counts_only_at_the_very_start() -> None:
    """Behind the first line a byte order mark makes a field that nobody knows."""
    assert whole(b"data: B\n\n\xef\xbb\xbfdata: A\n\n") == [(b"", b"B")]
    assert whole(b"\n\xef\xbb\xbfdata: A\n\n") == []


def test_stray_bytes_are_bounded() -> None:
    """A body of another kind does not fill the memory."""
    parser = Parser()
    for _ in range(200):
        parser.feed(b"x" * 1000 + b"\n")
    assert parser.stray_full
    assert len(parser.stray) <= Parser.STRAY_LIMIT


LINES = some.sampled_from(
    [
        b"data: A", b"data:B", b"data: {\"x\": 1}", b"data", b": comment", b"event: ping", b"id: 7", b"retry: 1", b"",
        b"", b"junk", "data: \u6f22\u2028".encode(), b"\xef\xbb\xbfdata: M", b"data: [DONE]",
    ]
)  # fmt: skip
BODIES = some.lists(some.tuples(LINES, some.sampled_from([b"\n", b"\r\n", b"\r"])), max_size=12).map(
    lambda lines: b"".join(line + eol for line, eol in lines)
)


@given(
    body=BODIES, cuts=some.lists(some.integers(0, 200), max_size=8), spare=some.sampled_from([b"", b"data: Z", b"\n"])
)
def test_cuts_change_nothing(body: bytes, cuts: list[int], spare: bytes) -> None:
    """Whole, byte by byte and in random pieces, the same blocks come out in the same order."""
    body += spare
    edges = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    pieces = [body[a:b] for a, b in itertools.pairwise(edges)]
    expected = whole(body)
    assert expected == whole(*pieces)
    assert expected == whole(*[body[k : k + 1] for k in range(len(body))])


@given(body=BODIES, cut=some.integers(0, 200))
def test_an_event_is_there_with_its_last_byte(body: bytes, cut: int) -> None:
    """What a beginning of the body completes does not depend on how it came."""
    part = body[: min(cut, len(body))]
    one, many = Parser(), Parser()
    assert one.feed(part) == [block for k in range(len(part)) for block in many.feed(part[k : k + 1])]


@pytest.mark.parametrize(
    ("start", "piece", "known"),
    [(b"data: ", b"x" * 65536, True), (b"", b"data: " + b"x" * 65536 + b"\n", True), (b"<html>", b"x" * 65536, False)],
    ids=["line", "event", "foreign"],
)
def test_memory_is_bounded(start: bytes, piece: bytes, known: bool) -> None:
    """A line without an end, lines without a blank one, a foreign body: reading ends soon behind 16 MiB of it."""
    parser = Parser()
    parser.feed(b"data: A\n\n" if known else b"")
    parser.feed(start)
    reads = 0
    while not parser.overlong:
        reads += 1
        assert parser.feed(piece) == []
    assert Parser.LIMIT // 65536 <= reads <= Parser.LIMIT // 65536 + 1
    assert parser.known is known
    assert len(parser.stray) == (0 if known else Parser.STRAY_LIMIT)
    assert (parser.feed(b"data: B\n\n"), parser.finish()) == ([], [])


def test_what_has_ended_is_held_no_more() -> None:
    """A long stream of events, torn in their middle, comes to no limit."""
    parser = Parser()
    event = b"data: " + b"x" * (1 << 20) + b"\n\n"
    blocks = [block for _ in range(40) for half in (event[:1000], event[1000:]) for block in parser.feed(half)]
    assert (len(blocks), parser.overlong) == (40, False)
