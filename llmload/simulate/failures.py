"""Which requests fail and how: a list of shares from the command line, and a draw from seed and request number alone.

`KINDS` is the one place where a kind of failure is named; what its bytes are is `script.py`'s part. For each kind it
is known which outcome a client that measures rightly records.
"""

from dataclasses import dataclass

from llmload.simulate import draws

KINDS = {
    "cut": "connection closed after some tokens",
    "reset": "connection reset after some tokens",
    "stall": "silent after some tokens, until the client leaves",
    "silent": "head of the answer, then nothing until the client leaves",
    "error-event": "error object in the stream after some tokens",
    "garbage": "broken JSON in the stream after some tokens",
    "abort": "finish reason abort after some tokens",
    "filter": "finish reason content_filter after some tokens",
    "json": "a JSON body although a stream was asked for",
    "empty": "a stream without a token",
    "no-done": "a whole stream without [DONE]",
    "close": "connection closed before any byte of an answer",
}
"""Kinds beside the plain status codes 300 to 599."""

STREAMS_ONLY = frozenset({"json", "empty", "no-done"})
"""Kinds that mean nothing where no stream was asked for; such a request is answered well."""

AT_ONCE = frozenset({"close"})
"""Kinds that, like status codes, are answered without waiting for a slot."""

_EXPECTED = {
    "cut": "stream_truncated",
    "reset": "stream_truncated",
    "stall": "stall_timeout",
    "silent": "ttft_timeout",
    "error-event": "stream_error",
    "garbage": "protocol_error",
    "abort": "aborted",
    "filter": "content_filtered",
    "json": "not_sse",
    "empty": "empty_stream",
    "no-done": "ok",
}
_EXPECTED_STATUS = {
    429: "rate_limited",
    502: "gateway_error",
    503: "overloaded",
    504: "gateway_error",
    529: "overloaded",
    **dict.fromkeys(range(520, 525), "gateway_error"),
}


@dataclass(frozen=True, slots=True)
class Failures:
    """Shares of requests by kind, in the order given; they sum up to at most 1."""

    shares: tuple[tuple[str, float], ...] = ()

    def pick(self, seed: int, number: int, *, stream: bool) -> str | None:
        """The failure that a request gets, None for most."""
        if not self.shares:
            return None
        point = draws.sequence(seed, number, "failure").random()
        for kind, share in self.shares:
            if point < share:
                return kind if stream or kind not in STREAMS_ONLY else None
            point -= share
        return None


def parse(text: str) -> Failures:
    """Read `429=0.02,cut=0.01`. Raises ValueError with a sentence that says which entry is wrong."""
    shares: dict[str, float] = {}
    for entry in filter(None, (item.strip() for item in text.split(","))):
        kind, equals, number = (part.strip() for part in entry.partition("="))
        if not equals:
            raise ValueError(f"{entry!r}: expected KIND=SHARE, as in 429=0.02")
        if kind not in KINDS and status_of(kind) is None:
            raise ValueError(
                f"unknown failure {kind!r}; expected a status from 300 to 599 or one of: {', '.join(KINDS)}"
            )
        if kind in shares:
            raise ValueError(f"{kind!r} is named twice")
        try:
            share = float(number)
        except ValueError:
            share = -1.0
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"{entry!r}: expected a share from 0 to 1, got {number!r}")
        shares[kind] = share
    if sum(shares.values()) > 1.0 + 1e-9:
        raise ValueError(f"the shares sum up to {sum(shares.values()):g}, more than 1")
    return Failures(tuple(shares.items()))


def status_of(kind: str) -> int | None:
    """The status code that a kind stands for, None for the kinds with a name."""
    if len(kind) == 3 and kind.isascii() and kind.isdigit() and 300 <= int(kind) <= 599:
        return int(kind)
    return None


def after(seed: int, number: int, events: int) -> int:
    """How many events of an answer of so many are sent before it fails: 1 to events - 1 (1 if there is only one)."""
    return 1 + int(draws.sequence(seed, number, "position").random() * (events - 1))


def expected(kind: str | None, *, first_on_connection: bool) -> str:
    """The outcome that the client should record for a request with this failure (None: no failure)."""
    if kind is None:
        return "ok"
    if kind == "close":
        return "no_response" if first_on_connection else "stale_connection"
    status = status_of(kind)
    if status is None:
        return _EXPECTED[kind]
    return expected_status(status)


def expected_status(status: int) -> str:
    """The outcome that the client should record for an answer with this status."""
    return "redirect" if status < 400 else _EXPECTED_STATUS.get(status, "http_error")
