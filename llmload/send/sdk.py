"""Requests as the openai package makes them: addressed, authenticated and worded by the SDK, sent by us.

The SDK is given a transport of ours. What it hands to that transport is what goes on the wire, byte for byte; what it
gets back is an empty success, since the answer is read, stamped and judged elsewhere: its own stream reader costs ten
times as much and hides failures, and its hidden retries are off. The SDK thus never sees an answer and never waits.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import httpx2
from openai import OpenAI

from llmload.exits import Stop
from llmload.load.call import Call
from llmload.send.settings import Sending
from llmload.send.target import ENDPOINTS, Target

STRANGERS = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_CUSTOM_HEADERS", "OPENAI_ADMIN_KEY", "OPENAI_WEBHOOK_SECRET")
"""Variables that the SDK would send, in part, to any host; only what the scenario names is sent."""
NO_KEY = "none"
"""The SDK refuses to be made without a key; no header is made of this one."""


BOX: ContextVar[list[httpx2.Request]] = ContextVar("BOX")
"""Where the request of this greenlet is put. Each has its own: the SDK may let others run before it returns."""


class Catch(httpx2.BaseTransport):
    """A transport that keeps the request instead of sending it."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Keep the request; the answer given is empty."""
        BOX.get().append(request)
        return httpx2.Response(200)


@contextmanager
def without(names: tuple[str, ...]) -> Iterator[None]:
    """An environment without these variables, for as long as it takes."""
    kept = {name: os.environ.pop(name) for name in names if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(kept)


class Builder:
    """Turns calls into the bytes of HTTP requests. Building one costs about 0.4 ms of CPU and never waits."""

    def __init__(self, sending: Sending, target: Target, key: str | None, *, absolute: bool = False) -> None:
        self.sending = sending
        self._place = ENDPOINTS[sending.api]
        self._origin = target.origin if absolute else ""
        self._key = key
        http = httpx2.Client(transport=Catch(), trust_env=False, timeout=None, follow_redirects=False)
        with without(STRANGERS):
            self._sdk = OpenAI(
                api_key=key or NO_KEY,
                base_url=target.plain_url,
                default_query=target.query_items or None,
                max_retries=0,
                http_client=http,
            )
        self._connection = "close" if sending.fresh else "keep-alive"
        # The SDK finds out about the machine it runs on when it words its first request, and other greenlets run
        # meanwhile and would all find it out as well: better now than within a measurement.
        self.request({}, {})

    def body(self, call: Call) -> dict[str, Any]:
        """The request's body: the call in the endpoint's words; extras override, and one that is null takes away."""
        sending = self.sending
        body: dict[str, Any] = {"model": sending.model}
        if sending.api == "chat":
            body["messages"] = list(call.messages)
        else:
            body["prompt"] = call.text
        body[sending.limit_field] = call.max_tokens
        temperature = sending.temperature if call.temperature is None else call.temperature
        if temperature is not None:
            body["temperature"] = temperature
        if sending.stream:
            body["stream"] = True
            if sending.stream_usage:
                body["stream_options"] = {"include_usage": True}
        if call.tools:
            body["tools"] = list(call.tools)
        if call.ignore_eos and "ignore_eos" not in sending.left_out:
            body["ignore_eos"] = True
        if call.min_tokens is not None and "min_tokens" not in sending.left_out:
            body["min_tokens"] = call.min_tokens
        return {
            name: value for name, value in (body | sending.extra_body | call.extra_body).items() if value is not None
        }

    def request(self, body: dict[str, Any], headers: Mapping[str, str]) -> bytes:
        """A request for the endpoint as it goes on the wire. Raises Stop(USAGE) if it cannot be built."""
        return self._caught("POST", self._place, body, headers)

    def ask(self, place: str, body: dict[str, Any] | None) -> bytes:
        """A request for another place: relative to the base URL, or a whole URL."""
        return self._caught("GET" if body is None else "POST", place, body, {})

    def _caught(self, method: str, place: str, body: dict[str, Any] | None, headers: Mapping[str, str]) -> bytes:
        options: Any = {"headers": {"Accept-Encoding": "identity", **self.sending.headers, **headers}}
        box: list[httpx2.Request] = []
        BOX.set(box)
        try:
            if method == "POST":
                self._sdk.post(place, cast_to=httpx2.Response, body=body, options=options)
            else:
                self._sdk.get(place, cast_to=httpx2.Response, options=options)
        except (TypeError, ValueError) as error:
            raise Stop(f"the request cannot be built: {error}; look at extra_body and headers") from error
        return self._bytes(box[0])

    def _bytes(self, request: httpx2.Request) -> bytes:
        lines = [b"%s %s%s HTTP/1.1" % (request.method.encode(), self._origin.encode(), request.url.raw_path)]
        for name, value in request.headers.raw:
            lower = name.lower()
            if lower == b"authorization" and self._key is None:
                continue  # without a key no such header is sent at all, least of all one with a stand-in
            if lower == b"connection":
                lines.append(b"Connection: " + self._connection.encode())
            else:
                lines.append(name + b": " + value)
        return b"\r\n".join(lines) + b"\r\n\r\n" + request.content
