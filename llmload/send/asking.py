"""A question to the endpoint outside of any measuring: models, /tokenize, /metrics. No record is made of it.

It goes the same way as what is measured (SDK, connections, TLS, proxy), so what answers here can be measured.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

from llmload.load.call import Call
from llmload.send.client import line
from llmload.send.dial import DialError
from llmload.send.settings import Sending
from llmload.send.target import ENDPOINTS
from llmload.send.wire import Exchange, Whole
from llmload.stream import chunk, words
from llmload.stream.judge import Ending, EndKind


@dataclass(frozen=True, slots=True)
class Reply:
    """What was answered: header names in lower case, header values fit for one line and without the key."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    hide: words.Hide = str
    """Takes the key out of a text: what an endpoint was sent it may repeat."""

    def quote(self, text: str) -> str:
        """The server's words in one line, without the key."""
        return words.one_line(self.hide(text))

    def json(self) -> Any:
        """The body as JSON, or None if it is none or the status is no success."""
        if self.status != 200:
            return None
        try:
            return chunk.load(self.body)
        except ValueError:
            return None

    @property
    def words(self) -> str:
        """What the body says, in one line."""
        return self.quote(words.of_body(self.body))


class UnansweredError(Exception):
    """No answer: `outcome` as it would stand in a record (`connect_error`, `no_response` …), the text says why."""

    def __init__(self, outcome: str, text: str) -> None:
        super().__init__(text)
        self.outcome = outcome


class Asker:
    """Asks one endpoint, over connections that are kept. To be closed, or used in a `with` block."""

    def __init__(self, sending: Sending, key: str | None, *, limit_s: float = 10.0) -> None:
        """Raises Stop(USAGE) as `Client` does."""
        self._line = line(sending, key)
        self._hide = words.secret_remover(key)
        self._limit_s = limit_s

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def address(self) -> str | None:
        """Host and port that were connected to last, as the system names them: a proxy's where there is one."""
        return self._line.pool.address

    def ask(self, place: str, body: dict[str, Any] | None = None) -> Reply:
        """GET a place, or POST a body to it; blocks this greenlet. Raises UnansweredError.

        `place` is relative to the base URL ("models"), or begins with a slash for one beside it ("/tokenize").
        """
        target = self._line.target
        path = target.path_of(place).partition("?")[0]
        request = self._line.builder.ask(target.origin + path, body)
        try:
            connection = self._line.pool.take()
        except DialError as error:
            raise UnansweredError(error.outcome, self._hide(str(error))) from None
        whole = Whole()
        exchange = Exchange(connection, whole, self._due)
        ending = exchange.run(request)
        if exchange.keep:
            self._line.pool.give(connection)
        answer = exchange.answer
        if answer.status is None or (answer.status == 200 and ending.kind != "whole"):
            raise UnansweredError(*self._why(ending, began=answer.began))
        content = whole.body if answer.status == 200 else answer.body
        reply = Reply(answer.status, {}, self._hide(content.decode("utf-8", "replace")).encode(), self._hide)
        return replace(reply, headers={name: reply.quote(value) for name, value in answer.headers.items()})

    def complete(self, call: Call) -> Reply:
        """Ask for a completion and take its answer whole, events of a stream and all. Raises UnansweredError."""
        return self.ask(ENDPOINTS[self._line.builder.sending.api].lstrip("/"), self._line.builder.body(call))

    def _due(self, sent: int) -> tuple[int, EndKind, str]:
        return sent + int(self._limit_s * 1e9), "total", f"no answer within {self._limit_s:g} s"

    @staticmethod
    def _why(ending: Ending, *, began: bool) -> tuple[str, str]:
        if ending.kind == "total":
            return "total_timeout", ending.words
        if ending.kind == "protocol" or began:
            return "protocol_error", ending.words
        return "no_response", f"{ending.words} before any byte of an answer"

    def close(self) -> None:
        """Close the connections."""
        self._line.pool.close()
